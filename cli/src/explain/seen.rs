//! A process or a core, read, and what is said of it.

use crate::account::report::Report;
use crate::account::sums::Account;
use crate::heap;
use crate::heap::figures::Figures;
use crate::heap::source::Source;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::io::Write;

pub fn read(target: &OsStr) -> Result<(Box<dyn Source>, Figures, Report)> {
    let (source, figures) = heap::read::read(target)?;
    let report = Report::of(&Account::of(source.process(), &figures), &figures);
    Ok((source, figures, report))
}

pub fn put(output: &str) -> Result<()> {
    std::io::stdout().write_all(output.as_bytes()).context("cannot write to standard output")
}
