//! Pages over time: of each the bytes that live blocks have on it, added up by rows of a picture.

use crate::plot::recording::placement::Place;
use crate::recording::numbered::NumberMap;
use std::ops::Range;

pub const PAGE_BYTES: u64 = 4096;
/// Addresses are known by runs of so many pages; what is between is left out of the picture.
const RUN_PAGES: u64 = 64;
const RUN_BYTES: u64 = RUN_PAGES * PAGE_BYTES;

/// Runs that blocks are on.
#[derive(Default)]
pub struct Extent {
    runs: NumberMap<()>,
    last: Option<u64>,
}

impl Extent {
    pub fn add(&mut self, place: Place) {
        let (first, last) =
            (place.address / RUN_BYTES, (place.address + place.bytes() - 1) / RUN_BYTES);
        if first == last && self.last == Some(first) {
            return;
        }
        self.last = Some(last);
        self.runs.extend((first..=last.min(first + RUNS_MAX)).map(|run| (run, ())));
    }
}

/// What no program has: 4 TiB.
const RUNS_MAX: u64 = 1 << 24;

/// What live blocks have in a row of the picture.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub live_bytes: u64,
    /// Pages that something live is on.
    pub pinned_pages: u64,
}

/// The first and the last page that a block is on, and how much of it is there; one page if they
/// are the same.
pub fn edges(place: Place) -> impl Iterator<Item = (u64, u64)> {
    let end = place.address + place.bytes();
    let (first, last) = (place.address / PAGE_BYTES, (end - 1) / PAGE_BYTES);
    let both = if first == last {
        [Some((first, place.bytes())), None]
    } else {
        let on_first = (first + 1) * PAGE_BYTES - place.address;
        [Some((first, on_first)), Some((last, end - last * PAGE_BYTES))]
    };
    both.into_iter().flatten()
}

pub struct Pages {
    /// Of each run its place among all.
    runs: NumberMap<u32>,
    /// The address of each.
    starts: Vec<u64>,
    live_bytes: Vec<u16>,
    pub row_pages: u64,
    pub rows: Vec<Row>,
    pub pinned_pages: u64,
}

impl Pages {
    pub fn new(extent: &Extent, rows_max: u64) -> Pages {
        let mut numbers: Vec<u64> = extent.runs.keys().copied().collect();
        numbers.sort_unstable();
        let page_count = numbers.len() as u64 * RUN_PAGES;
        let row_pages = page_count.div_ceil(rows_max).max(1);
        let runs = numbers.iter().enumerate().map(|(at, run)| (*run, at as u32)).collect();
        Pages {
            runs,
            starts: numbers.iter().map(|run| run * RUN_BYTES).collect(),
            live_bytes: vec![0; page_count as usize],
            row_pages,
            rows: vec![Row::default(); page_count.div_ceil(row_pages) as usize],
            pinned_pages: 0,
        }
    }

    /// Where a row begins.
    pub fn address(&self, row: usize) -> u64 {
        let page = row as u64 * self.row_pages;
        let run = self.starts.get((page / RUN_PAGES) as usize).copied().unwrap_or(0);
        run + page % RUN_PAGES * PAGE_BYTES
    }

    /// A block comes, or goes.
    pub fn change(&mut self, place: Place, comes: bool) {
        let mut edges = edges(place);
        let Some((first, bytes)) = edges.next() else { return };
        self.change_page(first, bytes, comes);
        let Some((last, bytes)) = edges.next() else { return };
        self.change_page(last, bytes, comes);
        // Pages between are the block's alone.
        let mut page = first + 1;
        while page < last {
            let next = ((page / RUN_PAGES + 1) * RUN_PAGES).min(last);
            self.change_whole(page..next, comes);
            page = next;
        }
    }

    fn index(&self, page: u64) -> Option<u64> {
        let run = self.runs.get(&(page / RUN_PAGES))?;
        Some(u64::from(*run) * RUN_PAGES + page % RUN_PAGES)
    }

    fn change_page(&mut self, page: u64, bytes: u64, comes: bool) {
        let Some(index) = self.index(page) else { return };
        let live = &mut self.live_bytes[index as usize];
        let row = &mut self.rows[(index / self.row_pages) as usize];
        let was_pinned = *live != 0;
        if comes {
            *live = live.saturating_add(bytes as u16);
            row.live_bytes += bytes;
        } else {
            *live = live.saturating_sub(bytes as u16);
            row.live_bytes = row.live_bytes.saturating_sub(bytes);
        }
        match (was_pinned, *live != 0) {
            (false, true) => {
                (row.pinned_pages, self.pinned_pages) =
                    (row.pinned_pages + 1, self.pinned_pages + 1)
            }
            (true, false) => {
                (row.pinned_pages, self.pinned_pages) =
                    (row.pinned_pages - 1, self.pinned_pages - 1)
            }
            _ => {}
        }
    }

    /// Pages of one run.
    fn change_whole(&mut self, pages: Range<u64>, comes: bool) {
        let Some(mut index) = self.index(pages.start) else { return };
        let end = index + (pages.end - pages.start);
        while index < end {
            let next = ((index / self.row_pages + 1) * self.row_pages).min(end);
            let count = next - index;
            let row = &mut self.rows[(index / self.row_pages) as usize];
            if comes {
                row.live_bytes += count * PAGE_BYTES;
                row.pinned_pages += count;
                self.pinned_pages += count;
            } else {
                row.live_bytes = row.live_bytes.saturating_sub(count * PAGE_BYTES);
                row.pinned_pages = row.pinned_pages.saturating_sub(count);
                self.pinned_pages = self.pinned_pages.saturating_sub(count);
            }
            index = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(address: u64, bytes: u64) -> Place {
        Place::new(address, bytes)
    }

    #[test]
    fn blocks_keep_the_pages_that_they_are_on_and_no_others() {
        let blocks = [place(0x10_0100, 100), place(0x10_0200, 100), place(0x4000_0800, 40_000)];
        let mut extent = Extent::default();
        blocks.iter().for_each(|block| extent.add(*block));
        let mut pages = Pages::new(&extent, 4);
        assert_eq!((pages.rows.len(), pages.row_pages), (4, 32));
        assert_eq!((pages.address(1), pages.address(2)), (0x12_0000, 0x4000_0000));
        blocks.iter().for_each(|block| pages.change(*block, true));
        let row = |live_bytes, pinned_pages| Row { live_bytes, pinned_pages };
        assert_eq!(pages.rows, [row(200, 1), row(0, 0), row(40_000, 11), row(0, 0)]);
        assert_eq!(pages.pinned_pages, 12);
        pages.change(blocks[0], false);
        assert_eq!((pages.rows[0], pages.pinned_pages), (row(100, 1), 12));
        blocks[1..].iter().for_each(|block| pages.change(*block, false));
        assert!(pages.rows.iter().all(|one| *one == row(0, 0)) && pages.pinned_pages == 0);
    }
}
