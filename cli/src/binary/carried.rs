//! What the command carries in itself: what records and what replays, and the libloam.so of a
//! command made to work alone, with its twin for programs of 32 bits. It is written out, as loaders
//! load files, in every process that the program starts, too.

use crate::failure::in_one_line;
use anyhow::{Context, Result, anyhow, bail};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::geteuid;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

struct Carried {
    bytes: Cow<'static, [u8]>,
    name: &'static str,
    /// Behind the version and what tells it from others of its name.
    end: &'static str,
    mode: u32,
}

/// Empty in a command that has its library beside it (build.rs).
const LIBRARY: Carried = Carried {
    bytes: Cow::Borrowed(include_bytes!(concat!(env!("OUT_DIR"), "/libloam.so"))),
    name: "libloam",
    end: ".so",
    mode: 0o644,
};
const TWIN: Carried = Carried {
    bytes: Cow::Borrowed(include_bytes!(concat!(env!("OUT_DIR"), "/libloam-32.so"))),
    name: "libloam-32",
    end: ".so",
    mode: 0o644,
};
const RECORDER: Carried = Carried {
    bytes: Cow::Borrowed(include_bytes!(concat!(env!("OUT_DIR"), "/recorder.so"))),
    name: "loam-recorder",
    end: ".so",
    mode: 0o644,
};
const REPLAYER: Carried = Carried {
    bytes: Cow::Borrowed(include_bytes!(concat!(env!("OUT_DIR"), "/replayer"))),
    name: "loam-replayer",
    end: "",
    mode: 0o755,
};

/// What LD_PRELOAD takes for the end of a path.
const SEPARATORS: &[u8] = b" :\t\n";

/// The library as a file, if this command carries one.
pub fn library() -> Result<Option<PathBuf>> {
    unless_empty(&LIBRARY)
}

/// The same for programs of 32 bits.
pub fn twin() -> Result<Option<PathBuf>> {
    unless_empty(&TWIN)
}

fn unless_empty(library: &Carried) -> Result<Option<PathBuf>> {
    if library.bytes.is_empty() {
        return Ok(None);
    }
    let instead = "; name one with --library PATH or LOAM_LIBRARY";
    carried_file(library).map_err(|refusals| anyhow!("{refusals}{instead}")).map(Some)
}

/// A folder that holds nothing but links: for each a path in it, and the file that it leads to.
pub fn folder_of_links(links: &[(PathBuf, &Path)]) -> std::result::Result<PathBuf, String> {
    let mut hasher = DefaultHasher::new();
    links.hash(&mut hasher);
    let name = format!("links-{:016x}", hasher.finish());
    in_first_folder(|folder| {
        let root = folder.join(&name);
        for (path, file) in links {
            let link = root.join(path);
            link_to(file, &link).with_context(|| format!("cannot write {}", link.display()))?;
        }
        Ok(root)
    })
}

fn link_to(file: &Path, link: &Path) -> Result<()> {
    if std::fs::read_link(link).is_ok_and(|there| there == file) {
        return Ok(());
    }
    let folder = link.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    let make = |path: &Path| std::os::unix::fs::symlink(file, path);
    tempfile::Builder::new().make_in(folder, make)?.persist(link)?;
    Ok(())
}

/// A copy of a library whose own path LD_PRELOAD cannot hold.
pub fn copied(path: &Path) -> Result<PathBuf> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let copy = Carried { bytes: Cow::Owned(bytes), ..LIBRARY };
    file(&copy).map_err(|refusals| anyhow!("cannot copy it: {refusals}"))
}

/// What is preloaded into a program that is recorded.
pub fn recorder() -> Result<PathBuf> {
    carried_file(&RECORDER).map_err(|refusals| anyhow!(refusals))
}

/// The program that does what a recording says.
pub fn replayer() -> Result<PathBuf> {
    carried_file(&REPLAYER).map_err(|refusals| anyhow!(refusals))
}

fn file(carried: &Carried) -> std::result::Result<PathBuf, String> {
    in_first_folder(|folder| written(carried, folder))
}

/// What is made in the first of the folders that will do, or why none of them does.
fn in_first_folder(
    make: impl Fn(&Path) -> Result<PathBuf>,
) -> std::result::Result<PathBuf, String> {
    let mut refusals = Vec::new();
    for folder in folders() {
        match prepare(&folder).and_then(|()| make(&folder)) {
            Ok(path) => return Ok(path),
            Err(cause) => refusals.push(in_one_line(&cause)),
        }
    }
    Err(refusals.join("; "))
}

fn carried_file(carried: &Carried) -> std::result::Result<PathBuf, String> {
    let (name, end) = (carried.name, carried.end);
    let shown = |refusals| {
        format!("cannot write out the {name}{end} that this command carries: {refusals}")
    };
    file(carried).map_err(shown)
}

pub fn can_be_preloaded(path: &Path) -> bool {
    !path.as_os_str().as_encoded_bytes().iter().any(|byte| SEPARATORS.contains(byte))
}

/// The user's cache; root's where every user can read it, since services give up their rights. Then
/// the folder of temporary files.
fn folders() -> Vec<PathBuf> {
    let user = geteuid();
    let named = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = named("XDG_CACHE_HOME").or_else(|| match user.is_root() {
        true => Some(PathBuf::from("/var/cache")),
        false => named("HOME").map(|home| home.join(".cache")),
    });
    let temporary = named("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp"));
    let cache = cache.map(|folder| folder.join("loam"));
    cache.into_iter().chain([temporary.join(format!("loam-{user}"))]).collect()
}

/// A folder that is this user's alone.
fn prepare(folder: &Path) -> Result<()> {
    let shown = folder.display();
    if !can_be_preloaded(folder) {
        bail!("{shown}: LD_PRELOAD cannot hold a path with a space or colon");
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o755);
    builder.create(folder).with_context(|| format!("cannot make {shown}"))?;
    refuse_foreign(folder)?;
    let flags = statvfs(folder).with_context(|| format!("cannot look at {shown}"))?.flags();
    if flags.contains(FsFlags::ST_NOEXEC) {
        bail!("{shown}: nothing there can be executed (mounted noexec)");
    }
    Ok(())
}

fn written(carried: &Carried, folder: &Path) -> Result<PathBuf> {
    let path = folder.join(name_of(carried));
    let is_there = std::fs::read(&path).is_ok_and(|there| there == *carried.bytes);
    if !is_there {
        replace(&path, carried, folder)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(path)
}

/// Whoever else can write there decides what the programs execute.
fn refuse_foreign(folder: &Path) -> Result<()> {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let shown = folder.display();
    let found =
        std::fs::symlink_metadata(folder).with_context(|| format!("cannot look at {shown}"))?;
    let is_ours = found.is_dir()
        && found.uid() == geteuid().as_raw()
        && found.mode() & WRITABLE_BY_OTHERS == 0;
    if !is_ours {
        bail!("{shown}: not a folder that only this user can write to");
    }
    Ok(())
}

/// Another library has another name: programs may run on the one that was there.
fn name_of(carried: &Carried) -> String {
    let mut hasher = DefaultHasher::new();
    carried.bytes.hash(&mut hasher);
    let (version, hash) = (env!("CARGO_PKG_VERSION"), hasher.finish());
    format!("{}-{version}-{hash:016x}{}", carried.name, carried.end)
}

/// In one step, so that no program meets half a library.
fn replace(path: &Path, carried: &Carried, folder: &Path) -> Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&carried.bytes)?;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(carried.mode))?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(bytes: &'static [u8], folder: &Path) -> Result<PathBuf> {
        let bytes = Cow::Borrowed(bytes);
        prepare(folder)?;
        super::written(&Carried { bytes, name: "libloam", end: ".so", mode: 0o644 }, folder)
    }

    fn refusal(folder: &Path) -> String {
        in_one_line(&written(b"library", folder).expect_err("a refusal"))
    }

    #[test]
    fn a_library_is_written_once_and_for_everybody_to_read() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("cache/loam");
        let path = written(b"library", &folder).unwrap();
        let first = std::fs::metadata(&path).unwrap();
        assert_eq!(written(b"library", &folder).unwrap(), path);
        let second = std::fs::metadata(&path).unwrap();
        assert_eq!((first.ino(), first.mode() & 0o777), (second.ino(), 0o644));
        assert_eq!(std::fs::read(&path).unwrap(), b"library");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn another_library_has_another_name_and_a_damaged_one_is_replaced() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("loam");
        let path = written(b"library", &folder).unwrap();
        assert_ne!(written(b"another", &folder).unwrap(), path);
        std::fs::write(&path, b"libra").unwrap();
        assert_eq!(written(b"library", &folder).unwrap(), path);
        assert_eq!(std::fs::read(&path).unwrap(), b"library");
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let open = place.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
        let text = "not a folder that only this user can write to";
        assert_eq!(refusal(&open), format!("{}: {text}", open.display()));

        let (link, folder) = (place.path().join("link"), place.path().join("folder"));
        std::fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert_eq!(refusal(&link), format!("{}: {text}", link.display()));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        std::fs::write(&file, "").unwrap();
        let folder = file.join("loam");
        assert_eq!(refusal(&folder), format!("cannot make {}: not a directory", folder.display()));
        let spaced = place.path().join("a b");
        assert!(refusal(&spaced).ends_with("cannot hold a path with a space or colon"));
    }
}
