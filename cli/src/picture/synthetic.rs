//! A heap for tests.

use crate::heap::figures::{
    Allocator, Blocks, Class, Figures, Heap, Keeper, Kind, Larger, Resident,
};
use std::collections::{BTreeMap, HashMap};

pub fn figures() -> Figures {
    let class = |block_bytes| Class { block_bytes, ..Class::default() };
    let mut pinned = Class { span_count: 3, span_bytes: 3 << 16, live_count: 40, ..class(112) };
    pinned.resident.add(Kind::Live, 4480);
    pinned.resident.add(Kind::Beside, 160_000);
    let keeper = Keeper::Central(3);
    let mut resident = Resident::default();
    resident.add(Kind::Live, 4480 + (1 << 20));
    resident.add(Kind::Beside, 160_000);
    Figures {
        allocator: Allocator::Loam,
        page_bytes: 4096,
        small: Blocks { count: 40, bytes: 4480 },
        middle: Blocks::default(),
        large: Blocks { count: 1, bytes: 1 << 20 },
        huge: Blocks::default(),
        larger: BTreeMap::from([(1 << 20, Larger { count: 1, resident_bytes: 1 << 20 })]),
        resident,
        classes: vec![class(16), class(48), pinned],
        heaps: vec![Heap { keeper, thread_name: None, live_bytes: 4480, resident }],
        absent: HashMap::new(),
        region_count: 1,
        ranges: Vec::new(),
        active_bytes: 1 << 20,
        mapped_bytes: 1 << 26,
        tags: None,
    }
}
