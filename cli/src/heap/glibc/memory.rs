//! Words of the process, wherever pointers lead. A page that has been asked for is kept: what is read
//! of a list is of one time as far as it can be.

use crate::heap::source::Source;
use anyhow::Result;
use std::collections::HashMap;

/// Of the processors that are read.
pub const PAGE_BYTES: u64 = 4096;
const PAGES_MAX: usize = 1 << 14;

pub struct Memory<'source> {
    pub source: &'source dyn Source,
    pages: HashMap<u64, Vec<u8>>,
}

impl<'source> Memory<'source> {
    pub fn new(source: &'source dyn Source) -> Memory<'source> {
        Memory { source, pages: HashMap::new() }
    }

    fn page(&mut self, address: u64) -> Result<&[u8]> {
        let start = address / PAGE_BYTES * PAGE_BYTES;
        if !self.pages.contains_key(&start) {
            let bytes = self.source.bytes(start, PAGE_BYTES as usize)?;
            if self.pages.len() >= PAGES_MAX {
                self.pages.clear();
            }
            self.pages.insert(start, bytes);
        }
        Ok(&self.pages[&start])
    }

    /// At an address that is a multiple of 8.
    pub fn word(&mut self, address: u64) -> Result<u64> {
        let at = (address % PAGE_BYTES / 8 * 8) as usize;
        let bytes = &self.page(address)?[at..at + 8];
        Ok(u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
    }

    pub fn words(&mut self, address: u64, count: u64) -> Result<Vec<u64>> {
        (0..count).map(|index| self.word(address.wrapping_add(index * 8))).collect()
    }
}

pub fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
}
