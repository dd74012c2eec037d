//! The recording of one process: what its threads do, in the order of their times.

use crate::record::mappings::Mappings;
use crate::record::memory::{self, PageMap, Resident};
use crate::record::stream::{ATTACH, DETACH, GIVE, MAP, Raw, TAKE, TOUCHED, UNMAP};
use crate::recording::about::{Header, Module, Summary};
use crate::recording::event::{Block, Entry};
use crate::recording::numbered::SpreadNumbers;
use crate::recording::place::Place;
use crate::recording::stacks::Node;
use crate::recording::writer::Writer;
use anyhow::{Context, Result};
use std::collections::HashMap;
use std::path::Path;

pub struct Recorded {
    place: Place,
    writer: Writer,
    nodes: HashMap<Node, u32, SpreadNumbers>,
    thread_count: u32,
    peak_resident: Option<u64>,
    elsewhere: Option<u64>,
    modules: Vec<Module>,
    mappings: Mappings,
    /// What of them was in memory, as it was written last.
    mapped_bytes: u64,
}

/// What a thread has called.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub time_us: u64,
    /// Its number in the recording.
    pub thread: u32,
    pub raw: Raw,
    pub stack: u32,
}

/// The last stack of a thread in one recording, from above.
#[derive(Debug, Default)]
pub struct LastStack {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    address: u64,
    number: u32,
}

impl LastStack {
    fn number(&self) -> u32 {
        self.steps.last().map_or(0, |step| step.number)
    }
}

impl Recorded {
    pub fn new(place: &Path, header: &Header) -> Result<Recorded> {
        let (place, file) = Place::new(place)?;
        let writer = Writer::new(file, header).with_context(|| place.cannot_write())?;
        Ok(Recorded {
            place,
            writer,
            nodes: HashMap::default(),
            thread_count: 0,
            peak_resident: None,
            elsewhere: None,
            modules: Vec::new(),
            mappings: Mappings::default(),
            mapped_bytes: 0,
        })
    }

    /// The number of another thread.
    pub fn begin_thread(&mut self) -> u32 {
        self.thread_count += 1;
        self.thread_count - 1
    }

    pub fn end_thread(&mut self, time_us: u64, thread: u32) -> Result<()> {
        let written = self.writer.thread_end(time_us, thread);
        written.with_context(|| self.place.cannot_write())
    }

    pub fn add(&mut self, calls: &[Call]) -> Result<()> {
        self.writer.look_ahead(calls.iter().map(|call| call.raw.address));
        let written = calls.iter().try_for_each(|call| match (call.raw.kind, call.raw) {
            (MAP, Raw { address, second, .. }) => {
                self.mappings.add(address, second);
                Ok(())
            }
            (UNMAP, Raw { address, second, .. }) => {
                self.mappings.remove(address, second);
                Ok(())
            }
            _ => write(&mut self.writer, call),
        });
        written.with_context(|| self.place.cannot_write())
    }

    /// The number of a stack, the caller first. `last` is the thread's last one: the calls that it
    /// shares with this one have their numbers already.
    pub fn stack(&mut self, frames: &[u64], last: &mut LastStack) -> u32 {
        let from_above = || frames.iter().rev();
        let is_shared = |(step, address): &(&Step, &u64)| step.address == **address;
        let shared = last.steps.iter().zip(from_above()).take_while(is_shared).count();
        last.steps.truncate(shared);
        for &address in from_above().skip(shared) {
            let above = last.number();
            let number = self.node(Node { above, address });
            last.steps.push(Step { address, number });
        }
        last.number()
    }

    fn node(&mut self, node: Node) -> u32 {
        *self.nodes.entry(node).or_insert_with(|| {
            self.writer.add_node(node);
            self.writer.next_node() - 1
        })
    }

    pub fn resident(&mut self, time_us: u64, process: u32, resident: Resident) -> Result<()> {
        self.peak_resident = self.peak_resident.max(Some(resident.bytes));
        self.elsewhere = self.elsewhere.max(Some(resident.file_bytes));
        let mapped_bytes = self.mappings.resident_bytes(process);
        if mapped_bytes != self.mapped_bytes {
            self.mapped_bytes = mapped_bytes;
            let written = self.writer.mapped(time_us, 0, mapped_bytes);
            written.with_context(|| self.place.cannot_write())?;
        }
        self.writer.resident(time_us, 0, resident.bytes).with_context(|| self.place.cannot_write())
    }

    /// The program waits in its last call: what is still live is looked at. `own_bytes` in its
    /// memory are not its own.
    pub fn look_at_the_end(&mut self, time_us: u64, process: u32, own_bytes: u64) -> Result<()> {
        let peak = memory::peak_bytes(process).map(|peak| peak.saturating_sub(own_bytes));
        self.peak_resident = self.peak_resident.max(peak);
        self.elsewhere = self.elsewhere.max(memory::elsewhere_bytes(process));
        if self.writer.has_stacks() {
            self.modules = memory::modules(process);
        }
        let Some(map) = PageMap::open(process) else { return Ok(()) };
        for (address, size) in self.writer.live_large() {
            let Some(bytes) = map.touched_bytes(address, size) else { continue };
            let written = self.writer.touched(time_us, 0, address, bytes);
            written.with_context(|| self.place.cannot_write())?;
        }
        Ok(())
    }

    /// `None` if nothing was recorded.
    pub fn finish(mut self, ended: Option<String>) -> Result<Option<(Place, Summary)>> {
        if self.writer.event_count() == 0 {
            return Ok(None);
        }
        let cannot_write = self.place.cannot_write();
        if !self.modules.is_empty() {
            self.writer.modules(&self.modules).with_context(|| cannot_write.clone())?;
        }
        if let Some(bytes) = self.elsewhere {
            self.writer.elsewhere(bytes);
        }
        let summary = self.writer.finish(ended, self.peak_resident).context(cannot_write)?;
        Ok(Some((self.place, summary)))
    }
}

fn write(writer: &mut Writer, call: &Call) -> Result<()> {
    let Call { time_us, thread, raw, stack } = *call;
    let Some(entry) = Entry::from_number(raw.entry) else { return Ok(()) };
    let size = raw.second & ((1 << 56) - 1);
    let alignment =
        (raw.second >> 56).checked_sub(1).and_then(|power| 1_u64.checked_shl(power as u32));
    let block = |size, alignment: Option<u64>| Block {
        entry,
        size,
        alignment: alignment.unwrap_or(0),
        address: None,
        stack,
    };
    let address = raw.address;
    match raw.kind {
        TAKE => writer.take(time_us, thread, address, block(size, alignment)),
        GIVE if address == 0 => writer.give_detached(time_us, thread, entry),
        GIVE => writer.give(time_us, thread, address, entry),
        DETACH => {
            writer.detach(thread, address);
            Ok(())
        }
        ATTACH => writer.attach(time_us, thread, address, block(size, None)),
        TOUCHED => writer.touched(time_us, thread, address, raw.second),
        _ => Ok(()),
    }
}
