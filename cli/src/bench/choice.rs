//! The allocators there are, and those that take part.

use crate::arguments::MeasuringArguments;
use crate::bench::measure::allocators::{self, Allocator, Places};
use anyhow::Result;
use std::path::PathBuf;
use std::process::ExitCode;

/// All allocators there are.
pub fn find_allocators(arguments: &MeasuringArguments) -> Vec<Allocator> {
    let beside = || {
        let command = crate::binary::itself::path().ok()?;
        let folder = command.parent()?.join("../peers");
        folder.is_dir().then_some(folder)
    };
    let peers: Option<PathBuf> = arguments.peers.clone().or_else(beside);
    let loam = arguments.library.library.as_deref();
    allocators::find_all(&Places { peers: peers.as_deref(), loam, added: &arguments.allocators })
}

/// The allocators asked for, and the baseline in front if it is not among them.
pub fn with_baseline(
    all: Vec<Allocator>,
    names: Option<&[String]>,
    baseline: &str,
) -> Result<Vec<Allocator>> {
    let is_there = |list: &[Allocator]| list.iter().any(|allocator| allocator.name == baseline);
    let chosen = allocators::choose(all.clone(), names)?;
    if is_there(&chosen) {
        return Ok(chosen);
    }
    let mut with = allocators::choose(all, Some(&[baseline.to_owned()]))?;
    with.extend(chosen);
    Ok(with)
}

/// Prints them.
pub fn list_allocators(all: &[Allocator]) -> Result<ExitCode> {
    for allocator in all {
        let version = allocator.known_version().unwrap_or_default();
        let library = allocator.library.as_ref().map(|path| path.display().to_string());
        let settings: Vec<String> =
            allocator.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let what = library.unwrap_or_else(|| settings.join(" "));
        let problem = allocator.problem.as_ref().map(|text| format!(" ({text})"));
        let line =
            format!("{:<12} {version:<24} {what}{}", allocator.name, problem.unwrap_or_default());
        println!("{}", line.trim_end());
    }
    Ok(ExitCode::SUCCESS)
}
