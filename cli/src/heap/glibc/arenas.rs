//! The arenas, found by what they are and not by names, which distributions strip. An empty bin of
//! `struct malloc_state` points to itself; `next` leads round all arenas; all but the first one stand
//! in heaps of mapped memory, whose records lead back.

use crate::heap::glibc::memory::{Memory, PAGE_BYTES, words_of};
use crate::heap::residency::Pages;
use crate::heap::source::{Mapping, Name, Source};
use anyhow::{Result, bail, ensure};

const PAIRS: usize = 127;
const BINS_BYTES: u64 = PAIRS as u64 * 16;
const BINMAP_BYTES: u64 = 16;
const ARENAS_MAX: usize = 1 << 14;
const HEAPS_MAX: usize = 1 << 16;

/// Of `struct malloc_state`, whose fields before and between the bins differ by version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    bins: u64,
    /// Where the fastbins are, and how many; `None` of versions without them.
    fastbins: Option<u64>,
    pub about: &'static str,
}

const LAYOUTS: [Layout; 3] = [
    Layout { bins: 112, fastbins: Some(16), about: "fastbins behind have_fastchunks (from 2.27)" },
    Layout { bins: 24, fastbins: None, about: "no fastbins (from 2.43)" },
    Layout { bins: 104, fastbins: Some(8), about: "fastbins behind the flags (to 2.26)" },
];
const FASTBINS: u64 = 10;

impl Layout {
    fn next(self) -> u64 {
        self.bins + BINS_BYTES + BINMAP_BYTES
    }

    pub fn state_bytes(self) -> u64 {
        self.next() + 5 * 8
    }
}

pub struct Arena {
    pub top: u64,
    /// Where that is kept.
    pub top_at: u64,
    /// The first chunk of each fastbin, or 0.
    pub fastbins: Vec<u64>,
    /// The first and last chunks of bins that have any.
    pub binned: Vec<u64>,
    pub thread_count: u64,
    /// Somebody is in the midst of a call.
    pub is_locked: bool,
    pub system_bytes: u64,
    /// Those of mapped memory, in which all but the main arena are.
    pub heaps: Vec<Heap>,
}

/// A heap of an arena, in mapped memory.
pub struct Heap {
    pub start: u64,
    pub bytes: u64,
    /// Where its first chunk is.
    pub first: u64,
}

pub struct Arenas {
    pub layout: Layout,
    /// The main one first.
    pub arenas: Vec<Arena>,
    /// The file that has it among its variables.
    pub file: Name,
}

/// `None` if no program or library has a main arena that has been used.
pub fn find(source: &dyn Source) -> Result<Option<Arenas>> {
    for mapping in candidates(source) {
        let Some(data) = data_of(source, mapping)? else { continue };
        for bins in bins_in(&data) {
            if let Some((layout, address)) = main_with(source, bins) {
                let arenas = read_all(source, layout, address)?;
                return Ok(Some(Arenas { layout, arenas, file: mapping.name.clone() }));
            }
        }
    }
    Ok(None)
}

/// Mappings of files that may have variables, those of a C library first, then the program.
fn candidates(source: &dyn Source) -> Vec<&Mapping> {
    let mappings = &source.process().mappings;
    let is_libc = |mapping: &&Mapping| {
        let Name::File(path) = &mapping.name else { return false };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libc.so") || name.starts_with("libc-2.")
    };
    let files = mappings
        .iter()
        .filter(|mapping| matches!(mapping.name, Name::File(_)) && mapping.is_accessible);
    let program = mappings.iter().find(|mapping| matches!(mapping.name, Name::File(_)));
    let is_programs =
        |mapping: &&Mapping| program.is_some_and(|program| program.name == mapping.name);
    let (libc, others): (Vec<_>, Vec<_>) = files.partition(is_libc);
    libc.into_iter().chain(others.into_iter().filter(is_programs)).collect()
}

/// What is in memory of it; `None` where that is nothing, or is as large as no data is.
pub fn data_of(source: &dyn Source, mapping: &Mapping) -> Result<Option<Pages>> {
    const BYTES_MAX: u64 = 64 << 20;
    let bytes = mapping.end - mapping.start;
    if bytes > BYTES_MAX {
        return Ok(None);
    }
    let resident = source.resident(mapping.start, (bytes / PAGE_BYTES) as usize, PAGE_BYTES)?;
    // Pages of devices cannot be read.
    Ok(Pages::read(source, mapping.start, &resident, PAGE_BYTES).ok())
}

/// Where 127 bins may begin, by those that are empty.
fn bins_in(data: &Pages) -> Vec<u64> {
    let words: Vec<u64> = words_of(&data.bytes).collect();
    let address = |index: usize| data.start + index as u64 * 8;
    let is_empty = |index: usize| {
        let itself = address(index).wrapping_sub(16);
        words.get(index) == Some(&itself) && words.get(index + 1) == Some(&itself)
    };
    let is_bin = |index: usize| {
        let is_link = |word: &u64| *word != 0 && word.is_multiple_of(8);
        words.get(index..index + 2).is_some_and(|pair| pair.iter().all(is_link))
    };
    let mut found = Vec::new();
    let mut index = 0;
    while index < words.len() {
        if !is_empty(index) {
            index += 1;
            continue;
        }
        let before = (1..PAIRS).take_while(|back| index.checked_sub(back * 2).is_some_and(is_bin));
        let first = index - before.count() * 2;
        let run = (0..).take_while(|pair| is_bin(first + pair * 2)).count();
        let starts = (0..(run + 1).saturating_sub(PAIRS)).map(|pair| first + pair * 2);
        let is_start = |start: &usize| {
            const EMPTY_MIN: usize = 16;
            (0..PAIRS).filter(|pair| is_empty(start + pair * 2)).count() >= EMPTY_MIN
        };
        found.extend(starts.filter(is_start).map(address));
        index = first + run.max(1) * 2;
    }
    found
}

/// The layout by which the arena's `next` leads round to it again.
fn main_with(source: &dyn Source, bins: u64) -> Option<(Layout, u64)> {
    LAYOUTS.into_iter().find_map(|layout| {
        let address = bins.checked_sub(layout.bins)?;
        let all = round(&mut Memory::new(source), layout, address)?;
        (!all.is_empty()).then_some((layout, address))
    })
}

fn round(memory: &mut Memory, layout: Layout, first: u64) -> Option<Vec<u64>> {
    let mut all = vec![first];
    loop {
        let next = memory.word(all.last()? + layout.next()).ok()?;
        if next == first {
            return Some(all);
        }
        let is_new = next != 0 && next.is_multiple_of(8) && all.len() < ARENAS_MAX;
        if !is_new || !has_bins(memory, layout, next) {
            return None;
        }
        all.push(next);
    }
}

fn has_bins(memory: &mut Memory, layout: Layout, arena: u64) -> bool {
    let bins = arena + layout.bins;
    let Ok(words) = memory.words(bins, PAIRS as u64 * 2) else { return false };
    let is_empty = |(index, pair): (usize, &[u64])| {
        let itself = (bins + index as u64 * 16).wrapping_sub(16);
        pair == [itself, itself]
    };
    words.chunks(2).all(|pair| pair.iter().all(|word| *word != 0))
        && words.chunks(2).enumerate().any(is_empty)
}

fn read_all(source: &dyn Source, layout: Layout, main: u64) -> Result<Vec<Arena>> {
    let mut memory = Memory::new(source);
    let Some(addresses) = round(&mut memory, layout, main) else {
        bail!("glibc's arenas have changed meanwhile");
    };
    let read = |address: u64| read_arena(&mut memory, layout, address, address == main);
    addresses.into_iter().map(read).collect()
}

fn read_arena(memory: &mut Memory, layout: Layout, at: u64, is_main: bool) -> Result<Arena> {
    let bins = at + layout.bins;
    let itself = bins.wrapping_sub(16)..bins + BINS_BYTES;
    let mut binned = memory.words(bins, PAIRS as u64 * 2)?;
    binned.retain(|word| !itself.contains(word));
    let fastbins = layout.fastbins.map(|offset| memory.words(at + offset, FASTBINS));
    let top = memory.word(bins - 16)?;
    let [thread_count, system_bytes, most_bytes] =
        [16, 24, 32].map(|after| at + layout.next() + after);
    let (system_bytes, most_bytes) = (memory.word(system_bytes)?, memory.word(most_bytes)?);
    ensure!(
        system_bytes <= most_bytes,
        "glibc's arena at {at:#x} does not add up: it has {system_bytes} bytes, and {most_bytes} \
         at most"
    );
    Ok(Arena {
        top: if itself.contains(&top) { 0 } else { top },
        top_at: bins - 16,
        fastbins: fastbins.transpose()?.unwrap_or_default(),
        binned,
        thread_count: memory.word(thread_count)?,
        is_locked: memory.word(at)? as u32 != 0,
        system_bytes,
        heaps: if is_main { Vec::new() } else { heaps_of(memory, layout, at, top)? },
    })
}

/// From the newest, which `top` is in, to the one that begins with the arena. A heap is aligned to
/// what one may be long: 64 MiB, or more with huge pages.
fn heaps_of(memory: &mut Memory, layout: Layout, arena: u64, top: u64) -> Result<Vec<Heap>> {
    const RECORD_BYTES: [u64; 2] = [48, 32];
    let is_heap = |memory: &mut Memory, at: u64| memory.word(at).is_ok_and(|owner| owner == arena);
    let record = RECORD_BYTES
        .into_iter()
        .find(|bytes| (arena - bytes).is_multiple_of(1 << 16) && is_heap(memory, arena - bytes));
    let aligned = |shift: u32| top >> shift << shift;
    let shift = (26..=32).find(|shift| is_heap(memory, aligned(*shift)));
    let (Some(record), Some(shift)) = (record, shift) else {
        bail!("glibc's arena at {arena:#x} has no heap whose layout is known");
    };
    let (mut heaps, mut at) = (Vec::new(), aligned(shift));
    loop {
        let (previous, bytes) = (memory.word(at + 8)?, memory.word(at + 16)?);
        let is_whole = bytes.is_multiple_of(PAGE_BYTES) && bytes <= 1 << shift;
        ensure!(
            is_heap(memory, at) && is_whole && heaps.len() < HEAPS_MAX,
            "glibc's heap at {at:#x} does not add up: it has {bytes:#x} bytes"
        );
        let is_first = at + record == arena;
        let first = if is_first { arena + layout.state_bytes() } else { at + record };
        heaps.push(Heap { start: at, bytes, first: first.next_multiple_of(16) });
        if is_first {
            return Ok(heaps);
        }
        at = previous;
    }
}
