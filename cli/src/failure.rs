//! Errors with the exit status that they end in. One line each, on standard error.

use std::fmt::Display;
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
        complain(format_args!("{:#}", self.cause));
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
