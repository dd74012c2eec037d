//! Puts a program in the place of this process.

use crate::failure::{
    Failure, NOT_EXECUTABLE, NOT_FOUND, REFUSED, complain, in_one_line, reason_of_errno,
};
use crate::process::{inherited, launch};
use anyhow::Context;
use nix::errno::Errno;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// In a process that has been forked for it. Comes back where that cannot be done, which has been
/// said then, with the status to end with.
pub fn become_child(path: &Path, command: &[OsString], added: &[(&str, OsString)]) -> u8 {
    let failure = match inherited::restore_sigpipe().context("cannot restore SIGPIPE") {
        Ok(()) => execute(path, command, added),
        Err(cause) => Err(cause),
    };
    let failure = failure.unwrap_or_else(|cause| Failure { status: REFUSED, cause });
    complain(in_one_line(&failure.cause));
    failure.status
}

/// Replaces this process. Comes back only with the reason why it could not.
pub fn execute(
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
