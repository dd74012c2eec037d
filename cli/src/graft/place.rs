//! Puts a new file in the place of an old one, which is kept beside it, and takes that back.
//! At no moment is there less than one whole file in the place.

use crate::failure::reason;
use anyhow::{Context, Result, bail};
use nix::unistd::{AccessFlags, access};
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

/// What the original's name ends in.
pub const ORIGINAL_SUFFIX: &str = ".loam-original";
/// How files that are not finished are called. What an interrupted run leaves can be removed.
const UNFINISHED_PREFIX: &str = ".loam-unfinished-";

pub fn original_of(target: &Path) -> PathBuf {
    let mut name = OsString::from(target);
    name.push(ORIGINAL_SUFFIX);
    name.into()
}

/// Whether a file is one that a graft has put beside another.
pub fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.ends_with(ORIGINAL_SUFFIX.as_bytes()) || name.starts_with(UNFINISHED_PREFIX.as_bytes())
}

/// The metadata of a target that may be replaced: a file of its own, and writable.
pub fn check_target(target: &Path) -> Result<Metadata> {
    let metadata = std::fs::symlink_metadata(target)
        .with_context(|| format!("cannot read {}", target.display()))?;
    if metadata.is_symlink() {
        let leads_to = std::fs::read_link(target).unwrap_or_default();
        bail!(
            "{} is a symbolic link to {}: name that instead",
            target.display(),
            leads_to.display()
        );
    }
    Ok(metadata)
}

pub fn check_writable(target: &Path) -> Result<()> {
    access(target, AccessFlags::W_OK)
        .with_context(|| format!("cannot write to {}", target.display()))?;
    access(folder_of(target), AccessFlags::W_OK)
        .with_context(|| format!("cannot write into {}", folder_of(target).display()))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A file beside `path` that becomes it when all is written, and is gone if not.
pub struct Unfinished {
    file: tempfile::NamedTempFile,
    path: PathBuf,
}

impl Unfinished {
    /// `like`: the file whose mode and owner it gets.
    pub fn new(path: &Path, like: Option<&Metadata>) -> Result<Unfinished> {
        let folder = folder_of(path);
        let cannot = || format!("cannot write into {}", folder.display());
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED_PREFIX);
        // What the file mode creation mask leaves of this, as for any new file.
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder).with_context(cannot)?;
        if let Some(like) = like {
            let own = file.as_file().metadata().with_context(cannot)?;
            if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
                // Only root may give files away; another owner is then the one who runs this.
                let _ = fchown(file.as_file(), Some(like.uid()), Some(like.gid()));
            }
            file.as_file().set_permissions(like.permissions()).with_context(cannot)?;
        }
        Ok(Unfinished { file, path: path.to_owned() })
    }

    pub fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    pub fn finish(self) -> Result<()> {
        let cannot = || format!("cannot write {}", self.path.display());
        self.file.as_file().sync_all().with_context(cannot)?;
        self.file.persist(&self.path).map_err(|failed| failed.error).with_context(cannot)?;
        Ok(())
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let path = &self.path;
        self.file.write_all(bytes).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Writes a new file, or in the place of another one.
pub fn write(path: &Path, bytes: &[u8], like: Option<&Metadata>) -> Result<()> {
    let mut unfinished = Unfinished::new(path, like)?;
    unfinished.write(bytes)?;
    unfinished.finish()
}

/// Replaces `target` and keeps what it was under another name.
pub fn replace(target: &Path, old: &[u8], new: &[u8]) -> Result<()> {
    let metadata = check_target(target)?;
    check_writable(target)?;
    let mut unfinished = Unfinished::new(target, Some(&metadata))?;
    unfinished.write(new)?;
    let is_kept_now = keep_original(target, old)?;
    let finished = unfinished.finish();
    if finished.is_err() && is_kept_now {
        // The target is as it was: its second name is not needed.
        let _ = std::fs::remove_file(original_of(target));
    }
    finished
}

/// Gives the original its second name. False if it had it, from a run that was interrupted.
fn keep_original(target: &Path, old: &[u8]) -> Result<bool> {
    let original = original_of(target);
    match std::fs::read(&original) {
        Ok(kept) if kept == old => return Ok(false),
        Ok(_) => bail!(
            "{} is kept from an earlier graft, and {} is neither grafted nor the same: move one \
             of them away",
            original.display(),
            target.display()
        ),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {}
        Err(cause) => bail!("cannot read {}: {}", original.display(), reason(&cause)),
    }
    // A second link is the same file, times and all. Where there are no links, a copy.
    if std::fs::hard_link(target, &original).is_err() {
        let metadata = check_target(target)?;
        let mut copy = Unfinished::new(&original, Some(&metadata))?;
        copy.write(old)?;
        let times = std::fs::FileTimes::new()
            .set_modified(metadata.modified().context("cannot read its time")?);
        copy.file().set_times(times).context("cannot set its time")?;
        copy.finish()?;
    }
    Ok(true)
}

/// Puts the original back: the same file, byte for byte.
pub fn restore(target: &Path) -> Result<()> {
    let original = original_of(target);
    std::fs::rename(&original, target)
        .with_context(|| format!("cannot rename {} to {}", original.display(), target.display()))
}
