//! One region, chunk by chunk: what is live, what is free and where, and what a trim would give back.

use crate::heap::figures::{Blocks, Class, Range};
use crate::heap::glibc::chunks::{self, Chunk, Guide, Kind};
use crate::heap::glibc::lists::{self, Lists, Place};
use crate::heap::glibc::pages::{Pager, Piece, Sums};
use crate::heap::glibc::regions::Region;
use crate::heap::glibc::sizes;
use crate::heap::on_loam;
use crate::heap::source::Source;
use anyhow::Result;

/// What has been found so far.
#[derive(Clone)]
pub struct Found {
    pub sums: Sums,
    pub small: Blocks,
    pub middle: Blocks,
    pub large: Blocks,
    /// Of chunks that nobody has, by where they are.
    pub tcache_bytes: u64,
    pub fastbin_bytes: u64,
    pub bin_bytes: u64,
    pub top_bytes: u64,
    /// In memory, that `malloc_trim(0)` would give back.
    pub trim_bytes: u64,
    pub on_loam: on_loam::Range,
    /// Live blocks that are as long as a tcache, and may be one.
    pub suspects: Vec<u64>,
}

impl Found {
    pub fn new(sums: Sums) -> Found {
        Found {
            sums,
            small: Blocks::default(),
            middle: Blocks::default(),
            large: Blocks::default(),
            tcache_bytes: 0,
            fastbin_bytes: 0,
            bin_bytes: 0,
            top_bytes: 0,
            trim_bytes: 0,
            on_loam: on_loam::Range::default(),
            suspects: Vec::new(),
        }
    }
}

const HEADER_BYTES: u64 = 16;
const LARGE_MIN_BYTES: u64 = 128 << 10;

pub struct Walk<'a> {
    pub source: &'a dyn Source,
    pub page_bytes: u64,
    pub lists: &'a Lists,
    /// Of tcaches, by address: their chunks are glibc's own.
    pub tcaches: &'a [u64],
    /// The first of tcaches among the heaps.
    pub first_tcache: usize,
}

/// Where a region has been walked to.
pub struct Walked {
    pub range: Range,
    pub end: u64,
}

impl Walk<'_> {
    /// Adds the region from a page on; those before are somebody else's. What is added of one that
    /// does not add up is of no use.
    pub fn add(
        &self,
        found: &mut Found,
        region: Region,
        from_page: u64,
        guide: &mut Guide,
    ) -> Result<Walked> {
        let page = self.page_bytes;
        let start = region.start / page * page;
        let count = region.end.saturating_sub(start).div_ceil(page) as usize;
        let resident = self.source.resident(start, count, page)?;
        let skipped = (from_page.saturating_sub(start) / page) as usize;
        let own = resident.get(skipped..).unwrap_or_default();
        let pager = Pager::new(start.max(from_page), page, own, region.arena);
        let mut one = OneRegion {
            walk: self,
            found,
            pager,
            region,
            page_start: start,
            resident: &resident,
            cursor: self.lists.chunks.partition_point(|(at, _)| *at < region.first),
            free_from: None,
        };
        one.put(Piece::Own, region.start.max(from_page), region.first + 8);
        let visit = &mut |chunk: Chunk| one.visit(chunk);
        let end = chunks::each(self.source, region, (&resident, page), guide, visit)?;
        let OneRegion { mut pager, found, .. } = one;
        let used_pages = (end.div_ceil(page) * page - start) / page;
        pager.finish(&mut found.sums, used_pages as usize - skipped.min(used_pages as usize));
        let pages = pager.pages;
        let resident = own[..pages.len().min(own.len())].to_vec();
        Ok(Walked { range: Range { start: start.max(from_page), resident, pages }, end })
    }
}

struct OneRegion<'a> {
    walk: &'a Walk<'a>,
    found: &'a mut Found,
    pager: Pager<'a>,
    region: Region,
    page_start: u64,
    resident: &'a [bool],
    /// The next of the lists' chunks.
    cursor: usize,
    /// Where chunks begin that are free, or would be once fastbins are emptied.
    free_from: Option<u64>,
}

impl OneRegion<'_> {
    fn put(&mut self, piece: Piece, from: u64, to: u64) {
        self.pager.add(&mut self.found.sums, piece, from, to);
    }

    fn resident_bytes(&self, from: u64, to: u64) -> u64 {
        let page = self.walk.page_bytes;
        let first = from.saturating_sub(self.page_start) / page;
        let count = to.div_ceil(page).saturating_sub(from / page);
        let pages = self.resident.iter().skip(first as usize).take(count as usize);
        pages.filter(|is| **is).count() as u64 * page
    }

    /// Of a block's bytes, at least and at most: the pages at its ends have its neighbours' headers.
    fn in_memory(&self, from: u64, to: u64) -> (u64, u64) {
        let page = self.walk.page_bytes;
        let (inner_from, inner_to) = (from.next_multiple_of(page), to / page * page);
        let inner = self.resident_bytes(inner_from, inner_to);
        let is_whole = inner == inner_to.saturating_sub(inner_from);
        (if is_whole { to - from } else { inner }, self.resident_bytes(from, to))
    }

    fn visit(&mut self, chunk: Chunk) {
        let Chunk { at, bytes, kind } = chunk;
        // From the word behind the neighbour's last one.
        let (from, to) = (at + HEADER_BYTES / 2, at + bytes + HEADER_BYTES / 2);
        match kind {
            Kind::Used => self.used(at, bytes),
            Kind::Free => {
                self.found.bin_bytes += bytes;
                self.count(bytes, |class| class.free_count += 1);
                self.free_from.get_or_insert(at);
                self.put(Piece::Free, from, to);
            }
            Kind::Top => {
                self.found.top_bytes += bytes;
                self.trim_top(at, at + bytes);
                self.put(Piece::Top, from, at + bytes);
            }
            Kind::Fence => {
                self.trim(at);
                self.put(Piece::Own, from, at + bytes);
            }
        }
    }

    fn count(&mut self, bytes: u64, add: impl Fn(&mut Class)) -> u16 {
        let class = sizes::class_of(bytes - HEADER_BYTES / 2);
        add(&mut self.found.sums.classes[usize::from(class)]);
        class
    }

    fn used(&mut self, at: u64, bytes: u64) {
        let (from, to) = (at + HEADER_BYTES / 2, at + bytes + HEADER_BYTES / 2);
        match self.listed(at) {
            Some(Place::Tcache(index)) => {
                self.trim(at);
                self.found.tcache_bytes += bytes;
                let class = self.count(bytes, |class| class.cached_count += 1);
                self.put(Piece::Cached(class, self.walk.first_tcache + index), from, to);
            }
            Some(Place::Fastbin) => {
                self.free_from.get_or_insert(at);
                self.found.fastbin_bytes += bytes;
                let class = self.count(bytes, |class| class.depot_count += 1);
                self.put(Piece::Fast(class), from, to);
            }
            None if self.walk.tcaches.contains(&(at + HEADER_BYTES)) => {
                self.trim(at);
                self.put(Piece::Own, from, to);
            }
            None => self.live(at, bytes),
        }
    }

    fn live(&mut self, at: u64, bytes: u64) {
        const SUSPECTS_MAX: usize = 1000;
        self.trim(at);
        let usable = bytes - HEADER_BYTES / 2;
        let class = self.count(bytes, |class| class.live_count += 1);
        let block = at + HEADER_BYTES;
        self.put(Piece::Own, block - 8, block);
        self.put(Piece::Live(class), block, block + usable);
        let found = &mut *self.found;
        let blocks = if usable <= sizes::EXACT_MAX_BYTES {
            &mut found.small
        } else if usable < LARGE_MIN_BYTES {
            &mut found.middle
        } else {
            &mut found.large
        };
        blocks.add(usable);
        if let Some(heap) = self.found.sums.heaps.get_mut(self.region.arena) {
            heap.live_bytes += usable;
        }
        let in_memory = if bytes > LARGE_MIN_BYTES / 8 {
            self.in_memory(block, block + usable)
        } else {
            (usable, usable)
        };
        self.found.on_loam.add(usable, in_memory);
        if lists::is_as_long(bytes) && self.found.suspects.len() < SUSPECTS_MAX {
            self.found.suspects.push(block);
        }
    }

    fn listed(&mut self, at: u64) -> Option<Place> {
        let chunks = &self.walk.lists.chunks;
        while chunks.get(self.cursor).is_some_and(|(one, _)| *one < at) {
            self.cursor += 1;
        }
        let (one, place) = chunks.get(self.cursor)?;
        (*one == at).then_some(*place)
    }

    /// As `malloc_trim` does of each free chunk: the pages behind its links.
    fn trim(&mut self, end: u64) {
        const LINKS_BYTES: u64 = 48;
        let Some(from) = self.free_from.take() else { return };
        let page = self.walk.page_bytes;
        let first = (from + LINKS_BYTES).next_multiple_of(page);
        let last = first + end.saturating_sub(first) / page * page;
        if end - from > page - 1 + LINKS_BYTES && last > first {
            self.found.trim_bytes += self.resident_bytes(first, last);
        }
    }

    /// What is free before the top is of it by then. Only the main arena's is given back.
    fn trim_top(&mut self, at: u64, end: u64) {
        const LEAST_BYTES: u64 = 32;
        let from = self.free_from.take().unwrap_or(at);
        if self.region.arena != 0 {
            return;
        }
        let page = self.walk.page_bytes;
        let given_back = (end - from).saturating_sub(LEAST_BYTES + 1) / page * page;
        self.found.trim_bytes += self.resident_bytes(end - given_back, end);
    }
}
