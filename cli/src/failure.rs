//! Errors with the exit status that they end in. One line each, on standard error.

use nix::errno::Errno;
use std::error::Error;
use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// Bad usage, and anything that keeps a verb from its work.
pub const USAGE: u8 = 2;
/// `run` itself failed or refused; the program was not started. As env(1) does.
pub const REFUSED: u8 = 125;
/// The program was found and cannot be executed. As env(1) does.
pub const NOT_EXECUTABLE: u8 = 126;
/// The program was not found. As env(1) does.
pub const NOT_FOUND: u8 = 127;

#[derive(Debug)]
pub struct Failure {
    pub status: u8,
    pub cause: anyhow::Error,
}

impl Failure {
    pub fn new(status: u8, text: impl Display) -> Self {
        let cause = anyhow::anyhow!("{text}");
        Failure { status, cause }
    }

    /// Prints the one line and gives the status.
    pub fn report(&self) -> ExitCode {
        complain(in_one_line(&self.cause));
        ExitCode::from(self.status)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(cause: anyhow::Error) -> Self {
        Failure { status: USAGE, cause }
    }
}

/// A line on standard error. Where standard error is closed there is nobody to tell.
pub fn complain(text: impl Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "loam: {text}");
}

/// What could not be done, and why: `cannot read FILE: permission denied`.
pub fn in_one_line(error: &anyhow::Error) -> String {
    error.chain().map(text_of).collect::<Vec<_>>().join(": ")
}

fn text_of(cause: &(dyn Error + 'static)) -> String {
    if let Some(cause) = cause.downcast_ref::<io::Error>() {
        return reason(cause);
    }
    match cause.downcast_ref::<Errno>() {
        Some(errno) => reason_of_errno(*errno),
        None => without_number(&cause.to_string()),
    }
}

/// Why the system refused, in words alone: who reads it has no table of error numbers.
pub fn reason(cause: &io::Error) -> String {
    match (cause.raw_os_error(), cause.kind()) {
        (Some(number), _) => reason_of_errno(Errno::from_raw(number)),
        (None, io::ErrorKind::NotFound) if cause.get_ref().is_none() => {
            reason_of_errno(Errno::ENOENT)
        }
        _ => without_number(&cause.to_string()),
    }
}

pub fn reason_of_errno(errno: Errno) -> String {
    lower_first(errno.desc())
}

/// Other crates put the system's text into theirs, some with a path of their own behind it.
fn without_number(text: &str) -> String {
    let Some((before, number)) = text.split_once(" (os error ") else { return text.to_owned() };
    let (_, after) = number.split_once(')').unwrap_or_default();
    let after = if after.starts_with(" at path ") { "" } else { after };
    let is_systems_alone = !before.contains(": ");
    let before = if is_systems_alone { lower_first(before) } else { before.to_owned() };
    format!("{before}{after}")
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    fn said<T: std::fmt::Debug>(outcome: anyhow::Result<T>) -> String {
        in_one_line(&outcome.expect_err("an error"))
    }

    #[test]
    fn errors_have_one_style_whichever_crate_they_are_from() {
        let denied = || io::Error::from_raw_os_error(nix::libc::EACCES);
        let expected = "cannot read x: permission denied";
        assert_eq!(said(Err::<(), _>(denied()).context("cannot read x")), expected);
        assert_eq!(said(Err::<(), _>(Errno::EACCES).context("cannot read x")), expected);
        let kind = io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(said(Err::<(), _>(kind).context("cannot read x")), expected);
        let missing = io::Error::from(io::ErrorKind::NotFound);
        assert_eq!(said(Err::<(), _>(missing).context("x")), "x: no such file or directory");
        let wrapped = io::Error::other(format!("{} at path y", denied()));
        assert_eq!(said(Err::<(), _>(wrapped).context("x")), "x: permission denied");
        let named = io::Error::other(format!("part z: {}, so", denied()));
        assert_eq!(said(Err::<(), _>(named).context("x")), "x: part z: Permission denied, so");
    }
}
