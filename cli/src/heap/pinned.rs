//! What blocks pin: each page in memory that live blocks are on is divided among them by the bytes
//! that they have there. So it is what would go back if a block went that is alone on its pages, and
//! of several on a page what would go back if all went.

use std::ops::AddAssign;

/// Of one block or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pinned {
    pub bytes: f64,
    /// Of these, what is free beside the blocks.
    pub beside: f64,
}

impl AddAssign for Pinned {
    fn add_assign(&mut self, other: Pinned) {
        self.bytes += other.bytes;
        self.beside += other.beside;
    }
}

/// By a block with so many bytes on a page, of which live blocks have `live_bytes` in all.
pub fn part(page_bytes: u64, live_bytes: u64, bytes: u64) -> Pinned {
    // What a process that goes on has done meanwhile leaves none.
    let live = live_bytes.max(bytes).min(page_bytes);
    let share = bytes as f64 / live.max(1) as f64;
    Pinned { bytes: page_bytes as f64 * share, beside: (page_bytes - live) as f64 * share }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_divided_among_its_blocks_by_their_bytes() {
        let (one, other) = (part(4096, 400, 100), part(4096, 400, 300));
        assert_eq!(one, Pinned { bytes: 1024.0, beside: 924.0 });
        assert_eq!(one.bytes + other.bytes, 4096.0);
        assert_eq!(one.beside + other.beside + 400.0, 4096.0);
    }

    #[test]
    fn whole_pages_are_the_blocks_alone() {
        assert_eq!(part(4096, 4096, 4096), Pinned { bytes: 4096.0, beside: 0.0 });
    }
}
