//! Who keeps pages at a moment: the blocks that stand on pages that are nine tenths empty, by who
//! has taken them.

use crate::plot::recording::blocks::{Block, Blocks, Table};
use crate::plot::recording::modules;
use crate::plot::recording::pages::{PAGE_BYTES, edges};
use crate::plot::recording::time::{Clock, Span};
use crate::profile::written::{Pin, Profile, Site, Sum, Sums};
use crate::recording::event::{Event, What};
use crate::recording::numbered::NumberMap;
use crate::recording::reader::Reader;
use crate::recording::stacks::Stacks;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

/// How things stand at the end of a column of the picture.
pub struct Moment {
    pub column: usize,
    /// Live, and pinned, by who has taken what.
    pub profile: Profile,
}

/// A larger block is alone on its pages.
const SMALL_BYTES: u64 = 16 << 10;

/// Reads the recording once more, which has stacks.
pub fn moments(reader: &Reader, span: Span, columns: &BTreeSet<usize>) -> Result<Vec<Moment>> {
    let header = reader.header();
    let modules = modules::of(reader.modules());
    let mut live = Live::new(header.has_addresses);
    let (mut clock, mut moments, mut last_us) = (Clock::new(span), Vec::new(), 0);
    let mut wanted = columns.iter().copied().peekable();
    let mut events = reader.events();
    let moment = |column, live: &Live, last_us, stacks: &Stacks| {
        let mut profile = Profile { modules: modules.clone(), ..Profile::default() };
        live.add_to(&mut profile, header.has_times.then_some(last_us), stacks);
        Moment { column, profile }
    };
    while let Some(event) = events.next() {
        let event = event?;
        let column = clock.column(&event);
        while let Some(passed) = wanted.next_if(|wanted| *wanted < column) {
            moments.push(moment(passed, &live, last_us, events.stacks()));
        }
        last_us = event.time_us;
        live.change(&event);
    }
    moments.extend(wanted.map(|rest| moment(rest, &live, last_us, events.stacks())));
    Ok(moments)
}

/// The blocks that are live, and who has taken each.
struct Live {
    blocks: Blocks,
    stacks: Table<NonZeroU32>,
}

/// What the blocks of one stack are.
#[derive(Default)]
struct Found {
    live: Sum,
    pinned_count: i64,
    pinned_bytes: f64,
    pins: Vec<Pin>,
}

impl Live {
    fn new(has_addresses: bool) -> Live {
        Live { blocks: Blocks::new(has_addresses), stacks: Table::default() }
    }

    fn change(&mut self, event: &Event) {
        self.blocks.change(event);
        match &event.what {
            What::Take { object, block } | What::Resize { object, block } => {
                self.stacks.replace(*object, NonZeroU32::new(block.stack));
            }
            What::Give { object, .. } => {
                self.stacks.replace(*object, None);
            }
            What::Touched { .. }
            | What::Resident { .. }
            | What::Mapped { .. }
            | What::ThreadEnd => {}
        }
    }

    /// `now_us` is `None` where times are not known.
    fn add_to(&self, profile: &mut Profile, now_us: Option<u64>, stacks: &Stacks) {
        let sparse = self.sparse_pages();
        let mut found: BTreeMap<u32, Found> = BTreeMap::new();
        for (object, block) in self.blocks.live() {
            let stack = self.stacks.get(object).map_or(0, NonZeroU32::get);
            found.entry(stack).or_default().add(block, &sparse, now_us);
        }
        for (stack, Found { live, pinned_count, pinned_bytes, pins }) in found {
            let pinned = Sum::exact(pinned_count, pinned_bytes.round() as i64);
            let sums = Sums { live, pinned, ..Sums::default() };
            profile.total += sums;
            let callers = stacks.frames(stack);
            let callers = callers.iter().map(|address| profile.place(*address)).collect();
            profile.sites.push(Site { number: 0, callers, sums, pins });
        }
    }

    /// Pages on which a tenth is in use at most, and how many bytes that are.
    fn sparse_pages(&self) -> NumberMap<u64> {
        let mut pages: NumberMap<u64> = NumberMap::default();
        for (_, block) in self.blocks.live() {
            for (page, bytes) in edges(block.place) {
                *pages.entry(page).or_default() += bytes;
            }
        }
        pages.retain(|_, bytes| *bytes * 10 <= PAGE_BYTES);
        pages
    }
}

impl Found {
    /// Each block keeps, of what is free on sparse pages, its part by length.
    fn add(&mut self, block: Block, sparse: &NumberMap<u64>, now_us: Option<u64>) {
        let bytes = block.place.bytes();
        self.live += Sum::exact(1, bytes.cast_signed());
        if bytes >= SMALL_BYTES {
            return;
        }
        let part = |(page, bytes): (u64, u64)| {
            let live = *sparse.get(&page)?;
            Some((PAGE_BYTES - live) as f64 * bytes as f64 / live as f64)
        };
        let pinned: f64 = edges(block.place).filter_map(part).sum();
        if pinned == 0.0 {
            return;
        }
        self.pinned_count += 1;
        self.pinned_bytes += pinned;
        self.pins.push(Pin {
            bytes: pinned.round() as i64,
            age_ms: now_us.map(|now| now.saturating_sub(block.born_us) / 1000),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::event::{Block as Asked, Entry};
    use crate::recording::stacks::Node;

    fn take(object: u64, address: u64, size: u64, stack: u32) -> Event {
        let entry = Entry::Malloc;
        let block = Asked { entry, size, alignment: 0, address: Some(address), stack };
        Event { time_us: object * 1000, thread: 0, what: What::Take { object, block } }
    }

    #[test]
    fn what_is_free_on_sparse_pages_is_divided_among_who_is_on_them() {
        let mut live = Live::new(true);
        for event in [
            take(0, 0x1000, 100, 1),
            take(1, 0x1100, 300, 2),  // on the same page
            take(2, 0x2000, 3000, 2), // well used
            take(3, 0x4fe0, 64, 2),   // half on either page
            take(4, 0x9000, 16 << 10, 1),
            take(5, 0xd000, 17 << 12, 1), // larger ones are alone
        ] {
            live.change(&event);
        }
        let what = What::Give { object: 4, entry: Entry::Free };
        live.change(&Event { time_us: 9000, thread: 0, what });
        let mut stacks = Stacks::default();
        assert!(stacks.add(Node { above: 0, address: 10 }));
        assert!(stacks.add(Node { above: 1, address: 20 }));
        let mut profile = Profile::default();
        live.add_to(&mut profile, Some(9000), &stacks);
        let shown = profile.sites.iter().map(|site| {
            let callers: Vec<u64> = site.callers.iter().map(|place| place.address).collect();
            let ages: Vec<_> = site.pins.iter().filter_map(|pin| pin.age_ms).collect();
            (callers, site.sums.live.count, site.sums.pinned, ages)
        });
        let shown: Vec<_> = shown.collect();
        let pinned = Sum::exact;
        assert_eq!(
            shown,
            [
                (vec![10], 2, pinned(1, 924), vec![9]),
                (vec![20, 10], 3, pinned(2, 2772 + 2 * (4096 - 32)), vec![8, 6]),
            ]
        );
        assert_eq!(profile.total.pinned.bytes, 4096 - 400 + 2 * (4096 - 32));
    }
}
