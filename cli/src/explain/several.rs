//! Several processes, as a server and its workers or all of a container: what each has in memory,
//! what it shares, and what its heap says.

use crate::failure::Failure;
use crate::heap::live::Live;
use crate::heap::read::summary;
use crate::heap::source::{Name, Source};
use crate::process::group::Group;
use crate::process::{allocator, modules, tree};
use anyhow::{Context, Result, anyhow};
use nix::unistd::Pid;
use procfs::process::Process as Folder;
use serde::Serialize;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

#[derive(Serialize)]
pub struct Several {
    pub schema: u32,
    /// That was asked for; `None` of a folder.
    pub pid: Option<i32>,
    pub name: Option<String>,
    /// Where one counts memory.
    pub cgroup: Option<GroupLine>,
    /// Of all processes: each page is divided among those that have it.
    pub pss_bytes: u64,
    pub private_bytes: u64,
    /// With most first.
    pub processes: Vec<Line>,
    /// Meanwhile, which are left out.
    pub ended_count: usize,
    /// Left out, too, as the kernel does not let one look.
    pub unreadable_count: usize,
}

#[derive(Serialize)]
pub struct GroupLine {
    pub path: PathBuf,
    pub used_bytes: Option<u64>,
    /// Its own or the lowest of one above it, which has so much.
    pub limit_bytes: Option<u64>,
    pub limited_used_bytes: Option<u64>,
}

/// A process, and resident bytes.
#[derive(Serialize)]
pub struct Line {
    pub pid: i32,
    pub name: String,
    pub pss_bytes: u64,
    pub private_bytes: u64,
    pub shared_bytes: u64,
    pub swapped_bytes: u64,
    /// Of loam or of glibc; `None` where it has another malloc, or is not to be read just now.
    pub live_bytes: Option<u64>,
    pub pinned_bytes: Option<u64>,
    pub cached_bytes: Option<u64>,
    pub free_bytes: Option<u64>,
    /// `None` where it cannot be told.
    pub allocator: Option<String>,
}

const SCHEMA: u32 = 1;

/// A process and all that it has started.
pub fn of_tree(target: &OsStr) -> Result<Several, Failure> {
    let root = pid_of(target)?.ok_or_else(|| anyhow!("--tree takes the number of a process"))?;
    Ok(of(Some(root), &tree::of(Pid::from_raw(root)), Group::of(root))?)
}

/// All processes of a cgroup.
pub fn of_group(target: &OsStr) -> Result<Several, Failure> {
    let pid = pid_of(target)?;
    let group = match pid {
        Some(pid) => Group::of(pid).ok_or_else(|| no_group(pid))?,
        None => Group::at(Path::new(target))?,
    };
    let processes = group.processes()?;
    Ok(of(pid, &processes, Some(group))?)
}

/// `None` of what is no number.
fn pid_of(target: &OsStr) -> Result<Option<i32>> {
    let digits = target.to_str().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let Some(digits) = digits.filter(|text| !text.is_empty()) else { return Ok(None) };
    let pid = digits.parse().ok().filter(|pid| Folder::new(*pid).is_ok());
    Ok(Some(pid.with_context(|| format!("there is no process {digits}"))?))
}

fn no_group(pid: i32) -> anyhow::Error {
    anyhow!("process {pid} is in no cgroup that counts memory, or in none that is seen from here")
}

fn of(root: Option<i32>, pids: &[i32], group: Option<Group>) -> Result<Several> {
    let mut several = Several {
        schema: SCHEMA,
        pid: root,
        name: root.and_then(name_of),
        cgroup: group.map(|group| GroupLine::of(&group)),
        pss_bytes: 0,
        private_bytes: 0,
        processes: Vec::new(),
        ended_count: 0,
        unreadable_count: 0,
    };
    let mut allocators = Allocators::default();
    for pid in pids {
        match Line::of(*pid, &mut allocators) {
            Ok(line) => several.processes.push(line),
            Err(_) if Live::has_ended(*pid) => several.ended_count += 1,
            Err(_) => several.unreadable_count += 1,
        }
    }
    several.processes.sort_by_key(|line| std::cmp::Reverse(line.pss_bytes));
    several.pss_bytes = several.processes.iter().map(|line| line.pss_bytes).sum();
    several.private_bytes = several.processes.iter().map(|line| line.private_bytes).sum();
    if several.processes.is_empty() && several.unreadable_count != 0 {
        // With the reason, and the way.
        let mut there = pids.iter().filter(|pid| !Live::has_ended(**pid));
        let refused = there.find_map(|pid| Live::open(*pid).err());
        return Err(refused.unwrap_or_else(|| anyhow!("no process can be read")));
    }
    Ok(several)
}

fn name_of(pid: i32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().replace(char::is_control, "\u{fffd}"))
}

impl GroupLine {
    fn of(group: &Group) -> GroupLine {
        let limit = group.limit();
        GroupLine {
            path: group.folder.clone(),
            used_bytes: group.used_bytes(),
            limit_bytes: limit.map(|limit| limit.limit_bytes),
            limited_used_bytes: limit.map(|limit| limit.used_bytes),
        }
    }
}

impl Line {
    fn of(pid: i32, allocators: &mut Allocators) -> Result<Line> {
        let rollup = Folder::new(pid)?.smaps_rollup()?.memory_map_rollup;
        let sums = rollup.iter().next().context("no sums of memory")?;
        let sum = |names: &[&str]| -> u64 {
            names.iter().filter_map(|name| sums.extension.map.get(*name)).sum()
        };
        let mut line = Line {
            pid,
            name: name_of(pid).context("no name")?,
            pss_bytes: sum(&["Pss"]),
            private_bytes: sum(&["Private_Clean", "Private_Dirty"]),
            shared_bytes: sum(&["Shared_Clean", "Shared_Dirty"]),
            swapped_bytes: sum(&["Swap"]),
            live_bytes: None,
            pinned_bytes: None,
            cached_bytes: None,
            free_bytes: None,
            allocator: None,
        };
        // One that begins or executes another program just now has no figures, nor has one on another
        // malloc.
        match summary(pid) {
            Ok(summary) => {
                line.allocator = Some(summary.allocator.to_owned());
                line.live_bytes = Some(summary.live_bytes);
                line.pinned_bytes = Some(summary.pinned_bytes);
                line.cached_bytes = Some(summary.cached_bytes);
                line.free_bytes = Some(summary.free_bytes);
            }
            Err(_) => line.allocator = allocators.name(pid, &Live::open(pid)?),
        }
        Ok(line)
    }
}

/// By the files that are loaded: workers have the same ones.
#[derive(Default)]
struct Allocators {
    known: HashMap<Vec<PathBuf>, Option<String>>,
}

impl Allocators {
    fn name(&mut self, pid: i32, source: &Live) -> Option<String> {
        let mut files: Vec<PathBuf> = Vec::new();
        for mapping in &source.process().mappings {
            if let Name::File(path) = &mapping.name
                && files.last() != Some(path)
            {
                files.push(path.clone());
            }
        }
        let find = || modules::Process::open(pid).ok().and_then(|one| allocator::name(&one));
        self.known.entry(files).or_insert_with(find).clone()
    }
}
