//! `loam explain`: where the resident memory of a process is.

mod text; // the report as text

use crate::account::report::Report;
use crate::account::sums::Account;
use crate::arguments::ExplainArguments;
use crate::failure::Failure;
use crate::heap::chosen;
use crate::heap::walk::walk;
use crate::picture::heap::Heap;
use crate::replace;
use anyhow::Context;
use std::io::Write;
use std::process::ExitCode;

pub fn explain(arguments: &ExplainArguments) -> Result<ExitCode, Failure> {
    let source = chosen::open(&arguments.target)?;
    let figures = walk(source.as_ref())?;
    let account = Account::of(source.process(), &figures);
    let report = Report::of(&account, &figures);
    if let Some(path) = &arguments.html {
        replace::file(path, &Heap::read(source.as_ref(), &report, &figures).page()?)?;
    }
    let output = if arguments.json {
        report.to_json().context("cannot write JSON")? + "\n"
    } else {
        text::render(&report)
    };
    std::io::stdout().write_all(output.as_bytes()).context("cannot write to standard output")?;
    Ok(ExitCode::SUCCESS)
}
