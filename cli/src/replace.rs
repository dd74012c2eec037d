//! Files that take the place of others in one step: nobody reads half of one.

use anyhow::{Context, Result};
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
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
    /// `None` of a device, which nothing may take the place of.
    part: Option<NamedTempFile>,
}

impl<'a> Written<'a> {
    fn new(path: &'a Path, bytes: &[u8]) -> Result<Written<'a>> {
        let part = Written::write(path, bytes).with_context(|| cannot_write(path))?;
        Ok(Written { path, part })
    }

    fn write(path: &Path, bytes: &[u8]) -> std::io::Result<Option<NamedTempFile>> {
        const USUAL: u32 = 0o644;
        let there = std::fs::metadata(path).ok();
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            File::options().write(true).open(path)?.write_all(bytes)?;
            return Ok(None);
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut part = NamedTempFile::new_in(folder)?;
        part.write_all(bytes)?;
        let usual = || Permissions::from_mode(USUAL);
        part.as_file().set_permissions(there.map_or_else(usual, |there| there.permissions()))?;
        Ok(Some(part))
    }

    fn keep(self) -> Result<()> {
        let Some(part) = self.part else { return Ok(()) };
        let kept = part.persist(self.path).map_err(|error| error.error);
        kept.map(drop).with_context(|| cannot_write(self.path))
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
