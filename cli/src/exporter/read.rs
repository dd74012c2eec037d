//! One process, read from outside.

use crate::heap::figures::{Kind, Resident};
use crate::heap::layout::Layout;
use crate::heap::live::Live;
use crate::heap::samples;
use crate::heap::source::Source;
use crate::heap::walk::walk;
use anyhow::Result;
use procfs::process::Process as Folder;
use std::time::{Duration, Instant, SystemTime};

/// What was read of a process: the same figures whichever malloc it has.
pub struct Reading {
    pub pid: i32,
    pub name: String,
    pub resident_bytes: u64,
    pub peak_bytes: Option<u64>,
    /// Pages that live blocks are on.
    pub pinned_bytes: u64,
    pub live_count: u64,
    /// Resident bytes by what they are; those of loam as the fields of `explain --json` are called.
    pub states: Vec<(&'static str, u64)>,
    pub has_profile: bool,
    pub at: SystemTime,
    pub took: Duration,
}

impl Reading {
    pub fn state(&self, name: &str) -> u64 {
        self.states.iter().filter(|(state, _)| *state == name).map(|(_, bytes)| bytes).sum()
    }
}

/// `None` of a process that has no loam.
pub fn read(pid: i32) -> Result<Option<Reading>> {
    let began = Instant::now();
    // Most processes have none, and cost no more than this.
    let source = Live::open_files(pid)?;
    if !Layout::is_in(&source) {
        return Ok(None);
    }
    let figures = walk(&source)?;
    let rest = Rest::of(pid, &figures.resident)?;
    let process = source.process();
    Ok(Some(Reading {
        pid,
        name: process.name.clone(),
        resident_bytes: process.resident_bytes.unwrap_or(0),
        peak_bytes: process.peak_bytes,
        pinned_bytes: figures.resident.pinned(),
        live_count: figures.live().count,
        states: states(&figures.resident, &rest),
        has_profile: has_profile(&source)?,
        at: SystemTime::now(),
        took: began.elapsed(),
    }))
}

/// What is not loam's, by counters that the kernel has at hand: to count the pages of each mapping
/// it would hold the process's mappings for as long as that takes.
struct Rest {
    file_bytes: u64,
    other_bytes: u64,
}

impl Rest {
    fn of(pid: i32, loam: &Resident) -> Result<Rest> {
        let status = Folder::new(pid)?.status()?;
        let bytes = |kib: Option<u64>| kib.unwrap_or(0) * 1024;
        Ok(Rest {
            file_bytes: bytes(status.rssfile) + bytes(status.rssshmem),
            other_bytes: bytes(status.rssanon).saturating_sub(loam.sum()),
        })
    }
}

fn states(loam: &Resident, rest: &Rest) -> Vec<(&'static str, u64)> {
    vec![
        ("live", loam.of(Kind::Live)),
        ("beside", loam.of(Kind::Beside)),
        ("idle", loam.of(Kind::Idle)),
        ("cached", loam.of(Kind::Cached)),
        ("depot", loam.of(Kind::Depots)),
        ("dirty", loam.of(Kind::Dirty)),
        ("unused", loam.of(Kind::Unused)),
        ("metadata", loam.of(Kind::Metadata)),
        ("profile", loam.of(Kind::Profile)),
        ("file", rest.file_bytes),
        ("other", rest.other_bytes),
    ]
}

fn has_profile(source: &dyn Source) -> Result<bool> {
    let layout = Layout::find(source)?;
    Ok(samples::word_at(source, layout.root("profile_last_bytes")?)? != 0)
}
