//! `loam prof`: which places in a program take memory, and which keep it.

mod folded; // stacks as lines, and as a picture
mod pprof; // as pprof reads them
mod profile; // what the library has written
mod program; // a program that is run for it
mod stacks; // with names, and by lines of the program
mod symbols; // names for addresses
mod text; // as text

use crate::arguments::{ProfArguments, ProfFigure};
use crate::failure::{Failure, USAGE};
use anyhow::Context;
use profile::Profile;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use symbols::Symbols;

pub fn prof(arguments: &ProfArguments) -> Result<ExitCode, Failure> {
    if let Some(file) = &arguments.file {
        let output = show(Profile::read(file)?, arguments)?;
        std::io::stdout()
            .write_all(output.as_bytes())
            .context("cannot write to standard output")?;
        return Ok(ExitCode::SUCCESS);
    }
    let ended = program::run(arguments)?;
    let others = ended.profiles.len().saturating_sub(1);
    let Some(profile) = ended.profiles.into_iter().next() else {
        let text =
            "the program has written no profile: a signal has ended it, or it has called _exit";
        return Err(Failure::new(USAGE, text));
    };
    let mut output = show(profile, arguments)?;
    if others != 0 {
        output += &format!(
            "Of {} processes this one took most; --keep FOLDER keeps the profiles of all.\n",
            others + 1
        );
    }
    // Where standard error is closed there is nobody to tell.
    let _ = write!(std::io::stderr(), "\n{output}");
    Ok(ExitCode::from(program::status_of(ended.status)))
}

/// The text; other formats go into their files.
fn show(profile: Profile, arguments: &ProfArguments) -> Result<String, Failure> {
    let profile = match &arguments.since {
        Some(earlier) => profile.since(&Profile::read(earlier)?),
        None => profile,
    };
    let by = arguments.by.unwrap_or(ProfFigure::Live);
    let mut symbols = Symbols::default();
    let stacks = stacks::named(&profile, &mut symbols);
    let view = text::View {
        by,
        top: arguments.top,
        leaks: arguments.leaks,
        difference: arguments.since.is_some(),
    };
    let output = text::render(&profile, &stacks::lines(&stacks, by), &view);
    let lines = folded::lines(&stacks, by);
    if let Some(path) = &arguments.folded {
        write_file(path, (lines.join("\n") + "\n").as_bytes())?;
    }
    if let Some(path) = &arguments.flamegraph {
        write_file(path, &folded::draw(&lines, &profile.process)?)?;
    }
    if let Some(path) = &arguments.pprof {
        write_file(path, &pprof::encode(&profile, &stacks, symbols)?)?;
    }
    Ok(output)
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}
