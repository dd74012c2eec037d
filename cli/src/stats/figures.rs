//! The figures, as data.

use crate::heap::figures::{Class, Figures, Heap, Kind};
use crate::heap::source::Process;
use serde::Serialize;

/// What the first six mean is what jemalloc's `stats.` of these names do.
#[derive(Serialize)]
pub struct Stats {
    pub schema: u32,
    pub process: String,
    /// `None` where a core does not say.
    pub pid: Option<u64>,
    pub name: String,
    /// Whose heap it is.
    pub allocator: &'static str,
    pub allocated: u64,
    pub active: u64,
    pub metadata: u64,
    pub resident: u64,
    pub mapped: u64,
    pub retained: u64,
    pub process_resident: Option<u64>,
    pub process_resident_peak: Option<u64>,
    pub blocks: u64,
    pub bins: Vec<Bin>,
    pub heaps: Vec<HeapStats>,
}

/// Small blocks of one size; counts are of blocks.
#[derive(Serialize)]
pub struct Bin {
    pub size: u64,
    pub curregs: u64,
    pub cached: u64,
    pub depots: u64,
    pub free: u64,
    pub curslabs: u64,
    pub resident: u64,
}

#[derive(Serialize)]
pub struct HeapStats {
    pub name: String,
    /// In small blocks of its spans; `None` of a thread's cache.
    pub allocated: Option<u64>,
    pub cached: u64,
    pub depots: u64,
    pub resident: u64,
}

impl Stats {
    pub fn of(process: &Process, figures: &Figures) -> Stats {
        let resident = figures.resident.sum();
        let live = figures.live();
        let is_there = |class: &&Class| class.span_count != 0 || class.resident.sum() != 0;
        let has_memory = |heap: &&Heap| heap.resident.sum() != 0;
        Stats {
            schema: 1,
            process: process.title.clone(),
            pid: process.pid,
            name: process.name.clone(),
            allocator: figures.allocator.name(),
            allocated: live.bytes,
            active: figures.active_bytes,
            metadata: figures.resident.of(Kind::Metadata),
            resident,
            mapped: figures.mapped_bytes,
            retained: figures.mapped_bytes.saturating_sub(resident),
            process_resident: process.resident_bytes,
            process_resident_peak: process.peak_bytes,
            blocks: live.count,
            bins: figures.classes.iter().filter(is_there).map(bin).collect(),
            heaps: figures.heaps.iter().filter(has_memory).map(heap).collect(),
        }
    }
}

fn bin(class: &Class) -> Bin {
    Bin {
        size: class.block_bytes,
        curregs: class.live_count,
        cached: class.cached_count,
        depots: class.depot_count,
        free: class.free_count,
        curslabs: class.span_count,
        resident: class.resident.sum(),
    }
}

fn heap(heap: &Heap) -> HeapStats {
    HeapStats {
        name: heap.name(),
        allocated: heap.live_bytes(),
        cached: heap.resident.of(Kind::Cached),
        depots: heap.resident.of(Kind::Depots),
        resident: heap.resident.sum(),
    }
}
