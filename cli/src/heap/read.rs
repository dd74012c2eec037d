//! What is in the heaps of the process or file that was asked for. One whose mappings have changed
//! while it was read is opened again.

use crate::heap::chosen;
use crate::heap::figures::{Figures, Kind};
use crate::heap::glibc::Unsteady;
use crate::heap::source::Source;
use crate::heap::walk::walk;
use anyhow::Result;
use std::ffi::{OsStr, OsString};

pub fn read(target: &OsStr) -> Result<(Box<dyn Source>, Figures)> {
    const TRIES: usize = 8;
    for _ in 1..TRIES {
        let source = chosen::open(target)?;
        match walk(source.as_ref()) {
            Ok(figures) => return Ok((source, figures)),
            Err(cause) if cause.is::<Unsteady>() && source.process().is_live => {}
            Err(cause) => return Err(cause),
        }
    }
    let source = chosen::open(target)?;
    let figures = walk(source.as_ref())?;
    Ok((source, figures))
}

/// A process in few figures: resident bytes of its allocator's.
#[derive(Debug, Clone)]
pub struct Summary {
    /// `loam`, or `glibc`.
    pub allocator: &'static str,
    pub live_bytes: u64,
    /// Pages that live blocks are on: what is live, and what is beside.
    pub pinned_bytes: u64,
    /// In lists: of loam's caches and depots, of glibc's tcaches and fastbins.
    pub cached_bytes: u64,
    /// Beside live blocks, in lists, and on free pages.
    pub free_bytes: u64,
}

impl Summary {
    pub fn of(figures: &Figures) -> Summary {
        let of = |kinds: &[Kind]| kinds.iter().map(|kind| figures.resident.of(*kind)).sum();
        Summary {
            allocator: figures.allocator.name(),
            live_bytes: of(&[Kind::Live]),
            pinned_bytes: figures.resident.pinned(),
            cached_bytes: of(&[Kind::Cached, Kind::Depots]),
            free_bytes: of(&[Kind::Beside, Kind::Idle, Kind::Cached, Kind::Depots, Kind::Dirty]),
        }
    }
}

/// Of a process that runs.
pub fn summary(pid: i32) -> Result<Summary> {
    let (_, figures) = read(&OsString::from(pid.to_string()))?;
    Ok(Summary::of(&figures))
}
