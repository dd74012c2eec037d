//! Made-up events, of every kind.

use crate::recording::event::{Block, Entry, Event, What};
use crate::recording::writer::Writer;

/// Blocks of three threads: each is taken, every third resized, and freed after a while.
pub fn events(count: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut time_us = 0;
    let mut next_object = 0;
    while events.len() < count {
        let object: u64 = next_object;
        next_object += 1;
        let mut add = |what| {
            time_us += object % 3;
            events.push(Event { time_us, thread: (object / 7 % 3) as u32, what });
        };
        let size = object * 37 % 4096;
        add(What::Take { object, block: block(Entry::Malloc, object, size) });
        if object.is_multiple_of(3) {
            add(What::Resize { object, block: block(Entry::Realloc, object, 2 * size) });
        }
        if object.is_multiple_of(50) {
            add(What::Resident { bytes: object * 4096 });
            add(What::Mapped { bytes: object * 1000 });
        }
        if let Some(old) = object.checked_sub(20) {
            if old.is_multiple_of(10) {
                add(What::Touched { object: old, bytes: 4096 });
            }
            add(What::Give { object: old, entry: Entry::Free });
        }
    }
    let (time_us, thread) = events.last().map_or((0, 0), |last| (last.time_us, last.thread));
    events.push(Event { time_us, thread, what: What::ThreadEnd });
    events
}

/// Each block at an address of its own while it lives; as the events say.
pub fn write(events: &[Event], writer: &mut Writer) {
    for &Event { time_us, thread, what } in events {
        match what {
            What::Take { object, block } => writer.take(time_us, thread, address(object), block),
            What::Resize { object, block } => {
                writer.resize(time_us, thread, (address(object), address(object)), block)
            }
            What::Give { object, entry } => writer.give(time_us, thread, address(object), entry),
            What::Touched { object, bytes } => {
                writer.touched(time_us, thread, address(object), bytes)
            }
            What::Resident { bytes } => writer.resident(time_us, thread, bytes),
            What::Mapped { bytes } => writer.mapped(time_us, thread, bytes),
            What::ThreadEnd => writer.thread_end(time_us, thread),
        }
        .unwrap();
    }
}

fn address(object: u64) -> u64 {
    0x7f00_0000_0000 + object % 100 * 4096
}

fn block(entry: Entry, object: u64, size: u64) -> Block {
    let alignment = if entry == Entry::Malloc && object.is_multiple_of(5) { 64 } else { 0 };
    let address = Some(address(object));
    Block { entry, size, alignment, address, stack: (object % 5) as u32 }
}
