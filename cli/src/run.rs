//! `loam run`: the program with loam preloaded, in the place of this command.

use crate::arguments::RunArguments;
use crate::failure::{Failure, NOT_EXECUTABLE, NOT_FOUND, REFUSED, complain, reason_of_errno};
use crate::launch::{self, Target};
use crate::library::Library;
use crate::{inherited, reach};
use anyhow::Context;
use nix::errno::Errno;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

pub fn run(arguments: &RunArguments) -> Result<ExitCode, Failure> {
    let refused = |cause| Failure { status: REFUSED, cause };
    let command = &arguments.command;
    let path = launch::find(&command[0])?;
    let target = launch::resolve(&path, command)?;
    let carries_loam = target.image.as_ref().is_some_and(|image| image.is_loam());
    let mut environment: Vec<(&str, OsString)> = Vec::new();
    if !carries_loam {
        let library = Library::locate(arguments.library.library.as_deref()).map_err(refused)?;
        refuse_unreachable(&target, &library)?;
        environment.push(("LD_PRELOAD", launch::preload(&library)));
    }
    let stats = arguments.stats.map(|format| format.option().to_owned());
    let added: Vec<String> = stats.into_iter().chain(arguments.options.iter().cloned()).collect();
    if let Some(options) = launch::options(&added) {
        environment.push(("LOAM_OPTIONS", options));
    }
    inherited::restore_sigpipe().context("cannot restore SIGPIPE").map_err(refused)?;
    Err(execute(&path, command, &environment).unwrap_or_else(refused))
}

fn refuse_unreachable(target: &Target, library: &Library) -> Result<(), Failure> {
    if let Some(image) = &target.image {
        return match reach::obstacle(&target.path, image, library) {
            Some(obstacle) => Err(Failure::new(REFUSED, obstacle)),
            None => Ok(()),
        };
    }
    if let Some(cause) = &target.unreadable {
        complain(format_args!("{cause}: not checked whether loam can serve it"));
    }
    Ok(())
}

/// Replaces this process. Comes back only with the reason why it could not.
fn execute(
    path: &Path,
    command: &[OsString],
    added: &[(&str, OsString)],
) -> anyhow::Result<Failure> {
    let argv = command.iter().map(|text| c_string(text)).collect::<Result<Vec<_>, _>>()?;
    let kept = std::env::vars_os().filter(|(name, _)| added.iter().all(|(other, _)| name != other));
    let added = added.iter().map(|(name, value)| (OsString::from(name), value.clone()));
    let environment = kept
        .chain(added)
        .map(|(name, value)| c_string(&[name, value].join(OsStr::new("="))))
        .collect::<Result<Vec<_>, _>>()?;
    let program = c_string(path.as_os_str())?;
    let errno = match nix::unistd::execve(&program, &argv, &environment) {
        Err(Errno::ENOEXEC) => execute_by_shell(&program, &argv, &environment),
        Err(errno) => errno,
        Ok(never) => match never {},
    };
    let status = if errno == Errno::ENOENT { NOT_FOUND } else { NOT_EXECUTABLE };
    let hint = match errno {
        // The file was there a moment ago: it is what the file asks for that is missing.
        Errno::ENOENT => " (the loader or interpreter that it names is missing)",
        _ => "",
    };
    Ok(Failure::new(status, launch::cannot_run(path, &(reason_of_errno(errno) + hint))))
}

/// A script without a `#!` line is the shell's, as execvp(3) has it.
fn execute_by_shell(program: &CString, argv: &[CString], environment: &[CString]) -> Errno {
    if !is_text(Path::new(OsStr::from_bytes(program.as_bytes()))) {
        return Errno::ENOEXEC;
    }
    let shell = [c"sh".to_owned(), program.clone()];
    let argv: Vec<CString> = shell.into_iter().chain(argv.iter().skip(1).cloned()).collect();
    match nix::unistd::execve(c"/bin/sh", &argv, environment) {
        Err(errno) => errno,
        Ok(never) => match never {},
    }
}

fn is_text(path: &Path) -> bool {
    const START_BYTES: u64 = 128;
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(START_BYTES).read_to_end(&mut start));
    read.is_ok() && !start.contains(&0) && !start.starts_with(b"\x7fELF")
}

fn c_string(text: &OsStr) -> anyhow::Result<CString> {
    CString::new(text.as_bytes()).context("an argument holds a zero byte")
}
