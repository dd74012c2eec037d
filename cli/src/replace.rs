//! Files that take the place of others in one step: nobody reads half of one.

use anyhow::{Context, Result};
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes a text file in place of what was there, if anything, with its permissions.
pub fn file(path: &Path, text: &str) -> Result<()> {
    const USUAL: u32 = 0o644;
    let name = || format!("cannot write {}", path.display());
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let permissions = match std::fs::metadata(path) {
        Ok(there) => there.permissions(),
        Err(_) => Permissions::from_mode(USUAL),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(name)?;
    file.write_all(text.as_bytes()).with_context(name)?;
    file.as_file().set_permissions(permissions).with_context(name)?;
    file.persist(path).map_err(|error| error.error).with_context(name)?;
    Ok(())
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
}
