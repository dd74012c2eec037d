//! What an allocator has in memory that no live block needs.

use crate::plot::recording::time::COLUMNS;
use crate::recording::event::{Event, LARGE_BYTES, What};
use crate::recording::numbered::NumberMap;

/// By column, where it is known.
pub type Unpinned = Vec<Option<u64>>;

/// What the program has in memory without what it has mapped itself, and what of its large blocks is
/// not in memory, as it was never used: by column.
pub struct Memory {
    own_bytes: Vec<Option<u64>>,
    mapped_bytes: u64,
    /// Large blocks whose use is not known yet: since when, and how long.
    since: NumberMap<(usize, u64)>,
    /// From column to column.
    unused_changes: Vec<i64>,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory {
            own_bytes: vec![None; COLUMNS],
            mapped_bytes: 0,
            since: NumberMap::default(),
            unused_changes: vec![0; COLUMNS + 1],
        }
    }
}

impl Memory {
    pub fn add(&mut self, event: &Event, column: usize) {
        match event.what {
            What::Take { object, block } | What::Resize { object, block } => {
                if block.size >= LARGE_BYTES {
                    self.since.insert(object, (column, block.size));
                }
            }
            What::Touched { object, bytes } => self.touched(object, bytes, column),
            What::Mapped { bytes } => self.mapped_bytes = bytes,
            What::Resident { bytes } => {
                self.own_bytes[column] = Some(bytes.saturating_sub(self.mapped_bytes));
            }
            What::Give { .. } | What::ThreadEnd => {}
        }
    }

    fn touched(&mut self, object: u64, bytes: u64, column: usize) {
        let Some((begin, size)) = self.since.remove(&object) else { return };
        let unused = size.saturating_sub(bytes).cast_signed();
        // What is live at the end is looked at in the last column.
        let end = if column == COLUMNS - 1 { COLUMNS } else { column };
        self.unused_changes[begin] += unused;
        self.unused_changes[end] -= unused;
    }

    /// Beside the pages that live blocks are on, and what is of files, data and stacks.
    pub fn unpinned(&self, pinned_bytes: &[u64], elsewhere_bytes: u64) -> Unpinned {
        let mut unused = 0;
        let changes = self.unused_changes.iter();
        let columns = self.own_bytes.iter().zip(pinned_bytes).zip(changes);
        let column = |((own, pinned), change): ((&Option<u64>, &u64), &i64)| {
            unused += change;
            let used = pinned.saturating_sub(unused.max(0).cast_unsigned());
            own.map(|own| own.saturating_sub(elsewhere_bytes + used))
        };
        columns.map(column).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::event::{Block, Entry};

    const MIB: u64 = 1 << 20;

    #[test]
    fn what_is_in_memory_and_on_no_page_of_a_block_is_not_pinned() {
        let block =
            Block { entry: Entry::Malloc, size: 8 * MIB, alignment: 0, address: None, stack: 0 };
        let mut memory = Memory::default();
        for (column, what) in [
            (0, What::Resident { bytes: 5 * MIB }),
            (1, What::Take { object: 7, block }),
            (2, What::Mapped { bytes: MIB }),
            (2, What::Resident { bytes: 9 * MIB }),
            (3, What::Touched { object: 7, bytes: 2 * MIB }),
            (4, What::Resident { bytes: 9 * MIB }),
        ] {
            memory.add(&Event { time_us: 0, thread: 0, what }, column);
        }
        let mut pinned = vec![MIB; COLUMNS];
        pinned[1] += 8 * MIB;
        pinned[2] += 8 * MIB;
        let unpinned = memory.unpinned(&pinned, 3 * MIB);
        let mib = |count| Some(count * MIB);
        assert_eq!(unpinned[..6], [mib(1), None, mib(2), None, mib(4), None]);
    }
}
