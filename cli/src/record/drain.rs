//! From the rings into the files.
//!
//! A block that passes from thread to thread was published by the first before the second could
//! have it, and the times of both calls say which was first (recorder.c). So times are looked at
//! before threads that are new, and those before heads: whatever comes before an event of the
//! latest time that the first look has seen, the last has. All events up to that time are written,
//! ordered by time.

use crate::record::memory;
use crate::record::recorded::{Call, LastStack, Recorded};
use crate::record::ring::{
    IS_LOOKED_AT, RING_BYTES, RING_COUNT, RING_FREE, RING_USED, Shared, WAITS_TO_BE_LOOKED_AT,
};
use crate::record::stream::Stream;
use crate::record::time::Time;
use crate::recording::about::{Header, Summary};
use crate::recording::place::Place;
use anyhow::Result;
use nix::libc;
use nix::unistd::Pid;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
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
    /// The program that was started is the first.
    processes: Vec<Process>,
    failure: Option<anyhow::Error>,
    children: Children,
    samples_due: Instant,
    threads_due: Instant,
}

/// A process, and what is recorded of what it is at present.
#[derive(Default)]
struct Process {
    number: u32,
    image: u32,
    recorded: Option<Recorded>,
    slots: Vec<usize>,
}

/// What was recorded of processes that the program has started.
#[derive(Debug, Default, Clone, Copy)]
pub struct Children {
    pub count: u64,
    pub events: u64,
    pub bytes: u64,
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
    stream: Stream,
    /// Of the last event, by the counter and in the recording.
    counter: u64,
    time_us: u64,
    /// Of the last event's stack.
    frames: Vec<u64>,
    last_stack: LastStack,
    /// The latest time that the first look has seen.
    seen: u64,
    /// How much of the ring the program has ever written.
    touched_bytes: u64,
}

/// Between two looks, while there is something and while there is not.
const PAUSE: Duration = Duration::from_micros(500);
const PAUSE_WHEN_IDLE: Duration = Duration::from_millis(3);
/// From so many events on there are more before a pause is over.
const MANY_EVENTS: usize = 20_000;
/// What they need of memory comes at once, not one after the other.
const CALLS_AT_ONCE: usize = 128;
const BETWEEN_SAMPLES: Duration = Duration::from_millis(10);
const BETWEEN_LOOKS_AT_THREADS: Duration = Duration::from_millis(20);
const ALL_TIMES: u64 = u64::MAX;

impl<'a> Drain<'a> {
    pub fn new(shared: &'a Shared, wanted: Wanted) -> Result<Drain<'a>> {
        let recorded = Some(Recorded::new(&wanted.place, &wanted.header)?);
        Ok(Drain {
            shared,
            wanted,
            time: shared.time(),
            slots: (0..RING_COUNT).map(|_| Slot::default()).collect(),
            processes: vec![Process { recorded, ..Process::default() }],
            failure: None,
            children: Children::default(),
            samples_due: Instant::now(),
            threads_due: Instant::now(),
        })
    }

    /// To be called again after as long as it says.
    pub fn look(&mut self, program: Pid) -> Duration {
        self.processes[0].number = program.as_raw().cast_unsigned();
        let count = self.pass(false);
        self.look_at_ends();
        self.sample();
        match count {
            0 => PAUSE_WHEN_IDLE,
            1..MANY_EVENTS => PAUSE,
            _ => Duration::ZERO,
        }
    }

    pub fn left_out(&self) -> u32 {
        self.shared.common().left_out.load(Relaxed)
    }

    pub fn refused(&self) -> u32 {
        self.shared.common().refused.load(Relaxed)
    }

    /// The program has ended. `None` for what has recorded nothing.
    pub fn finish(mut self, ended: Option<String>) -> Result<(Option<(Place, Summary)>, Children)> {
        while self.pass(false) > 0 {}
        self.pass(true);
        self.shared.common().stop.store(1, Relaxed);
        while self.processes.len() > 1 {
            self.end_process(1);
        }
        if let Some(cause) = self.failure {
            return Err(cause);
        }
        let program = self.processes.remove(0);
        let finished = program.recorded.map(|recorded| recorded.finish(ended)).transpose()?;
        Ok((finished.flatten(), self.children))
    }

    /// Writes what can be ordered, at last everything. Gives how many events that were.
    fn pass(&mut self, is_last: bool) -> usize {
        self.time.look();
        for number in self.begin_threads() {
            self.slots[number].seen = self.shared.header(number).time.load(Acquire);
        }
        // Threads that have begun meanwhile may have had blocks before those that were seen.
        self.begin_threads();
        (0..self.processes.len()).map(|process| self.write(process, is_last)).sum()
    }

    /// The rings that threads have.
    fn begin_threads(&mut self) -> Vec<usize> {
        let rings = (self.shared.common().rings.load(Acquire) as usize).min(RING_COUNT);
        let is_used = |&number: &usize| self.shared.header(number).state.load(Acquire) == RING_USED;
        let used: Vec<_> = (0..rings).filter(is_used).collect();
        for &number in &used {
            if !self.slots[number].is_used {
                self.begin_thread(number);
            }
        }
        used
    }

    fn begin_thread(&mut self, number: usize) {
        let header = self.shared.header(number);
        let (image, id) = (header.image.load(Relaxed), header.process.load(Relaxed));
        let process = self.process(id);
        if image > self.processes[process].image {
            self.begin_image(process, image);
        }
        let recorded = self.processes[process].recorded.as_mut();
        let thread = recorded.map_or(0, Recorded::begin_thread);
        self.processes[process].slots.push(number);
        let slot = &mut self.slots[number];
        *slot = Slot {
            is_used: true,
            image,
            process: id,
            thread: header.thread.load(Relaxed),
            number: thread,
            stream: Stream::new(number),
            touched_bytes: if image == slot.image { slot.touched_bytes } else { 0 },
            ..Slot::default()
        };
    }

    fn process(&mut self, number: u32) -> usize {
        let known = self.processes.iter().position(|process| process.number == number);
        known.unwrap_or_else(|| {
            self.processes.push(Process { number, ..Process::default() });
            self.processes.len() - 1
        })
    }

    /// The process has become another program: what was recorded of the first is not what was
    /// meant.
    fn begin_image(&mut self, process: usize, image: u32) {
        let is_first = process == 0 && self.processes[0].image == 0;
        self.processes[process].image = image;
        if is_first || self.failure.is_some() {
            return;
        }
        self.processes[process].recorded = None;
        match self.open(process) {
            Ok(recorded) => self.processes[process].recorded = Some(recorded),
            Err(cause) => self.fail(cause),
        }
    }

    fn open(&self, process: usize) -> Result<Recorded> {
        if process == 0 {
            return Recorded::new(&self.wanted.place, &self.wanted.header);
        }
        let number = self.processes[process].number;
        let mut place = self.wanted.place.clone().into_os_string();
        place.push(format!(".{number}"));
        let header = Header {
            program: memory::program(number),
            arguments: memory::arguments(number),
            pid: Some(number),
            ..self.wanted.header.clone()
        };
        Recorded::new(&PathBuf::from(place), &header)
    }

    /// The last look at a process's rings: writes their events, and gives their number.
    fn write(&mut self, process: usize, is_last: bool) -> usize {
        self.write_in_order(process, is_last).unwrap_or_else(|cause| {
            self.fail(cause);
            0
        })
    }

    fn write_in_order(&mut self, process: usize, is_last: bool) -> Result<usize> {
        let shared = self.shared;
        let Process { slots, image, recorded, .. } = &mut self.processes[process];
        let seen = slots.iter().map(|&slot| self.slots[slot].seen).max();
        let limit = if is_last { ALL_TIMES } else { seen.unwrap_or(0) };
        for &number in &*slots {
            let slot = &mut self.slots[number];
            slot.look(shared);
            if slot.image != *image || recorded.is_none() {
                slot.stream.skip();
                slot.stream.release(shared);
            }
        }
        let Some(recorded) = recorded else { return Ok(0) };
        let next = |slot: &mut Slot, number: usize| {
            let time = slot.stream.next_time(shared).filter(|&time| time <= limit);
            time.map(|time| Reverse((time, number)))
        };
        let firsts = slots.iter().filter_map(|&number| next(&mut self.slots[number], number));
        let mut order: BinaryHeap<_> = firsts.collect();
        let (mut count, mut calls) = (0, Vec::with_capacity(CALLS_AT_ONCE));
        while let Some(Reverse((_, number))) = order.pop() {
            let until = order.peek().map_or(limit, |&Reverse((time, _))| time);
            let slot = &mut self.slots[number];
            while let Some(at) = slot.stream.next_time(shared).filter(|&at| at <= until) {
                calls.push(slot.call(at, shared, &self.time, recorded));
                if calls.len() == CALLS_AT_ONCE {
                    slot.stream.release(shared);
                    recorded.add(&calls)?;
                    calls.clear();
                    count += CALLS_AT_ONCE;
                }
            }
            slot.stream.release(shared);
            order.extend(next(slot, number));
        }
        recorded.add(&calls)?;
        Ok(count + calls.len())
    }

    /// Nothing more is recorded, and the program goes on.
    fn fail(&mut self, cause: anyhow::Error) {
        self.shared.common().stop.store(1, Relaxed);
        self.processes.iter_mut().for_each(|process| process.recorded = None);
        self.failure.get_or_insert(cause);
    }

    fn sample(&mut self) {
        let now = Instant::now();
        if now >= self.threads_due {
            self.threads_due = now + BETWEEN_LOOKS_AT_THREADS;
            self.end_threads();
            self.end_processes();
        }
        if now < self.samples_due {
            return;
        }
        self.samples_due = now + BETWEEN_SAMPLES;
        for process in 0..self.processes.len() {
            self.sample_process(process);
        }
    }

    fn sample_process(&mut self, process: usize) {
        let own_bytes = self.own_bytes(process);
        let Process { number, image, recorded, .. } = &mut self.processes[process];
        // Before its first event it is not the program yet.
        let Some(recorded) = recorded.as_mut().filter(|_| *image != 0) else { return };
        let Some(memory::Resident { bytes, file_bytes }) = memory::resident(*number) else {
            return;
        };
        let resident = memory::Resident {
            bytes: bytes.saturating_sub(own_bytes),
            file_bytes: file_bytes.saturating_sub(own_bytes),
        };
        if resident.bytes == 0 {
            return;
        }
        if let Err(cause) = recorded.resident(self.time.now_us(), *number, resident) {
            self.fail(cause);
        }
    }

    /// What a process has in memory of the rings.
    fn own_bytes(&self, process: usize) -> u64 {
        const PAGE_BYTES: u64 = 4096;
        let image = self.processes[process].image;
        let of_this = self.slots.iter().filter(|slot| slot.image == image);
        let pages = |slot: &Slot| slot.touched_bytes.next_multiple_of(PAGE_BYTES);
        let rings: u64 = of_this.map(pages).sum();
        if rings == 0 { 0 } else { rings + 2 * PAGE_BYTES }
    }

    /// Rings of threads that have ended, and of programs that have become others, are free again.
    fn end_threads(&mut self) {
        for number in 0..RING_COUNT {
            if !self.slots[number].is_used {
                continue;
            }
            let process = self.process(self.slots[number].process);
            let slot = &mut self.slots[number];
            let is_present = slot.image == self.processes[process].image;
            if is_present && is_there(slot.process, slot.thread) {
                continue;
            }
            slot.look(self.shared);
            if slot.stream.next_time(self.shared).is_some() {
                continue;
            }
            if let (true, Some(recorded)) = (is_present, &mut self.processes[process].recorded) {
                // Where it cannot be written, the next event cannot either, and says so.
                let _ = recorded.end_thread(self.time.now_us(), slot.number);
            }
            slot.is_used = false;
            self.processes[process].slots.retain(|&slot| slot != number);
            let header = self.shared.header(number);
            header.head.store(0, Relaxed);
            header.tail.store(0, Relaxed);
            header.time.store(0, Relaxed);
            header.ending.store(0, Relaxed);
            header.state.store(RING_FREE, Release);
        }
    }

    /// Recordings of processes that have ended are whole.
    fn end_processes(&mut self) {
        for process in (1..self.processes.len()).rev() {
            let Process { number, slots, .. } = &self.processes[process];
            if slots.is_empty() && !is_there(*number, *number) {
                self.end_process(process);
            }
        }
    }

    fn end_process(&mut self, process: usize) {
        let Some(recorded) = self.processes.swap_remove(process).recorded else { return };
        let kept = recorded.finish(None).and_then(|finished| {
            let Some((place, summary)) = finished else { return Ok(()) };
            self.children.count += 1;
            self.children.events += summary.events;
            self.children.bytes += place.keep()?;
            Ok(())
        });
        if let Err(cause) = kept {
            self.fail(cause);
        }
    }

    /// Programs wait in their last call.
    fn look_at_ends(&mut self) {
        for process in 0..self.processes.len() {
            for at in 0..self.processes[process].slots.len() {
                let number = self.processes[process].slots[at];
                if self.shared.header(number).ending.load(Acquire) == WAITS_TO_BE_LOOKED_AT {
                    self.look_at_the_end(process, number);
                }
            }
        }
    }

    fn look_at_the_end(&mut self, process: usize, ring: usize) {
        self.pass(false);
        let own_bytes = self.own_bytes(process);
        let Process { number, recorded, .. } = &mut self.processes[process];
        let time_us = self.time.now_us();
        let looked = recorded.as_mut().map(|it| it.look_at_the_end(time_us, *number, own_bytes));
        if let Some(Err(cause)) = looked {
            self.fail(cause);
        }
        self.shared.header(ring).ending.store(IS_LOOKED_AT, Release);
    }
}

impl Slot {
    fn look(&mut self, shared: &Shared) {
        let head = self.stream.look(shared);
        self.touched_bytes = self.touched_bytes.max((head * 8).min(RING_BYTES as u64));
    }

    /// The next one, which is of that time.
    fn call(&mut self, at: u64, shared: &Shared, time: &Time, recorded: &mut Recorded) -> Call {
        if self.counter != at {
            (self.time_us, self.counter) = (time.us(at), at);
        }
        let raw = self.stream.event(shared, &mut self.frames);
        let mut stack = 0;
        if !self.frames.is_empty() {
            stack = recorded.stack(&self.frames, &mut self.last_stack);
            self.frames.clear();
        }
        Call { time_us: self.time_us, thread: self.number, raw, stack }
    }
}

/// Whether a thread of a process lives.
fn is_there(process: u32, thread: u32) -> bool {
    // SAFETY: the signal 0 is none; the call looks whether there is such a thread.
    let outcome = unsafe { libc::syscall(libc::SYS_tgkill, process, thread, 0) };
    outcome == 0 || nix::errno::Errno::last() != nix::errno::Errno::ESRCH
}
