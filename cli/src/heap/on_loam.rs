//! What the same blocks would take on loam. glibc does not say what was asked for, only that it was
//! up to 15 bytes less than a chunk holds; and where loam would have put the blocks nobody knows.

const PAGE_BYTES: u64 = 4096;
/// Above this, loam's blocks are runs of pages, and above the second of the program's length.
const SMALL_MAX_BYTES: u64 = 16 << 10;
const MIDDLE_MAX_BYTES: u64 = 256 << 10;

/// What loam's block for so many bytes has (src/sizeclass/sizeclass.h).
pub fn block_bytes(asked: u64) -> u64 {
    let classed = match asked {
        0..=16 => 16,
        17..=1024 => asked.next_multiple_of(16),
        1025..=MIDDLE_MAX_BYTES => {
            let last = asked - 1;
            let doubling = last.ilog2();
            let eighth = 1 << (doubling - 3);
            (last / eighth + 1) * eighth
        }
        _ => asked,
    };
    if asked > SMALL_MAX_BYTES { classed.next_multiple_of(PAGE_BYTES) } else { classed }
}

/// In bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Range {
    pub low_bytes: u64,
    pub high_bytes: u64,
}

impl Range {
    /// Adds a block that holds so many bytes, as much of it as is in memory: at least, and at most.
    pub fn add(&mut self, usable_bytes: u64, (least_bytes, most_bytes): (u64, u64)) {
        const UNKNOWN_BYTES: u64 = 15;
        let known = if usable_bytes == 24 { 0 } else { usable_bytes.saturating_sub(UNKNOWN_BYTES) };
        if usable_bytes <= SMALL_MAX_BYTES {
            self.low_bytes += block_bytes(known);
            self.high_bytes += block_bytes(usable_bytes);
            return;
        }
        // The end of a run of pages is in memory only if somebody writes there.
        let pages = |bytes: u64| bytes.next_multiple_of(PAGE_BYTES);
        self.low_bytes += pages(known).min(pages(least_bytes));
        self.high_bytes += block_bytes(usable_bytes).min(pages(most_bytes));
    }
}

/// What is known of a process on another malloc.
pub struct Here {
    pub blocks: Range,
    /// What is not malloc's, and stays.
    pub others_bytes: u64,
    /// Free on pages with live blocks.
    pub beside_bytes: u64,
    pub free_bytes: u64,
    /// Since it had most.
    pub given_back_bytes: u64,
    /// Of so many sizes blocks are live.
    pub size_count: u64,
}

/// What the process would have in memory on loam, when what is free there has gone back.
pub fn process(here: &Here) -> Range {
    // loam's code and data, its records and the first region's header; of each size the last page is
    // not full. The low end is without.
    const OWN_BYTES: u64 = 2 << 20;
    const CACHES_BYTES_MAX: u64 = 16 << 20;
    const RECORDS_SHARE: u64 = 64;
    // Only what has been freed is in caches or beside blocks.
    let freed = here.beside_bytes + here.free_bytes + here.given_back_bytes;
    let kept = here.beside_bytes + freed.min(CACHES_BYTES_MAX);
    let blocks = here.blocks;
    Range {
        low_bytes: here.others_bytes + blocks.low_bytes,
        high_bytes: here.others_bytes
            + blocks.high_bytes
            + blocks.high_bytes / RECORDS_SHARE
            + here.size_count * PAGE_BYTES
            + kept
            + OWN_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_nobody_has_written_to_may_take_nothing() {
        let mut range = Range::default();
        range.add(20_008, (0, 8192));
        assert_eq!(range, Range { low_bytes: 0, high_bytes: 8192 });
        range.add(20_008, (20_008, 24_576));
        assert_eq!(range, Range { low_bytes: 20_480, high_bytes: 8192 + 20_480 });
    }

    #[test]
    fn blocks_are_as_large_as_loams() {
        let pairs = [
            (0, 16),
            (16, 16),
            (17, 32),
            (1024, 1024),
            (1025, 1152),
            (1152, 1152),
            (16384, 16384),
            (16385, 20480),
            (262_144, 262_144),
            (262_145, 266_240),
        ];
        for (asked, bytes) in pairs {
            assert_eq!(block_bytes(asked), bytes, "{asked}");
        }
    }
}
