//! What malloc has of the whole process (`mp_`), found by what it is: where the main heap begins,
//! behind counts of mapped chunks that fit each other.

use crate::heap::glibc::arenas::{Arenas, data_of};
use crate::heap::glibc::memory::words_of;
use crate::heap::source::{Mapping, Name, Source};
use anyhow::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Where the main arena's memory begins.
    pub base: u64,
    /// Chunks that are mapped by themselves.
    pub mapped_count: u64,
    pub mapped_bytes: u64,
}

/// `None` where it cannot be told from others.
pub fn find(source: &dyn Source, arenas: &Arenas) -> Result<Option<Parameters>> {
    let mappings = source.process().mappings.iter();
    let files = mappings.filter(|mapping| mapping.name == arenas.file && mapping.is_accessible);
    for mapping in files {
        let Some(data) = data_of(source, mapping)? else { continue };
        let words: Vec<u64> = words_of(&data.bytes).collect();
        let all = (5..words.len().saturating_sub(4)).filter_map(|at| read(source, &words, at));
        if let Some(found) = all.into_iter().next() {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// If the word at the index is `sbrk_base`.
fn read(source: &dyn Source, words: &[u64], at: usize) -> Option<Parameters> {
    const COUNT_MAX_DEFAULT: u32 = 65536;
    let base = words[at];
    let (bytes, most_bytes) = (words[at - 2], words[at - 1]);
    if base == 0 || !base.is_multiple_of(16) || bytes > most_bytes || !bytes.is_multiple_of(16) {
        return None;
    }
    let heap = source.process().mappings.iter().find(|mapping| mapping.name == Name::Heap);
    // A program may allow another number of mapped chunks.
    let is_heaps = heap.is_some_and(|heap| heap.start == base);
    // Halves of words: counts are ints, behind one of flags or not (from 2.35, and to 2.34).
    let half = |index: usize| (words[at - 5 + index / 2] >> (index % 2 * 32)) as u32;
    let fits = |first: &usize| {
        let [count, allowed, most, is_fixed] = [0, 1, 2, 3].map(|index| half(first + index));
        (allowed == COUNT_MAX_DEFAULT || is_heaps)
            && count <= most
            && is_fixed <= 1
            && (count == 0) == (bytes == 0)
    };
    let first = [1, 2].into_iter().find(fits)?;
    let (lists, most) = (words[at + 1], words[at + 3]);
    if lists > 128 || most > 1 << 16 || !begins(source, base) {
        return None;
    }
    Some(Parameters { base, mapped_count: half(first).into(), mapped_bytes: bytes })
}

/// Whether a first chunk may be there.
fn begins(source: &dyn Source, base: u64) -> bool {
    let holds = |mapping: &Mapping| mapping.contains(base) && mapping.is_accessible;
    if !source.process().mappings.iter().any(holds) {
        return false;
    }
    let Ok(word) = source.bytes(base + 8, 8) else { return false };
    let size = u64::from_le_bytes(word.try_into().unwrap_or_default());
    size & 7 == 1 && size >= 32 && size & 8 == 0
}
