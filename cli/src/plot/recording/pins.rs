//! Who keeps pages at a moment: what blocks pin, by who has taken them.

use crate::heap::pinned::Pinned;
use crate::plot::recording::blocks::{Block, Blocks, Table};
use crate::plot::recording::modules;
use crate::plot::recording::part::Parts;
use crate::plot::recording::time::{Clock, Span};
use crate::profile::written::{Pin, Profile, Site, Sum, Sums};
use crate::recording::event::{Event, What};
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
    pinned: Pinned,
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
        let parts = Parts::of(self.blocks.live().map(|(_, block)| block.place));
        let mut found: BTreeMap<u32, Found> = BTreeMap::new();
        for (object, block) in self.blocks.live() {
            let stack = self.stacks.get(object).map_or(0, NonZeroU32::get);
            found.entry(stack).or_default().add(block, &parts, now_us);
        }
        for (stack, Found { live, pinned, pins }) in found {
            let sum = |bytes: f64| Sum::exact(live.count, bytes.round() as i64);
            let (pinned, beside) = (sum(pinned.bytes), sum(pinned.beside));
            let sums = Sums { live, pinned, beside, ..Sums::default() };
            profile.total += sums;
            let callers = stacks.frames(stack);
            let callers = callers.iter().map(|address| profile.place(*address)).collect();
            profile.sites.push(Site { number: 0, callers, sums, pins });
        }
    }
}

impl Found {
    fn add(&mut self, block: Block, parts: &Parts, now_us: Option<u64>) {
        let pinned = parts.pinned(block.place);
        self.live += Sum::exact(1, block.place.bytes().cast_signed());
        self.pinned += pinned;
        self.pins.push(Pin {
            bytes: pinned.bytes.round() as i64,
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
    fn pages_are_divided_among_who_is_on_them() {
        let mut live = Live::new(true);
        for event in [
            take(0, 0x1000, 100, 1),
            take(1, 0x1100, 300, 2),  // on the same page
            take(2, 0x2000, 3000, 2), // well used
            take(3, 0x4fe0, 64, 2),   // half on either page
            take(4, 0x9000, 16 << 10, 1),
            take(5, 0xd000, (17 << 12) - 96, 1),
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
            (callers, site.sums.pinned, site.sums.beside.bytes, ages)
        });
        let shown: Vec<_> = shown.collect();
        let pinned = Sum::exact;
        // Of the third and the fourth block.
        let alone = (4096 + 2 * 4096, 1096 + 2 * (4096 - 32));
        assert_eq!(
            shown,
            [
                (vec![10], pinned(2, 1024 + (17 << 12)), 924 + 96, vec![9, 4]),
                (vec![20, 10], pinned(3, 3072 + alone.0), 2772 + alone.1, vec![8, 7, 6]),
            ]
        );
        assert_eq!(profile.total.pinned.bytes, (1 + 1 + 2 + 17) * 4096);
    }
}
