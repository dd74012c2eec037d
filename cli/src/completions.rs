//! `loam completions SHELL`: a completion script, from the definition of the command line.

use crate::arguments::{CompletionsArguments, definition};
use crate::failure::Failure;
use anyhow::Context;
use std::io::Write;
use std::process::ExitCode;

pub fn write(arguments: &CompletionsArguments) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut definition(), "loam", &mut script);
    std::io::stdout().write_all(&script).context("cannot write to standard output")?;
    Ok(ExitCode::SUCCESS)
}
