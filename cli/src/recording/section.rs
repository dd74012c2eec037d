//! A section of events as columns: what is alike stands together, and becomes short.

use crate::recording::bytes::{Cursor, put, put_difference};
use crate::recording::event::{Block, Entry, Event, What};
use crate::recording::stacks::{Node, Stacks};
use anyhow::{Context, Result, bail};

/// Of a section's events; one with more is not read.
pub const EVENTS_MAX: u64 = 65_536;

/// The upper bits of an operation; the lower six are an entry's number or one of `OTHERS`.
const TAKE: u8 = 0x00;
const RESIZE: u8 = 0x40;
const GIVE: u8 = 0x80;
const OTHER: u8 = 0xc0;
const CLASS: u8 = 0xc0;
const TOUCHED: u8 = OTHER;
const RESIDENT: u8 = OTHER + 1;
const THREAD_END: u8 = OTHER + 2;
const MAPPED: u8 = OTHER + 3;

/// What the columns of a recording hold beside what all have.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras {
    pub addresses: bool,
    pub stacks: bool,
}

/// Events on their way into a section.
#[derive(Debug, Default)]
pub struct Encoder {
    extras: Extras,
    count: u64,
    start_us: u64,
    first_object: u64,
    first_node: usize,
    next_object: u64,
    time_us: u64,
    thread: u32,
    thread_run: u64,
    address: u64,
    columns: Columns,
}

/// In the order in which they stand in a section.
#[derive(Debug, Default)]
struct Columns {
    operations: Vec<u8>,
    threads: Vec<u8>,
    times: Vec<u8>,
    values: Vec<u8>,
    alignments: Vec<u8>,
    objects: Vec<u8>,
    addresses: Vec<u8>,
    stacks: Vec<u8>,
}

impl Encoder {
    /// `next_object`: the number that the next taken block gets; `first_node`: how many nodes of
    /// stacks stand in earlier sections.
    pub fn new(extras: Extras, next_object: u64, first_node: usize) -> Encoder {
        let columns = Columns {
            operations: Vec::with_capacity(EVENTS_MAX as usize),
            times: Vec::with_capacity(EVENTS_MAX as usize),
            values: Vec::with_capacity(EVENTS_MAX as usize),
            objects: Vec::with_capacity(EVENTS_MAX as usize),
            ..Columns::default()
        };
        Encoder {
            extras,
            first_object: next_object,
            next_object,
            first_node,
            columns,
            ..Encoder::default()
        }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn start_us(&self) -> u64 {
        self.start_us
    }

    pub fn first_object(&self) -> u64 {
        self.first_object
    }

    pub fn next_object(&self) -> u64 {
        self.next_object
    }

    /// Compiled for each kind of event where that is known.
    #[inline(always)]
    pub fn add(&mut self, event: &Event) {
        if self.count == 0 {
            (self.start_us, self.time_us) = (event.time_us, event.time_us);
        }
        if event.thread != self.thread {
            self.end_run();
            self.thread = event.thread;
        }
        self.thread_run += 1;
        self.count += 1;
        put(&mut self.columns.times, event.time_us - self.time_us);
        self.time_us = event.time_us;
        match event.what {
            What::Take { object, block } => {
                debug_assert_eq!(object, self.next_object);
                self.next_object = object + 1;
                self.put_block(TAKE, &block);
                put(&mut self.columns.alignments, alignment_code(block.alignment));
            }
            What::Resize { object, block } => {
                self.put_object(object);
                self.put_block(RESIZE, &block);
            }
            What::Give { object, entry } => {
                self.put_object(object);
                self.columns.operations.push(GIVE | entry as u8);
            }
            What::Touched { object, bytes } => {
                self.put_object(object);
                self.put_value(TOUCHED, bytes);
            }
            What::Resident { bytes } => self.put_value(RESIDENT, bytes),
            What::Mapped { bytes } => self.put_value(MAPPED, bytes),
            What::ThreadEnd => self.columns.operations.push(THREAD_END),
        }
    }

    #[inline(never)]
    fn end_run(&mut self) {
        if self.thread_run > 0 {
            put(&mut self.columns.threads, u64::from(self.thread));
            put(&mut self.columns.threads, self.thread_run);
        }
        self.thread_run = 0;
    }

    /// By how many objects have been taken since: mostly few.
    fn put_object(&mut self, object: u64) {
        put(&mut self.columns.objects, self.next_object - 1 - object);
    }

    fn put_value(&mut self, operation: u8, value: u64) {
        self.columns.operations.push(operation);
        put(&mut self.columns.values, value);
    }

    fn put_block(&mut self, class: u8, block: &Block) {
        self.put_value(class | block.entry as u8, block.size);
        if self.extras.addresses {
            let address = block.address.unwrap_or(0);
            put_difference(&mut self.columns.addresses, address, self.address);
            self.address = address;
        }
        if self.extras.stacks {
            put(&mut self.columns.stacks, u64::from(block.stack));
        }
    }

    /// The section, with the nodes of stacks that its events brought.
    pub fn finish(mut self, stacks: &Stacks) -> Vec<u8> {
        self.end_run();
        let mut nodes = Vec::new();
        let mut address = 0;
        for node in stacks.since(self.first_node) {
            put(&mut nodes, u64::from(node.above));
            put_difference(&mut nodes, node.address, address);
            address = node.address;
        }
        let columns = self.columns;
        let mut section = Vec::new();
        let start = [self.count, self.start_us, self.first_object, self.first_node as u64];
        start.iter().for_each(|&number| put(&mut section, number));
        for column in [
            columns.operations,
            columns.threads,
            columns.times,
            columns.values,
            columns.alignments,
            columns.objects,
            columns.addresses,
            columns.stacks,
            nodes,
        ] {
            put(&mut section, column.len() as u64);
            section.extend(column);
        }
        section
    }
}

/// 0 for none, else one more than the power of two.
fn alignment_code(alignment: u64) -> u64 {
    alignment.checked_ilog2().map_or(0, |power| u64::from(power) + 1)
}

/// A section, to be read from its begin.
struct Decoder<'a> {
    extras: Extras,
    next_object: u64,
    operations: Cursor<'a>,
    values: Cursor<'a>,
    alignments: Cursor<'a>,
    objects: Cursor<'a>,
    addresses: Cursor<'a>,
    stacks: Cursor<'a>,
    address: u64,
    node_count: usize,
}

/// Puts a section's events behind those that are there. `stacks` gets its nodes, unless it has them
/// already; where earlier sections were not read, it has none, and stacks are not checked.
pub fn decode(
    section: &[u8],
    extras: Extras,
    stacks: &mut Stacks,
    events: &mut Vec<Event>,
) -> Result<()> {
    let mut rest = Cursor(section);
    let count = rest.number()?;
    if count > EVENTS_MAX {
        bail!("a section has {count} events");
    }
    let (start_us, next_object) = (rest.number()?, rest.number()?);
    let first_node = rest.number()?;
    let mut column = || -> Result<Cursor> {
        let length = rest.number()?;
        rest.take(usize::try_from(length)?)
    };
    let (operations, mut threads, mut times) = (column()?, column()?, column()?);
    let mut decoder = Decoder {
        extras,
        next_object,
        operations,
        values: column()?,
        alignments: column()?,
        objects: column()?,
        addresses: column()?,
        stacks: column()?,
        address: 0,
        node_count: 0,
    };
    read_nodes(column()?, first_node, stacks)?;
    decoder.node_count =
        if first_node == 0 || stacks.len() > 0 { stacks.len() } else { usize::MAX };
    let (mut time_us, mut thread, mut thread_run) = (start_us, 0, 0);
    events.reserve(count as usize);
    for _ in 0..count {
        if thread_run == 0 {
            (thread, thread_run) = (u32::try_from(threads.number()?)?, threads.number()?);
        }
        thread_run = thread_run.checked_sub(1).context("a thread without events")?;
        time_us = time_us.checked_add(times.number()?).context("a time beyond all times")?;
        events.push(Event { time_us, thread, what: decoder.next()? });
    }
    Ok(())
}

fn read_nodes(mut nodes: Cursor, first_node: u64, stacks: &mut Stacks) -> Result<()> {
    if first_node != stacks.len() as u64 {
        return Ok(());
    }
    let mut address = 0;
    while !nodes.is_at_end() {
        let above = u32::try_from(nodes.number()?)?;
        address = nodes.difference(address)?;
        if !stacks.add(Node { above, address }) {
            bail!("a call has an unknown one above");
        }
    }
    Ok(())
}

impl Decoder<'_> {
    fn next(&mut self) -> Result<What> {
        let operation = self.operations.byte()?;
        let entry = || {
            let number = operation & !CLASS;
            Entry::from_number(number).with_context(|| format!("an unknown function, {number}"))
        };
        match operation & CLASS {
            TAKE => {
                let object = self.next_object;
                self.next_object += 1;
                let mut block = self.block(entry()?)?;
                block.alignment = match self.alignments.number()? {
                    0 => 0,
                    code @ 1..=64 => 1 << (code - 1),
                    _ => bail!("an alignment beyond all memory"),
                };
                Ok(What::Take { object, block })
            }
            RESIZE => Ok(What::Resize { object: self.object()?, block: self.block(entry()?)? }),
            GIVE => Ok(What::Give { object: self.object()?, entry: entry()? }),
            _ => match operation {
                TOUCHED => {
                    Ok(What::Touched { object: self.object()?, bytes: self.values.number()? })
                }
                RESIDENT => Ok(What::Resident { bytes: self.values.number()? }),
                MAPPED => Ok(What::Mapped { bytes: self.values.number()? }),
                THREAD_END => Ok(What::ThreadEnd),
                _ => bail!("an unknown event, {operation}"),
            },
        }
    }

    fn object(&mut self) -> Result<u64> {
        let age = self.objects.number()?;
        let last = self.next_object.checked_sub(1);
        last.and_then(|last| last.checked_sub(age)).context("an object that was never taken")
    }

    fn block(&mut self, entry: Entry) -> Result<Block> {
        let size = self.values.number()?;
        let mut block = Block { entry, size, alignment: 0, address: None, stack: 0 };
        if self.extras.addresses {
            self.address = self.addresses.difference(self.address)?;
            block.address = Some(self.address);
        }
        if self.extras.stacks {
            block.stack = u32::try_from(self.stacks.number()?)?;
            if block.stack as usize > self.node_count {
                bail!("an unknown stack");
            }
        }
        Ok(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::synthetic::events;

    fn encoded(events: &[Event], extras: Extras, stacks: &Stacks) -> Vec<u8> {
        let mut encoder = Encoder::new(extras, 0, 0);
        events.iter().for_each(|event| encoder.add(event));
        encoder.finish(stacks)
    }

    fn some_stacks() -> Stacks {
        let mut stacks = Stacks::default();
        for at in 0..4 {
            assert!(stacks.add(Node { above: at, address: 0x5000 + u64::from(at) * 16 }));
        }
        stacks
    }

    #[test]
    fn events_come_back_as_they_were() {
        let (given, stacks) = (events(3000), some_stacks());
        let extras = Extras { addresses: true, stacks: true };
        let section = encoded(&given, extras, &stacks);
        let (mut read, mut read_stacks) = (Vec::new(), Stacks::default());
        decode(&section, extras, &mut read_stacks, &mut read).unwrap();
        assert_eq!(read, given);
        assert_eq!(read_stacks.frames(4), stacks.frames(4));
    }

    #[test]
    fn a_damaged_section_is_refused_and_nothing_panics() {
        let extras = Extras { addresses: true, stacks: true };
        let section = encoded(&events(40), extras, &some_stacks());
        let read =
            |bytes: &[u8]| decode(bytes, extras, &mut Stacks::default(), &mut Vec::new()).is_ok();
        assert!(read(&section));
        for end in 0..section.len() {
            assert!(!read(&section[..end]), "cut at {end}");
        }
        for at in 0..section.len() {
            let mut damaged = section.clone();
            for value in [0, 0x7f, 0x80, 0xff] {
                damaged[at] = value;
                read(&damaged);
            }
        }
        let many = [0x81, 0x80, 0x04]; // 65,537 events
        assert!(!read(&many));
    }
}
