//! `loam man FOLDER`: the man pages, from the definition of the command line.

use crate::arguments::{ManArguments, definition};
use crate::failure::Failure;
use anyhow::Context;
use std::process::ExitCode;

pub fn write(arguments: &ManArguments) -> Result<ExitCode, Failure> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make folder {}", folder.display()))?;
    clap_mangen::generate_to(definition(), folder)
        .with_context(|| format!("cannot write man pages to {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
