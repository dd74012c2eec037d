//! How well the pages are used at a moment, by the class of the sizes of the blocks on them.

use crate::plot::recording::blocks::Blocks;
use crate::plot::recording::part::Parts;
use crate::plot::recording::placement::{Place, class_bytes};
use crate::plot::recording::time::{Clock, Span};
use crate::recording::reader::Reader;
use anyhow::Result;
use std::collections::BTreeMap;

/// The blocks of one class, and what is free beside them.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Use {
    pub block_count: u64,
    pub live_bytes: u64,
    pub beside_bytes: f64,
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
    Ok(of(&|| blocks.live().map(|(_, block)| block.place)))
}

fn of<Places: Iterator<Item = Place>>(live: &impl Fn() -> Places) -> Classes {
    let parts = Parts::of(live());
    let mut classes = Classes::new();
    for place in live() {
        let class = classes.entry(class_bytes(place.bytes())).or_default();
        class.block_count += 1;
        class.live_bytes += place.bytes();
        class.beside_bytes += parts.pinned(place).beside;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn what_is_free_on_a_page_is_divided_among_the_classes_on_it() {
        let places = [(0x1000, 100), (0x1100, 100), (0x1200, 400), (0x3000, 4096 + 96)];
        let places = places.map(|(address, bytes)| Place::new(address, bytes));
        let classes = of(&|| places.into_iter());
        let used =
            |block_count, live_bytes, beside_bytes| Use { block_count, live_bytes, beside_bytes };
        let third = 3496.0 / 3.0;
        assert_eq!(classes[&416], used(1, 400, 2.0 * third));
        assert!((classes[&112].beside_bytes - third).abs() < 1e-6, "{classes:?}");
        assert_eq!(classes[&4608], used(1, 4192, 4000.0));
        let all: f64 = classes.values().map(|one| one.live_bytes as f64 + one.beside_bytes).sum();
        assert!((all - 3.0 * 4096.0).abs() < 1e-6, "all pages that are pinned");
    }
}
