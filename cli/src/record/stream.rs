//! The words of a ring, event by event: layout.h describes them.

use crate::record::ring::Shared;
use std::sync::atomic::Ordering::{Acquire, Release};

/// As far as a ring has been read.
#[derive(Debug, Default)]
pub struct Stream {
    ring: usize,
    /// Of the next word.
    at: u64,
    /// How far the thread has written.
    head: u64,
    /// Of the next event, by the counter.
    time: u64,
}

/// An event as the recorder writes it.
#[derive(Debug, Clone, Copy)]
pub struct Raw {
    pub kind: u8,
    pub entry: u8,
    pub address: u64,
    /// What follows the address, 0 for nothing.
    pub second: u64,
}

const TIME: u8 = 1;
pub const TAKE: u8 = 2;
pub const GIVE: u8 = 3;
pub const DETACH: u8 = 4;
pub const ATTACH: u8 = 5;
pub const TOUCHED: u8 = 6;
pub const MAP: u8 = 7;
pub const UNMAP: u8 = 8;
const FRAMES_MAX: u64 = 64;

impl Stream {
    pub fn new(ring: usize) -> Stream {
        Stream { ring, ..Stream::default() }
    }

    /// Looks how many words the thread has ever written.
    pub fn look(&mut self, shared: &Shared) -> u64 {
        self.head = shared.header(self.ring).head.load(Acquire);
        self.head
    }

    /// The thread may use again what has been read.
    pub fn release(&self, shared: &Shared) {
        shared.header(self.ring).tail.store(self.at, Release);
    }

    /// Nothing of what is there is wanted.
    pub fn skip(&mut self) {
        self.at = self.head;
    }

    /// Of the next event, if there is one.
    pub fn next_time(&mut self, shared: &Shared) -> Option<u64> {
        while self.at < self.head {
            let word = shared.word(self.ring, self.at);
            if (word & 15) as u8 != TIME {
                return Some(self.time);
            }
            self.time = word >> 4;
            self.at += 1;
        }
        None
    }

    /// One event, whatever stands there: no number is trusted to be small. The calls of its stack
    /// follow the others' in `frames`.
    pub fn event(&mut self, shared: &Shared, frames: &mut Vec<u64>) -> Raw {
        let word = self.word(shared);
        let kind = (word & 15) as u8;
        let has_second = matches!(kind, TAKE | ATTACH | TOUCHED | MAP | UNMAP);
        let second = if has_second { self.word(shared) } else { 0 };
        if shared.has_stacks() && matches!(kind, TAKE | ATTACH) {
            let count = self.word(shared).min(FRAMES_MAX);
            frames.extend((0..count).map(|_| self.word(shared)));
        }
        Raw { kind, entry: (word >> 4 & 0xff) as u8, address: word >> 16, second }
    }

    fn word(&mut self, shared: &Shared) -> u64 {
        self.at += 1;
        shared.word(self.ring, self.at - 1)
    }
}
