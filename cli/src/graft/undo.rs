//! Puts the originals back.

use crate::graft::libc_archive;
use crate::graft::outcome::{ArchiveOutcome, Done};
use crate::graft::place::{self, ORIGINAL_SUFFIX};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Undoes the graft of an archive, or of all in a folder.
pub fn undo(target: &Path, is_dry_run: bool) -> Result<Vec<ArchiveOutcome>> {
    let targets = if target.is_dir() { grafted_in(target)? } else { vec![target.to_owned()] };
    if targets.is_empty() {
        bail!("{}: nothing to undo: no *{ORIGINAL_SUFFIX} in this folder", target.display());
    }
    // All are looked at before the first is touched.
    let outcomes: Vec<ArchiveOutcome> =
        targets.iter().map(|target| look(target)).collect::<Result<_>>()?;
    if !is_dry_run {
        targets.iter().try_for_each(|target| place::restore(target))?;
    }
    Ok(outcomes)
}

fn grafted_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut targets = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        let path = entry.path().as_os_str().as_encoded_bytes();
        if let Some(target) = path.strip_suffix(ORIGINAL_SUFFIX.as_bytes()) {
            use std::os::unix::ffi::OsStrExt;
            targets.push(std::ffi::OsStr::from_bytes(target).into());
        }
    }
    Ok(targets)
}

/// Whether the original may be put back: nothing but a grafted file may be in its place.
fn look(target: &Path) -> Result<ArchiveOutcome> {
    let shown = target.display().to_string();
    let original_path = place::original_of(target);
    let original = match std::fs::read(&original_path) {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            bail!("{shown}: nothing to undo: there is no {}", original_path.display())
        }
        outcome => outcome.with_context(|| format!("cannot read {}", original_path.display()))?,
    };
    let current = match std::fs::read(target) {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => None,
        outcome => Some(outcome.with_context(|| format!("cannot read {shown}"))?),
    };
    let libc =
        libc_archive::recognise(&original).with_context(|| original_path.display().to_string())?;
    let arch = libc.require_arch().with_context(|| shown.clone())?;
    if let Some(current) = current.filter(|current| *current != original) {
        let is_grafted = libc_archive::recognise(&current).is_ok_and(|libc| libc.holds_loam);
        if !is_grafted {
            bail!(
                "{shown} is not grafted any more, something else has replaced it: left alone; \
                 the original is {}",
                original_path.display()
            );
        }
    }
    Ok(libc.unchanged(shown, arch, Done::Undone))
}
