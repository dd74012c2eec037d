//! From the rings into the file.
//!
//! A block that passes from thread to thread was published by the first before the second could
//! have it, and the times of both calls say which was first (recorder.c). So the heads of all rings
//! are read twice: whatever comes before an event that the first look has seen, the second has. All
//! events up to the latest one that the first look has seen are written, ordered by time.

use crate::record::memory::{self, PageMap};
use crate::record::ring::{RING_BYTES, RING_COUNT, RING_FREE, RING_USED, Shared};
use crate::record::time::Time;
use crate::recording::about::{Header, Module, Summary};
use crate::recording::event::{Block, Entry};
use crate::recording::place::Place;
use crate::recording::stacks::Node;
use crate::recording::writer::Writer;
use anyhow::{Context, Result};
use nix::libc;
use nix::unistd::Pid;
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// What is to be written, and where.
pub struct Wanted {
    pub place: PathBuf,
    pub header: Header,
}

pub struct Drain<'a> {
    shared: &'a Shared,
    wanted: Wanted,
    time: Time,
    slots: Vec<Slot>,
    /// The process image whose events are written.
    image: u32,
    recording: Recording,
    samples_due: Instant,
    threads_due: Instant,
}

/// What has come of it so far.
enum Recording {
    Open(Box<Open>),
    /// The file could not be written, and is gone.
    Failed(anyhow::Error),
    /// It is being replaced, or is closed.
    None,
}

struct Open {
    place: Place,
    writer: Writer,
    nodes: HashMap<Node, u32>,
    thread_count: u32,
    peak_resident: Option<u64>,
    modules: Vec<Module>,
}

/// A ring, and the thread that has it.
#[derive(Default)]
struct Slot {
    is_used: bool,
    image: u32,
    process: u32,
    thread: u32,
    /// Of the thread in the recording.
    number: u32,
    tail: u64,
    /// How far the first look has seen it.
    seen: u64,
    events: VecDeque<Raw>,
    /// How much of the ring the program has ever written.
    touched_bytes: u64,
}

/// An event as the recorder writes it.
#[derive(Debug, Clone, Copy)]
struct Raw {
    counter: u64,
    /// Of the words behind it.
    end: u64,
    number: u32,
    kind: u8,
    entry: u8,
    first: u64,
    second: u64,
    stack: u32,
}

const TAKE: u8 = 1;
const GIVE: u8 = 2;
const DETACH: u8 = 3;
const ATTACH: u8 = 4;
const TOUCHED: u8 = 5;

/// Between two looks, while there is something and while there is not.
const PAUSE: Duration = Duration::from_micros(500);
const PAUSE_WHEN_IDLE: Duration = Duration::from_millis(3);
const BETWEEN_SAMPLES: Duration = Duration::from_millis(10);
const BETWEEN_LOOKS_AT_THREADS: Duration = Duration::from_millis(20);

impl<'a> Drain<'a> {
    pub fn new(shared: &'a Shared, wanted: Wanted) -> Result<Drain<'a>> {
        let open = open(&wanted)?;
        Ok(Drain {
            shared,
            wanted,
            time: shared.time(),
            slots: (0..RING_COUNT).map(|_| Slot::default()).collect(),
            image: 0,
            recording: Recording::Open(open),
            samples_due: Instant::now(),
            threads_due: Instant::now(),
        })
    }

    /// To be called again after as long as it says.
    pub fn look(&mut self, program: Pid) -> Duration {
        let count = self.pass();
        let ending = self.shared.common().ending.load(Acquire);
        if ending != 0 && ending != self.shared.common().looked.load(Relaxed) {
            while self.pass() > 0 {}
            self.look_at_the_end(program);
            self.shared.common().looked.store(ending, Release);
        }
        self.sample(program);
        if count > 0 { PAUSE } else { PAUSE_WHEN_IDLE }
    }

    pub fn left_out(&self) -> u32 {
        self.shared.common().left_out.load(Relaxed)
    }

    pub fn refused(&self) -> u32 {
        self.shared.common().refused.load(Relaxed)
    }

    /// The program has ended. `None` if it has recorded nothing.
    pub fn finish(mut self, ended: Option<String>) -> Result<Option<(Place, Summary)>> {
        while self.pass() > 0 {}
        self.write_rest();
        match self.recording {
            Recording::Failed(cause) => Err(cause),
            Recording::None => Ok(None),
            Recording::Open(open) if open.writer.event_count() == 0 => Ok(None),
            Recording::Open(open) => {
                let Open { place, mut writer, modules, peak_resident, .. } = *open;
                let cannot_write = place.cannot_write();
                if !modules.is_empty() {
                    writer.modules(&modules).with_context(|| cannot_write.clone())?;
                }
                let summary = writer.finish(ended, peak_resident).context(cannot_write)?;
                Ok(Some((place, summary)))
            }
        }
    }

    /// Writes what can be ordered. Gives how many events were there.
    fn pass(&mut self) -> usize {
        self.time.look();
        let rings = (self.shared.common().rings.load(Acquire) as usize).min(RING_COUNT);
        for number in 0..rings {
            self.notice(number);
        }
        let mut count = 0;
        for number in 0..rings {
            count += self.read(number);
        }
        self.write_up_to_seen(rings);
        count
    }

    /// The first look at a ring's head.
    fn notice(&mut self, number: usize) {
        let header = self.shared.header(number);
        if header.state.load(Acquire) != RING_USED {
            return;
        }
        if !self.slots[number].is_used {
            self.begin_thread(number);
        }
        self.slots[number].seen = header.head.load(Acquire);
    }

    fn begin_thread(&mut self, number: usize) {
        let header = self.shared.header(number);
        let image = header.image.load(Relaxed);
        if image > self.image {
            self.begin_image(image);
        }
        let thread = match &mut self.recording {
            Recording::Open(open) => {
                open.thread_count += 1;
                open.thread_count - 1
            }
            _ => 0,
        };
        let slot = &mut self.slots[number];
        *slot = Slot {
            is_used: true,
            image,
            process: header.process.load(Relaxed),
            thread: header.thread.load(Relaxed),
            number: thread,
            touched_bytes: if image == slot.image { slot.touched_bytes } else { 0 },
            ..Slot::default()
        };
    }

    /// The program has become another one: what was recorded of the first is not what was meant.
    fn begin_image(&mut self, image: u32) {
        let has_predecessor = self.image != 0;
        self.image = image;
        if !has_predecessor || matches!(self.recording, Recording::Failed(_)) {
            return;
        }
        self.recording = Recording::None;
        match open(&self.wanted) {
            Ok(open) => self.recording = Recording::Open(open),
            Err(cause) => self.fail(cause),
        }
    }

    /// The second look at a ring's head: reads its events, and gives their number.
    fn read(&mut self, number: usize) -> usize {
        if !self.slots[number].is_used {
            return 0;
        }
        let header = self.shared.header(number);
        let head = header.head.load(Acquire);
        let mut at = self.slots[number].tail;
        let mut count = 0;
        while at < head {
            let raw = self.raw(number, &mut at);
            self.slots[number].events.push_back(raw);
            count += 1;
        }
        let slot = &mut self.slots[number];
        slot.tail = head;
        slot.touched_bytes = slot.touched_bytes.max((head * 8).min(RING_BYTES as u64));
        header.tail.store(head, Release);
        count
    }

    /// One event, whatever stands there: no number is trusted to be small.
    fn raw(&mut self, number: usize, at: &mut u64) -> Raw {
        let shared = self.shared;
        let mut word = || {
            *at += 1;
            shared.word(number, *at - 1)
        };
        let head = word();
        let (kind, entry) = ((head & 15) as u8, (head >> 4 & 255) as u8);
        let first = word();
        let second = if matches!(kind, TAKE | ATTACH | TOUCHED) { word() } else { 0 };
        let mut frames = Vec::new();
        if shared.has_stacks() && matches!(kind, TAKE | ATTACH) {
            frames.extend((0..word().min(64)).map(|_| word()));
        }
        let stack = self.node_of(&frames);
        let slot = &self.slots[number];
        Raw {
            counter: head >> 12,
            end: *at,
            number: slot.number,
            kind,
            entry,
            first,
            second,
            stack,
        }
    }

    fn node_of(&mut self, frames: &[u64]) -> u32 {
        let Recording::Open(open) = &mut self.recording else { return 0 };
        let mut above = 0;
        for &address in frames.iter().rev() {
            let node = Node { above, address };
            above = *open.nodes.entry(node).or_insert_with(|| {
                open.writer.add_node(node);
                open.writer.next_node() - 1
            });
        }
        above
    }

    fn write_up_to_seen(&mut self, rings: usize) {
        let mut latest = None;
        for slot in &self.slots[..rings] {
            let seen = slot.events.iter().rev().find(|raw| raw.end <= slot.seen);
            latest = latest.max(seen.map(|raw| raw.counter));
        }
        let Some(latest) = latest else { return };
        let mut events = Vec::new();
        for slot in &mut self.slots[..rings] {
            let count = slot.events.iter().take_while(|raw| raw.counter <= latest).count();
            events.extend(slot.events.drain(..count));
        }
        events.sort_by_key(|raw| raw.counter);
        self.write(&events);
    }

    fn write_rest(&mut self) {
        let mut events: Vec<Raw> =
            self.slots.iter_mut().flat_map(|slot| slot.events.drain(..)).collect();
        events.sort_by_key(|raw| raw.counter);
        self.write(&events);
    }

    fn write(&mut self, events: &[Raw]) {
        let Recording::Open(open) = &mut self.recording else { return };
        let time = &self.time;
        let written = events.iter().try_for_each(|raw| write(&mut open.writer, time, raw));
        if let Err(cause) = written {
            let cause = cause.context(open.place.cannot_write());
            self.fail(cause);
        }
    }

    /// Nothing more is recorded, and the program goes on.
    fn fail(&mut self, cause: anyhow::Error) {
        self.shared.common().stop.store(1, Relaxed);
        self.recording = Recording::Failed(cause);
    }

    fn sample(&mut self, program: Pid) {
        let now = Instant::now();
        if now >= self.threads_due {
            self.threads_due = now + BETWEEN_LOOKS_AT_THREADS;
            self.end_threads();
        }
        if now < self.samples_due {
            return;
        }
        self.samples_due = now + BETWEEN_SAMPLES;
        let own_bytes = self.own_bytes();
        let time_us = self.time.now_us();
        let process = program.as_raw().cast_unsigned();
        let Some(resident) = memory::resident_bytes(process) else { return };
        let resident = resident.saturating_sub(own_bytes);
        let Recording::Open(open) = &mut self.recording else { return };
        // Before its first event it is not the program yet.
        if self.image == 0 || resident == 0 {
            return;
        }
        open.peak_resident = open.peak_resident.max(Some(resident));
        if let Err(cause) = open.writer.resident(time_us, 0, resident) {
            let cause = cause.context(open.place.cannot_write());
            self.fail(cause);
        }
    }

    /// What the program has in memory of the rings.
    fn own_bytes(&self) -> u64 {
        const PAGE_BYTES: u64 = 4096;
        let of_this = self.slots.iter().filter(|slot| slot.image == self.image);
        let pages = |slot: &Slot| slot.touched_bytes.next_multiple_of(PAGE_BYTES);
        let rings: u64 = of_this.map(pages).sum();
        if rings == 0 { 0 } else { rings + 2 * PAGE_BYTES }
    }

    /// Rings of threads that have ended, and of programs that have become others, are free again.
    fn end_threads(&mut self) {
        for number in 0..RING_COUNT {
            let slot = &self.slots[number];
            if !slot.is_used || (slot.image == self.image && is_there(slot)) {
                continue;
            }
            let header = self.shared.header(number);
            let is_drained = header.head.load(Acquire) == slot.tail && slot.events.is_empty();
            if !is_drained {
                continue;
            }
            if let (true, Recording::Open(open)) = (slot.image == self.image, &mut self.recording) {
                // Where it cannot be written, the next event cannot either, and says so.
                let _ = open.writer.thread_end(self.time.now_us(), slot.number);
            }
            let slot = &mut self.slots[number];
            slot.is_used = false;
            header.head.store(0, Relaxed);
            header.tail.store(0, Relaxed);
            header.state.store(RING_FREE, Release);
        }
    }

    /// The program waits in its last call: what is still live is looked at.
    fn look_at_the_end(&mut self, program: Pid) {
        let own_bytes = self.own_bytes();
        let time_us = self.time.now_us();
        let process = program.as_raw().cast_unsigned();
        let Recording::Open(open) = &mut self.recording else { return };
        let peak = memory::peak_bytes(process).map(|peak| peak.saturating_sub(own_bytes));
        open.peak_resident = open.peak_resident.max(peak);
        if self.shared.has_stacks() {
            open.modules = memory::modules(process);
        }
        let Some(map) = PageMap::open(process) else { return };
        for (address, size) in open.writer.live_large() {
            let Some(bytes) = map.touched_bytes(address, size) else { continue };
            if let Err(cause) = open.writer.touched(time_us, 0, address, bytes) {
                let cause = cause.context(open.place.cannot_write());
                return self.fail(cause);
            }
        }
    }
}

fn open(wanted: &Wanted) -> Result<Box<Open>> {
    let (place, file) = Place::new(&wanted.place)?;
    let writer = Writer::new(file, &wanted.header).with_context(|| place.cannot_write())?;
    Ok(Box::new(Open {
        place,
        writer,
        nodes: HashMap::new(),
        thread_count: 0,
        peak_resident: None,
        modules: Vec::new(),
    }))
}

/// Whether the thread lives.
fn is_there(slot: &Slot) -> bool {
    // SAFETY: the signal 0 is none; the call looks whether there is such a thread.
    let outcome = unsafe { libc::syscall(libc::SYS_tgkill, slot.process, slot.thread, 0) };
    outcome == 0 || nix::errno::Errno::last() != nix::errno::Errno::ESRCH
}

fn write(writer: &mut Writer, time: &Time, raw: &Raw) -> Result<()> {
    let (time_us, thread) = (time.us(raw.counter), raw.number);
    let Some(entry) = Entry::from_number(raw.entry) else { return Ok(()) };
    let size = raw.second & ((1 << 56) - 1);
    let alignment =
        (raw.second >> 56).checked_sub(1).and_then(|power| 1_u64.checked_shl(power as u32));
    let block = |size, alignment: Option<u64>| Block {
        entry,
        size,
        alignment: alignment.unwrap_or(0),
        address: None,
        stack: raw.stack,
    };
    match raw.kind {
        TAKE => writer.take(time_us, thread, raw.first, block(size, alignment)),
        GIVE if raw.first == 0 => writer.give_detached(time_us, thread, entry),
        GIVE => writer.give(time_us, thread, raw.first, entry),
        DETACH => {
            writer.detach(thread, raw.first);
            Ok(())
        }
        ATTACH => writer.attach(time_us, thread, raw.first, block(size, None)),
        TOUCHED => writer.touched(time_us, thread, raw.first, raw.second),
        _ => Ok(()),
    }
}
