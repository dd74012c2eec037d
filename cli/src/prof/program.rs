//! A program that is run with a profile taken of it, and of all that it starts.

use crate::arguments::ProfArguments;
use crate::binary::library::Library;
use crate::binary::reach;
use crate::failure::{Failure, REFUSED, complain, in_one_line};
use crate::heap::live::Live;
use crate::process::{execute, launch, preload, supervise};
use crate::profile::living;
use crate::profile::written::Profile;
use crate::replace;
use anyhow::Context;
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often is looked who is there.
const PAUSE: Duration = Duration::from_millis(10);
const LEAKS_SAMPLE_BYTES: u64 = 512;

/// Where Python has its objects from (its manual, under PYTHONMALLOC).
const PYTHON_MALLOC: &str = "PYTHONMALLOC";

pub struct Ended {
    pub status: WaitStatus,
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
    let mut environment: Vec<(&str, OsString)> = Vec::new();
    if !target.image.as_ref().is_some_and(|image| image.is_loam()) {
        let library = Library::locate(arguments.library.library.as_deref()).map_err(refused)?;
        let obstacle =
            target.image.as_ref().and_then(|image| reach::obstacle(&target.path, image, &library));
        if let Some(obstacle) = obstacle {
            return Err(Failure::new(REFUSED, obstacle));
        }
        environment.push(("LD_PRELOAD", preload::value(&library, target.image.as_ref())));
    }
    // Else it maps the memory of most of its objects itself.
    if std::env::var_os(PYTHON_MALLOC).is_none() {
        environment.push((PYTHON_MALLOC, "malloc".into()));
    }
    let options = launch::options(&options(arguments, folder.path()));
    environment.extend(options.map(|options| ("LOAM_OPTIONS", options)));
    let ended = supervise::run_to_last_look(
        &target.path,
        || execute::become_child(&path, words, &environment),
        &mut |_| PAUSE,
        &mut |pid| keep_unwritten(pid, folder.path()),
    );
    Ok(Ended { status: ended.map_err(refused)?.status, profiles: read_all(folder.path())? })
}

/// The profile of a process that ends, unless it has written one itself.
fn keep_unwritten(pid: Pid, folder: &Path) {
    let path = folder.join(format!("{pid}.profile"));
    if Profile::read(&path).is_ok() {
        return;
    }
    // What cannot be read, or has none, is a process that is not on loam.
    let profile = Live::open(pid.as_raw()).and_then(|source| living::find(&source));
    if let Ok(Some(profile)) = profile {
        // It is missing from the report, then.
        if let Err(cause) = replace::file(&path, &profile.write()) {
            complain(in_one_line(&cause));
        }
    }
}

fn options(arguments: &ProfArguments, folder: &Path) -> Vec<String> {
    let every = arguments.every.or(arguments.leaks.then_some(LEAKS_SAMPLE_BYTES));
    let bytes = every.map(|bytes| format!("profile_bytes={bytes}"));
    let file = format!("profile_file={}/%p.profile", folder.display());
    ["profile=on".to_owned(), file].into_iter().chain(bytes).collect()
}

/// Without those that are damaged, or being written by a process that goes on.
fn read_all(folder: &Path) -> Result<Vec<Profile>, Failure> {
    let entries = std::fs::read_dir(folder).context("cannot read the profiles")?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let files = files.filter(|path| path.extension() == Some(OsStr::new("profile")));
    let mut profiles: Vec<Profile> = files.filter_map(|path| Profile::read(&path).ok()).collect();
    profiles.sort_by_key(|profile| std::cmp::Reverse(profile.total.taken.bytes));
    Ok(profiles)
}
