//! Runs of memory that chunks of one arena follow each other in.

use crate::heap::glibc::arenas::{Arena, Arenas};
use crate::heap::glibc::memory::{Memory, PAGE_BYTES};
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

/// Bits of the size in front of a chunk that say something else.
pub const FLAGS: u64 = 7;
pub const LEAST_BYTES: u64 = 32;

/// Whether a chunk may be there. The regions are by address.
pub fn holds(regions: &[Region], at: u64) -> bool {
    let after = regions.partition_point(|region| region.first <= at);
    let region = after.checked_sub(1).map(|index| &regions[index]);
    at.is_multiple_of(16) && region.is_some_and(|region| region.contains(at))
}

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

/// How much a process may have taken between two looks of ours.
const GROWN_MAX: u64 = 64 << 20;

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
    let size = memory.word(arena.top + 8)? & !FLAGS;
    let (top_end, reached) = (arena.top.wrapping_add(size), reach(process, arena.top));
    // Of one that goes on: the top that was read is a chunk by now, and it may lie behind what the
    // system has said before.
    let has_grown = process.is_live && (reached <= arena.top || top_end % PAGE_BYTES != 0);
    ensure!(
        has_grown
            || size >= LEAST_BYTES / 2
                && reached > arena.top
                && (reached >= top_end || process.is_live),
        "glibc's main arena does not add up: {size:#x} bytes at its top, {:#x}",
        arena.top
    );
    let top_end = top_end.min(reached);
    let Some(base) = base else { return Ok(by_mmap(memory, arena, top_end, None)) };
    let (first, reached) = (base.next_multiple_of(16), reach(process, base));
    let by_brk = |end, top| Region { arena: 0, start: base, first, end, top };
    let ahead = arena.top.saturating_sub(reached);
    if has_grown && arena.top >= first && ahead < GROWN_MAX && reached > first {
        return Ok(vec![by_brk(reached, Some(arena.top))]);
    }
    if (first..=reached).contains(&arena.top) {
        return Ok(vec![by_brk(top_end, Some(arena.top))]);
    }
    let by_brk = by_brk(reached, None);
    Ok([by_brk].into_iter().chain(by_mmap(memory, arena, top_end, Some(by_brk))).collect())
}

/// In mappings that the top or any chunk of a bin is in.
fn by_mmap(memory: &mut Memory, arena: &Arena, top_end: u64, brk: Option<Region>) -> Vec<Region> {
    let known = [arena.top].into_iter().chain(arena.binned.iter().copied());
    let is_its = |mapping: &&Mapping| known.clone().any(|at| mapping.contains(at));
    let is_brks = |mapping: &&Mapping| brk.is_some_and(|brk| mapping.contains(brk.first));
    let mappings = memory.source.process().mappings.iter();
    let mut regions = Vec::new();
    for mapping in mappings.filter(is_its).filter(|mapping| !is_brks(mapping)) {
        let mut page = mapping.start;
        while page < mapping.end {
            let (end, top) = if leads(memory, page, arena.top) {
                (Some(top_end), Some(arena.top))
            } else {
                (closed(memory, page, mapping.end), None)
            };
            if let Some(end) = end {
                regions.push(Region { arena: 0, start: page, first: page, end, top });
            }
            page = end.unwrap_or(page + 1).next_multiple_of(PAGE_BYTES);
        }
    }
    regions
}

/// Where chunks of the main arena end that follow each other from the page on, if it is with the two
/// headers that such memory is closed by.
fn closed(memory: &mut Memory, start: u64, limit: u64) -> Option<u64> {
    // What the arena takes at once.
    const LEAST: u64 = 1 << 16;
    let mut at = start;
    loop {
        let word = memory.word(at + 8).ok()?;
        let bytes = word & !FLAGS;
        if word & 6 != 0 || word & 8 != 0 || at == start && word & 1 == 0 {
            return None;
        }
        if bytes == LEAST_BYTES / 2 && at - start >= LEAST {
            let (second, end) =
                (memory.word(at + LEAST_BYTES / 2 + 8).ok()? & !FLAGS, at + LEAST_BYTES);
            let is_at_end = end.next_multiple_of(PAGE_BYTES) - end < LEAST_BYTES;
            return (is_at_end && (second == 0 || second == bytes)).then_some(end);
        }
        at = at.checked_add(bytes).filter(|next| *next < limit && bytes >= LEAST_BYTES)?;
    }
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
    if start > anchor {
        return false;
    }
    let mut at = start;
    for _ in 0..CHUNKS_MAX {
        if at >= anchor {
            break;
        }
        let Ok(word) = memory.word(at + 8) else { return false };
        let is_one = word & 6 == 0 && word & !FLAGS >= LEAST_BYTES && word & 8 == 0;
        if !is_one || at == start && word & 1 == 0 {
            return false;
        }
        at = at.saturating_add(word & !FLAGS);
    }
    at == anchor
}
