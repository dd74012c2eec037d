//! What passes from thread to thread: which events others wait for.

use crate::recording::event::{Event, What};
use crate::recording::numbered::NumberMap;
use crate::recording::reader::Reader;
use anyhow::Result;

/// No thread is further ahead of the slowest one than twice as many events: what is live at a time
/// is what was live in the program.
pub const PACE_EVENTS: u64 = 8192;

/// The events behind which a thread makes a mark.
#[derive(Debug, Default)]
pub struct Plan {
    marks: Vec<u64>,
    count: u64,
    /// By object: the last event that had it, and its thread.
    last: NumberMap<(u64, u32)>,
    /// By thread: its last event in this stretch of `PACE_EVENTS`.
    last_of_thread: NumberMap<u64>,
}

impl Plan {
    pub fn read(reader: &Reader) -> Result<Plan> {
        let mut plan = Plan::default();
        for event in reader.events() {
            plan.add(&event?);
        }
        plan.end_stretch();
        Ok(plan)
    }

    pub fn is_marked(&self, event: u64) -> bool {
        let word = self.marks.get((event / 64) as usize).copied().unwrap_or(0);
        word >> (event % 64) & 1 != 0
    }

    fn add(&mut self, event: &Event) {
        let (at, thread) = (self.count, event.thread);
        self.count += 1;
        match event.what {
            What::Take { object, .. } => drop(self.last.insert(object, (at, thread))),
            What::Resize { object, .. } => {
                let before = self.last.insert(object, (at, thread));
                self.pass(before, thread);
            }
            What::Give { object, .. } => {
                let before = self.last.remove(&object);
                self.pass(before, thread);
            }
            What::Touched { .. }
            | What::Resident { .. }
            | What::Mapped { .. }
            | What::ThreadEnd => return,
        }
        self.last_of_thread.insert(u64::from(thread), at);
        if at % PACE_EVENTS == PACE_EVENTS - 1 {
            self.end_stretch();
        }
    }

    fn pass(&mut self, before: Option<(u64, u32)>, thread: u32) {
        if let Some((event, _)) = before.filter(|&(_, other)| other != thread) {
            self.mark(event);
        }
    }

    fn end_stretch(&mut self) {
        let last = std::mem::take(&mut self.last_of_thread);
        last.into_values().for_each(|event| self.mark(event));
    }

    fn mark(&mut self, event: u64) {
        let word = (event / 64) as usize;
        if self.marks.len() <= word {
            self.marks.resize(word + 1, 0);
        }
        self.marks[word] |= 1 << (event % 64);
    }
}
