//! `loam explain`: where the resident memory of a process is.

mod change; // what has grown between two reports
mod change_text; // that as text
mod seen; // a process, read, and what is said of it
mod several; // several processes
mod several_text; // those as text
mod text; // the report as text
mod watch; // a line each so often

use crate::arguments::ExplainArguments;
use crate::failure::Failure;
use crate::picture::heap::Heap;
use crate::replace;
use anyhow::Context;
use change::Change;
use seen::{put, read};
use serde::Serialize;
use std::process::ExitCode;

pub fn explain(arguments: &ExplainArguments) -> Result<ExitCode, Failure> {
    let target = &arguments.target;
    if let Some(every) = arguments.watch {
        return watch::watch(target, every);
    }
    if arguments.tree || arguments.cgroup {
        let several = match arguments.tree {
            true => several::of_tree(target)?,
            false => several::of_group(target)?,
        };
        return print(arguments, &several, several_text::render);
    }
    let (source, figures, report) = read(target)?;
    if let Some(earlier) = &arguments.compare {
        let change = Change::since(earlier, &report)?;
        return print(arguments, &change, change_text::render);
    }
    if let Some(path) = &arguments.html {
        replace::file(path, &Heap::read(source.as_ref(), &report, &figures).page()?)?;
    }
    print(arguments, &report, text::render)
}

fn print<Data: Serialize>(
    arguments: &ExplainArguments,
    data: &Data,
    render: impl Fn(&Data) -> String,
) -> Result<ExitCode, Failure> {
    let output = match arguments.json {
        true => serde_json::to_string_pretty(data).context("cannot write JSON")? + "\n",
        false => render(data),
    };
    put(&output)?;
    Ok(ExitCode::SUCCESS)
}
