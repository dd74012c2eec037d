//! Chunks that are mapped by themselves: no arena knows them. Each begins a run of pages, with its
//! length and a mark; malloc has their number and sum.

use crate::heap::glibc::memory::{PAGE_BYTES, words_of};
use crate::heap::glibc::parameters::Parameters;
use crate::heap::glibc::regions::{Region, reach};
use crate::heap::residency::Pages;
use crate::heap::source::{Mapping, Name, Source};
use anyhow::Result;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapped {
    /// Of all its pages.
    pub start: u64,
    pub bytes: u64,
    /// Of what the program has.
    pub block: u64,
    pub block_bytes: u64,
}

const IS_MAPPED: u64 = 2;
const HEADER_BYTES: u64 = 16;

/// By address.
pub fn find(
    source: &dyn Source,
    regions: &[Region],
    parameters: Option<&Parameters>,
) -> Result<Vec<Mapped>> {
    let mut finder = Finder { source, parameters, found: BTreeMap::new(), bytes: 0 };
    let is_arenas = |mapping: &Mapping| {
        regions.iter().any(|region| region.start < mapping.end && mapping.start < region.end)
    };
    let mappings = source.process().mappings.iter().filter(|mapping| {
        mapping.name == Name::Anonymous && mapping.is_accessible && !is_arenas(mapping)
    });
    let mappings: Vec<&Mapping> = mappings.collect();
    for mapping in &mappings {
        if finder.is_done() {
            break;
        }
        finder.add_first(mapping)?;
    }
    // The system puts mappings beside each other into one.
    for mapping in mappings {
        if finder.is_done() || parameters.is_none() {
            break;
        }
        finder.add_all(mapping)?;
    }
    Ok(finder.found.into_values().collect())
}

struct Finder<'a> {
    source: &'a dyn Source,
    parameters: Option<&'a Parameters>,
    found: BTreeMap<u64, Mapped>,
    bytes: u64,
}

impl Finder<'_> {
    fn is_done(&self) -> bool {
        self.parameters.is_some_and(|known| {
            self.found.len() as u64 >= known.mapped_count && self.bytes >= known.mapped_bytes
        })
    }

    fn add(&mut self, one: Mapped) {
        if self.found.insert(one.start, one).is_none() {
            self.bytes += one.bytes;
        }
    }

    /// Where the block is aligned to more than a page, it has another header before it, and what is
    /// between nobody has touched.
    fn aligned(&self, one: Mapped) -> Mapped {
        const PAGES_MAX: usize = 1 << 12;
        let pages = (one.bytes / PAGE_BYTES) as usize;
        let is_there = self.source.resident(one.start, pages.min(PAGES_MAX), PAGE_BYTES);
        let touched = is_there.ok().and_then(|is| is.iter().skip(1).position(|is| *is));
        let in_first = (5..=12).map(|shift| (1 << shift) - HEADER_BYTES);
        let behind = touched.map(|page| (page as u64 + 2) * PAGE_BYTES - HEADER_BYTES);
        let is_its = |offset: &u64| {
            let Ok(words) = self.source.bytes(one.start + offset, 16) else { return false };
            let words: Vec<u64> = words_of(&words).collect();
            let whole = offset.wrapping_add(words[1].wrapping_sub(IS_MAPPED));
            words[0] & !1 == *offset && [one.bytes, one.bytes - HEADER_BYTES].contains(&whole)
        };
        let is_whole = one.block == one.start + HEADER_BYTES;
        match in_first.chain(behind).filter(|_| is_whole).find(is_its) {
            Some(offset) => Mapped {
                block: one.start + offset + HEADER_BYTES,
                block_bytes: one.block_bytes - offset,
                ..one
            },
            None => one,
        }
    }

    /// Those that follow each other from the mapping's beginning.
    fn add_first(&mut self, mapping: &Mapping) -> Result<()> {
        let end = reach(self.source.process(), mapping.start);
        let mut start = mapping.start;
        while start < end && self.source.resident(start, 1, PAGE_BYTES)?[0] {
            let Ok(page) = self.source.bytes(start, PAGE_BYTES as usize) else { break };
            let Some(one) = chunk_on(&page, start, (mapping.start, end)) else { break };
            let one = self.aligned(one);
            self.add(one);
            start = one.start + one.bytes;
        }
        Ok(())
    }

    fn add_all(&mut self, mapping: &Mapping) -> Result<()> {
        const PIECE_BYTES: u64 = 1 << 20;
        let end = reach(self.source.process(), mapping.start);
        let mut start = mapping.start;
        while start < mapping.end && !self.is_done() {
            let count = ((mapping.end - start).min(PIECE_BYTES) / PAGE_BYTES) as usize;
            let resident = self.source.resident(start, count, PAGE_BYTES)?;
            let Ok(pages) = Pages::read(self.source, start, &resident, PAGE_BYTES) else { break };
            let mut next = start + count as u64 * PAGE_BYTES;
            let mut page = start;
            while page < start + count as u64 * PAGE_BYTES {
                let from = (page - start) as usize;
                let bytes = &pages.bytes[from..from + PAGE_BYTES as usize];
                let one = chunk_on(bytes, page, (mapping.start, end));
                if let Some(one) = one {
                    let one = self.aligned(one);
                    self.add(one);
                }
                page = one.map_or(page + PAGE_BYTES, |one| one.start + one.bytes);
                next = next.max(page);
            }
            start = next;
        }
        Ok(())
    }
}

/// The chunk whose header is on the page: at its beginning; or, where the block is aligned, before
/// the place that is.
fn chunk_on(page: &[u8], address: u64, (start, end): (u64, u64)) -> Option<Mapped> {
    let aligned = (5..=12).map(|shift| (1 << shift) - HEADER_BYTES);
    [0].into_iter().chain(aligned).find_map(|offset| {
        let at = address + offset;
        let word = |from: u64| {
            let bytes = page.get(from as usize..from as usize + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let (before, size) = (word(offset)?, word(offset + 8)?);
        if size & 7 != IS_MAPPED || size < HEADER_BYTES {
            return None;
        }
        let size = size - IS_MAPPED;
        // From 2.43 on the size is without its header, and the lowest bit says what pages it has.
        let is_newer = !before.wrapping_add(size).is_multiple_of(PAGE_BYTES);
        let before = if is_newer { before & !1 } else { before };
        let base = at.checked_sub(before)?;
        let bytes =
            before.checked_add(size)?.checked_add(if is_newer { HEADER_BYTES } else { 0 })?;
        let is_one = base.is_multiple_of(PAGE_BYTES)
            && base >= start
            && bytes.is_multiple_of(PAGE_BYTES)
            && base.checked_add(bytes).is_some_and(|to| to <= end)
            && (offset != 0 || before == 0);
        is_one.then_some(Mapped {
            start: base,
            bytes,
            block: at + HEADER_BYTES,
            block_bytes: size - if is_newer { HEADER_BYTES / 2 } else { HEADER_BYTES },
        })
    })
}
