//! Blocks on the lists of caches and depots. The process goes on meanwhile, and so a link may lead
//! anywhere: it is looked at before it is followed, and no list is followed for ever.

use crate::heap::figures::{Keeper, Kind};
use crate::heap::layout::Layout;
use crate::heap::source::Source;
use anyhow::Result;
use std::collections::{HashMap, HashSet};

/// In whose lists a block is, by the index in `Lists::heaps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Cache(usize),
    Depot(usize),
}

impl Place {
    pub fn kind(self) -> Kind {
        match self {
            Place::Cache(_) => Kind::Cached,
            Place::Depot(_) => Kind::Depots,
        }
    }

    pub fn heap(self) -> usize {
        match self {
            Place::Cache(index) | Place::Depot(index) => index,
        }
    }
}

pub struct Found {
    pub address: u64,
    pub keeper: Keeper,
}

pub struct Lists {
    pub heaps: Vec<Found>,
    pub blocks: HashMap<u64, Place>,
}

const BLOCKS_MAX: usize = 1 << 26;
/// In a depot, of a class.
const LISTS_MAX: usize = 1 << 16;

/// Reads lists.
struct Reader<'source> {
    source: &'source dyn Source,
    layout: &'source Layout,
    /// Where regions are.
    regions: &'source HashSet<u64>,
    pointer_bytes: u64,
    region_shift: u64,
    list_blocks_max: u64,
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
        for _ in 0..self.list_blocks_max {
            if !self.note(block, place) {
                break;
            }
            block = self.link(block)?;
        }
        Ok(())
    }

    /// A pointer of a record.
    fn word(&self, record: &[u8], at: u64) -> u64 {
        let bytes = record.get(at as usize..(at + self.pointer_bytes) as usize).unwrap_or_default();
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    }

    /// Those that a cache's record begins.
    fn note_lists(&mut self, record: &[u8], index: usize) -> Result<()> {
        let lists = self.number("cache.lists")?;
        for class in 1..self.number("bin.count")? {
            let first = self.word(record, lists + class * self.pointer_bytes);
            self.note_list(first, Place::Cache(index))?;
        }
        Ok(())
    }

    /// While a profile is taken the thread's malloc takes from there: it begins with a cache.
    fn note_lists_of_window(&mut self, window: u64, index: usize) -> Result<()> {
        let record = self.source.bytes(window, self.number("cache.size")? as usize)?;
        self.note_lists(&record, index)
    }

    fn note_cache(&mut self, cache: u64, index: usize) -> Result<Keeper> {
        let record = self.source.bytes(cache, self.number("cache.size")? as usize)?;
        self.note_lists(&record, index)?;
        let homeward = self.number("cache.homeward.blocks")?;
        let count = self.word(&record, self.number("cache.homeward.count")?);
        for nth in 0..count.min(self.number("cache.homeward.blocks_max")?) {
            let block = self.word(&record, homeward + nth * self.pointer_bytes);
            self.note(block, Place::Cache(index));
        }
        let window = self.word(&record, self.number("cache.profile.window")?);
        if window != 0 {
            self.note_lists_of_window(window, index)?;
        }
        let thread_id = self.word(&record, self.number("cache.thread_id")?) as u32;
        Ok(if thread_id == 0 { Keeper::IdleCache } else { Keeper::Cache(thread_id) })
    }

    fn note_depot(&mut self, first: u64, place: Place) -> Result<()> {
        let next_list = self.number("list.next_list")?;
        let mut list = first;
        for _ in 0..LISTS_MAX {
            if !self.is_block(list) || self.blocks.contains_key(&list) {
                break;
            }
            let next = self.link(list + next_list)?;
            self.note_list(list, place)?;
            list = next;
        }
        Ok(())
    }

    fn note_central(&mut self, central: u64, index: usize) -> Result<()> {
        let (count, size) = (self.number("bin.count")?, self.number("central_class.size")?);
        let classes = central + self.number("central.classes")?;
        let records = self.source.bytes(classes, (count * size) as usize)?;
        let lists = self.number("central_class.lists")?;
        for class in 1..count {
            let first = self.word(&records, class * size + lists);
            self.note_depot(first, Place::Depot(index))?;
        }
        Ok(())
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
            list_blocks_max: layout.number("list.blocks_max")?,
            pages: HashMap::new(),
            blocks: HashMap::new(),
        };
        let mut heaps = Vec::new();
        let first = |root| layout.root(root).and_then(|at| layout.pointer_at(source, at));
        let mut cache = first("caches")?;
        while cache != 0 && heaps.len() < HEAPS_MAX {
            let keeper = reader.note_cache(cache, heaps.len())?;
            heaps.push(Found { address: cache, keeper });
            cache = layout.pointer_at(source, cache + layout.number("cache.next_made")?)?;
        }
        let centrals = layout.root("centrals")?;
        for index in 0..layout.number("central.count")? {
            let at = centrals + index * reader.pointer_bytes;
            let central = layout.pointer_at(source, at)?;
            if central != 0 {
                reader.note_central(central, heaps.len())?;
                heaps.push(Found { address: central, keeper: Keeper::Central(index as u32) });
            }
        }
        let mut shared = first("shared_heaps")?;
        let profile = first("profile_heap")?;
        while shared != 0 && heaps.len() < HEAPS_MAX {
            let keeper = if shared == profile { Keeper::Profile } else { Keeper::FirstClass };
            heaps.push(Found { address: shared, keeper });
            shared = layout.pointer_at(source, shared + layout.number("shared.next")?)?;
        }
        Ok(Lists { heaps, blocks: reader.blocks })
    }
}
