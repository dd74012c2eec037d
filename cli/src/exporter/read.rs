//! One process, read from outside.

use crate::account::sums::Account;
use crate::heap::figures::Kind;
use crate::heap::layout::Layout;
use crate::heap::live::Live;
use crate::heap::samples;
use crate::heap::source::Source;
use crate::heap::walk::walk;
use anyhow::Result;
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
    /// Resident bytes by what they are, as the fields of `explain --json` are called.
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
    if !Layout::is_in(&Live::open_files(pid)?) {
        return Ok(None);
    }
    let source = Live::open(pid)?;
    let figures = walk(&source)?;
    let account = Account::of(source.process(), &figures);
    Ok(Some(Reading {
        pid,
        name: account.name.clone(),
        resident_bytes: account.resident_bytes,
        peak_bytes: account.peak_bytes,
        pinned_bytes: account.loam.pinned(),
        live_count: figures.live().count,
        states: states(&account),
        has_profile: has_profile(&source)?,
        at: SystemTime::now(),
        took: began.elapsed(),
    }))
}

fn states(account: &Account) -> Vec<(&'static str, u64)> {
    let Account { loam, others, .. } = account;
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
        ("libc_heap", others.libc_heap),
        ("stack", others.stacks),
        ("file", others.files),
        ("mapping", others.mappings),
    ]
}

fn has_profile(source: &dyn Source) -> Result<bool> {
    let layout = Layout::find(source)?;
    Ok(samples::word_at(source, layout.root("profile_last_bytes")?)? != 0)
}
