//! Where a recording is written: beside its place until it is whole, so that it is there whole or
//! not at all.

use crate::replace::Target;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

pub struct Place {
    wanted: PathBuf,
    /// `None` for a device, which is written as it is, and for a file that has been kept.
    part: Option<PathBuf>,
}

impl Place {
    pub fn new(wanted: &Path) -> Result<(Place, File)> {
        let shown = wanted.display();
        let there = wanted.metadata().ok();
        if there.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            bail!("cannot write {shown}: is a directory");
        }
        let (wanted, part) = match Target::of(wanted) {
            Target::File(path) => {
                let mut name: OsString = path.as_os_str().to_owned();
                name.push(".part");
                (path, Some(PathBuf::from(name)))
            }
            Target::AsItIs => (wanted.to_path_buf(), None),
        };
        let file = match &part {
            Some(part) => File::create(part),
            None => File::options().write(true).open(&wanted),
        };
        let file = file.with_context(|| format!("cannot write {shown}"))?;
        Ok((Place { wanted, part }, file))
    }

    /// It is whole. Gives its length.
    pub fn keep(mut self) -> Result<u64> {
        if let Some(part) = &self.part {
            std::fs::rename(part, &self.wanted)
                .with_context(|| format!("cannot write {}", self.wanted.display()))?;
            self.part = None;
        }
        Ok(self.wanted.metadata().map_or(0, |metadata| metadata.len()))
    }

    pub fn cannot_write(&self) -> String {
        format!("cannot write {}", self.wanted.display())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // It may be gone already.
            let _ = std::fs::remove_file(part);
        }
    }
}
