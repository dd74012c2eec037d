//! What the kinds of memory are called, by whose heap it is.

use crate::heap::figures::Allocator;
use serde::Serialize;

/// Where there are 19 letters of room.
#[derive(Serialize)]
pub struct Short {
    pub whole: &'static str,
    pub idle: &'static str,
    pub cached: &'static str,
    pub depots: &'static str,
    pub dirty: &'static str,
    pub records: &'static str,
}

#[derive(Serialize)]
pub struct Names {
    pub short: Short,
    pub whose: &'static str,
    pub idle: &'static str,
    pub cached: &'static str,
    pub depots: &'static str,
    pub dirty: &'static str,
    pub records: &'static str,
    pub libc_heap: &'static str,
    /// What keeps blocks.
    pub heaps: &'static str,
    pub heaps_heading: &'static str,
    pub sizes: &'static str,
    pub sizes_heading: &'static str,
}

pub const LOAM: Names = Names {
    short: Short {
        whole: "loam's memory",
        idle: "free pages of spans",
        cached: "caches of threads",
        depots: "depots",
        dirty: "pages nobody uses",
        records: "loam's records",
    },
    whose: "loam's",
    idle: "free pages of spans",
    cached: "caches of threads",
    depots: "depots: for any thread",
    dirty: "pages that nobody uses",
    records: "loam's records",
    libc_heap: "the C library's own heap",
    heaps: "caches and centrals",
    heaps_heading: "Caches and centrals",
    sizes: "small blocks by size",
    sizes_heading: "Small blocks by size: how well their pages are used",
};

pub const GLIBC: Names = Names {
    short: Short {
        whole: "malloc's memory",
        idle: "free pages of bins",
        cached: "tcaches of threads",
        depots: "fastbins",
        dirty: "tops of arenas",
        records: "headers, records",
    },
    whose: "malloc's",
    idle: "free pages of bins",
    cached: "tcaches of threads",
    depots: "fastbins",
    dirty: "free at the tops of arenas",
    records: "glibc's headers and records",
    libc_heap: "others' memory by brk",
    heaps: "arenas and tcaches",
    heaps_heading: "Arenas and tcaches",
    sizes: "blocks by size",
    sizes_heading: "Blocks by size: how well their pages are used",
};

pub fn of(allocator: &Allocator) -> &'static Names {
    match allocator {
        Allocator::Loam => &LOAM,
        Allocator::Glibc(_) => &GLIBC,
    }
}
