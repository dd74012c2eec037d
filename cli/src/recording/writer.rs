//! Writes a recording: what is given by addresses gets numbers of objects, and sections go into the
//! file as they are full, so that whatever happens only the last one is lost.

use crate::recording::about::{Header, Module, Summary};
use crate::recording::event::{Block, Entry, Event, LARGE_BYTES, What};
use crate::recording::index::{self, Kind, SectionEntry};
use crate::recording::live::{Live, Object};
use crate::recording::numbered::NumberMap;
use crate::recording::section::{EVENTS_MAX, Encoder, Extras};
use crate::recording::stacks::{Node, Stacks};
use anyhow::{Context, Result};
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use zstd::bulk::Compressor;

/// Of zstd: what is drained from a program must not wait for it.
const LEVEL: i32 = 3;

pub struct Writer {
    file: File,
    offset: u64,
    compressor: Compressor<'static>,
    extras: Extras,
    encoder: Encoder,
    /// How things stand where the encoder's section begins.
    entry: SectionEntry,
    entries: Vec<SectionEntry>,
    others: Vec<u64>,
    stacks: Stacks,
    live: Live,
    live_bytes: u64,
    /// By thread: the block that it resizes, and where that was.
    detached: NumberMap<(u64, Option<Object>)>,
    time_us: u64,
    summary: Summary,
}

impl Writer {
    pub fn new(file: File, header: &Header) -> Result<Writer> {
        let mut compressor = Compressor::new(LEVEL)?;
        compressor.include_checksum(true)?;
        let extras = Extras { addresses: header.has_addresses, stacks: header.has_stacks };
        let mut writer = Writer {
            file,
            offset: 0,
            compressor,
            extras,
            encoder: Encoder::new(extras, 0, 0),
            entry: SectionEntry::default(),
            entries: Vec::new(),
            others: Vec::new(),
            stacks: Stacks::default(),
            live: Live::default(),
            live_bytes: 0,
            detached: NumberMap::default(),
            time_us: 0,
            summary: Summary::default(),
        };
        writer.write_text(Kind::Header, header)?;
        Ok(writer)
    }

    /// Blocks at these addresses are about to be taken and freed.
    pub fn look_ahead(&mut self, addresses: impl Iterator<Item = u64>) {
        let entries = addresses.fold(0, |entries, address| entries ^ self.live.entry(address));
        std::hint::black_box(entries);
    }

    /// A block was taken. One that was at its address must have been freed: by a call that was not
    /// seen, or is yet to come.
    #[inline]
    pub fn take(&mut self, time_us: u64, thread: u32, address: u64, block: Block) -> Result<()> {
        let number = self.summary.objects;
        self.put(time_us, thread, address, Object { number, size: block.size })?;
        self.summary.objects += 1;
        self.summary.taken_bytes += block.size;
        self.change_live(0, block.size);
        let block = self.with_address(block, address);
        self.add(time_us, thread, What::Take { object: number, block })
    }

    /// A block has another size, and maybe another place.
    pub fn resize(
        &mut self,
        time_us: u64,
        thread: u32,
        (from, to): (u64, u64),
        block: Block,
    ) -> Result<()> {
        self.detach(thread, from);
        self.attach(time_us, thread, to, block)
    }

    /// A thread begins to resize a block, whose place others may have before it has another one.
    pub fn detach(&mut self, thread: u32, address: u64) {
        let object = self.live.remove(address);
        self.summary.foreign += u64::from(object.is_none());
        self.detached.insert(u64::from(thread), (address, object));
    }

    /// The block that the thread has detached is there; at 0, it is as it was.
    pub fn attach(&mut self, time_us: u64, thread: u32, address: u64, block: Block) -> Result<()> {
        let detached = self.detached.remove(&u64::from(thread));
        let old = match detached {
            Some((from, Some(old))) if address == 0 => {
                self.live.insert(from, old);
                return Ok(());
            }
            Some((_, Some(old))) => old,
            _ if address == 0 => return Ok(()),
            _ => return self.take(time_us, thread, address, block),
        };
        self.put(time_us, thread, address, Object { size: block.size, ..old })?;
        self.summary.taken_bytes += block.size.saturating_sub(old.size);
        self.change_live(old.size, block.size);
        let block = self.with_address(block, address);
        self.add(time_us, thread, What::Resize { object: old.number, block })
    }

    /// The block that the thread has detached is freed.
    pub fn give_detached(&mut self, time_us: u64, thread: u32, entry: Entry) -> Result<()> {
        match self.detached.remove(&u64::from(thread)) {
            Some((_, Some(object))) => self.add_give(time_us, thread, object, entry),
            _ => Ok(()),
        }
    }

    #[inline]
    pub fn give(&mut self, time_us: u64, thread: u32, address: u64, entry: Entry) -> Result<()> {
        match self.live.remove(address) {
            Some(object) => self.add_give(time_us, thread, object, entry),
            None => {
                self.summary.foreign += 1;
                Ok(())
            }
        }
    }

    /// What was at its address before has been freed.
    #[inline]
    fn put(&mut self, time_us: u64, thread: u32, address: u64, object: Object) -> Result<()> {
        if let Some(before) = self.live.insert(address, object) {
            self.live.remove(address);
            self.add_give(time_us, thread, before, Entry::Free)?;
            self.live.insert(address, object);
        }
        Ok(())
    }

    fn add_give(&mut self, time_us: u64, thread: u32, object: Object, entry: Entry) -> Result<()> {
        self.change_live(object.size, 0);
        self.add(time_us, thread, What::Give { object: object.number, entry })
    }

    /// Addresses and sizes of the large blocks that there are.
    pub fn live_large(&self) -> Vec<(u64, u64)> {
        self.live.at_least(LARGE_BYTES)
    }

    pub fn event_count(&self) -> u64 {
        self.summary.events
    }

    pub fn has_stacks(&self) -> bool {
        self.extras.stacks
    }

    /// Of the node of stacks that is added next.
    pub fn next_node(&self) -> u32 {
        self.stacks.len() as u32 + 1
    }

    /// Of a block that is about to be freed or resized.
    pub fn touched(&mut self, time_us: u64, thread: u32, address: u64, bytes: u64) -> Result<()> {
        match self.live.get(address) {
            Some(Object { number: object, .. }) => {
                self.add(time_us, thread, What::Touched { object, bytes })
            }
            None => Ok(()),
        }
    }

    pub fn resident(&mut self, time_us: u64, thread: u32, bytes: u64) -> Result<()> {
        self.add(time_us, thread, What::Resident { bytes })
    }

    pub fn mapped(&mut self, time_us: u64, thread: u32, bytes: u64) -> Result<()> {
        self.add(time_us, thread, What::Mapped { bytes })
    }

    pub fn thread_end(&mut self, time_us: u64, thread: u32) -> Result<()> {
        self.add(time_us, thread, What::ThreadEnd)
    }

    /// A call that later events' stacks may name, by how many there are then.
    pub fn add_node(&mut self, node: Node) {
        self.stacks.add(node);
    }

    pub fn modules(&mut self, modules: &[Module]) -> Result<()> {
        self.others.push(self.offset);
        self.write_text(Kind::Modules, &modules)
    }

    /// What the program has in memory that is no allocator's.
    pub fn elsewhere(&mut self, bytes: u64) {
        self.summary.elsewhere_bytes = Some(bytes);
    }

    /// Writes what there is, the summary and the index.
    pub fn finish(
        mut self,
        ended: Option<String>,
        peak_resident_bytes: Option<u64>,
    ) -> Result<Summary> {
        self.end_section()?;
        let mut summary = self.summary.clone();
        summary.time_us = self.time_us;
        summary.live_blocks = self.live.len();
        summary.live_bytes = self.live_bytes;
        summary.ended = ended;
        summary.peak_resident_bytes = peak_resident_bytes;
        self.others.push(self.offset);
        self.write_text(Kind::Summary, &summary)?;
        let index = index::encode(&self.entries, &self.others);
        self.file.write_all(&index)?;
        Ok(summary)
    }

    fn with_address(&self, block: Block, address: u64) -> Block {
        Block { address: self.extras.addresses.then_some(address), ..block }
    }

    fn change_live(&mut self, from: u64, to: u64) {
        self.live_bytes = self.live_bytes - from + to;
        self.summary.peak_live_bytes = self.summary.peak_live_bytes.max(self.live_bytes);
    }

    #[inline(always)]
    fn add(&mut self, time_us: u64, thread: u32, what: What) -> Result<()> {
        self.time_us = self.time_us.max(time_us);
        self.summary.events += 1;
        self.summary.threads = self.summary.threads.max(thread + 1);
        self.encoder.add(&Event { time_us: self.time_us, thread, what });
        if self.encoder.count() == EVENTS_MAX {
            self.end_section()?;
        }
        Ok(())
    }

    #[inline(never)]
    fn end_section(&mut self) -> Result<()> {
        let next = Encoder::new(self.extras, self.encoder.next_object(), self.stacks.len());
        let ended = std::mem::replace(&mut self.encoder, next);
        let entry = SectionEntry {
            offset: self.offset,
            event_count: ended.count(),
            first_object: ended.first_object(),
            start_us: ended.start_us(),
            ..self.entry
        };
        if ended.count() > 0 {
            self.entries.push(entry);
            self.write_section(Kind::Events, &ended.finish(&self.stacks))?;
        }
        self.entry = SectionEntry {
            first_event: self.summary.events,
            live_blocks: self.live.len(),
            live_bytes: self.live_bytes,
            ..SectionEntry::default()
        };
        Ok(())
    }

    fn write_text(&mut self, kind: Kind, content: &impl Serialize) -> Result<()> {
        let text = serde_json::to_vec(content).context("cannot write JSON")?;
        self.write_section(kind, &text)
    }

    fn write_section(&mut self, kind: Kind, content: &[u8]) -> Result<()> {
        let frame = self.compressor.compress(content)?;
        let mut bytes = index::label(kind, u32::try_from(frame.len())?).to_vec();
        bytes.extend(frame);
        self.file.write_all(&bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}
