//! What the program has mapped itself, beside its allocator, and how much of that is in memory.

use crate::record::memory::PageMap;
use std::collections::BTreeMap;
use std::time::Instant;

/// Between two looks, as often as long as a look takes.
const REST: u32 = 20;
/// So much is looked through at most. Larger ones are left out: they are reserved, and little of them
/// is used, while a look would take seconds.
const LOOKED_THROUGH_MAX: u64 = 16 << 30;

#[derive(Debug, Default)]
pub struct Mappings {
    /// Where they end, by where they start; no two have anything in common.
    ends: BTreeMap<u64, u64>,
    map: Option<PageMap>,
    resident_bytes: u64,
    due: Option<Instant>,
}

impl Mappings {
    pub fn add(&mut self, start: u64, bytes: u64) {
        self.remove(start, bytes);
        if bytes > 0 {
            self.ends.insert(start, end_of(start, bytes));
        }
    }

    /// Whatever of them is there.
    pub fn remove(&mut self, start: u64, bytes: u64) {
        let end = end_of(start, bytes);
        let below = self.ends.range(..end).rev().take_while(|&(_, &its_end)| its_end > start);
        let cut: Vec<_> = below.map(|(&its_start, &its_end)| (its_start, its_end)).collect();
        for (its_start, its_end) in cut {
            self.ends.remove(&its_start);
            if its_start < start {
                self.ends.insert(its_start, start);
            }
            if its_end > end {
                self.ends.insert(end, its_end);
            }
        }
    }

    /// As it was when looked at last, if it is too soon to look again.
    pub fn resident_bytes(&mut self, process: u32) -> u64 {
        let begin = Instant::now();
        if self.due.is_some_and(|due| begin < due) {
            return self.resident_bytes;
        }
        if self.ends.is_empty() {
            self.resident_bytes = 0;
            return 0;
        }
        if self.map.is_none() {
            self.map = PageMap::open(process);
        }
        let Some(map) = &self.map else { return 0 };
        let mut left = LOOKED_THROUGH_MAX;
        let touched = |(&start, &end): (&u64, &u64)| {
            left = left.checked_sub(end - start)?;
            map.touched_bytes(start, end - start)
        };
        self.resident_bytes = self.ends.iter().filter_map(touched).sum();
        self.due = Some(begin + begin.elapsed() * REST);
        self.resident_bytes
    }
}

/// The kernel counts whole pages.
fn end_of(start: u64, bytes: u64) -> u64 {
    start.saturating_add(bytes).checked_next_multiple_of(procfs::page_size()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(mappings: &Mappings) -> Vec<(u64, u64)> {
        mappings.ends.iter().map(|(&start, &end)| (start >> 12, end >> 12)).collect()
    }

    #[test]
    fn of_what_is_unmapped_the_rest_stays() {
        let mut mappings = Mappings::default();
        mappings.add(1 << 12, 8 << 12);
        mappings.add(20 << 12, (2 << 12) - 100);
        mappings.remove(3 << 12, 2 << 12);
        assert_eq!(ranges(&mappings), [(1, 3), (5, 9), (20, 22)]);
        mappings.remove(2 << 12, 19 << 12);
        assert_eq!(ranges(&mappings), [(1, 2), (21, 22)]);
        mappings.add(0, 30 << 12);
        assert_eq!(ranges(&mappings), [(0, 30)]);
        mappings.remove(u64::MAX - 5, 100);
        mappings.remove(0, u64::MAX);
        assert_eq!(ranges(&mappings), []);
    }

    #[test]
    fn what_was_written_to_is_in_memory() {
        let block = vec![1_u8; 1 << 20];
        let mut mappings = Mappings::default();
        assert_eq!(mappings.resident_bytes(std::process::id()), 0);
        mappings.add(block.as_ptr() as u64 & !4095, 1 << 20);
        assert!(mappings.resident_bytes(std::process::id()) >= 1 << 20);
    }

    #[test]
    fn what_is_only_reserved_is_not_looked_through() {
        let block = vec![1_u8; 1 << 20];
        let mut mappings = Mappings::default();
        mappings.add(1 << 12, 1 << 46);
        mappings.add(block.as_ptr() as u64 & !4095, 1 << 20);
        assert!(mappings.resident_bytes(std::process::id()) >= 1 << 20);
    }
}
