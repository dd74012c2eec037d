//! How much of each block was touched: known when it is freed or resized, wanted when it is taken.

use crate::recording::event::{LARGE_BYTES, What};
use crate::recording::numbered::NumberMap;
use crate::recording::reader::Reader;
use anyhow::Result;

/// To be asked once for each take and resize, in their order.
#[derive(Debug, Default)]
pub struct Touches {
    /// By how many takes and resizes stand ahead.
    known: NumberMap<u64>,
    asked: u64,
}

impl Touches {
    pub fn read(reader: &Reader) -> Result<Touches> {
        let mut touches = Touches::default();
        let mut large: NumberMap<u64> = NumberMap::default();
        let mut ordinal = 0;
        for event in reader.events() {
            match event?.what {
                What::Take { object, block } | What::Resize { object, block } => {
                    if block.size >= LARGE_BYTES {
                        large.insert(object, ordinal);
                    }
                    ordinal += 1;
                }
                What::Touched { object, bytes } => {
                    if let Some(ordinal) = large.remove(&object) {
                        touches.known.insert(ordinal, bytes);
                    }
                }
                What::Give { .. }
                | What::Resident { .. }
                | What::Mapped { .. }
                | What::ThreadEnd => {}
            }
        }
        Ok(touches)
    }

    /// Of the next block, of this size; all of it where nothing else is known.
    pub fn next(&mut self, size: u64) -> u64 {
        self.asked += 1;
        self.known.get(&(self.asked - 1)).map_or(size, |&bytes| bytes.min(size))
    }
}
