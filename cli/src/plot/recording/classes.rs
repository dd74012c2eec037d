//! How well the pages are used at a moment, by the class of the sizes of the blocks on them.

use crate::plot::recording::blocks::{Block, Blocks};
use crate::plot::recording::pages::{PAGE_BYTES, edges};
use crate::plot::recording::placement::class_bytes;
use crate::plot::recording::time::{Clock, Span};
use crate::recording::numbered::NumberMap;
use crate::recording::reader::Reader;
use anyhow::Result;
use std::collections::BTreeMap;

/// The blocks of one class, and what is free on the pages that they are on. What blocks of several
/// classes are on is divided among them by their lengths there.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Use {
    pub block_count: u64,
    pub live_bytes: u64,
    pub free_bytes: f64,
}

/// By the largest size of each class.
pub type Classes = BTreeMap<u64, Use>;

/// Reads the recording up to the end of the column.
pub fn classes(reader: &Reader, span: Span, column: usize) -> Result<Classes> {
    let mut blocks = Blocks::new(reader.header().has_addresses);
    let mut clock = Clock::new(span);
    for event in reader.events() {
        let event = event?;
        if clock.column(&event) > column {
            break;
        }
        blocks.change(&event);
    }
    Ok(of(blocks.live().map(|(_, block)| block), &live_bytes(&blocks)))
}

/// By page.
fn live_bytes(blocks: &Blocks) -> NumberMap<u64> {
    let mut pages: NumberMap<u64> = NumberMap::default();
    for (page, bytes) in blocks.live().flat_map(|(_, block)| edges(block.place)) {
        *pages.entry(page).or_default() += bytes;
    }
    pages
}

fn of(blocks: impl Iterator<Item = Block>, pages: &NumberMap<u64>) -> Classes {
    let mut classes = Classes::new();
    let free = |(page, bytes): (u64, u64)| {
        let live = pages.get(&page).copied().unwrap_or(PAGE_BYTES).max(bytes);
        PAGE_BYTES.saturating_sub(live) as f64 * bytes as f64 / live as f64
    };
    for Block { place, .. } in blocks {
        let class = classes.entry(class_bytes(place.bytes())).or_default();
        class.block_count += 1;
        class.live_bytes += place.bytes();
        class.free_bytes += edges(place).map(free).sum::<f64>();
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::recording::placement::Place;

    #[test]
    fn what_is_free_on_a_page_is_divided_among_the_classes_on_it() {
        let places = [(0x1000, 100), (0x1100, 100), (0x1200, 400), (0x3000, 4096 + 96)];
        let blocks =
            places.map(|(address, bytes)| Block { place: Place::new(address, bytes), born_us: 0 });
        let pages = [(1, 600), (3, 4096), (4, 96)].into_iter().collect();
        let classes = of(blocks.into_iter(), &pages);
        let used =
            |block_count, live_bytes, free_bytes| Use { block_count, live_bytes, free_bytes };
        let third = 3496.0 / 3.0;
        assert_eq!(classes[&416], used(1, 400, 2.0 * third));
        assert!((classes[&112].free_bytes - third).abs() < 1e-6, "{classes:?}");
        assert_eq!(classes[&4608], used(1, 4192, 4000.0));
        let all: f64 = classes.values().map(|one| one.live_bytes as f64 + one.free_bytes).sum();
        assert!((all - 3.0 * 4096.0).abs() < 1e-6, "all pages that are kept");
    }
}
