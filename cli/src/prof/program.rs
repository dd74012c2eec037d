//! A program that is run with a profile taken of it, and of all that it starts.

use crate::arguments::ProfArguments;
use crate::binary::library::Library;
use crate::binary::reach;
use crate::failure::{Failure, REFUSED};
use crate::process::launch;
use crate::profile::written::Profile;
use anyhow::Context;
use std::ffi::OsStr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

const LEAKS_SAMPLE_BYTES: u64 = 512;

/// Where Python has its objects from (its manual, under PYTHONMALLOC).
const PYTHON_MALLOC: &str = "PYTHONMALLOC";

pub struct Ended {
    pub status: ExitStatus,
    /// Those that could be read, the one that has taken most first.
    pub profiles: Vec<Profile>,
}

/// Where profiles are written: a folder that was asked for, or one that goes when this does.
enum Folder {
    Kept(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Folder {
    fn new(kept: Option<&Path>) -> anyhow::Result<Folder> {
        let Some(path) = kept else {
            return Ok(Folder::Temporary(tempfile::tempdir().context("cannot make a folder")?));
        };
        let shown = path.display();
        std::fs::create_dir_all(path).with_context(|| format!("cannot make {shown}"))?;
        Ok(Folder::Kept(path.canonicalize().with_context(|| format!("cannot find {shown}"))?))
    }

    fn path(&self) -> &Path {
        match self {
            Folder::Kept(path) => path,
            Folder::Temporary(folder) => folder.path(),
        }
    }
}

pub fn run(arguments: &ProfArguments) -> Result<Ended, Failure> {
    let refused = |cause| Failure { status: REFUSED, cause };
    let words = &arguments.command;
    let path = launch::find(&words[0])?;
    let target = launch::resolve(&path, words)?;
    let folder = Folder::new(arguments.keep.as_deref()).map_err(refused)?;
    let mut command = Command::new(&path);
    command.arg0(&words[0]).args(&words[1..]);
    if !target.image.as_ref().is_some_and(|image| image.is_loam()) {
        let library = Library::locate(arguments.library.library.as_deref()).map_err(refused)?;
        let obstacle =
            target.image.as_ref().and_then(|image| reach::obstacle(&target.path, image, &library));
        if let Some(obstacle) = obstacle {
            return Err(Failure::new(REFUSED, obstacle));
        }
        command.env("LD_PRELOAD", launch::preload(&library));
    }
    if let Some(options) = launch::options(&options(arguments, folder.path())) {
        command.env("LOAM_OPTIONS", options);
    }
    // Else it maps the memory of most of its objects itself.
    if std::env::var_os(PYTHON_MALLOC).is_none() {
        command.env(PYTHON_MALLOC, "malloc");
    }
    let status = command.status().with_context(|| format!("cannot run {}", path.display()));
    Ok(Ended { status: status.map_err(refused)?, profiles: read_all(folder.path())? })
}

fn options(arguments: &ProfArguments, folder: &Path) -> Vec<String> {
    let every = arguments.every.or(arguments.leaks.then_some(LEAKS_SAMPLE_BYTES));
    let bytes = every.map(|bytes| format!("profile_bytes={bytes}"));
    let file = format!("profile_file={}/%p.profile", folder.display());
    ["profile=on".to_owned(), file].into_iter().chain(bytes).collect()
}

/// A process that was killed has written none, and one that is being written is cut off.
fn read_all(folder: &Path) -> Result<Vec<Profile>, Failure> {
    let entries = std::fs::read_dir(folder).context("cannot read the profiles")?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let files = files.filter(|path| path.extension() == Some(OsStr::new("profile")));
    let mut profiles: Vec<Profile> = files.filter_map(|path| Profile::read(&path).ok()).collect();
    profiles.sort_by_key(|profile| std::cmp::Reverse(profile.total.taken.bytes));
    Ok(profiles)
}

/// As shells have it.
pub fn status_of(status: ExitStatus) -> u8 {
    let number = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    number.cast_unsigned().to_le_bytes()[0]
}
