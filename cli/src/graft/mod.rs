//! `loam graft`: puts loam into C libraries for static linking. A C library is an archive
//! (`libc.a`), found in a folder or in a packed one by what it defines.

mod advice; // how builds get what was grafted
mod archive; // reads static archives
mod in_place; // an archive, or all of a folder, where they are
mod interrupt; // ends the work between two steps
mod libc_archive; // one C library's archive: recognised, grafted, checked
mod objects; // loam's objects for static linking
mod outcome; // what was done, as data and text
mod packed; // .tar and its like
mod packing; // .gz, .xz, .zst, .zip
mod place; // replaces files, keeps the originals
mod plan; // what becomes of each member
mod repacker; // what becomes of each file of a packed folder
mod rewrite; // writes the archive anew
mod survey; // what members define and want
mod undo; // puts the originals back
mod zipped; // .zip

use crate::arguments::GraftArguments;
use crate::binary::arch::Arch;
use crate::failure::{Failure, complain};
use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget};
use objects::Objects;
use outcome::{ArchiveOutcome, Contents, Outcome, SCHEMA};
use packing::Packing;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub fn graft(arguments: &GraftArguments) -> Result<ExitCode, Failure> {
    interrupt::listen()?;
    let outcome = match (&arguments.target, arguments.object) {
        (target, true) => write_object(arguments, target.as_deref())?,
        (Some(target), false) if arguments.undo => undo(arguments, target)?,
        (Some(target), false) => graft_target(arguments, target)?,
        (None, false) => bail_usage()?,
    };
    let text = if arguments.json {
        outcome.to_json().context("cannot write JSON")? + "\n"
    } else {
        outcome.render()
    };
    std::io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")?;
    Ok(ExitCode::SUCCESS)
}

fn bail_usage() -> Result<Outcome> {
    bail!("name what to graft: a libc.a, a folder, or a packed folder")
}

fn graft_target(arguments: &GraftArguments, target: &Path) -> Result<Outcome> {
    let metadata = place::check_target(target)?;
    let mut objects = Objects::locate(arguments.objects.as_deref())?;
    let holds_several = metadata.is_dir() || metadata.is_file() && Packing::of(target)?.is_some();
    // A program that waits for the end gets the one line that matters.
    let hint = objects.hint(&arguments.arch).filter(|_| holds_several);
    if let Some(hint) = hint.filter(|_| std::io::stderr().is_terminal()) {
        complain(format_args!("note: {hint}"));
    }
    let bar = progress_bar();
    let outcome = if metadata.is_dir() {
        graft_folder(arguments, target, &mut objects, &bar)
    } else if !metadata.is_file() {
        bail!("{}: neither a file nor a folder", target.display())
    } else if Packing::of(target)?.is_some() {
        graft_packed(arguments, target, &mut objects, &bar)
    } else {
        graft_archive(arguments, target, &mut objects)
    };
    bar.finish_and_clear();
    outcome
}

fn graft_archive(
    arguments: &GraftArguments,
    target: &Path,
    objects: &mut Objects,
) -> Result<Outcome> {
    let mut prepared = in_place::prepare(target, &arguments.arch, objects)?;
    if prepared.outcome.done == outcome::Done::Skipped {
        bail!("{}: for {}, not asked for", target.display(), prepared.outcome.architecture);
    }
    if let Some(output) = &arguments.output {
        prepared.outcome.original = None;
        let metadata = place::check_target(target)?;
        if !arguments.dry_run {
            place::write(output, prepared.result(), Some(&metadata))?;
        }
    } else if !arguments.dry_run {
        in_place::write(std::slice::from_ref(&prepared))?;
    }
    let result = arguments.output.as_deref().unwrap_or(target);
    let archive = prepared.outcome;
    let advice = advice::for_archive(&folder_of(result)?, archive.architecture, archive.libc);
    Ok(Outcome { advice, ..outcome(arguments, target, vec![archive]) })
}

fn graft_folder(
    arguments: &GraftArguments,
    target: &Path,
    objects: &mut Objects,
    bar: &ProgressBar,
) -> Result<Outcome> {
    if arguments.output.is_some() {
        bail!(
            "--output is for an archive or a packed folder: {} is grafted where it is, and \
             --undo takes that back",
            target.display()
        );
    }
    let Contents { found, unread } =
        in_place::prepare_folder(target, &arguments.arch, objects, bar)?;
    if !arguments.dry_run {
        in_place::write(&found)?;
    }
    let archives = found.into_iter().map(|one| one.outcome).collect();
    let advice = advice::for_folder(&target.canonicalize().context("cannot find the folder")?);
    Ok(Outcome { advice, unread, ..outcome(arguments, target, archives) })
}

fn graft_packed(
    arguments: &GraftArguments,
    target: &Path,
    objects: &mut Objects,
    bar: &ProgressBar,
) -> Result<Outcome> {
    let output = arguments.output.clone().unwrap_or_else(|| packing::beside(target));
    let is_target =
        output.canonicalize().is_ok_and(|path| target.canonicalize().is_ok_and(|it| it == path));
    if is_target {
        bail!("{}: a packed folder is grafted into another file, name that", target.display());
    }
    let written = (!arguments.dry_run).then_some(&*output);
    let Contents { found: archives, unread } =
        packed::graft(target, written, &arguments.arch, objects, bar)?;
    let shown = output.display().to_string();
    let advice = advice::for_packed(&output);
    Ok(Outcome { advice, unread, output: Some(shown), ..outcome(arguments, target, archives) })
}

fn undo(arguments: &GraftArguments, target: &Path) -> Result<Outcome> {
    if target.is_file() && Packing::of(target)?.is_some() {
        bail!(
            "{}: a packed folder was grafted into another file: the original is as it was",
            target.display()
        );
    }
    let archives = undo::undo(target, arguments.dry_run)?;
    Ok(outcome(arguments, target, archives))
}

/// Loam's object by itself, for those who put it first on the link line.
fn write_object(arguments: &GraftArguments, target: Option<&Path>) -> Result<Outcome> {
    let arch = match (&*arguments.arch, target) {
        ([arch], None) => *arch,
        ([], None) => Arch::host().context("loam has no object for this machine: give --arch")?,
        _ => bail!("--object writes one object: give one --arch and no TARGET"),
    };
    let mut objects = Objects::locate(arguments.objects.as_deref())?;
    let output =
        arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("loam-{arch}.o")));
    let bytes = objects.get(arch)?;
    if !arguments.dry_run {
        place::write(&output, bytes, None)?;
    }
    let shown = output.display().to_string();
    // Build systems link in folders of their own.
    let object = std::path::absolute(&output).context("cannot find the current folder")?;
    let advice = advice::for_object(&object, arch);
    Ok(Outcome { advice, output: Some(shown), ..outcome(arguments, &output, Vec::new()) })
}

fn outcome(arguments: &GraftArguments, target: &Path, archives: Vec<ArchiveOutcome>) -> Outcome {
    Outcome {
        schema: SCHEMA,
        target: target.display().to_string(),
        is_dry_run: arguments.dry_run,
        output: arguments.output.as_ref().map(|path| path.display().to_string()),
        archives,
        unread: Vec::new(),
        advice: Vec::new(),
    }
}

/// The folder that a file is in, by its full path.
fn folder_of(file: &Path) -> Result<PathBuf> {
    let path = std::path::absolute(file).context("cannot find the current folder")?;
    Ok(path.parent().unwrap_or(Path::new("/")).to_owned())
}

/// Shown on a terminal, and only for work that takes a while.
fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::no_length();
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
    bar
}
