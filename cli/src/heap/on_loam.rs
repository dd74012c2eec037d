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
    /// Adds a block that holds so many bytes, as much of it as is in memory.
    pub fn add(&mut self, usable_bytes: u64, resident_bytes: u64) {
        const UNKNOWN_BYTES: u64 = 15;
        let least = usable_bytes.saturating_sub(if usable_bytes == 24 { 24 } else { UNKNOWN_BYTES });
        let in_memory = |bytes: u64| match usable_bytes > SMALL_MAX_BYTES {
            true => bytes.min(resident_bytes.next_multiple_of(PAGE_BYTES)),
            false => bytes,
        };
        self.low_bytes += in_memory(block_bytes(least));
        self.high_bytes += in_memory(block_bytes(usable_bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_as_large_as_loams() {
        let pairs = [(0, 16), (16, 16), (17, 32), (1024, 1024), (1025, 1152), (1152, 1152),
            (16384, 16384), (16385, 20480), (262_144, 262_144), (262_145, 266_240)];
        for (asked, bytes) in pairs {
            assert_eq!(block_bytes(asked), bytes, "{asked}");
        }
    }
}
