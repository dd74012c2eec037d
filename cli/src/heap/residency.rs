//! Memory of which only what is in memory is read: reading the rest would bring it there.

use crate::heap::source::Source;
use anyhow::Result;

/// A run of pages, those that are not in memory being zero.
pub struct Pages {
    pub start: u64,
    pub bytes: Vec<u8>,
}

impl Pages {
    pub fn read(
        source: &dyn Source,
        start: u64,
        resident: &[bool],
        page_bytes: u64,
    ) -> Result<Pages> {
        let page = page_bytes as usize;
        let mut bytes = vec![0; resident.len() * page];
        let mut from = 0;
        while let Some(skipped) = resident[from..].iter().position(|&is| is) {
            from += skipped;
            let count = resident[from..].iter().position(|&is| !is);
            let to = count.map_or(resident.len(), |count| from + count);
            source.read(start + (from * page) as u64, &mut bytes[from * page..to * page])?;
            from = to;
        }
        Ok(Pages { start, bytes })
    }

    pub fn word(&self, offset: u64, width: usize) -> u64 {
        let mut word = [0; 8];
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let Some(bytes) = at.checked_add(width).and_then(|end| self.bytes.get(at..end)) else {
            return 0;
        };
        word[..width].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    }

    pub fn bit(&self, map: u64, index: u64) -> bool {
        self.word(map + index / 8, 1) >> (index % 8) & 1 == 1
    }
}
