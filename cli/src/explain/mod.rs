//! `loam explain`: where the resident memory of a process is.

mod account; // the whole process: loam's memory, and what is not loam's
mod advice; // what that means, and what to do, in words
mod report; // as data and JSON
mod text; // as text

use crate::arguments::ExplainArguments;
use crate::failure::Failure;
use crate::heap::chosen;
use crate::heap::walk::walk;
use account::Account;
use anyhow::Context;
use report::Report;
use std::io::Write;
use std::process::ExitCode;

pub fn explain(arguments: &ExplainArguments) -> Result<ExitCode, Failure> {
    let source = chosen::open(&arguments.target)?;
    let figures = walk(source.as_ref())?;
    let account = Account::of(source.process(), &figures);
    let report = Report::of(&account, &figures);
    let output = if arguments.json {
        report.to_json().context("cannot write JSON")? + "\n"
    } else {
        text::render(&report)
    };
    std::io::stdout().write_all(output.as_bytes()).context("cannot write to standard output")?;
    Ok(ExitCode::SUCCESS)
}
