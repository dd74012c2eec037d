//! Grafts C libraries where they are: one archive, or all of a folder. All or none are replaced.

use crate::binary::arch::Arch;
use crate::graft::libc_archive::{self, Kind};
use crate::graft::objects::Objects;
use crate::graft::outcome::{ArchiveOutcome, Contents, Done};
use crate::graft::{archive, interrupt, packing, place};
use anyhow::{Context, Result};
use indicatif::ProgressBar;
use std::path::{Path, PathBuf};

/// A C library's archive, with what it becomes.
pub struct Prepared {
    path: PathBuf,
    old: Vec<u8>,
    /// `None` if it stays as it is.
    new: Option<Vec<u8>>,
    /// It is grafted already, by another version of loam; the original is beside it.
    is_renewal: bool,
    pub outcome: ArchiveOutcome,
}

/// Decides what becomes of one archive, and writes nothing. No `archs`: all.
pub fn prepare(path: &Path, archs: &[Arch], objects: &mut Objects) -> Result<Prepared> {
    let shown = path.display().to_string();
    let old = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
    let prepared = prepare_data(path, old, archs, objects);
    prepared.with_context(|| shown)
}

fn prepare_data(
    path: &Path,
    old: Vec<u8>,
    archs: &[Arch],
    objects: &mut Objects,
) -> Result<Prepared> {
    let shown = path.display().to_string();
    let libc = libc_archive::recognise(&old)?;
    let is_asked_for = |arch| archs.is_empty() || archs.contains(&arch);
    let holds_loam = libc.holds_loam;
    let arch = libc.require_arch()?;
    if !is_asked_for(arch) {
        let outcome = libc.unchanged(shown, arch, Done::Skipped);
        return Ok(Prepared { path: path.into(), old, new: None, is_renewal: false, outcome });
    }
    let original = place::original_of(path);
    let mut grafted = if holds_loam && original.exists() {
        let data = std::fs::read(&original)
            .with_context(|| format!("cannot read {}", original.display()))?;
        libc_archive::graft(&data, &shown, objects)
            .with_context(|| original.display().to_string())?
    } else {
        libc_archive::graft(&old, &shown, objects)?
    };
    grafted.outcome.original = Some(original.display().to_string());
    let is_same = grafted.bytes == old;
    if is_same {
        grafted.outcome.done = Done::AlreadyGrafted;
    }
    Ok(Prepared {
        path: path.into(),
        old,
        new: (!is_same).then_some(grafted.bytes),
        is_renewal: holds_loam,
        outcome: grafted.outcome,
    })
}

/// Decides what becomes of each C library in a folder.
pub fn prepare_folder(
    folder: &Path,
    archs: &[Arch],
    objects: &mut Objects,
    bar: &ProgressBar,
) -> Result<Contents<Prepared>> {
    let mut contents = Contents::new();
    for path in files(folder)? {
        interrupt::check()?;
        bar.inc(1);
        match kind_of(&path)? {
            Kind::Libc => {}
            Kind::Other => continue,
            Kind::Unread(why) => {
                contents.note_unread(&path, why);
                continue;
            }
        }
        let found = prepare(&path, archs, objects).map_err(|cause| match archs {
            [] => cause.context("nothing was changed; --arch limits the graft to some"),
            _ => cause,
        })?;
        contents.found.push(found);
    }
    contents.require_found(folder.display())
}

/// What a file is: by its content, or by its name where that says that others are in it.
fn kind_of(path: &Path) -> Result<Kind> {
    use std::io::Read;
    let cannot = || format!("cannot read {}", path.display());
    if let Some(why) = packing::why_not_within(path) {
        return Ok(Kind::Unread(why));
    }
    let mut start = [0; archive::MAGIC.len()];
    let mut file = std::fs::File::open(path).with_context(cannot)?;
    match file.read_exact(&mut start) {
        Err(cause) if cause.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(Kind::Other),
        outcome => outcome.with_context(cannot)?,
    }
    if start != archive::MAGIC && start != archive::THIN_MAGIC {
        return Ok(Kind::Other);
    }
    let data = std::fs::read(path).with_context(cannot)?;
    libc_archive::kind_of(&data).with_context(|| path.display().to_string())
}

/// All files of a folder in the order of their names, but for loam's own. Links are not followed.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        if entry.file_type().is_file() && !place::is_ours(entry.path()) {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

/// Replaces what is prepared. If one cannot be replaced, none is.
pub fn write(prepared: &[Prepared]) -> Result<()> {
    let to_write = || prepared.iter().filter(|one| one.new.is_some());
    for one in to_write() {
        place::check_target(&one.path)?;
        place::check_writable(&one.path)?;
    }
    let mut written: Vec<&Prepared> = Vec::new();
    for one in to_write() {
        if let Err(cause) = interrupt::check().and_then(|()| one.write()) {
            for one in written {
                one.take_back().context("and what was done cannot be taken back")?;
            }
            return Err(cause);
        }
        written.push(one);
    }
    Ok(())
}

impl Prepared {
    /// What the archive becomes, or is.
    pub fn result(&self) -> &[u8] {
        self.new.as_ref().unwrap_or(&self.old)
    }

    fn write(&self) -> Result<()> {
        match &self.new {
            Some(new) if self.is_renewal => {
                let metadata = place::check_target(&self.path)?;
                place::write(&self.path, new, Some(&metadata))
            }
            Some(new) => place::replace(&self.path, &self.old, new),
            None => Ok(()),
        }
    }

    fn take_back(&self) -> Result<()> {
        if self.is_renewal {
            let metadata = place::check_target(&self.path)?;
            return place::write(&self.path, &self.old, Some(&metadata));
        }
        place::restore(&self.path)
    }
}
