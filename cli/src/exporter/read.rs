//! One process, read from outside.

use crate::heap::figures::{Figures, Kind, Resident};
use crate::heap::glibc;
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
    /// `loam`, or `glibc`.
    pub allocator: &'static str,
    pub pid: i32,
    pub name: String,
    pub resident_bytes: u64,
    pub peak_bytes: Option<u64>,
    /// Pages that live blocks are on.
    pub pinned_bytes: u64,
    pub live_count: u64,
    /// Resident bytes by what they are; as the fields of `explain --json` are called.
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

/// `None` of a process that has no loam, nor glibc's malloc if `with_glibc`.
pub fn read(pid: i32, with_glibc: bool) -> Result<Option<Reading>> {
    let began = Instant::now();
    // Most processes have none, and cost no more than this.
    let source = Live::open_files(pid)?;
    if Layout::is_in(&source) {
        return Ok(Some(reading(pid, &source, &walk(&source)?, began)?));
    }
    if !with_glibc {
        return Ok(None);
    }
    let source = Live::open(pid)?;
    let figures = glibc::walk(&source)?;
    figures.map(|figures| reading(pid, &source, &figures, began)).transpose()
}

fn reading(pid: i32, source: &dyn Source, figures: &Figures, began: Instant) -> Result<Reading> {
    let rest = Rest::of(pid, &figures.resident)?;
    let process = source.process();
    let is_loams = Layout::is_in(source);
    Ok(Reading {
        allocator: figures.allocator.name(),
        pid,
        name: process.name.clone(),
        resident_bytes: process.resident_bytes.unwrap_or(0),
        peak_bytes: process.peak_bytes,
        pinned_bytes: figures.resident.pinned(),
        live_count: figures.live().count,
        states: states(&figures.resident, &rest),
        has_profile: is_loams && has_profile(source)?,
        at: SystemTime::now(),
        took: began.elapsed(),
    })
}

/// What is not the allocator's, by counters that the kernel has at hand: to count the pages of each mapping
/// it would hold the process's mappings for as long as that takes.
struct Rest {
    file_bytes: u64,
    other_bytes: u64,
}

impl Rest {
    fn of(pid: i32, heap: &Resident) -> Result<Rest> {
        let status = Folder::new(pid)?.status()?;
        let bytes = |kib: Option<u64>| kib.unwrap_or(0) * 1024;
        Ok(Rest {
            file_bytes: bytes(status.rssfile) + bytes(status.rssshmem),
            other_bytes: bytes(status.rssanon).saturating_sub(heap.sum()),
        })
    }
}

fn states(heap: &Resident, rest: &Rest) -> Vec<(&'static str, u64)> {
    vec![
        ("live", heap.of(Kind::Live)),
        ("beside", heap.of(Kind::Beside)),
        ("idle", heap.of(Kind::Idle)),
        ("cached", heap.of(Kind::Cached)),
        ("depot", heap.of(Kind::Depots)),
        ("dirty", heap.of(Kind::Dirty)),
        ("unused", heap.of(Kind::Unused)),
        ("metadata", heap.of(Kind::Metadata)),
        ("profile", heap.of(Kind::Profile)),
        ("file", rest.file_bytes),
        ("other", rest.other_bytes),
    ]
}

fn has_profile(source: &dyn Source) -> Result<bool> {
    let layout = Layout::find(source)?;
    Ok(samples::word_at(source, layout.root("profile_last_bytes")?)? != 0)
}
