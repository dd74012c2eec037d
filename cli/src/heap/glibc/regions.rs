//! Runs of memory that chunks of one arena follow each other in.

use crate::heap::glibc::arenas::{Arena, Arenas};
use crate::heap::glibc::memory::Memory;
use crate::heap::glibc::parameters::Parameters;
use crate::heap::source::{Mapping, Name, Process};
use anyhow::{Result, ensure};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    pub arena: usize,
    /// Where glibc's own records before the first chunk begin, if there are any.
    pub start: u64,
    /// The first chunk.
    pub first: u64,
    pub end: u64,
    /// Where the arena's free memory at its end began, if it is in here.
    pub top: Option<u64>,
}

impl Region {
    pub fn contains(&self, address: u64) -> bool {
        (self.first..self.end).contains(&address)
    }
}

pub const LEAST_BYTES: u64 = 32;

/// By address.
pub fn of(
    memory: &mut Memory,
    arenas: &Arenas,
    parameters: Option<&Parameters>,
) -> Result<Vec<Region>> {
    let mut regions = Vec::new();
    for (index, arena) in arenas.arenas.iter().enumerate() {
        match index {
            0 => regions.extend(main_regions(memory, arena, parameters)?),
            _ => regions.extend(mapped_regions(index, arena)),
        }
    }
    regions.sort_by_key(|region| region.start);
    Ok(regions)
}

fn mapped_regions(index: usize, arena: &Arena) -> impl Iterator<Item = Region> {
    arena.heaps.iter().map(move |heap| {
        let end = heap.start + heap.bytes;
        let top = Some(arena.top).filter(|top| (heap.first..end).contains(top));
        Region { arena: index, start: heap.start, first: heap.first, end, top }
    })
}

/// By brk; and where that could not go on, by mmap.
fn main_regions(
    memory: &mut Memory,
    arena: &Arena,
    parameters: Option<&Parameters>,
) -> Result<Vec<Region>> {
    if arena.top == 0 {
        return Ok(Vec::new());
    }
    let process = memory.source.process();
    let heap = process.mappings.iter().find(|mapping| mapping.name == Name::Heap);
    let base = parameters.map(|found| found.base).or(heap.map(|heap| heap.start));
    let size = memory.word(arena.top + 8)? & !7;
    let top_end = arena.top.wrapping_add(size);
    ensure!(
        size >= LEAST_BYTES / 2 && reach(process, arena.top) >= top_end,
        "glibc's main arena does not add up: {size:#x} bytes at its top, {:#x}",
        arena.top
    );
    let mut regions = Vec::new();
    if let Some(base) = base {
        let first = base.next_multiple_of(16);
        let is_tops = (first..=reach(process, base)).contains(&arena.top);
        let (end, top) =
            if is_tops { (top_end, Some(arena.top)) } else { (reach(process, base), None) };
        regions.push(Region { arena: 0, start: base, first, end, top });
    }
    let others = [arena.top].into_iter().chain(arena.binned.iter().copied());
    for anchor in others {
        if regions.iter().any(|region: &Region| region.contains(anchor)) {
            continue;
        }
        let Some(mapping) = process.mappings.iter().find(|one| one.contains(anchor)) else {
            continue;
        };
        let Some(first) = begin_of(memory, mapping, anchor) else { continue };
        let (end, top) = if (first..reach(process, first)).contains(&arena.top) {
            (top_end, Some(arena.top))
        } else {
            (reach(process, first), None)
        };
        regions.push(Region { arena: 0, start: first, first, end, top });
    }
    Ok(regions)
}

/// Where memory that may be written ends from there on: a fork may have cut it into mappings.
pub fn reach(process: &Process, address: u64) -> u64 {
    let from = process.mappings.partition_point(|mapping| mapping.end <= address);
    let mut end = address;
    for mapping in &process.mappings[from..] {
        if mapping.start > end || !mapping.is_accessible || matches!(mapping.name, Name::File(_)) {
            break;
        }
        end = mapping.end;
    }
    end
}

/// The page of the mapping from which chunks lead to the anchor.
fn begin_of(memory: &mut Memory, mapping: &Mapping, anchor: u64) -> Option<u64> {
    const PAGE_BYTES: usize = 4096;
    (mapping.start..=anchor).step_by(PAGE_BYTES).find(|start| leads(memory, *start, anchor))
}

/// The first place from which chunks lead to the anchor; the anchor itself if none does.
pub fn begin_before(memory: &mut Memory, from: u64, anchor: u64) -> u64 {
    const STEPS_MAX: usize = 1 << 20;
    let mut places = (from.next_multiple_of(16)..anchor).step_by(16).take(STEPS_MAX);
    places.find(|place| leads(memory, *place, anchor)).unwrap_or(anchor)
}

/// Whether chunks of the main arena follow each other to the anchor; the first one does not follow
/// any that is free.
fn leads(memory: &mut Memory, start: u64, anchor: u64) -> bool {
    const CHUNKS_MAX: usize = 1 << 20;
    let mut at = start;
    for _ in 0..CHUNKS_MAX {
        if at >= anchor {
            break;
        }
        let Ok(word) = memory.word(at + 8) else { return false };
        let is_one = word & 6 == 0 && word & !7 >= LEAST_BYTES && word & 8 == 0;
        if !is_one || at == start && word & 1 == 0 {
            return false;
        }
        at = at.saturating_add(word & !7);
    }
    at == anchor
}
