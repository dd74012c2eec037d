//! The allocators there are, and those that were asked for.

use crate::bench::judge::known::{GLIBC, LOAM, MUSL};
use crate::bench::judge::results::AllocatorRow;
use crate::bench::measure::c_library;
use crate::bench::measure::peers::{self, Found};
use crate::binary::library::Library;
use crate::failure::{in_one_line, reason};
use crate::process::launch;
use anyhow::{Context, Result, anyhow, bail};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

const SYSTEM_TUNED: &str = "glibc-tuned";

/// Settings from glibc's manual ("Memory Allocation Tunables"): longer per-thread lists, and blocks
/// below 32 MiB neither mapped singly nor given back at once.
const TUNABLES: [(&str, u64); 4] = [
    ("glibc.malloc.tcache_count", 1000),
    ("glibc.malloc.trim_threshold", 128 << 20),
    ("glibc.malloc.mmap_threshold", 32 << 20),
    ("glibc.malloc.top_pad", 1 << 20),
];

#[derive(Debug, Clone, Default)]
pub struct Allocator {
    pub name: String,
    /// Canonical; `None` for the system's own.
    pub library: Option<PathBuf>,
    pub environment: BTreeMap<String, String>,
    pub version: Option<String>,
    pub flags: Option<String>,
    pub is_limit: bool,
    /// Why it takes no part.
    pub problem: Option<String>,
}

impl Allocator {
    /// The environment that makes a program use it.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let preload = self.library.iter().map(|path| ("LD_PRELOAD".into(), path.into()));
        let own = self.environment.iter().map(|(name, value)| (name.into(), value.into()));
        preload.chain(own).collect()
    }

    pub fn row(&self) -> AllocatorRow {
        AllocatorRow {
            name: self.name.clone(),
            version: self.known_version(),
            flags: self.flags.clone(),
            library: self.library.as_deref().map(shown),
            environment: self.environment.clone(),
            is_limit: self.is_limit,
            problem: self.problem.clone(),
        }
    }

    /// A library to preload, if it can be.
    pub fn preloaded(name: &str, found: Found) -> Allocator {
        let problem = peers::obstacle(&found.library).err().map(|cause| in_one_line(&cause));
        Allocator {
            name: name.into(),
            library: Some(found.library),
            environment: found.environment,
            version: found.version,
            flags: found.flags,
            problem,
            ..Allocator::default()
        }
    }

    /// If it is not noted, what the system's package manager knows; which takes a while.
    pub fn known_version(&self) -> Option<String> {
        let ask = || peers::package_version(self.library.as_ref().filter(|_| !self.is_limit)?);
        self.version.clone().or_else(ask)
    }
}

/// A path as results show it: relative where it lies below the current folder.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_path_buf));
    below.as_deref().unwrap_or(path).display().to_string()
}

/// Where to look, beside the system.
pub struct Places<'a> {
    /// The folder that `make peers` fills.
    pub peers: Option<&'a Path>,
    /// loam's library, if not the one that belongs to this command.
    pub loam: Option<&'a Path>,
    /// NAME=PATH of the user's.
    pub added: &'a [(String, PathBuf)],
}

/// All that there are, loam and the system's own first.
pub fn find_all(places: &Places) -> Vec<Allocator> {
    let mut all = vec![loam(places.loam), system()];
    all.extend(system_tuned());
    let found = peers::find(places.peers);
    all.extend(found.into_iter().map(|(name, found)| Allocator::preloaded(&name, found)));
    for (name, path) in places.added {
        all.retain(|other| other.name != *name);
        all.push(of_user(name, path));
    }
    all
}

/// Those of these names, in that order; or all.
pub fn choose(all: Vec<Allocator>, names: Option<&[String]>) -> Result<Vec<Allocator>> {
    let Some(names) = names else { return Ok(all) };
    let mut chosen: Vec<Allocator> = Vec::new();
    for name in names {
        let Some(allocator) = all.iter().find(|allocator| allocator.name == *name) else {
            let known: Vec<&str> = all.iter().map(|allocator| allocator.name.as_str()).collect();
            bail!(
                "no allocator {name}: there are {}; more come by 'make peers', from the system's \
                 packages, or by --allocator {name}=PATH",
                known.join(", ")
            );
        };
        if chosen.iter().all(|other| other.name != *name) {
            chosen.push(allocator.clone());
        }
    }
    Ok(chosen)
}

fn loam(asked_for: Option<&Path>) -> Allocator {
    let mut allocator = Allocator { name: LOAM.into(), ..Allocator::default() };
    match Library::locate(asked_for) {
        Ok(library) => {
            allocator.version = Some(env!("CARGO_PKG_VERSION").into());
            allocator.library = Some(library.path);
        }
        Err(cause) => allocator.problem = Some(in_one_line(&cause)),
    }
    allocator
}

/// The name of the system's own, and its version.
fn named(c_library: Option<&str>) -> (&'static str, Option<&str>) {
    match c_library.and_then(|text| text.split_once(' ')) {
        Some((MUSL, version)) => (MUSL, Some(version)),
        other => (GLIBC, other.map(|(_, version)| version)),
    }
}

/// What others are compared with for a command of the user's.
pub fn system_name() -> &'static str {
    named(c_library::version().as_deref()).0
}

fn system() -> Allocator {
    let c_library = c_library::version();
    let (name, version) = named(c_library.as_deref());
    Allocator { name: name.into(), version: version.map(str::to_owned), ..Allocator::default() }
}

/// The system's with settings; not there if its C library is another than glibc. With a problem if
/// this glibc does not take all of them.
fn system_tuned() -> Option<Allocator> {
    let plain = Some(system()).filter(|system| system.name == GLIBC && system.version.is_some())?;
    let settings: Vec<String> =
        TUNABLES.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let environment = BTreeMap::from([("GLIBC_TUNABLES".to_owned(), settings.join(":"))]);
    let problem = untaken_tunable(&environment).map(|cause| in_one_line(&cause));
    Some(Allocator { name: SYSTEM_TUNED.into(), environment, problem, ..plain })
}

/// Why the settings have no effect, as the loader tells which it knows and has taken.
fn untaken_tunable(environment: &BTreeMap<String, String>) -> Option<anyhow::Error> {
    let listing = || -> Result<String> {
        let loader = c_library::loader().context("no loader")?;
        let output = Command::new(loader).arg("--list-tunables").envs(environment).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    match listing() {
        Ok(listing) => TUNABLES
            .iter()
            .find(|(name, value)| !listing.contains(&format!("{name}: {value:#x} ")))
            .map(|(name, value)| anyhow!("this glibc does not take {name}={value}")),
        Err(cause) => Some(cause.context("cannot list this glibc's tunables")),
    }
}

fn of_user(name: &str, path: &Path) -> Allocator {
    match path.canonicalize() {
        Ok(library) => Allocator::preloaded(name, peers::noted(library.clone(), &library)),
        Err(cause) => Allocator {
            name: name.into(),
            library: Some(path.into()),
            problem: Some(format!("cannot find {}: {}", path.display(), reason(&cause))),
            ..Allocator::default()
        },
    }
}

/// The commit of the checkout that this command was built in, if it is in one.
pub fn commit() -> Option<String> {
    let itself = crate::binary::itself::path().ok()?;
    let folder = itself.parent()?;
    launch::find("git".as_ref()).ok()?;
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(text)
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changes.is_empty() { commit } else { commit + "+changes" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_asked_for_is_kept_and_unknown_names_are_named() {
        let named = |name: &str| Allocator { name: name.into(), ..Allocator::default() };
        let all = || vec![named("a"), named("b"), named("c")];
        let names = ["c", "a", "c"].map(str::to_owned);
        let chosen = choose(all(), Some(&names)).expect("all known");
        assert_eq!(chosen.iter().map(|a| a.name.as_str()).collect::<Vec<_>>(), ["c", "a"]);
        let error = choose(all(), Some(&["d".to_owned()])).expect_err("unknown");
        assert!(error.to_string().starts_with("no allocator d: there are a, b, c;"));
    }

    #[test]
    fn the_systems_own_is_called_as_its_c_library() {
        assert_eq!(named(Some("glibc 2.36")), ("glibc", Some("2.36")));
        assert_eq!(named(Some("musl 1.2.3")), ("musl", Some("1.2.3")));
        assert_eq!(named(None), ("glibc", None));
    }

    #[test]
    fn preloading_comes_with_the_variables() {
        let mut allocator = Allocator { library: Some("/x.so".into()), ..Allocator::default() };
        allocator.environment.insert("A".into(), "1".into());
        let expected = [("LD_PRELOAD", "/x.so"), ("A", "1")];
        assert_eq!(allocator.variables(), expected.map(|(a, b)| (a.into(), b.into())));
    }
}
