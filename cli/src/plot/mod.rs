//! `loam plot`: draws the memory of a process, or a recording, as a page for a browser, or as one
//! picture.

mod recording; // what a recording holds, as pictures

use crate::account::report::Report;
use crate::account::sums::Account;
use crate::arguments::PlotArguments;
use crate::failure::Failure;
use crate::heap::read::read;
use crate::picture::heap::Heap;
use crate::picture::heap_still;
use crate::picture::still::mark::Still;
use crate::picture::still::{png, svg};
use crate::replace;
use anyhow::{Result, bail};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

pub fn plot(arguments: &PlotArguments) -> Result<ExitCode, Failure> {
    let target = &arguments.target;
    let files = match &arguments.other {
        Some(other) => recordings(&[Path::new(target), other], arguments)?,
        None if is_number(target) || is_core(Path::new(target)) => heap(target, arguments)?,
        None => recordings(&[Path::new(target)], arguments)?,
    };
    let files: Vec<_> = files.iter().map(|(path, bytes)| (*path, &bytes[..])).collect();
    replace::files(&files)?;
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

/// What is to be written, and where.
type Files<'a> = Vec<(&'a Path, Vec<u8>)>;

fn recordings<'a>(paths: &[&Path], arguments: &'a PlotArguments) -> Result<Files<'a>> {
    let all = paths.iter().map(|path| recording::read(path, arguments.at));
    let all = all.collect::<Result<Vec<_>>>()?;
    drawn(arguments, || recording::render(&all), || recording::draw(&all))
}

fn heap<'a>(target: &OsStr, arguments: &'a PlotArguments) -> Result<Files<'a>> {
    if arguments.at.is_some() {
        bail!("--at is for recordings: a process is drawn as it is");
    }
    let (source, figures) = read(target)?;
    let report = Report::of(&Account::of(source.process(), &figures), &figures);
    let heap = Heap::read(source.as_ref(), &report, &figures);
    drawn(arguments, || heap.page(), || heap_still::draw(&heap))
}

/// As the arguments want it.
fn drawn<'a>(
    arguments: &'a PlotArguments,
    page: impl FnOnce() -> Result<String>,
    still: impl FnOnce() -> Still,
) -> Result<Files<'a>> {
    let mut files = Files::new();
    if let Some(path) = &arguments.html {
        files.push((path, page()?.into_bytes()));
    }
    if arguments.svg.is_none() && arguments.png.is_none() {
        return Ok(files);
    }
    let still = still();
    if let Some(path) = &arguments.svg {
        files.push((path, svg::of(&still)?));
    }
    if let Some(path) = &arguments.png {
        files.push((path, png::of(&still)?));
    }
    Ok(files)
}
