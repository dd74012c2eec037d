//! Files that take the place of others in one step: nobody reads half of one.

use anyhow::{Context, Result};
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Writes a text file in place of what was there, if anything, with its permissions.
pub fn file(path: &Path, text: &str) -> Result<()> {
    files(&[(path, text.as_bytes())])
}

/// The same of several: if one cannot be written, none is.
pub fn files(all: &[(&Path, &[u8])]) -> Result<()> {
    let written = all.iter().map(|(path, bytes)| Written::new(path, bytes));
    let written = written.collect::<Result<Vec<_>>>()?;
    written.into_iter().try_for_each(Written::keep)
}

/// Whole, but not in its place.
struct Written<'a> {
    path: &'a Path,
    /// And what it takes the place of; `None` if it has been written there at once.
    part: Option<(NamedTempFile, PathBuf)>,
}

/// Where a file is to be written.
#[derive(Debug, PartialEq, Eq)]
pub enum Target {
    /// A file, or none as yet: what links lead to.
    File(PathBuf),
    /// Nothing may take its place: a device, a pipe, or what this command has open.
    AsItIs,
}

impl Target {
    pub fn of(path: &Path) -> Target {
        let mut path = path.to_path_buf();
        for _ in 0..LINKS_MAX {
            let Ok(there) = path.symlink_metadata() else { break };
            if !there.is_symlink() {
                return if there.is_file() { Target::File(path) } else { Target::AsItIs };
            }
            // /dev/stdout, /dev/fd/3: the file that these lead to is open, and stays what is read.
            let is_open = folder_of(&path).canonicalize().is_ok_and(|end| end.starts_with("/proc"));
            let Ok(next) = std::fs::read_link(&path) else { break };
            if is_open {
                return Target::AsItIs;
            }
            path = folder_of(&path).join(next);
        }
        Target::File(path)
    }
}

/// As many as Linux follows.
const LINKS_MAX: u32 = 40;

impl<'a> Written<'a> {
    fn new(path: &'a Path, bytes: &[u8]) -> Result<Written<'a>> {
        let part = Written::write(path, bytes).with_context(|| cannot_write(path))?;
        Ok(Written { path, part })
    }

    fn write(path: &Path, bytes: &[u8]) -> std::io::Result<Option<(NamedTempFile, PathBuf)>> {
        const USUAL: u32 = 0o644;
        let Target::File(target) = Target::of(path) else {
            // Behind what is there of a file that this command has open.
            File::options().append(true).open(path)?.write_all(bytes)?;
            return Ok(None);
        };
        let there = target.metadata().ok();
        let mut part = match NamedTempFile::new_in(folder_of(&target)) {
            Ok(part) => part,
            // In a folder that nothing may be made in, the file itself may be writable.
            Err(cause) => {
                let file = there.and_then(|_| File::create(&target).ok());
                file.ok_or(cause)?.write_all(bytes)?;
                return Ok(None);
            }
        };
        part.write_all(bytes)?;
        let usual = || Permissions::from_mode(USUAL);
        part.as_file().set_permissions(there.map_or_else(usual, |there| there.permissions()))?;
        Ok(Some((part, target)))
    }

    fn keep(self) -> Result<()> {
        let Some((part, target)) = self.part else { return Ok(()) };
        let kept = part.persist(target).map_err(|error| error.error);
        kept.map(drop).with_context(|| cannot_write(self.path))
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_is_replaced_and_stays_as_readable() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("page.html");
        file(&path, "one").expect("written");
        let mode = |path: &Path| path.metadata().expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o644);
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("set");
        file(&path, "two").expect("replaced");
        assert_eq!(mode(&path), 0o600);
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), "two");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
        let error = file(Path::new("/nowhere/page.html"), "").expect_err("no folder");
        assert!(format!("{error:#}").contains("/nowhere/page.html"));
    }

    #[test]
    fn links_lead_to_what_is_replaced_and_open_files_are_written_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let inside = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("real", inside("link")).expect("a link");
        std::os::unix::fs::symlink("link", inside("other")).expect("a link");
        assert_eq!(Target::of(&inside("other")), Target::File(inside("real")));
        file(&inside("other"), "one").expect("written");
        file(&inside("link"), "two").expect("written");
        assert_eq!(std::fs::read_to_string(inside("real")).expect("a file"), "two");
        assert!(inside("link").symlink_metadata().expect("a link").is_symlink());
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 3);
        let open = File::create(inside("open")).expect("a file");
        let by_number =
            PathBuf::from(format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&open)));
        assert_eq!(Target::of(&by_number), Target::AsItIs);
        file(&by_number, "three").expect("written");
        assert_eq!(open.metadata().expect("the same file").len(), 5);
        assert_eq!(Target::of(Path::new("/dev/full")), Target::AsItIs);
    }

    #[test]
    fn of_several_files_none_is_there_if_one_cannot_be() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("page.html");
        let full = Path::new("/dev/full");
        let error = files(&[(&path, b"page"), (full, b"picture")]).expect_err("a full disk");
        assert!(format!("{error:#}").starts_with("cannot write /dev/full: No space"), "{error:#}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
        assert!(!full.metadata().expect("a device").is_file());
    }
}
