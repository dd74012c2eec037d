//! What a recording adds up to: sizes, lifetimes, and what is live over time.

use crate::picture::bars::power_of;
use crate::plot::recording::blocks::{Block, Blocks, Change};
use crate::plot::recording::pages::Extent;
use crate::plot::recording::time::{COLUMNS, Clock, Span};
use crate::plot::recording::unpinned::Memory;
use crate::recording::event::{Event, What};
use crate::recording::reader::Reader;
use anyhow::Result;
use std::collections::BTreeMap;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Sum {
    pub count: u64,
    pub bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }
}

pub struct Sums {
    pub span: Span,
    pub event_count: u64,
    /// By column, the most that was live, as asked for.
    pub live_bytes: Vec<u64>,
    /// What was at its end.
    pub last_live_bytes: Vec<u64>,
    /// By column, where the recording says.
    pub resident_bytes: Vec<Option<u64>>,
    pub memory: Memory,
    pub peak: Sum,
    pub at_end: Sum,
    /// By the power of two that a size is at most.
    pub sizes: BTreeMap<u32, Sum>,
    /// By the power of ten of microseconds that a lifetime is at most; `None`: to the end.
    pub lifetimes: BTreeMap<Option<u32>, Sum>,
    pub extent: Extent,
}

struct Count {
    sums: Sums,
    live: Sum,
    clock: Clock,
    column: usize,
}

impl Sums {
    pub fn of(reader: &Reader) -> Result<Sums> {
        let summary = reader.summary();
        let has_times = reader.header().has_times && summary.time_us > 0;
        let span = if has_times {
            Span::Microseconds(summary.time_us)
        } else {
            Span::Events(summary.events)
        };
        let mut count = Count::new(span);
        let mut blocks = Blocks::new(reader.header().has_addresses);
        for event in reader.events() {
            let event = event?;
            count.add(&event, blocks.change(&event));
        }
        Ok(count.finish(&blocks))
    }
}

impl Count {
    fn new(span: Span) -> Count {
        let sums = Sums {
            span,
            event_count: 0,
            live_bytes: vec![0; COLUMNS],
            last_live_bytes: vec![0; COLUMNS],
            resident_bytes: vec![None; COLUMNS],
            memory: Memory::default(),
            peak: Sum::default(),
            at_end: Sum::default(),
            sizes: BTreeMap::new(),
            lifetimes: BTreeMap::new(),
            extent: Extent::default(),
        };
        let (live, clock) = (Sum::default(), Clock::new(span));
        Count { sums, live, clock, column: 0 }
    }

    fn add(&mut self, event: &Event, change: Change) {
        let now = self.clock.column(event);
        for passed in self.column + 1..=now {
            self.sums.live_bytes[passed] = self.live.bytes;
            self.sums.last_live_bytes[passed - 1] = self.live.bytes;
        }
        self.column = now;
        self.sums.event_count += 1;
        self.sums.memory.add(event, now);
        if let Some(block) = change.went {
            self.live.bytes -= block.place.bytes();
            self.live.count -= 1;
        }
        if let Some(block) = change.came {
            self.sums.extent.add(block.place);
            self.live.add(block.place.bytes());
            let most = &mut self.sums.live_bytes[now];
            *most = (*most).max(self.live.bytes);
            if self.live.bytes > self.sums.peak.bytes {
                self.sums.peak = self.live;
            }
        }
        match (&event.what, change.went) {
            (What::Take { block, .. }, _) => {
                self.sums.sizes.entry(power_of(block.size)).or_default().add(block.size);
            }
            (What::Give { .. }, Some(Block { place, born_us })) => {
                let power = power_of_ten(event.time_us.saturating_sub(born_us));
                self.sums.lifetimes.entry(Some(power)).or_default().add(place.bytes());
            }
            (What::Resident { bytes }, _) => self.sums.resident_bytes[now] = Some(*bytes),
            _ => {}
        }
    }

    fn finish(mut self, blocks: &Blocks) -> Sums {
        for rest in self.column + 1..COLUMNS {
            self.sums.live_bytes[rest] = self.live.bytes;
        }
        self.sums.last_live_bytes[self.column..].fill(self.live.bytes);
        self.sums.at_end = self.live;
        for (_, block) in blocks.live() {
            self.sums.lifetimes.entry(None).or_default().add(block.place.bytes());
        }
        self.sums
    }
}

/// The least one whose power of ten is not below.
fn power_of_ten(number: u64) -> u32 {
    number.saturating_sub(1).checked_ilog10().map_or(0, |power| power + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::event::{Block as Asked, Entry};

    fn event(time_us: u64, what: What) -> Event {
        Event { time_us, thread: 0, what }
    }

    fn take(object: u64, size: u64) -> What {
        let block = Asked { entry: Entry::Malloc, size, alignment: 0, address: None, stack: 0 };
        What::Take { object, block }
    }

    #[test]
    fn what_is_live_is_known_for_each_time_and_lifetimes_are_counted() {
        let mut count = Count::new(Span::Microseconds(1199));
        let mut blocks = Blocks::new(false);
        let give = |object| What::Give { object, entry: Entry::Free };
        let resident = What::Resident { bytes: 4096 };
        for (time, what) in
            [(0, take(0, 100)), (2, take(1, 50)), (2, give(1)), (5, resident), (1000, give(0))]
        {
            let event = event(time, what);
            count.add(&event, blocks.change(&event));
        }
        let last = event(1199, take(2, 7));
        count.add(&last, blocks.change(&last));
        let sums = count.finish(&blocks);
        assert_eq!(sums.live_bytes[..5], [100, 100, 150, 100, 100]);
        assert_eq!(sums.last_live_bytes[..5], [100, 100, 100, 100, 100]);
        assert_eq!((sums.last_live_bytes[1000], sums.last_live_bytes[1199]), (0, 7));
        assert_eq!(
            (sums.live_bytes[999], sums.live_bytes[1001], sums.live_bytes[1199]),
            (100, 0, 7)
        );
        assert_eq!((sums.resident_bytes[4], sums.resident_bytes[5]), (None, Some(4096)));
        assert_eq!(
            (sums.peak, sums.at_end),
            (Sum { count: 2, bytes: 150 }, Sum { count: 1, bytes: 7 })
        );
        let lifetimes: Vec<_> =
            sums.lifetimes.iter().map(|(power, sum)| (*power, sum.count)).collect();
        assert_eq!(lifetimes, [(None, 1), (Some(0), 1), (Some(3), 1)]);
        assert_eq!(sums.sizes[&7], Sum { count: 1, bytes: 100 });
    }
}
