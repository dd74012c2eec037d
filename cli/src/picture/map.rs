//! The address space of a heap, page by page, in a few bytes each: how much of it is in use, what it
//! is cut into, and which cache or central has it.

use crate::heap::figures::{Content, Figures, Kind, Page};
use crate::picture::colors::Color;
use crate::picture::packed;
use crate::picture::still::mark::Cells;
use anyhow::Result;
use serde::Serialize;

/// So many are drawn within a second, and are more than a screen has points.
const CELLS_MAX: u64 = 1 << 20;
/// As many pages in a row that are not in memory are left out.
const FOLDED_PAGES: usize = 64;

/// Of a cell: nothing is in memory; 1 to 100 is how many hundredths are in use; then what is free.
const ABSENT: u8 = 0;
const FULL: u8 = 100;

pub struct Map {
    pub info: Info,
    /// One byte a cell: first how full each is, then what of, then of which cache or central.
    planes: [Vec<u8>; 3],
}

/// What is drawn for what is free, by how much the first byte is above `FULL`.
const FREE_COLORS: [&str; 6] = ["free", "cached", "cached", "free", "rest", "own"];

/// What the page's script has to know of the cells.
#[derive(Serialize)]
pub struct Info {
    page_bytes: u64,
    /// More than one if there are very many.
    cell_pages: u64,
    cell_count: usize,
    segments: Vec<Segment>,
    /// By the second byte.
    contents: Vec<String>,
    /// By the third; the first is of none.
    heaps: Vec<String>,
}

/// Cells whose addresses follow each other.
#[derive(Serialize)]
struct Segment {
    /// In hexadecimal: JavaScript's numbers are shorter than addresses.
    start: String,
    first_cell: usize,
}

impl Map {
    pub fn of(figures: &Figures) -> Map {
        Map::with_cells(figures, CELLS_MAX)
    }

    fn with_cells(figures: &Figures, cells_max: u64) -> Map {
        let runs = runs(figures);
        let page_count: u64 = runs.iter().map(|(_, pages)| pages.len() as u64).sum();
        let cell_pages = page_count.div_ceil(cells_max).max(1).next_power_of_two();
        let mut planes = [Vec::new(), Vec::new(), Vec::new()];
        let mut segments = Vec::new();
        for (start, pages) in runs {
            segments.push(Segment { start: format!("{start:x}"), first_cell: planes[0].len() });
            for pages in pages.chunks(cell_pages as usize) {
                let bytes = cell(pages, figures.page_bytes);
                planes.iter_mut().zip(bytes).for_each(|(plane, byte)| plane.push(byte));
            }
        }
        let info = Info {
            page_bytes: figures.page_bytes,
            cell_pages,
            cell_count: planes[0].len(),
            segments,
            contents: contents(figures),
            heaps: heaps(figures),
        };
        Map { info, planes }
    }

    /// In a picture so many points wide: how wide and high a cell is, and all cells.
    pub fn still(&self, width: u32) -> (u32, Cells) {
        const SIDE_MAX: u32 = 12;
        let cells = self.planes[0].clone();
        // Half as high as wide.
        let side = f64::from(width) * (0.5 / cells.len().max(1) as f64).sqrt();
        let side = (side as u32).clamp(1, SIDE_MAX);
        let used = (0..=FULL).map(Color::of_fullness);
        let colors = used.chain(FREE_COLORS.map(Color::of_part)).collect();
        let columns = ((width / side) as usize).min(cells.len()).max(1);
        (side, Cells { columns, colors, cells })
    }

    pub fn packed(&self) -> Result<String> {
        packed::bytes(&self.planes.concat())
    }
}

/// Pages that follow each other, without those that are not in memory at either end.
fn runs(figures: &Figures) -> Vec<(u64, &[Option<Page>])> {
    let mut runs = Vec::new();
    for range in &figures.ranges {
        let mut from = 0;
        while let Some(skipped) = range.pages[from..].iter().position(Option::is_some) {
            from += skipped;
            let to = end_of_run(&range.pages, from);
            runs.push((range.start + from as u64 * figures.page_bytes, &range.pages[from..to]));
            from = to;
        }
    }
    runs.sort_by_key(|(start, _)| *start);
    runs
}

fn end_of_run(pages: &[Option<Page>], from: usize) -> usize {
    let mut end = from + 1;
    while let Some(absent) = pages[end..].iter().position(Option::is_some) {
        if absent >= FOLDED_PAGES {
            break;
        }
        end += absent + 1;
    }
    end
}

/// Of several pages what most of those in memory are; of pages in use how full these are.
fn cell(pages: &[Option<Page>], page_bytes: u64) -> [u8; 3] {
    let count = |kind| pages.iter().flatten().filter(|page| page.kind == kind).count();
    let kinds = pages.iter().flatten().map(|page| page.kind);
    let Some(kind) = kinds.max_by_key(|kind| count(*kind)) else { return [ABSENT; 3] };
    let of_kind = || pages.iter().flatten().filter(|page| page.kind == kind);
    let Some(first) = of_kind().next() else { return [ABSENT; 3] };
    let fullness = match kind {
        Kind::Live => {
            let live: u64 = of_kind().map(|page| u64::from(page.live_bytes)).sum();
            (live * u64::from(FULL) / (page_bytes * count(kind) as u64)).clamp(1, 100) as u8
        }
        Kind::Idle | Kind::Beside => FULL + 1,
        Kind::Cached => FULL + 2,
        Kind::Depots => FULL + 3,
        Kind::Dirty => FULL + 4,
        Kind::Unused => FULL + 5,
        Kind::Metadata | Kind::Profile => FULL + 6,
    };
    let heap = first.heap.map_or(0, |index| u8::try_from(index + 1).unwrap_or(u8::MAX));
    [fullness, content_byte(first.content), heap]
}

const CLASSES_MAX: u16 = 250;

fn content_byte(content: Content) -> u8 {
    match content {
        Content::Nothing => 0,
        Content::Middle => 1,
        Content::Large => 2,
        Content::Huge => 3,
        Content::Small(class) => 4 + class.min(CLASSES_MAX) as u8,
    }
}

fn contents(figures: &Figures) -> Vec<String> {
    let others = ["", "middle blocks", "large blocks", "huge blocks"].map(str::to_owned);
    let classes = figures.classes.iter().take(usize::from(CLASSES_MAX) + 1);
    let small = classes.map(|class| format!("blocks of {} bytes", class.block_bytes));
    others.into_iter().chain(small).collect()
}

fn heaps(figures: &Figures) -> Vec<String> {
    let named = figures.heaps.iter().take(usize::from(u8::MAX) - 1).map(|heap| heap.name());
    let mut names: Vec<String> = [String::new()].into_iter().chain(named).collect();
    names.resize(usize::from(u8::MAX), String::new());
    names.push("one of many".to_owned());
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::figures::Range;
    use crate::picture::synthetic;

    fn small(live_bytes: u32) -> Option<Page> {
        let kind = if live_bytes == 0 { Kind::Idle } else { Kind::Live };
        let page = Page::whole(kind, Content::Small(2), 4096, Some(0));
        Some(Page { live_bytes, ..page })
    }

    fn figures(pages: Vec<Option<Page>>) -> Figures {
        let resident = pages.iter().map(Option::is_some).collect();
        let ranges = vec![Range { start: 0x7000_0000_0000, resident, pages }];
        Figures { ranges, ..synthetic::figures() }
    }

    #[test]
    fn a_page_nearly_empty_stands_out_from_a_full_and_a_free_one() {
        let map = Map::of(&figures(vec![small(16), small(4096), small(0), small(2048)]));
        assert_eq!(map.planes[0], [1, 100, 101, 50]);
        assert_eq!(map.planes[1], [6; 4]);
        assert_eq!(map.info.contents[6], "blocks of 112 bytes");
        assert_eq!(map.info.heaps[1], "central 3");
    }

    #[test]
    fn long_runs_without_memory_are_left_out_and_short_ones_are_not() {
        let none = |count| vec![None; count];
        let pages = [none(9), vec![small(16)], none(5), vec![small(16)], none(1000)];
        let pages = [pages.concat(), vec![small(4096)], none(70)].concat();
        let map = Map::of(&figures(pages));
        assert_eq!(map.planes[0], [1, 0, 0, 0, 0, 0, 1, 100]);
        let starts: Vec<&str> = map.info.segments.iter().map(|one| &*one.start).collect();
        assert_eq!(starts, ["700000009000", "7000003f8000"]);
        assert_eq!(map.info.segments[1].first_cell, 7);
    }

    #[test]
    fn a_still_has_cells_as_large_as_there_is_room_for() {
        let map = Map::of(&figures(vec![small(16), small(4096), small(0)]));
        let (side, cells) = map.still(1200);
        assert_eq!((side, cells.columns, &cells.cells[..]), (12, 3, &[1, 100, 101][..]));
        let colors = [1, 100, 101].map(|cell: usize| cells.colors[cell]);
        assert_eq!(colors, ["pinned", "full", "free"].map(Color::of_part));
        let many = Map::of(&figures((0..100_000).map(|_| small(16)).collect()));
        let (side, cells) = many.still(1200);
        assert_eq!((side, cells.columns), (2, 600));
    }

    #[test]
    fn of_very_many_pages_several_are_a_cell() {
        let pages = (0..1000).map(|at| small(if at % 4 == 0 { 4096 } else { 16 })).collect();
        let map = Map::with_cells(&figures(pages), 300);
        assert_eq!((map.info.cell_pages, map.info.cell_count), (4, 250));
        assert!(map.planes[0].iter().all(|byte| *byte == 25));
    }
}
