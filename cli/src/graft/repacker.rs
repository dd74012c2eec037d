//! What becomes of each file of a packed folder, however it is packed.

use crate::binary::arch::Arch;
use crate::graft::libc_archive::{self, Kind};
use crate::graft::objects::Objects;
use crate::graft::outcome::{ArchiveOutcome, Contents, Done};
use crate::graft::place::{self, ORIGINAL_SUFFIX};
use crate::graft::{archive, packing};
use anyhow::{Result, bail};
use std::path::{Component, Path, PathBuf};

/// Decides, and collects what there was.
pub struct Repacker<'a> {
    archs: &'a [Arch],
    objects: &'a mut Objects,
    contents: Contents<ArchiveOutcome>,
}

/// A C library of the folder, grafted.
pub struct Replaced {
    pub bytes: Vec<u8>,
    /// What its original is to be called.
    pub original: PathBuf,
}

impl<'a> Repacker<'a> {
    pub fn new(archs: &'a [Arch], objects: &'a mut Objects) -> Repacker<'a> {
        Repacker { archs, objects, contents: Contents::new() }
    }

    pub fn contents(self, target: &Path) -> Result<Contents<ArchiveOutcome>> {
        self.contents.require_found(target.display())
    }

    /// Whether all of a file has to be read, by how it begins. Notes what cannot be looked into.
    pub fn is_archive(&mut self, start: &[u8], path: &Path) -> bool {
        if let Some(why) = packing::why_not_within(path) {
            self.contents.note_unread(path, why);
        }
        start == archive::MAGIC || start == archive::THIN_MAGIC
    }

    /// What becomes of an archive; `None` if it stays as it is.
    pub fn grafted(&mut self, data: &[u8], path: &Path) -> Result<Option<Replaced>> {
        if place::is_ours(path) {
            return Ok(None);
        }
        match libc_archive::kind_of(data)? {
            Kind::Libc => {}
            Kind::Other => return Ok(None),
            Kind::Unread(why) => {
                self.contents.note_unread(path, why);
                return Ok(None);
            }
        }
        let shown = path.display().to_string();
        let libc = libc_archive::recognise(data)?;
        let is_asked_for = |arch| self.archs.is_empty() || self.archs.contains(&arch);
        let done = match libc.arch {
            Some(arch) if !is_asked_for(arch) => Some(Done::Skipped),
            Some(_) if libc.holds_loam => Some(Done::AlreadyGrafted),
            _ => None,
        };
        if let Some((arch, done)) = libc.arch.zip(done) {
            self.contents.found.push(libc.unchanged(shown, arch, done));
            return Ok(None);
        }
        let mut grafted = libc_archive::graft(data, &shown, self.objects)?;
        let original = PathBuf::from(format!("{shown}{ORIGINAL_SUFFIX}"));
        grafted.outcome.original = Some(original.display().to_string());
        self.contents.found.push(grafted.outcome);
        Ok(Some(Replaced { bytes: grafted.bytes, original }))
    }
}

/// Nothing in the folder may be a path out of it.
pub fn check_path(path: &Path) -> Result<()> {
    let climbs = |part: Component| matches!(part, Component::ParentDir | Component::RootDir);
    if path.components().any(climbs) {
        bail!("{} leads out of the folder: not touched", path.display());
    }
    Ok(())
}
