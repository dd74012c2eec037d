//! Where the libraries of other allocators are, and which version and flags they have.

use crate::binary::elf::{Architecture, Image};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// In the order of tables: the name, and the files that it has where it is installed.
const KNOWN: [(&str, &[&str]); 9] = [
    ("mimalloc", &["libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so"]),
    ("mimalloc2", &[]),
    ("rpmalloc", &["librpmallocwrap.so", "librpmalloc.so"]),
    ("snmalloc", &["libsnmallocshim.so"]),
    ("jemalloc", &["libjemalloc.so.2", "libjemalloc.so"]),
    ("tcmalloc", &[]),
    ("gperftools", &["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"]),
    ("tbb", &["libtbbmalloc_proxy.so.2"]),
    ("scudo", &[]),
];

/// A library that is there, and what is known about it.
#[derive(Debug, Default)]
pub struct Found {
    pub library: PathBuf,
    pub version: Option<String>,
    pub flags: Option<String>,
    /// Variables that its documentation wants set.
    pub environment: BTreeMap<String, String>,
}

/// The libraries in the folder of `make peers`, and what is installed under names that are not
/// there.
pub fn find(folder: Option<&Path>) -> Vec<(String, Found)> {
    let cache = loader_cache();
    let mut all: Vec<(String, Found)> = Vec::new();
    for (name, files) in KNOWN {
        let built = folder.map(|folder| folder.join(format!("{name}.so")));
        let built = built.and_then(|path| path.canonicalize().ok().map(|real| (path, real)));
        if let Some((path, library)) = built {
            all.push((name.into(), noted(library, &path)));
        } else if let Some(path) = files.iter().find_map(|file| installed(&cache, file)) {
            all.push((name.into(), noted(path.clone(), &path)));
        } else if name == "scudo"
            && let Some(path) = installed_scudo()
        {
            all.push((name.into(), noted(path.clone(), &path)));
        }
    }
    for (name, path) in others(folder) {
        if let Ok(library) = path.canonicalize() {
            all.push((name, noted(library, &path)));
        }
    }
    all
}

/// Files of other names in the folder of `make peers`.
fn others(folder: Option<&Path>) -> Vec<(String, PathBuf)> {
    let entries = folder.and_then(|folder| fs::read_dir(folder).ok());
    let mut others: Vec<(String, PathBuf)> = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "so"))
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .filter(|(name, _)| KNOWN.iter().all(|(known, _)| known != name))
        .collect();
    others.sort();
    others
}

/// A library with what is noted in files beside it: NAME.version, NAME.flags, NAME.environment.
/// `path` may be a link to it.
pub fn noted(library: PathBuf, path: &Path) -> Found {
    let note = |extension| fs::read_to_string(path.with_extension(extension)).ok();
    let line = |text: String| {
        let words: Vec<&str> = text.split_whitespace().collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    let variables = note("environment").unwrap_or_default();
    Found {
        library,
        version: note("version").and_then(line),
        flags: note("flags").and_then(line),
        environment: variables
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
    }
}

/// Why a file cannot be preloaded.
pub fn obstacle(library: &Path) -> Result<()> {
    let shown = library.display();
    let image = Image::read(library)?.filter(|image| image.is_loadable);
    let image = image.with_context(|| format!("cannot be preloaded: {shown} is no library"))?;
    let own = Architecture::of_file(&crate::binary::itself::path()?)?;
    if image.architecture != own.context("this command is no ELF file")? {
        bail!("cannot be preloaded: {shown} is for {}", image.architecture);
    }
    if image.export("malloc").is_none() {
        bail!("cannot be preloaded: {shown} does not define malloc");
    }
    if library.as_os_str().as_encoded_bytes().iter().any(|byte| b" :\t\n".contains(byte)) {
        bail!("cannot be preloaded: LD_PRELOAD cannot hold a path with a space or colon: {shown}");
    }
    Ok(())
}

/// What ldconfig(8) lists: file name and path.
fn loader_cache() -> Vec<(String, PathBuf)> {
    let tool =
        ["/sbin/ldconfig", "/usr/sbin/ldconfig"].into_iter().find(|path| Path::new(path).exists());
    let output = tool.and_then(|tool| Command::new(tool).arg("-p").output().ok());
    let Some(output) = output else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout);
    let entry = |line: &str| {
        let (name, path) = line.split_once(" => ")?;
        Some((name.split_whitespace().next()?.to_owned(), PathBuf::from(path.trim())))
    };
    text.lines().filter_map(entry).collect()
}

/// The first library of a name that a program of our kind can load.
fn installed(cache: &[(String, PathBuf)], file: &str) -> Option<PathBuf> {
    let candidates = cache.iter().filter(|(name, _)| name == file);
    candidates.filter_map(|(_, path)| path.canonicalize().ok()).find(|path| obstacle(path).is_ok())
}

/// Clang brings it along; the newest one.
fn installed_scudo() -> Option<PathBuf> {
    let mut found = Vec::new();
    for version in subfolders(Path::new("/usr/lib")).filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("llvm-"))
    }) {
        for clang in subfolders(&version.join("lib/clang")) {
            let folder = clang.join("lib/linux");
            let file = format!("libclang_rt.scudo_standalone-{}.so", std::env::consts::ARCH);
            found.extend(folder.join(file).canonicalize().ok());
        }
    }
    found.sort();
    found.pop()
}

fn subfolders(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// What dpkg(1) or rpm(8) say, where there is one.
pub fn package_version(library: &Path) -> Option<String> {
    let run = |command: &str, arguments: &[&str]| {
        let output = Command::new(command).args(arguments).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    let path = library.to_str()?;
    // Debian's database may know the file under /lib or under /usr/lib, which are the same.
    let dpkg =
        run("dpkg", &["-S", path]).or_else(|| run("dpkg", &["-S", path.strip_prefix("/usr")?]));
    if let Some(line) = dpkg {
        let package = line.split(": ").next()?.to_owned();
        return run("dpkg-query", &["-W", "-f", "${Version}", &package]);
    }
    run("rpm", &["-qf", "--qf", "%{VERSION}-%{RELEASE}", path])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_beside_a_library_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join("peer.so");
        fs::write(library.with_extension("version"), "1.2\n").expect("a file");
        fs::write(library.with_extension("environment"), "A=1:2=3\nB=\n").expect("a file");
        let found = noted(library.clone(), &library);
        assert_eq!((found.version.as_deref(), found.flags), (Some("1.2"), None));
        assert_eq!(found.environment["A"], "1:2=3");
        assert_eq!(found.environment["B"], "");
    }
}
