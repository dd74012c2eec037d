//! `loam plot`: draws the memory of a process, or a recording, as a page for a browser.

mod recording; // what a recording holds, as pictures

use crate::account::report::Report;
use crate::account::sums::Account;
use crate::arguments::PlotArguments;
use crate::failure::Failure;
use crate::heap::chosen;
use crate::heap::walk::walk;
use crate::{picture, replace};
use anyhow::Result;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

pub fn plot(arguments: &PlotArguments) -> Result<ExitCode, Failure> {
    let target = &arguments.target;
    let page = match &arguments.other {
        Some(other) => recordings(&[Path::new(target), other])?,
        None if is_number(target) || is_core(Path::new(target)) => heap(target)?,
        None => recordings(&[Path::new(target)])?,
    };
    replace::file(&arguments.html, &page)?;
    Ok(ExitCode::SUCCESS)
}

/// A file whose name is one needs a path: `./4711`.
fn is_number(target: &OsStr) -> bool {
    target.to_str().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_core(path: &Path) -> bool {
    let mut first = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == *b"\x7fELF"
}

fn recordings(paths: &[&Path]) -> Result<String> {
    let all = paths.iter().map(|path| recording::read(path)).collect::<Result<Vec<_>>>()?;
    recording::render(&all)
}

fn heap(target: &OsStr) -> Result<String> {
    let source = chosen::open(target)?;
    let figures = walk(source.as_ref())?;
    let report = Report::of(&Account::of(source.process(), &figures), &figures);
    picture::heap::draw(source.as_ref(), &report, &figures)
}
