//! Whether a program really gets an allocator's malloc. Found out before anything is measured: the
//! program is started, stopped before main and looked at, as `loam verify` does.

use crate::bench::measure::allocators::Allocator;
use crate::binary::entry_points;
use crate::failure::in_one_line;
use crate::process::binding::Resolver;
use crate::process::launch;
use crate::process::launch::Target;
use crate::process::modules::Process;
use crate::process::trace::{Stopped, Streams, no_launcher};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a trial has shown.
#[derive(Debug, PartialEq, Eq)]
pub enum Trial {
    Works,
    /// It runs, but some of its malloc calls lead elsewhere; the text says where.
    Partly(String),
    /// Not a measurement of this allocator.
    NoEffect(String),
    /// The system's own is wanted, and a library that the program is linked with has another: the
    /// C library has to be preloaded before it.
    Behind(PathBuf),
}

/// The functions that decide.
const DECIDING: [&str; 4] = ["malloc", "free", "calloc", "realloc"];

/// Starts the command under the allocator as far as main.
pub fn trial(
    command: &[OsString],
    environment: &[(OsString, OsString)],
    allocator: &Allocator,
) -> Result<Trial> {
    let name = command.first().context("no program")?;
    let found = launch::find(name).map_err(|failure| failure.cause)?;
    let path = found.canonicalize().with_context(|| format!("cannot find {}", found.display()))?;
    let target = launch::resolve(&path, command).map_err(|failure| failure.cause)?;
    if let Some(obstacle) = obstacle(&target, allocator) {
        return Ok(obstacle);
    }
    let mut variables: Vec<(OsString, OsString)> = vec![("LD_BIND_NOW".into(), "1".into())];
    variables.extend(environment.iter().cloned());
    variables.extend(allocator.variables());
    let variables: Vec<(&str, OsString)> = variables
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value.clone())))
        .collect();
    let stopped = match Stopped::start(&target, &variables, Streams::Closed, no_launcher) {
        Ok(stopped) => stopped,
        Err(cause) => return Ok(Trial::NoEffect(format!("crashes: {}", in_one_line(&cause)))),
    };
    looked_at(&Process::open(stopped.pid())?, allocator)
}

/// Why no allocator can be put into a command, so that there is nothing to compare.
pub fn incomparable(command: &[OsString]) -> Option<String> {
    let found = launch::find(command.first()?).ok()?;
    let target = launch::resolve(&found.canonicalize().ok()?, command).ok()?;
    let shown = target.path.display();
    let Some(image) = &target.image else {
        let is_foreign = launch::is_for_windows(&target.path);
        return is_foreign.then(|| launch::cannot_run(&target.path, ""));
    };
    if image.is_library {
        return Some(format!("{shown} is a shared library, not a program"));
    }
    let why = if let Some(sanitizer) = image.sanitizer() {
        format!("is built with {sanitizer}, which keeps its own malloc; build it without")
    } else if image.interpreter.is_none() {
        "is statically linked, so that no allocator can be put into it; link it with each, and \
         compare the programs by hyperfine or perf"
            .to_owned()
    } else if crate::binary::reach::defines_malloc(image) || image.is_loam() {
        "has a malloc of its own inside, which it keeps under every allocator; build it without"
            .to_owned()
    } else {
        return None;
    };
    Some(format!("cannot compare allocators on {shown}: it {why}"))
}

/// What keeps any preload from working, where the allocator needs one.
fn obstacle(target: &Target, allocator: &Allocator) -> Option<Trial> {
    let shown = target.path.display();
    let Some(image) = &target.image else {
        return Some(Trial::Partly(format!("{shown} could not be read: not checked")));
    };
    let brings_own = crate::binary::reach::defines_malloc(image) || image.is_loam();
    if allocator.library.is_none() {
        let own = image.sanitizer().or(brings_own.then_some("a malloc of its own"))?;
        return Some(Trial::Partly(format!("{shown} uses {own}")));
    }
    if image.interpreter.is_none() {
        return Some(Trial::NoEffect(format!("{shown} is statically linked: nothing to preload")));
    }
    if let Some(sanitizer) = image.sanitizer() {
        return Some(Trial::NoEffect(format!("{shown} is built with {sanitizer}")));
    }
    brings_own.then(|| Trial::NoEffect(format!("{shown} uses a malloc of its own")))
}

fn looked_at(process: &Process, allocator: &Allocator) -> Result<Trial> {
    let resolver = Resolver::new(process);
    let program = process.program()?;
    for name in DECIDING {
        let entry = entry_points::find(name).context("an entry point that is not known")?;
        let module = resolver.look_up(entry).and_then(|target| target.module);
        let holder = module.map(|module| module.path.as_path());
        let Some(library) = &allocator.library else {
            return Ok(of_system(process, &resolver, holder));
        };
        if holder != Some(library.as_path()) {
            let actual = holder.map_or("nobody".into(), |path| path.display().to_string());
            return Ok(Trial::NoEffect(format!(
                "cannot be preloaded: {name} stays that of {actual}"
            )));
        }
    }
    let strays = strays(process, &resolver, allocator.library.as_deref())?;
    Ok(match strays.first() {
        Some(stray) if allocator.library.is_some() => {
            Trial::Partly(format!("{stray} (in {})", program.file_name()))
        }
        _ => Trial::Works,
    })
}

/// The system's own, by the file that malloc leads to.
fn of_system(process: &Process, resolver: &Resolver, holder: Option<&Path>) -> Trial {
    let libc = resolver.definer("fopen").map(|module| module.path.clone());
    match (holder, libc) {
        (Some(holder), Some(libc)) if holder != libc && holder != process.executable => {
            Trial::Behind(libc)
        }
        _ => Trial::Works,
    }
}

/// Modules whose calls lead elsewhere, in words.
fn strays(process: &Process, resolver: &Resolver, library: Option<&Path>) -> Result<Vec<String>> {
    let mut strays = Vec::new();
    for module in &process.modules {
        if Some(module.path.as_path()) == library {
            continue;
        }
        for slot in module.image.slots.iter().filter(|slot| DECIDING.contains(&slot.entry.symbol)) {
            let bound = resolver.follow(module, slot)?;
            let Some(holder) = bound.target.and_then(|target| target.module) else { continue };
            if Some(holder.path.as_path()) != library && holder.path != module.path {
                let name = slot.entry.symbol;
                let text = format!("{} calls {name} of {}", module.file_name(), holder.file_name());
                strays.push(text);
            }
        }
    }
    Ok(strays)
}
