//! Blocks on the lists of heaps. The process goes on meanwhile, and so a link may lead anywhere: it
//! is looked at before it is followed, and no list is followed for ever.

use crate::heap::figures::Owner;
use crate::heap::layout::Layout;
use crate::heap::source::Source;
use anyhow::Result;
use std::collections::{HashMap, HashSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a cache of the heap with this index.
    Cached(usize),
    Waiting,
}

pub struct Found {
    pub address: u64,
    pub owner: Owner,
}

pub struct Lists {
    pub heaps: Vec<Found>,
    pub blocks: HashMap<u64, Place>,
}

const BLOCKS_MAX: usize = 1 << 26;
const RING_MAX: usize = 4096;

/// Reads lists.
struct Reader<'source> {
    source: &'source dyn Source,
    layout: &'source Layout,
    /// Where regions are.
    regions: &'source HashSet<u64>,
    pointer_bytes: u64,
    region_shift: u64,
    pages: HashMap<u64, Vec<u8>>,
    blocks: HashMap<u64, Place>,
}

const PAGE_BYTES: u64 = 4096;
const PAGES_MAX: usize = 1 << 14;

impl Reader<'_> {
    fn number(&self, name: &str) -> Result<u64> {
        self.layout.number(name)
    }

    fn is_block(&self, address: u64) -> bool {
        address.is_multiple_of(16)
            && self.regions.contains(&(address >> self.region_shift << self.region_shift))
    }

    /// What is at the address; 0 if that is not in memory.
    fn link(&mut self, address: u64) -> Result<u64> {
        let page = address / PAGE_BYTES * PAGE_BYTES;
        if !self.pages.contains_key(&page) {
            if self.pages.len() >= PAGES_MAX {
                self.pages.clear();
            }
            let is_resident = self.source.resident(page, 1, PAGE_BYTES)?[0];
            let bytes = match is_resident {
                true => self.source.bytes(page, PAGE_BYTES as usize)?,
                false => Vec::new(),
            };
            self.pages.insert(page, bytes);
        }
        let (at, width) = ((address - page) as usize, self.pointer_bytes as usize);
        let mut word = [0; 8];
        if let Some(bytes) = self.pages[&page].get(at..at + width) {
            word[..width].copy_from_slice(bytes);
        }
        Ok(u64::from_le_bytes(word))
    }

    /// Notes a block; false if it is none, or known already.
    fn note(&mut self, address: u64, place: Place) -> bool {
        self.is_block(address)
            && self.blocks.len() < BLOCKS_MAX
            && self.blocks.insert(address, place).is_none()
    }

    fn note_list(&mut self, first: u64, place: Place) -> Result<()> {
        let mut block = first;
        while self.note(block, place) {
            block = self.link(block)?;
        }
        Ok(())
    }

    /// From the newest block by their links to the handle.
    fn note_ring(&mut self, newest: u64, handle: u64) -> Result<()> {
        let mut block = newest;
        for _ in 0..RING_MAX {
            if !self.note(block, Place::Waiting) || block == handle {
                break;
            }
            block = self.link(block)?;
        }
        Ok(())
    }

    fn note_messages(&mut self, first: u64) -> Result<()> {
        let newest_at = self.number("message.newest")?;
        let next_at = self.number("message.next")?;
        let mask = (1 << self.number("message.address_bits")?) - 1;
        let (mut message, mut seen) = (first, HashSet::new());
        while self.is_block(message) && seen.insert(message) {
            let newest = self.link(message + newest_at)?;
            let next = self.link(message + next_at)? & mask;
            self.note_ring(newest, message)?;
            message = next;
        }
        Ok(())
    }

    fn note_heap(&mut self, heap: u64, index: usize) -> Result<u64> {
        let record = self.source.bytes(heap, self.number("heap.size")? as usize)?;
        let width = self.pointer_bytes;
        let word = |at: u64| {
            let bytes = record.get(at as usize..(at + width) as usize).unwrap_or_default();
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        let cached = Place::Cached(index);
        for (table, count) in [
            ("heap.bins", "class.count"),
            ("heap.reserves", "class.count"),
            ("heap.cached", "cached.count"),
        ] {
            let start = self.number(table)?;
            for i in 0..self.number(count)? {
                self.note_list(word(start + i * width), cached)?;
            }
        }
        let large_blocks = self.number("heap.large_blocks")?;
        for i in 0..self.number("large_blocks.count")? {
            self.note(word(large_blocks + i * width), cached);
        }
        let (chains, chain_size) = (self.number("heap.chains")?, self.number("chain.size")?);
        for i in 0..self.number("chain.count")? {
            let chain = chains + i * chain_size;
            if word(chain + self.number("chain.slice")?) != 0 {
                let newest = word(chain + self.number("chain.newest")?);
                self.note_ring(newest, word(chain + self.number("chain.handle")?))?;
            }
        }
        let (parcels, parcel_size) = (self.number("heap.parcels")?, self.number("parcel.size")?);
        for i in 0..self.number("parcel.count")? {
            self.note_messages(word(parcels + i * parcel_size + self.number("parcel.first")?))?;
        }
        self.note_messages(word(self.number("heap.received")?))?;
        self.note_messages(word(self.number("heap.inbox")?))?;
        Ok(word(self.number("heap.thread_id")?) & 0xffff_ffff)
    }
}

const HEAPS_MAX: usize = 1 << 20;

impl Lists {
    pub fn read(source: &dyn Source, layout: &Layout, regions: &HashSet<u64>) -> Result<Lists> {
        let mut reader = Reader {
            source,
            layout,
            regions,
            pointer_bytes: layout.number("pointer.size")?,
            region_shift: layout.number("region.shift")?,
            pages: HashMap::new(),
            blocks: HashMap::new(),
        };
        let mut heaps = Vec::new();
        let next_made = layout.number("heap.next_made")?;
        let mut heap = layout.pointer_at(source, layout.root("heaps")?)?;
        while heap != 0 && heaps.len() < HEAPS_MAX {
            let thread_id = reader.note_heap(heap, heaps.len())?;
            let owner = match u32::try_from(thread_id) {
                Ok(id) if id != 0 => Owner::Thread(id),
                _ => Owner::Idle,
            };
            heaps.push(Found { address: heap, owner });
            heap = layout.pointer_at(source, heap + next_made)?;
        }
        let mut shared = layout.pointer_at(source, layout.root("shared_heaps")?)?;
        while shared != 0 && heaps.len() < HEAPS_MAX {
            reader.note_heap(shared, heaps.len())?;
            heaps.push(Found { address: shared, owner: Owner::FirstClass });
            shared = layout.pointer_at(source, shared + layout.number("shared.next")?)?;
        }
        Ok(Lists { heaps, blocks: reader.blocks })
    }
}
