//! What is seen of a process at one time, and how that has changed.

use crate::account::names::{self, Names};
use crate::heap::figures::{Class, Heap, KINDS, Kind, Resident};
use crate::heap::read::read;
use crate::process::group::{Group, Limit};
use anyhow::Result;
use std::ffi::OsString;
use std::time::Instant;

pub struct Row {
    pub name: String,
    /// `None` of a thread's cache.
    pub live_bytes: Option<u64>,
    pub resident_bytes: u64,
}

pub struct Sample {
    pub at: Instant,
    pub title: String,
    pub resident_bytes: u64,
    pub peak_bytes: u64,
    pub names: &'static Names,
    pub heap: Resident,
    pub live_count: u64,
    /// Those with most in memory first.
    pub sizes: Vec<Row>,
    pub heaps: Vec<Row>,
    pub limit: Option<Limit>,
}

impl Sample {
    pub fn take(pid: i32) -> Result<Sample> {
        let (source, figures) = read(&OsString::from(pid.to_string()))?;
        let process = source.process();
        Ok(Sample {
            at: Instant::now(),
            title: process.title.clone(),
            resident_bytes: process.resident_bytes.unwrap_or(0),
            peak_bytes: process.peak_bytes.unwrap_or(0),
            names: names::of(&figures.allocator),
            heap: figures.resident,
            live_count: figures.live().count,
            sizes: largest(figures.classes.iter().map(row_of_class)),
            heaps: largest(figures.heaps.iter().map(row_of_heap)),
            limit: Group::of(pid).and_then(|group| group.limit()),
        })
    }
}

fn largest(rows: impl Iterator<Item = Row>) -> Vec<Row> {
    let mut rows: Vec<Row> = rows.filter(|row| row.resident_bytes != 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.resident_bytes));
    rows
}

fn row_of_class(class: &Class) -> Row {
    Row {
        name: format!("{} bytes", class.block_bytes),
        live_bytes: Some(class.live_count * class.block_bytes),
        resident_bytes: class.resident.sum(),
    }
}

fn row_of_heap(heap: &Heap) -> Row {
    Row { name: heap.name(), live_bytes: heap.live_bytes(), resident_bytes: heap.resident.sum() }
}

/// The last samples' resident bytes, and the last two samples.
pub struct History {
    pub pid: i32,
    pub resident: Vec<u64>,
    pub last: Sample,
    before: Option<Sample>,
}

const RESIDENT_MAX: usize = 500;

impl History {
    pub fn new(pid: i32, first: Sample) -> History {
        History { pid, resident: vec![first.resident_bytes], last: first, before: None }
    }

    pub fn add(&mut self, sample: Sample) {
        if self.resident.len() == RESIDENT_MAX {
            self.resident.remove(0);
        }
        self.resident.push(sample.resident_bytes);
        self.before = Some(std::mem::replace(&mut self.last, sample));
    }

    /// Bytes a second by which a figure has changed; `None` at the first sample.
    fn rate(&self, figure: impl Fn(&Sample) -> u64) -> Option<f64> {
        let before = self.before.as_ref()?;
        let seconds = (self.last.at - before.at).as_secs_f64().max(1e-3);
        Some((figure(&self.last) as f64 - figure(before) as f64) / seconds)
    }

    pub fn resident_rate(&self) -> Option<f64> {
        self.rate(|sample| sample.resident_bytes)
    }

    /// Each kind of the heap's memory: bytes, and by how many a second they have changed.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, u64, Option<f64>)> {
        KINDS
            .into_iter()
            .map(|kind| (kind, self.last.heap.of(kind), self.rate(|sample| sample.heap.of(kind))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::synthetic::{history, sample};

    #[test]
    fn rates_are_by_the_second() {
        assert_eq!(History::new(7, sample(Instant::now(), 10)).resident_rate(), None);
        let history = history();
        assert_eq!(history.resident_rate(), Some(2.0 * 1048576.0));
        let (_, bytes, rate) = history.kinds().next().unwrap();
        assert_eq!((bytes, rate), (13 << 20, Some(2.0 * 1048576.0)));
    }

    #[test]
    fn no_more_samples_are_kept_than_a_screen_is_wide() {
        let start = Instant::now();
        let mut history = History::new(7, sample(start, 10));
        (0..1000).for_each(|_| history.add(sample(start, 10)));
        assert_eq!(history.resident.len(), RESIDENT_MAX);
    }
}
