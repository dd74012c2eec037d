//! The processes of this user, and what was last read of each. Reading costs the machine something,
//! and the other process, too: while one looks at its mappings it cannot change them. So nobody gets
//! more than is given here: one process is read at a time, each for a tenth of the time at most, and
//! for metrics once in `every` at most; in one scrape for some seconds, the others with the next one.

use crate::exporter::own;
use crate::exporter::read::{Reading, read};
use crate::heap::live::Live;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// A process rests for so many times as long as it was read.
const REST: u32 = 9;
/// What one scrape reads at most; scrapers wait for 10 seconds.
const SCRAPE_MAX: Duration = Duration::from_secs(5);

pub struct Fleet {
    every: Duration,
    /// The same for processes on glibc, if they are asked for.
    glibc_every: Option<Duration>,
    known: BTreeMap<i32, Known>,
    /// Of this user's processes, those that are not read yet.
    pub waiting_count: usize,
    /// Until when processes are left alone, whatever is asked for.
    rests: HashMap<i32, Instant>,
}

struct Known {
    started: u64,
    /// When it is to be read again.
    due: Instant,
    seen: Seen,
}

enum Seen {
    Read(Box<Reading>),
    Other,
    /// The kernel does not let one read it, or it is on another version of loam, or has just begun.
    Unreadable,
}

impl Fleet {
    pub fn new(every: Duration, glibc_every: Option<Duration>) -> Fleet {
        Fleet {
            every,
            glibc_every,
            known: BTreeMap::new(),
            waiting_count: 0,
            rests: HashMap::new(),
        }
    }

    /// Reads those that are due: new ones first, then those that have waited longest.
    pub fn look(&mut self) {
        let own = own::processes();
        let now = Instant::now();
        self.known.retain(|pid, known| own.get(pid) == Some(&known.started));
        self.rests.retain(|_, until| *until > now);
        let due = |pid: &i32| self.known.get(pid).map(|known| known.due);
        let mut pids: Vec<i32> =
            own.keys().copied().filter(|pid| due(pid).is_none_or(|due| due <= now)).collect();
        pids.sort_by_key(due);
        self.waiting_count = 0;
        for pid in pids {
            let is_new = !self.known.contains_key(&pid);
            if now.elapsed() >= SCRAPE_MAX {
                self.waiting_count += usize::from(is_new);
            } else if is_new || self.rest(pid).is_none() {
                self.read(pid, own[&pid]);
            }
        }
    }

    fn read(&mut self, pid: i32, started: u64) {
        let begun = Instant::now();
        let with_glibc = self.with_glibc();
        let seen = self.work(pid, || match read(pid, with_glibc) {
            Ok(Some(reading)) => Some(Seen::Read(Box::new(reading))),
            Ok(None) => Some(Seen::Other),
            // Of the kernel's own threads, too.
            Err(_) if Live::has_ended(pid) => None,
            Err(_) => Some(Seen::Unreadable),
        });
        // It may have ended and left its number meanwhile.
        let seen = seen.filter(|_| own::started(pid) == Some(started));
        let Some(seen) = seen else {
            self.known.remove(&pid);
            return;
        };
        let due = begun + self.every_of(&seen);
        self.known.insert(pid, Known { started, due, seen });
    }

    pub fn with_glibc(&self) -> bool {
        self.glibc_every.is_some()
    }

    /// What cannot be read may be on glibc.
    fn every_of(&self, seen: &Seen) -> Duration {
        match (seen, self.glibc_every) {
            (Seen::Read(reading), Some(every)) if reading.allocator != "loam" => every,
            (Seen::Unreadable, Some(every)) => every.max(self.every),
            _ => self.every,
        }
    }

    /// Does what reads the process, and lets it rest.
    pub fn work<Found>(&mut self, pid: i32, job: impl FnOnce() -> Found) -> Found {
        let begun = Instant::now();
        let found = job();
        self.rests.insert(pid, Instant::now() + begun.elapsed() * REST);
        found
    }

    /// How long the process is still to be left alone.
    pub fn rest(&self, pid: i32) -> Option<Duration> {
        let left = self.rests.get(&pid)?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    pub fn readings(&self) -> impl Iterator<Item = &Reading> {
        self.known.values().filter_map(|known| match &known.seen {
            Seen::Read(reading) => Some(&**reading),
            Seen::Other | Seen::Unreadable => None,
        })
    }

    pub fn unreadable_count(&self) -> usize {
        self.known.values().filter(|known| matches!(known.seen, Seen::Unreadable)).count()
    }

    pub fn other_count(&self) -> usize {
        self.known.values().filter(|known| matches!(known.seen, Seen::Other)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_rests_for_nine_times_as_long_as_it_was_read() {
        const READ: Duration = Duration::from_millis(20);
        let mut fleet = Fleet::new(Duration::from_secs(1), None);
        assert_eq!(fleet.rest(7), None);
        fleet.work(7, || std::thread::sleep(READ));
        let rest = fleet.rest(7).expect("a rest");
        assert!(rest > READ * (REST - 2), "{rest:?}");
        assert_eq!(fleet.rest(8), None);
    }

    #[test]
    fn this_process_is_known_as_one_without_loam() {
        let mut fleet = Fleet::new(Duration::from_secs(1), None);
        let own = i32::try_from(std::process::id()).unwrap();
        while !fleet.known.contains_key(&own) {
            fleet.look();
        }
        assert!(matches!(fleet.known[&own].seen, Seen::Other));
        assert_eq!(own::started(i32::MAX), None);
    }
}
