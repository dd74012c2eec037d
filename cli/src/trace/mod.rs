//! `loam trace`: what a recording says, and recordings of other tools.

mod call; // what other tools' lines have in common
mod figures; // what a recording adds up to
mod import; // recordings of other tools
mod memory_replay; // Android's text
mod mtrace; // glibc's text
mod recover; // what is whole of a recording that was cut off
mod text; // the figures, as text

use crate::arguments::{TraceArguments, TraceStatsArguments, TraceVerb};
use crate::failure::Failure;
use crate::recording::reader::Reader;
use anyhow::{Context, Result};
use std::io::Write;
use std::process::ExitCode;

pub fn trace(arguments: &TraceArguments) -> Result<ExitCode, Failure> {
    match &arguments.verb {
        TraceVerb::Stats(arguments) => stats(arguments)?,
        TraceVerb::Import(arguments) => import::import(&arguments.file, &arguments.output)?,
        TraceVerb::Recover(arguments) => recover::recover(&arguments.file, &arguments.output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn stats(arguments: &TraceStatsArguments) -> Result<()> {
    let reader = Reader::open(&arguments.file)?;
    let figures = figures::of(&reader)?;
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&figures).context("cannot write JSON")? + "\n",
        false => text::render(&figures),
    };
    std::io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")
}
