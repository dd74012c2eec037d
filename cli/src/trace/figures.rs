//! What a recording adds up to.

use crate::recording::about::{Header, Summary};
use crate::recording::event::{Block, Event, What};
use crate::recording::numbered::NumberMap;
use crate::recording::reader::Reader;
use crate::recording::touches::Touches;
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Serialize)]
pub struct Figures {
    pub header: Header,
    pub summary: Summary,
    pub file_bytes: u64,
    /// Nodes of stacks, and files of the program that they may be in; 0 without stacks.
    pub stack_nodes: usize,
    pub modules: usize,
    pub resizes: u64,
    /// What no allocator can do without.
    pub bound_bytes: u64,
    pub temporaries: u64,
    pub gives: u64,
    pub gives_by_others: u64,
    pub calls: BTreeMap<&'static str, u64>,
    /// By power of two.
    pub sizes: Vec<SizeRow>,
    pub lifetimes: Vec<LifetimeRow>,
}

/// Blocks of up to so many bytes, and of more than half of that.
#[derive(Debug, Default, Clone, Serialize)]
pub struct SizeRow {
    pub up_to_bytes: u64,
    pub blocks: u64,
    pub bytes: u64,
    /// Live when the sum of all was most.
    pub blocks_at_peak: u64,
}

/// Blocks that were freed after at most this time, and not sooner.
#[derive(Debug, Default, Clone, Serialize)]
pub struct LifetimeRow {
    /// `None`: never.
    pub up_to_us: Option<u64>,
    pub blocks: u64,
    pub bytes: u64,
}

/// Tenfold each.
const LIFETIMES_US: [u64; 7] = [10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

struct Live {
    size: u64,
    touched: u64,
    thread: u32,
    born_us: u64,
}

/// Powers of two from 1 on, and what is beyond.
const CLASSES: usize = 65;

struct Count {
    live: NumberMap<Live>,
    live_bytes: u64,
    peak_bytes: u64,
    touched_bytes: u64,
    bound_bytes: u64,
    /// By thread: the block that it took last, while it has taken no other and not freed it.
    last: NumberMap<u64>,
    resizes: u64,
    temporaries: u64,
    gives: u64,
    gives_by_others: u64,
    calls: BTreeMap<&'static str, u64>,
    sizes: [SizeRow; CLASSES],
    live_by_size: [u64; CLASSES],
    at_peak: Option<[u64; CLASSES]>,
    lifetimes: [LifetimeRow; LIFETIMES_US.len() + 2],
}

pub fn of(reader: &Reader) -> Result<Figures> {
    let mut touches = Touches::read(reader)?;
    let mut count = Count::new();
    let mut events = reader.events();
    for event in events.by_ref() {
        count.add(&event?, &mut touches);
    }
    Ok(Figures { stack_nodes: events.stacks().len(), ..count.finish(reader) })
}

/// Of the power of two that a size is at most.
fn class(size: u64) -> usize {
    size.checked_sub(1).and_then(u64::checked_ilog2).map_or(0, |power| power as usize + 1)
}

fn class_size(class: usize) -> u64 {
    1_u64.checked_shl(class as u32).unwrap_or(u64::MAX)
}

impl Count {
    fn new() -> Count {
        Count {
            live: NumberMap::default(),
            live_bytes: 0,
            peak_bytes: 0,
            touched_bytes: 0,
            bound_bytes: 0,
            last: NumberMap::default(),
            resizes: 0,
            temporaries: 0,
            gives: 0,
            gives_by_others: 0,
            calls: BTreeMap::new(),
            sizes: std::array::from_fn(|_| SizeRow::default()),
            live_by_size: [0; CLASSES],
            at_peak: None,
            lifetimes: Default::default(),
        }
    }

    fn add(&mut self, event: &Event, touches: &mut Touches) {
        match event.what {
            What::Take { object, block } => {
                self.call(block.entry.name());
                let live = self.begin(event, &block, touches);
                self.live.insert(object, live);
                self.last.insert(u64::from(event.thread), object);
            }
            What::Resize { object, block } => {
                self.call(block.entry.name());
                self.resizes += 1;
                let old = self.live.remove(&object);
                old.iter().for_each(|old| self.end(old));
                let live = self.begin(event, &block, touches);
                let born_us = old.map_or(event.time_us, |old| old.born_us);
                self.live.insert(object, Live { born_us, ..live });
            }
            What::Give { object, entry } => {
                self.call(entry.name());
                let Some(old) = self.live.remove(&object) else { return };
                self.end(&old);
                self.gives += 1;
                self.gives_by_others += u64::from(old.thread != event.thread);
                let thread = u64::from(event.thread);
                if self.last.get(&thread) == Some(&object) {
                    self.last.remove(&thread);
                    self.temporaries += 1;
                }
                let lifetime = event.time_us - old.born_us;
                let row = LIFETIMES_US.iter().position(|&limit| lifetime <= limit);
                self.lived(row.unwrap_or(LIFETIMES_US.len()), old.size);
            }
            What::Touched { .. }
            | What::Resident { .. }
            | What::Mapped { .. }
            | What::ThreadEnd => {}
        }
    }

    fn call(&mut self, name: &'static str) {
        *self.calls.entry(name).or_default() += 1;
    }

    fn begin(&mut self, event: &Event, block: &Block, touches: &mut Touches) -> Live {
        let (size, touched) = (block.size, touches.next(block.size));
        let class = class(size);
        self.sizes[class].blocks += 1;
        self.sizes[class].bytes += size;
        self.live_by_size[class] += 1;
        self.live_bytes += size;
        self.touched_bytes += touched;
        self.bound_bytes = self.bound_bytes.max(self.touched_bytes);
        if self.live_bytes > self.peak_bytes {
            self.peak_bytes = self.live_bytes;
            self.at_peak = None;
        }
        Live { size, touched, thread: event.thread, born_us: event.time_us }
    }

    fn end(&mut self, old: &Live) {
        // The peak's sizes are noted when it is over: it may have grown a thousand times before.
        if self.live_bytes == self.peak_bytes {
            self.at_peak.get_or_insert(self.live_by_size);
        }
        self.live_by_size[class(old.size)] -= 1;
        self.live_bytes -= old.size;
        self.touched_bytes -= old.touched;
    }

    fn lived(&mut self, row: usize, size: u64) {
        self.lifetimes[row].blocks += 1;
        self.lifetimes[row].bytes += size;
    }

    fn finish(mut self, reader: &Reader) -> Figures {
        let at_peak = self.at_peak.unwrap_or(self.live_by_size);
        let left: Vec<u64> = self.live.values().map(|live| live.size).collect();
        left.into_iter().for_each(|size| self.lived(LIFETIMES_US.len() + 1, size));
        for (row, &limit) in self.lifetimes.iter_mut().zip(&LIFETIMES_US) {
            row.up_to_us = Some(limit);
        }
        self.lifetimes[LIFETIMES_US.len()].up_to_us = Some(u64::MAX);
        let size_row = |(class, row): (usize, &SizeRow)| SizeRow {
            up_to_bytes: class_size(class),
            blocks_at_peak: at_peak[class],
            ..row.clone()
        };
        let rows = self.sizes.iter().enumerate().filter(|(_, row)| row.blocks > 0);
        Figures {
            header: reader.header().clone(),
            summary: reader.summary().clone(),
            file_bytes: reader.file_bytes(),
            stack_nodes: 0,
            modules: reader.modules().len(),
            resizes: self.resizes,
            bound_bytes: self.bound_bytes,
            temporaries: self.temporaries,
            gives: self.gives,
            gives_by_others: self.gives_by_others,
            calls: self.calls,
            sizes: rows.map(size_row).collect(),
            lifetimes: self.lifetimes.to_vec(),
        }
    }
}
