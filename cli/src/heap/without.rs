//! A process without loam: which malloc it has, what can be said of its memory from outside, and
//! how it is started on loam.

use crate::binary::elf::Image;
use crate::binary::entry_points::{self, ALLOCATOR_MARKS};
use crate::binary::library::Library;
use crate::binary::reach::{self, Obstacle};
use crate::heap::image;
use crate::heap::source::{Mapping, Name, Process, Source};
use crate::numbers;
use crate::process::binding::Resolver;
use crate::process::modules::{self, Module, Process as Opened};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What is said where a verb needs loam: one line of a core, some of a process.
pub fn told(source: &dyn Source) -> String {
    let process = source.process();
    let opened = process.pid.filter(|_| process.is_live).and_then(|pid| {
        let pid = i32::try_from(pid).ok()?;
        Some((pid, Opened::open(pid).ok()?))
    });
    let Some((pid, opened)) = opened else {
        return format!(
            "{} has no loam in it, or one without the note that 'loam explain' reads",
            process.title
        );
    };
    if opened.modules.iter().any(|module| module.image.is_loam()) {
        return format!(
            "{} is on a loam without the note that 'loam explain' reads: another version, or a \
             build without it",
            process.title
        );
    }
    let runtime = Runtime::of(source, &opened);
    let malloc = Malloc::of(&opened, runtime);
    let mut out = format!("{} is not on loam: {}\n", process.title, malloc.text);
    // Writing to a String cannot fail.
    let _ = write_memory(&mut out, process, &malloc);
    if let Some(text) = malloc.name.and_then(statistics) {
        let _ = writeln!(out, "{text}");
    }
    let _ = write_ways(&mut out, pid, &opened, runtime);
    out.truncate(out.trim_end().len());
    out
}

/// What is known of a process before its heap is read.
pub struct Seen {
    /// Its malloc is known, and not glibc's.
    pub is_others: bool,
    /// Whose malloc is called first, of one that may pass calls on to glibc's.
    pub wrapper: Option<String>,
    /// How it is started on loam, in words.
    pub start: Option<String>,
    /// Whose objects are elsewhere, and which tool knows them.
    pub runtime: Option<String>,
}

pub fn look(source: &dyn Source) -> Seen {
    let process = source.process();
    let pid = process.pid.filter(|_| process.is_live).and_then(|pid| i32::try_from(pid).ok());
    let opened = pid.and_then(|pid| Some((pid, Opened::open(pid).ok()?)));
    let Some((pid, opened)) = opened else {
        return Seen { is_others: false, wrapper: None, start: None, runtime: None };
    };
    let runtime = Runtime::of(source, &opened);
    let malloc = Malloc::of(&opened, runtime);
    let is_wrapper = !malloc.is_glibc && !malloc.is_others && !opened.is_static();
    Seen {
        is_others: malloc.is_others,
        wrapper: is_wrapper.then(|| {
            let text = malloc.text.replacen("its", "Its", 1);
            format!(
                "{text}, which hands calls on to glibc's: what it has of its own counts as other \
                 mappings."
            )
        }),
        start: opened.program().ok().map(|program| match obstacle(program) {
            Some(obstacle) => format!("{obstacle}."),
            None => format!("To see it there: {}", command(pid)),
        }),
        runtime: runtime.map(|runtime| format!("{}.", runtime.text(pid))),
    }
}

/// What serves the process's malloc.
struct Malloc {
    text: String,
    is_glibc: bool,
    /// Known, and not glibc's.
    is_others: bool,
    /// What it is called, if that is known.
    name: Option<&'static str>,
}

impl Malloc {
    fn of(opened: &Opened, runtime: Option<Runtime>) -> Malloc {
        if let Ok(program) = opened.program()
            && opened.is_static()
        {
            return match runtime {
                Some(Runtime::Go) => {
                    let text = "it is a static program of Go's".into();
                    Malloc { text, is_glibc: false, is_others: true, name: None }
                }
                _ => Malloc::of_static(&program.image),
            };
        }
        let entry = entry_points::find("malloc");
        let target = entry.and_then(|entry| Resolver::new(opened).look_up(entry));
        let Some(module) = target.and_then(|target| target.module) else {
            let text = "none of its modules defines malloc".into();
            return Malloc { text, is_glibc: false, is_others: true, name: None };
        };
        let path = module.path.display();
        let text = match name_of(module) {
            Some(name) => format!("its malloc is {name}, of {path}"),
            None => format!("its malloc is that of {path}"),
        };
        let is_glibc = is_glibc(&module.image);
        let text = match module.image.architecture.pointer_bytes() {
            4 if is_glibc => text + ", of 32 bits: of glibc's heaps those of 64 bits are read",
            _ => text,
        };
        let name = name_of(module);
        // One without a name may do no more than look at calls: its memory tells.
        Malloc { text, is_glibc, is_others: !is_glibc && name.is_some(), name }
    }

    fn of_static(image: &Image) -> Malloc {
        let is_glibc = image.has_internal("_int_malloc");
        let text = match marked(image) {
            Some(name) => format!("it is static, and its malloc is {name}"),
            None if image.has_symbol_table => "it is static, with a malloc of its own".into(),
            None => "it is static, and stripped of the names that would tell its malloc".into(),
        };
        // Without names, its memory tells.
        let is_known = image.has_symbol_table || marked(image).is_some();
        Malloc { text, is_glibc, is_others: is_known && !is_glibc, name: marked(image) }
    }
}

fn marked(image: &Image) -> Option<&'static str> {
    let has = |mark| image.export(mark).is_some() || image.has_internal(mark);
    ALLOCATOR_MARKS.iter().find(|(mark, _)| has(mark)).map(|(_, name)| *name)
}

fn is_glibc(image: &Image) -> bool {
    image.export("gnu_get_libc_version").is_some()
}

fn name_of(module: &Module) -> Option<&'static str> {
    let image = &module.image;
    // Its loader is its library, and is called either way.
    let is_musls = ["ld-musl", "libc.musl"].iter().any(|name| module.file_name().starts_with(name))
        || module.file_name() == "libc.so";
    let is_musl = is_musls || image.export("__stdio_exit").is_some();
    let libc = || is_glibc(image).then_some("glibc's").or_else(|| is_musl.then_some("musl's"));
    image.sanitizer().or_else(|| marked(image)).or_else(libc)
}

/// One that keeps its objects in a heap of its own, which no malloc serves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runtime {
    Go,
    Java,
    V8,
    DotNet,
}

impl Runtime {
    fn of(source: &dyn Source, opened: &Opened) -> Option<Runtime> {
        let modules = || opened.modules.iter();
        let has_file = |name: &str| modules().any(|module| module.file_name() == name);
        let is_v8s = |module: &Module| {
            module.image.exports.iter().any(|symbol| symbol.name.starts_with("_ZN2v8"))
        };
        if has_file("libjvm.so") {
            Some(Runtime::Java)
        } else if has_file("libcoreclr.so") {
            Some(Runtime::DotNet)
        } else if modules().any(is_v8s) {
            Some(Runtime::V8)
        } else {
            is_go(source).then_some(Runtime::Go)
        }
    }

    fn text(self, pid: i32) -> String {
        match self {
            Runtime::Go => {
                "Go's objects are in the Go runtime's own heap, which loam does not serve: \
                            'go tool pprof http://HOST:PORT/debug/pprof/heap' where the program \
                            serves net/http/pprof, or start it with GODEBUG=gctrace=1"
                    .into()
            }
            Runtime::Java => format!(
                "Java's objects are in the virtual machine's own heap, which loam does not serve: \
                 'jcmd {pid} GC.heap_info', or 'jcmd {pid} VM.native_memory' if it was started with \
                 -XX:NativeMemoryTracking=summary"
            ),
            Runtime::V8 => "JavaScript's objects are in V8's own heap, which loam does not serve: \
                            process.memoryUsage(), or start node with --heapsnapshot-signal=SIGUSR2"
                .into(),
            Runtime::DotNet => format!(
                ".NET's objects are in the runtime's own heap, which loam does not serve: \
                 'dotnet-gcdump collect -p {pid}'"
            ),
        }
    }
}

/// The Go linker leaves its build id in a note.
fn is_go(source: &dyn Source) -> bool {
    let mut images =
        source.process().mappings.iter().filter_map(|mapping| image::Image::at(source, mapping));
    images.any(|image| image.notes.iter().any(|note| note.owner == b"Go"))
}

/// By kinds of mappings, as the kernel counts what is in memory.
fn write_memory(out: &mut String, process: &Process, malloc: &Malloc) -> std::fmt::Result {
    let is = |wanted: &dyn Fn(&Mapping) -> bool| {
        let found: Vec<_> = process.mappings.iter().filter(|mapping| wanted(mapping)).collect();
        let bytes: u64 = found.iter().filter_map(|mapping| mapping.resident_bytes).sum();
        (found.len(), bytes)
    };
    let mut line = |name: &str, bytes: u64, about: &str| {
        let line = format!("  {name:<16}{:>10}  {about}", numbers::bytes(bytes));
        writeln!(out, "{}", line.trim_end())
    };
    let peak = process.peak_bytes.map(|bytes| format!("at most {}", numbers::bytes(bytes)));
    line("in memory", process.resident_bytes.unwrap_or(0), &peak.unwrap_or_default())?;
    let (heaps, heap) = is(&|mapping| mapping.name == Name::Heap);
    if heaps != 0 {
        let about = if malloc.is_glibc { "glibc's main arena, and others' brk" } else { "by brk" };
        line("[heap]", heap, about)?;
    }
    let arenas = if malloc.is_glibc { arenas(&process.mappings) } else { Vec::new() };
    let is_arena = |mapping: &Mapping| arenas.contains(&mapping.start);
    if !arenas.is_empty() {
        let (count, bytes) = is(&is_arena);
        let about = format!("{count} anonymous, laid out as glibc's arenas of threads are");
        line("arenas", bytes, &about)?;
    }
    let is_other = |mapping: &Mapping| {
        matches!(mapping.name, Name::Anonymous) && mapping.is_accessible && !is_arena(mapping)
    };
    let (count, bytes) = is(&is_other);
    let what = if arenas.is_empty() { "anonymous" } else { "other anonymous" };
    if count != 0 {
        let mappings = if count == 1 { "mapping" } else { "mappings" };
        line(
            what,
            bytes,
            &format!("{count} {mappings}: large blocks, stacks of threads, its own"),
        )?;
    }
    match malloc.name.filter(|_| malloc.is_others) {
        Some(name) => write_share(out, process, name),
        None => Ok(()),
    }
}

/// What of the memory is such a malloc's: where it names its mappings, these; else it is at most what
/// is anonymous and no stack.
fn write_share(out: &mut String, process: &Process, name: &str) -> std::fmt::Result {
    let resident = |is: &dyn Fn(&Mapping) -> bool| -> u64 {
        let found = process.mappings.iter().filter(|mapping| is(mapping));
        found.filter_map(|mapping| mapping.resident_bytes).sum()
    };
    let word = name.trim_end_matches(" malloc").trim_end_matches("'s");
    let named =
        resident(&|mapping| matches!(&mapping.name, Name::Other(name) if name.contains(word)));
    let is_stack = |mapping: &Mapping| {
        let mut pointers = process.threads.iter().filter_map(|thread| thread.stack_pointer);
        pointers.any(|pointer| mapping.contains(pointer))
    };
    let anonymous = resident(&|mapping| {
        let is_its = matches!(mapping.name, Name::Anonymous | Name::Heap);
        is_its && mapping.is_accessible && !is_stack(mapping)
    });
    let (bytes, about) = match named {
        0 => (anonymous, "at most: what is anonymous and no thread's stack"),
        named => (named, "in mappings that it has given its name"),
    };
    writeln!(out, "  {:<16}{:>10}  {about}", name, numbers::bytes(bytes))
}

/// Where another malloc says more of itself.
fn statistics(name: &str) -> Option<&'static str> {
    Some(match name {
        "jemalloc" => {
            "What jemalloc has in use and keeps, it says itself: start the program with \
             MALLOC_CONF=stats_print:true, or call malloc_stats_print in it."
        }
        "mimalloc" => {
            "What mimalloc has in use and keeps, it says itself: start the program with \
             MIMALLOC_SHOW_STATS=1, or call mi_stats_print in it."
        }
        "tcmalloc" => {
            "What tcmalloc has in use and keeps, it says itself: start the program with \
             MALLOCSTATS=1, or call MallocExtension's GetStats in it."
        }
        "musl's" | "musl's malloc" | "musl's older malloc" => {
            "musl's malloc keeps no statistics, and nothing in the process says what of it is free."
        }
        _ => return None,
    })
}

/// Where anonymous mappings begin that are a part of 64 MiB of addresses, aligned to that, of which
/// the rest is set aside: so glibc has the heaps of arenas but the main one (64-bit systems).
fn arenas(mappings: &[Mapping]) -> Vec<u64> {
    const HEAP_BYTES: u64 = 64 << 20;
    let is_arena = |first: &Mapping, rest: &Mapping| {
        first.name == Name::Anonymous
            && first.is_accessible
            && first.start.is_multiple_of(HEAP_BYTES)
            && rest.name == Name::Anonymous
            && !rest.is_accessible
            && rest.start == first.end
            && rest.end.is_multiple_of(HEAP_BYTES)
    };
    let pairs = mappings.windows(2).filter(|pair| is_arena(&pair[0], &pair[1]));
    pairs.map(|pair| pair[0].start).collect()
}

fn write_ways(
    out: &mut String,
    pid: i32,
    opened: &Opened,
    runtime: Option<Runtime>,
) -> std::fmt::Result {
    if let Some(runtime) = runtime {
        writeln!(out, "{}.", runtime.text(pid))?;
    }
    let Ok(program) = opened.program() else { return Ok(()) };
    match (obstacle(program), runtime) {
        (Some(_), Some(Runtime::Go)) => Ok(()),
        (Some(obstacle), _) => writeln!(out, "{obstacle}."),
        (None, Some(_)) => writeln!(out, "For what its native code takes: {}", command(pid)),
        (None, None) => {
            writeln!(out, "What of it is free, and what keeps it, loam says of a process on it:")?;
            writeln!(out, "  {}", command(pid))
        }
    }
}

/// Why it cannot be preloaded there, as far as that is known without a library.
fn obstacle(program: &Module) -> Option<Obstacle> {
    if program.image.interpreter.is_none() && program.order.is_none() {
        return Some(Obstacle::Static(program.path.clone()));
    }
    let library = Library::locate(None).ok()?;
    reach::obstacle(&program.path, &program.image, &library)
}

/// What starts the same on loam, for a shell.
fn command(pid: i32) -> String {
    let Ok((file, argv)) = modules::executed(pid) else { return "loam run -- PROGRAM".into() };
    let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    let mut line = match std::env::current_dir().is_ok_and(|here| here == folder) {
        true => String::new(),
        false => format!("cd {} && ", quoted(folder.as_os_str())),
    };
    line += "loam run -- ";
    line += &quoted(program_word(pid, &file, argv.first(), &folder).as_os_str());
    // A title in place of the arguments is one word with blanks.
    if let [title] = &argv[..]
        && title.as_bytes().contains(&b' ')
    {
        return line + " ARGUMENTS";
    }
    argv.iter().skip(1).fold(line, |line, word| line + " " + &quoted(word))
}

/// The name that it was started by, where that leads to the same file: a virtual environment of
/// Python is found by the name alone. Else the file.
fn program_word(pid: i32, file: &Path, name: Option<&OsString>, folder: &Path) -> PathBuf {
    let is_same = |path: &PathBuf| folder.join(path).canonicalize().is_ok_and(|path| path == file);
    let Some(name) = name.map(PathBuf::from) else { return file.into() };
    if name.as_os_str().as_bytes().contains(&b'/') {
        return if is_same(&name) { name } else { file.into() };
    }
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let path = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"PATH="));
    let folders = path.map(OsStr::from_bytes).unwrap_or_default();
    let found = std::env::split_paths(folders).map(|at| at.join(&name)).find(is_same);
    found.unwrap_or_else(|| file.into())
}

/// One word of a shell, in one line and in letters that a terminal prints.
fn quoted(word: &OsStr) -> String {
    let is_plain = word.to_str().is_some_and(|text| !text.contains(char::is_control));
    if let Some(text) = word.to_str().filter(|_| is_plain)
        && let Ok(quoted) = shlex::try_quote(text)
    {
        return quoted.into_owned();
    }
    let escaped = |byte: &u8| match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
        b' '..=b'~' => char::from(*byte).to_string(),
        other => format!("\\{other:03o}"),
    };
    format!("$'{}'", word.as_bytes().iter().map(escaped).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell_in_one_line() {
        for (word, expected) in [
            (&b"--port"[..], "--port"),
            (b"--port=80", "'--port=80'"),
            (b"geh heim", "'geh heim'"),
            (b"", "''"),
            ("lo\u{e4}m".as_bytes(), "'lo\u{e4}m'"),
            (b"two\nlines", "$'two\\012lines'"),
            (b"\xff'", "$'\\377\\''"),
        ] {
            let got = quoted(OsStr::from_bytes(word));
            assert_eq!(got.replace('"', "'"), expected);
        }
    }

    #[test]
    fn arenas_are_told_by_their_place_and_by_what_is_set_aside_behind() {
        let mapping = |start: u64, end: u64, is_accessible, name| Mapping {
            start: start << 20,
            end: end << 20,
            offset: 0,
            name,
            is_accessible,
            resident_bytes: Some(0),
        };
        let all = [
            mapping(64, 70, true, Name::Anonymous),
            mapping(70, 128, false, Name::Anonymous),
            mapping(192, 200, true, Name::Anonymous),
            mapping(200, 255, false, Name::Anonymous),
            mapping(300, 310, true, Name::Anonymous),
            mapping(310, 320, false, Name::Anonymous),
            mapping(320, 330, true, Name::Heap),
            mapping(330, 384, false, Name::Anonymous),
        ];
        assert_eq!(arenas(&all), [64 << 20]);
    }
}
