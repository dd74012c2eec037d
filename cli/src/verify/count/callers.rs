//! Who calls: the function that a return address lies in, and of the C library the function that
//! was called from outside.

use crate::binary::entry_points;
use crate::process::modules::{Module, Process};
use crate::verify::count::functions::Functions;
use crate::verify::count::unwind::{Frame, Row, Rules};
use crate::verify::report::CallerPart;
use anyhow::Result;
use nix::libc::user_regs_struct;
use nix::sys::ptrace::{self, AddressType};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Caller {
    pub part: CallerPart,
    pub module: Option<String>,
    pub function: Option<String>,
}

/// How far up a stack the C library's function is looked for.
const FRAME_COUNT_MAX: usize = 40;
/// The same in static programs, where nothing tells when the C library has been left.
const STATIC_FRAME_COUNT_MAX: usize = 6;

/// Functions of C libraries that allocate, with the internal names that their code has in static
/// programs, where no file tells the library from the program.
const LIBC_FUNCTIONS: &[(&str, &[&str])] = &[
    ("strdup", &["strdup", "__strdup", "strndup", "__strndup"]),
    ("getline", &["getline", "__getline", "getdelim", "__getdelim", "_IO_getdelim"]),
    ("fopen", &["fopen", "fopen64", "__fopen_internal", "_IO_new_fopen", "_IO_fopen64"]),
    ("fdopen", &["fdopen", "__fdopen", "_IO_new_fdopen"]),
    ("fclose", &["fclose", "_IO_new_fclose", "_IO_fclose"]),
    ("setenv", &["setenv", "__setenv", "__add_to_environ", "__env_rm_add"]),
    ("putenv", &["putenv", "__putenv"]),
    ("getaddrinfo", &["getaddrinfo", "gaih_inet", "gaih_inet.constprop.0"]),
    ("freeaddrinfo", &["freeaddrinfo"]),
    ("open_memstream", &["open_memstream", "__open_memstream", "ms_write", "ms_close"]),
    ("dlerror", &["dlerror", "__dlerror", "__dl_vseterr", "__dl_seterr", "_dlerror_run"]),
    ("dlopen", &["dlopen", "__dlopen", "dlopen_implementation"]),
    ("newlocale", &["newlocale", "__newlocale"]),
    ("duplocale", &["duplocale", "__duplocale"]),
    ("freelocale", &["freelocale", "__freelocale"]),
    (
        "setlocale",
        &["setlocale", "__setlocale", "__get_locale", "_nl_find_locale", "new_composite_name"],
    ),
    ("asprintf", &["asprintf", "vasprintf", "__asprintf", "__vasprintf_internal"]),
    ("pthread_create", &["pthread_create", "__pthread_create", "_dl_allocate_tls"]),
    ("printf", &["printf", "puts", "_IO_puts", "fprintf", "_IO_file_doallocate"]),
    ("opendir", &["opendir", "__opendir", "__alloc_dir"]),
    ("getcwd", &["getcwd", "__getcwd"]),
    ("realpath", &["realpath", "__realpath"]),
    ("tzset", &["tzset", "__tzset", "tzset_internal", "do_tzset"]),
    ("atexit", &["atexit", "__cxa_atexit", "__new_exitfn"]),
    ("regcomp", &["regcomp", "__regcomp", "re_compile_internal"]),
    ("qsort", &["qsort", "qsort_r", "__qsort_r"]),
];

/// The C library's public name for one of its functions.
fn libc_function(name: &str) -> Option<&'static str> {
    let has = |(_, names): &&(&str, &[&str])| names.contains(&name);
    LIBC_FUNCTIONS.iter().find(has).map(|(public, _)| *public)
}

pub struct Callers {
    process: Process,
    files: HashMap<PathBuf, (Functions, Rules)>,
    found: Vec<Caller>,
    /// By return address, where the rest of the stack says nothing more.
    known: HashMap<u64, usize>,
}

impl Callers {
    pub fn new(process: Process) -> Callers {
        Callers { process, files: HashMap::new(), found: Vec::new(), known: HashMap::new() }
    }

    pub fn get(&self, index: usize) -> &Caller {
        &self.found[index]
    }

    /// The caller of a function that a thread is about to begin.
    pub fn of(&mut self, thread: Pid, at_begin: &user_regs_struct, from: u64) -> Result<usize> {
        if let Some(index) = self.known.get(&from) {
            return Ok(*index);
        }
        if self.process.module_at(from).is_none() {
            // A library that was opened since.
            if let Ok(process) = Process::open(thread.as_raw()) {
                self.process = process;
            }
        }
        let frame = Frame::of_caller(at_begin, from);
        let (caller, depends_on_stack) = self.find(thread, frame)?;
        let index = match self.found.iter().position(|other| *other == caller) {
            Some(index) => index,
            None => {
                self.found.push(caller);
                self.found.len() - 1
            }
        };
        if !depends_on_stack {
            self.known.insert(from, index);
        }
        Ok(index)
    }

    /// The caller, and whether another stack may give another one for the same return address.
    fn find(&mut self, thread: Pid, frame: Frame) -> Result<(Caller, bool)> {
        let Some(place) = self.place(&frame) else {
            let part = CallerPart::Unknown;
            return Ok((Caller { part, module: None, function: None }, false));
        };
        let (functions, _) = opened(&mut self.files, &place.path)?;
        let mut function = best(functions.names_at(place.call));
        let mut part = place.part;
        if functions.names_at(place.call).any(is_entry_point) {
            part = CallerPart::EntryPoint;
        }
        let is_static_code = part == CallerPart::Program && self.process.is_static();
        let depends_on_stack = is_static_code || part == CallerPart::Libc;
        if is_static_code {
            if let Some(public) = self.known_above(thread, frame)? {
                (part, function) = (CallerPart::Libc, Some(public.to_owned()));
            }
        } else if part == CallerPart::Libc {
            function = self.outermost(thread, frame)?;
        }
        let module = Some(place.path.display().to_string());
        Ok((Caller { part, module, function }, depends_on_stack))
    }

    /// The C library's function that was called from outside of it.
    fn outermost(&mut self, thread: Pid, mut frame: Frame) -> Result<Option<String>> {
        let mut function = None;
        for _ in 0..FRAME_COUNT_MAX {
            let Some(place) = self.place(&frame) else { break };
            if place.part != CallerPart::Libc {
                break;
            }
            let (functions, rules) = opened(&mut self.files, &place.path)?;
            function = best(functions.names_at(place.call)).or(function);
            match leave(thread, &frame, rules.at(functions, place.call)) {
                Some(above) => frame = above,
                None => break,
            }
        }
        Ok(function.map(|name| libc_function(&name).map_or(name, str::to_owned)))
    }

    /// The first function up the stack of a static program that is known as the C library's.
    fn known_above(&mut self, thread: Pid, mut frame: Frame) -> Result<Option<&'static str>> {
        for _ in 0..STATIC_FRAME_COUNT_MAX {
            let Some(place) = self.place(&frame) else { break };
            let (functions, rules) = opened(&mut self.files, &place.path)?;
            if let Some(public) = functions.names_at(place.call).find_map(libc_function) {
                return Ok(Some(public));
            }
            match leave(thread, &frame, rules.at(functions, place.call)) {
                Some(above) => frame = above,
                None => break,
            }
        }
        Ok(None)
    }

    fn place(&self, frame: &Frame) -> Option<Place> {
        let address = frame.return_address();
        let module = self.process.module_at(address)?;
        Some(Place {
            path: module.path.clone(),
            part: part(&self.process, module),
            call: address.wrapping_sub(module.bias).wrapping_sub(1),
        })
    }
}

/// Where a frame goes on.
struct Place {
    path: PathBuf,
    part: CallerPart,
    /// An address of the file within the call, which stands before the return address and may be
    /// a function's last instruction.
    call: u64,
}

fn leave(thread: Pid, frame: &Frame, row: Option<&Row>) -> Option<Frame> {
    let read = |address: u64| ptrace::read(thread, address as AddressType).ok();
    frame.leave(row?, |address| read(address).map(i64::cast_unsigned))
}

fn opened<'a>(
    files: &'a mut HashMap<PathBuf, (Functions, Rules)>,
    path: &Path,
) -> Result<&'a mut (Functions, Rules)> {
    if !files.contains_key(path) {
        files.insert(path.to_owned(), (Functions::read(path)?, Rules::default()));
    }
    files.get_mut(path).ok_or_else(|| anyhow::anyhow!("{} is not open", path.display()))
}

/// The name that says most: one of the C library's public ones, else one without an underscore.
fn best<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let rank = |name: &&str| (libc_function(name).is_none(), name.starts_with('_'), name.len());
    names.min_by_key(rank).map(str::to_owned)
}

/// Functions of the family that call others of it do not count as callers.
fn is_entry_point(name: &str) -> bool {
    entry_points::find(name).is_some() || name.starts_with("loam_") || name.starts_with("lm_")
}

fn part(process: &Process, module: &Module) -> CallerPart {
    let is_program = process.program().is_ok_and(|program| program.start == module.start);
    let image = &module.image;
    if is_program {
        CallerPart::Program
    } else if image.is_loam() {
        CallerPart::EntryPoint
    } else if image.export("__libc_start_main").is_some() || image.export("_r_debug").is_some() {
        CallerPart::Libc
    } else {
        CallerPart::Library
    }
}
