//! `loam stats`: figures of a process, by jemalloc's names.

mod figures; // as data and JSON
mod prometheus; // as Prometheus reads them
mod text; // as text

use crate::arguments::StatsArguments;
use crate::failure::Failure;
use crate::heap::read::read;
use anyhow::Context;
use figures::Stats;
use std::io::Write;
use std::process::ExitCode;

pub fn stats(arguments: &StatsArguments) -> Result<ExitCode, Failure> {
    let (source, figures) = read(&arguments.target)?;
    let stats = Stats::of(source.process(), &figures);
    let output = if arguments.json {
        serde_json::to_string_pretty(&stats).context("cannot write JSON")? + "\n"
    } else if arguments.prometheus {
        prometheus::render(&stats)
    } else {
        text::render(&stats)
    };
    std::io::stdout().write_all(output.as_bytes()).context("cannot write to standard output")?;
    Ok(ExitCode::SUCCESS)
}
