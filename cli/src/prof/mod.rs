//! `loam prof`: which places in a program take memory, and which keep it.

mod dhat; // as DHAT's viewer reads them
mod folded; // stacks as lines, and as a picture
mod json; // as data
mod order; // has a process take one
mod program; // a program that is run for it
mod speedscope; // as speedscope.app reads them
mod text; // as text

use crate::arguments::{ProfArguments, ProfFigure};
use crate::failure::{Failure, USAGE};
use crate::heap::chosen;
use crate::process::supervise;
use crate::profile::rows::{Grouping, rows};
use crate::profile::symbols::Symbols;
use crate::profile::written::Profile;
use crate::profile::{living, pprof, stacks};
use crate::replace;
use anyhow::Context;
use nix::sys::wait::WaitStatus;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

pub fn prof(arguments: &ProfArguments) -> Result<ExitCode, Failure> {
    arguments.chosen().map_err(|text| Failure::new(USAGE, text))?;
    let asked = match arguments {
        ProfArguments { start: Some(pid), every, .. } => Some(order::start(*pid, *every)?),
        ProfArguments { stop: Some(pid), .. } => Some(order::stop(*pid)?),
        ProfArguments { file: Some(target), .. } => Some(show(open(target)?, arguments)?),
        _ => None,
    };
    if let Some(output) = asked {
        std::io::stdout()
            .write_all(output.as_bytes())
            .context("cannot write to standard output")?;
        return Ok(ExitCode::SUCCESS);
    }
    let ended = program::run(arguments)?;
    let others = ended.profiles.len().saturating_sub(1);
    let Some(profile) = ended.profiles.into_iter().next() else {
        // It has said why itself.
        if matches!(ended.status, WaitStatus::Exited(_, 125..=127)) {
            return Ok(supervise::end_like(ended.status));
        }
        let text = "the program has left no profile: it has become one without loam, or the kernel \
                    does not let this command trace it, and it was killed or has called _exit";
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
    Ok(supervise::end_like(ended.status))
}

fn open(target: &Path) -> Result<Profile, Failure> {
    let is_pid = target.to_str().is_some_and(|text| text.bytes().all(|one| one.is_ascii_digit()));
    if is_pid || is_core(target) {
        let source = chosen::open(target.as_os_str())?;
        return Ok(living::read(source.as_ref())?);
    }
    Ok(Profile::read(target)?)
}

fn is_core(path: &Path) -> bool {
    let mut first = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == *b"\x7fELF"
}

/// What is live; but of a program that has given most back by its end, as interpreters do, what it
/// had at its peak.
fn default_figure(profile: &Profile) -> ProfFigure {
    let (live, peak) = (profile.total.live.bytes, profile.total.peak.bytes);
    match profile.held.is_none() && live >= 0 && live < peak / 2 {
        true => ProfFigure::Peak,
        false => ProfFigure::Live,
    }
}

/// The text; other formats go into their files.
fn show(profile: Profile, arguments: &ProfArguments) -> Result<String, Failure> {
    let mut files: Vec<(&Path, Vec<u8>)> = Vec::new();
    if let Some(path) = &arguments.save {
        files.push((path, profile.write().into_bytes()));
    }
    let profile = match &arguments.since {
        Some(earlier) => profile.since(&Profile::read(earlier)?),
        None => profile,
    };
    let (figure, kind) = arguments.chosen().map_err(|text| Failure::new(USAGE, text))?;
    let by = match &arguments.since {
        Some(_) => figure.unwrap_or(ProfFigure::Live),
        None => figure.unwrap_or_else(|| default_figure(&profile)),
    };
    if !stacks::figures(&profile).contains(&by) {
        let text = format!(
            "--by {}: pages are known of a process that runs and of a core, not of a file or a \
             difference",
            stacks::name_of(by)
        );
        return Err(Failure::new(USAGE, text));
    }
    let mut symbols = Symbols::default();
    let stacks = stacks::named(&profile, &mut symbols);
    let view = text::View {
        by,
        top: arguments.top,
        leaks: arguments.leaks,
        difference: arguments.since.is_some(),
        tree: arguments.tree,
        not_live: figure.is_none() && by != ProfFigure::Live,
    };
    let grouping = Grouping { by, rows: kind, frames: arguments.frames.into() };
    let found = rows(&stacks, grouping);
    let output = match arguments.json {
        true => json::render(&profile, &found, &view)?,
        false => text::render(&profile, &found, &view),
    };
    let lines = folded::lines(&stacks, by);
    if let Some(path) = &arguments.folded {
        files.push((path, (lines.join("\n") + "\n").into_bytes()));
    }
    if let Some(path) = &arguments.flamegraph {
        files.push((path, folded::draw(&lines, &profile, by)?));
    }
    if let Some(path) = &arguments.speedscope {
        files.push((path, speedscope::encode(&profile, &stacks, by)?));
    }
    if let Some(path) = &arguments.dhat {
        files.push((path, dhat::encode(&profile, &stacks)?));
    }
    if let Some(path) = &arguments.pprof {
        files.push((path, pprof::encode(&profile, &stacks, pprof::Shown::INUSE)?));
    }
    let files: Vec<(&Path, &[u8])> = files.iter().map(|(path, bytes)| (*path, &**bytes)).collect();
    replace::files(&files)?;
    Ok(output)
}
