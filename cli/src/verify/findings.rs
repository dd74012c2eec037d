//! What is wrong, in words: why an entry point or a reference is not loam's.

use crate::binary::elf::{Image, sanitizer_library};
use crate::binary::entry_points::{self, ENTRY_POINTS, EntryPoint, Group};
use crate::heap::layout::Layout;
use crate::heap::live::Live;
use crate::heap::source::Source;
use crate::process::binding::{Resolver, Target, is_cxx_runtime};
use crate::process::modules::{Module, Process};
use crate::verify::report::{CallRow, EntryPointRow, Finding, FindingKind, Report, RunReport};
use crate::verify::words::{STRDUP, list, shown};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

/// A reference that does not lead to loam.
pub struct Stray<'a> {
    pub module: &'a Module,
    pub entry: &'static EntryPoint,
    pub target: Target<'a>,
}

/// All findings on a process, the one that explains most first.
pub fn of_process(
    resolver: &Resolver,
    program: &Module,
    rows: &[EntryPointRow],
    strays: &[Stray],
) -> Vec<Finding> {
    let loam = resolver.process.modules.iter().find(|module| module.image.is_loam());
    let mut findings = Vec::new();
    findings.extend(sanitizer(resolver));
    findings.extend(own_malloc(program, loam.is_some()));
    match loam {
        None => findings.push(not_loaded(rows)),
        Some(loam) => {
            findings.extend(listed(resolver.process, loam));
            findings.extend(global_allocator(&program.path, &program.image, rows));
            let seen: Vec<String> = findings.iter().filter_map(|f| f.module.clone()).collect();
            findings.extend(other_definers(resolver, loam, rows, &seen));
            findings.extend(strdup(rows));
            findings.extend(bound_elsewhere(resolver, rows, strays));
            findings.extend(other_mallocs(resolver, program, rows));
            findings.extend(opens_modules(resolver));
        }
    }
    findings
}

/// What a static program's symbols and notes say, if it is not on loam.
pub fn of_static(path: &Path, image: &Image, is_loam: bool) -> Option<Finding> {
    let text = |rest: &str| format!("static executable: {rest}");
    let (kind, text) = if is_loam {
        return None;
    } else if image.is_loam_beside_malloc() {
        return global_allocator(path, image, &[]);
    } else if !image.has_symbol_table {
        (
            FindingKind::Stripped,
            text("stripped of its symbols and without loam's note: its malloc is not loam's"),
        )
    } else {
        (FindingKind::Unreachable, text("its malloc is not loam's; link it with loam.o"))
    };
    let module = Some(shown(path));
    Some(Finding { kind, is_failure: true, module, entry_points: Vec::new(), text })
}

/// A note on how the program was come to.
pub fn of_launcher(launcher: &Path, program: &str) -> Finding {
    let text = format!("{} has executed {program}: this is about that program", launcher.display());
    let module = Some(shown(launcher));
    let kind = FindingKind::Launcher;
    Finding { kind, is_failure: false, module, entry_points: Vec::new(), text }
}

/// A note that what runs a script was inspected, not what the script starts.
pub fn of_script(script: &Path, interpreter: &Path) -> Finding {
    let text = format!(
        "{} is a script: this is about {}, not about programs that the script starts",
        script.display(),
        interpreter.display()
    );
    let module = Some(shown(script));
    let kind = FindingKind::Script;
    Finding { kind, is_failure: false, module, entry_points: Vec::new(), text }
}

fn failure(kind: FindingKind, module: &Module, names: Vec<&'static str>, text: String) -> Finding {
    let module = Some(shown(&module.path));
    Finding { kind, is_failure: true, module, entry_points: names, text }
}

/// The sanitizer of a module, by its symbols if it is the runtime, or by its name.
fn sanitizer_of(module: &Module) -> Option<&'static str> {
    let runs = || module.image.export("malloc").and_then(|_| module.image.sanitizer());
    sanitizer_library(&module.file_name()).or_else(runs)
}

fn sanitizer(resolver: &Resolver) -> Option<Finding> {
    let scope = resolver.process.scope();
    let (module, name) = scope.iter().find_map(|module| Some((module, sanitizer_of(module)?)))?;
    let text = format!(
        "{} holds the runtime of {name}, which serves malloc itself: use a build without \
         -fsanitize",
        module.file_name()
    );
    Some(failure(FindingKind::Sanitizer, module, Vec::new(), text))
}

/// Entry points that the executable defines, exported or not, but for a C++ runtime's operators:
/// those call malloc.
fn own_malloc(program: &Module, is_loam_loaded: bool) -> Option<Finding> {
    let image = &program.image;
    if image.is_loam() || sanitizer_of(program).is_some() {
        return None;
    }
    let symbols = || image.exports.iter().chain(&image.internals);
    let defines = |entry: &EntryPoint| {
        symbols().any(|symbol| entry_points::find(&symbol.name) == Some(entry))
    };
    let names: Vec<&'static str> = ENTRY_POINTS
        .iter()
        .filter(|entry| entry.group == Group::Malloc || !is_cxx_runtime(program))
        .filter(|entry| defines(entry))
        .map(|entry| entry.shown)
        .collect();
    if names.is_empty() {
        return None;
    }
    let mut text = format!(
        "the executable itself defines {}: its own definitions come before loam's",
        list(&names)
    );
    if is_loam_loaded && image.export("malloc").is_some() {
        text += "; loam has stepped aside";
    }
    Some(failure(FindingKind::OwnMalloc, program, names, text))
}

/// A program that loam leaves to the C library's malloc, though its calls lead to loam.
fn listed(process: &Process, loam: &Module) -> Option<Finding> {
    let source = Live::open(process.pid).ok()?;
    let layout = Layout::find(&source).ok()?;
    let state = source.bytes(layout.root("aside").ok()?, 4).ok()?;
    let state = u64::from(u32::from_le_bytes(state.try_into().ok()?));
    let text = "the option aside lists the program: loam has stepped aside, and its blocks are of the \
                C library's malloc";
    (state == layout.number("aside.listed").ok()?)
        .then(|| failure(FindingKind::Aside, loam, Vec::new(), text.to_owned()))
}

/// Loam in the program that malloc does not lead to.
fn global_allocator(path: &Path, image: &Image, rows: &[EntryPointRow]) -> Option<Finding> {
    let malloc = rows.iter().find(|row| row.symbol == "malloc");
    if !image.is_loam_beside_malloc() || malloc.is_some_and(|row| row.loam == Some(true)) {
        return None;
    }
    let holder = malloc.and_then(|row| row.module.as_deref()).unwrap_or("the C library");
    Some(Finding {
        kind: FindingKind::GlobalAllocator,
        is_failure: true,
        module: Some(shown(path)),
        entry_points: vec!["malloc"],
        text: format!(
            "it holds loam under loam's own names alone, as the global allocator of Rust code: \
             that code is on loam, and C code has malloc of {holder}; to serve both, enable the \
             feature 'override' of the crate loam-malloc"
        ),
    })
}

fn not_loaded(rows: &[EntryPointRow]) -> Finding {
    let malloc = rows.iter().find(|row| row.symbol == "malloc");
    let holder = malloc.and_then(|row| row.module.clone());
    let text = match &holder {
        Some(holder) => format!("loam is not loaded: malloc is that of {holder}"),
        None => "loam is not loaded".to_owned(),
    };
    Finding {
        kind: FindingKind::NotLoaded,
        is_failure: true,
        module: holder,
        entry_points: Vec::new(),
        text,
    }
}

/// What a user has to know of a program as it is that has not loaded loam: which path in LD_PRELOAD
/// has had no effect, or how loam gets into it.
pub fn explain_absence(report: &mut Report, preload: Option<&OsStr>) {
    let Some(finding) = report.findings.iter_mut().find(|f| f.kind == FindingKind::NotLoaded)
    else {
        return;
    };
    let is_verdict = report.verdict == finding.text;
    let named = preload.map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
    let paths = named.split([' ', ':']).map(Path::new).filter(|path| path.is_absolute());
    let loaded = |path: &Path| {
        let path = path.canonicalize().map(|path| shown(&path));
        path.is_ok_and(|path| report.modules.iter().any(|module| module.path == path))
    };
    let missed = paths.into_iter().find(|path| !loaded(path));
    finding.text += &match missed {
        Some(path) if !path.exists() => {
            format!("; LD_PRELOAD names {}, which does not exist", path.display())
        }
        Some(path) => {
            format!("; LD_PRELOAD names {}, which was not loaded", path.display())
        }
        None => "; 'loam run' preloads it, and --preloaded verifies that".to_owned(),
    };
    if is_verdict {
        report.verdict.clone_from(&finding.text);
    }
}

/// Modules that define entry points and are found before loam, or instead of it.
fn other_definers(
    resolver: &Resolver,
    loam: &Module,
    rows: &[EntryPointRow],
    seen: &[String],
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let astray = |row: &&EntryPointRow| row.loam == Some(false) && row.name != STRDUP;
    for row in rows.iter().filter(astray) {
        let Some(path) = row.via.as_ref().or(row.module.as_ref()) else { continue };
        let known = findings.iter_mut().find(|finding| finding.module.as_ref() == Some(path));
        match known {
            Some(finding) => finding.entry_points.push(row.name),
            None if seen.contains(path) => {}
            None => {
                let mut modules = resolver.process.modules.iter();
                let Some(module) = modules.find(|module| shown(&module.path) == *path) else {
                    continue;
                };
                let is_ahead = module.order < loam.order || loam.order.is_none();
                let kind =
                    if is_ahead { FindingKind::AheadOfLoam } else { FindingKind::NotCovered };
                findings.push(failure(kind, module, vec![row.name], String::new()));
            }
        }
    }
    for finding in &mut findings {
        let names = list(&finding.entry_points);
        let module = finding.module.as_deref().unwrap_or_default();
        finding.text = match finding.kind {
            FindingKind::AheadOfLoam => format!(
                "{names}: found in {module}, which was loaded before loam, and may pass calls on to \
                 it: if it should not come first, let libloam.so be the first in LD_PRELOAD"
            ),
            _ => format!("{names}: not defined by loam, found in {module}"),
        };
    }
    findings
}

fn strdup(rows: &[EntryPointRow]) -> Option<Finding> {
    let row = |symbol| rows.iter().find(|row: &&EntryPointRow| row.symbol == symbol);
    let (strdup, malloc) = (row("strdup")?, row("malloc")?);
    if strdup.loam != Some(false) || malloc.loam == Some(false) {
        return None;
    }
    let holder = strdup.module.clone();
    let text = format!(
        "{STRDUP} is not loam's: {} calls a malloc of its own",
        strdup.via.as_deref().or(holder.as_deref()).unwrap_or("the C library")
    );
    Some(Finding {
        kind: FindingKind::StrdupUnknown,
        is_failure: true,
        module: holder,
        entry_points: vec![STRDUP],
        text,
    })
}

/// References that lead elsewhere although a lookup would find loam: one finding per module.
fn bound_elsewhere(resolver: &Resolver, rows: &[EntryPointRow], strays: &[Stray]) -> Vec<Finding> {
    let would_find_loam = |stray: &&Stray| {
        let row = rows.iter().find(|row| row.symbol == stray.entry.symbol);
        row.is_none_or(|row| row.loam != Some(false))
    };
    let mut findings = Vec::new();
    for module in &resolver.process.modules {
        let own: Vec<&Stray> = strays
            .iter()
            .filter(|stray| stray.module.start == module.start)
            .filter(would_find_loam)
            .collect();
        let Some(first) = own.first() else { continue };
        let mut names: Vec<&'static str> = own.iter().map(|stray| stray.entry.shown).collect();
        names.sort_unstable();
        names.dedup();
        let (kind, text) = explain(module, first, &list(&names));
        findings.push(failure(kind, module, names, text));
    }
    findings
}

fn explain(module: &Module, stray: &Stray, names: &str) -> (FindingKind, String) {
    let shown_module = module.path.display();
    let Some(target) = stray.target.module else {
        let text = format!(
            "{shown_module}: {names}: lead to code that belongs to no module, a hook set at run \
             time"
        );
        return (FindingKind::Hooked, text);
    };
    let to = format!("{shown_module}: {names}: bound to {}", target.path.display());
    if module.order.is_none() {
        let text = format!(
            "{to}: opened with dlmopen into a namespace of its own, which preloading does not \
             reach"
        );
        (FindingKind::Namespace, text)
    } else if target.start == module.start && module.image.is_symbolic {
        (FindingKind::Symbolic, format!("{to}, itself: linked with -Bsymbolic"))
    } else if module.looks_first_in.is_some() {
        let text = format!(
            "{to}, past loam: opened with RTLD_DEEPBIND, so that it looks in its own libraries \
             first"
        );
        (FindingKind::Deepbind, text)
    } else {
        (FindingKind::BoundElsewhere, format!("{to}, although a lookup now finds loam"))
    }
}

/// Notes on libraries that define malloc although nothing that can be seen leads to them.
fn other_mallocs(resolver: &Resolver, program: &Module, rows: &[EntryPointRow]) -> Vec<Finding> {
    let libc = resolver.definer("strdup").map(|module| module.start);
    let serves = |module: &Module| {
        rows.iter().any(|row| row.loam == Some(false) && row.module == Some(shown(&module.path)))
    };
    let is_noted = |module: &&&Module| {
        module.image.export("malloc").is_some()
            && !module.image.is_loam()
            && module.start != program.start
            && Some(module.start) != libc
            && sanitizer_of(module).is_none()
            && !serves(module)
    };
    let scope = resolver.process.scope();
    let note = |module: &&Module| {
        let text = format!(
            "{} also defines malloc: calls from inside it may not be visible here",
            module.path.display()
        );
        let finding = failure(FindingKind::DefinesMalloc, module, Vec::new(), text);
        Finding { is_failure: false, ..finding }
    };
    scope.iter().filter(is_noted).map(note).collect()
}

/// A note on modules that are not there yet. Nothing is to be said where loam serves dlopen.
fn opens_modules(resolver: &Resolver) -> Option<Finding> {
    if resolver.definer("dlopen").is_some_and(|module| module.image.is_loam()) {
        return None;
    }
    let scope = resolver.process.scope();
    let opening = scope.iter().filter(|module| module.image.opens_modules);
    let names: Vec<String> = opening.map(|module| module.file_name()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let module = scope.iter().find(|module| module.image.opens_modules)?;
    let verb = if names.len() == 1 { "imports" } else { "import" };
    let text = format!(
        "{} {verb} dlopen: modules opened later are not seen here, and bypass loam where they are \
         opened with RTLD_DEEPBIND",
        list(&names)
    );
    let finding = failure(FindingKind::OpensModules, module, Vec::new(), text);
    Some(Finding { is_failure: false, ..finding })
}

/// Calls that a run has seen go past loam. Those that loam makes itself are for blocks that it
/// did not give out.
pub fn of_run(run: &RunReport) -> Option<Finding> {
    let past: Vec<&CallRow> = run.calls.iter().filter(|call| call.is_past_loam()).collect();
    let first = past.first()?;
    let names: BTreeSet<&'static str> = past.iter().map(|call| call.name).collect();
    let names: Vec<&'static str> = names.into_iter().collect();
    let count: u64 = past.iter().map(|call| call.count).sum();
    let text = format!(
        "{count} calls went past loam: {} of {}, first from {}",
        list(&names),
        first.target_module,
        first.function.as_deref().or(first.module.as_deref()).unwrap_or("code in no module"),
    );
    Some(Finding {
        kind: FindingKind::PastLoam,
        is_failure: true,
        module: first.module.clone(),
        entry_points: names,
        text,
    })
}
