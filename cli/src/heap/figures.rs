//! What is in a process's heaps.

use crate::heap::on_loam;
use crate::naming;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// What resident bytes of loam's are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// In blocks that the program has.
    Live,
    /// What is free beside those, on the same pages: `Live` and this are what is pinned.
    Beside,
    /// Pages of spans on which all blocks are free, and none is in a list.
    Idle,
    /// Other pages that blocks in lists of a thread's cache are on, for its next calls.
    Cached,
    /// The same of a central's depots, for any thread.
    Depots,
    /// Pages that nobody uses, and that were used: of spans, those that no block is cut from.
    Dirty,
    /// Pages that were never used: of a huge page, of a span that no block is cut from yet.
    Unused,
    /// loam's own records.
    Metadata,
    /// What a profile takes: its samples' blocks, its records and tables.
    Profile,
}
pub const KINDS: [Kind; 9] = [
    Kind::Live,
    Kind::Beside,
    Kind::Idle,
    Kind::Cached,
    Kind::Depots,
    Kind::Dirty,
    Kind::Unused,
    Kind::Metadata,
    Kind::Profile,
];

/// Resident bytes of each kind.
#[derive(Debug, Default, Clone, Copy)]
pub struct Resident([u64; KINDS.len()]);

impl Resident {
    pub fn of(&self, kind: Kind) -> u64 {
        self.0[kind as usize]
    }

    pub fn add(&mut self, kind: Kind, bytes: u64) {
        self.0[kind as usize] += bytes;
    }

    /// From one kind to another, as far as there is so much.
    pub fn move_to(&mut self, to: Kind, from: Kind, bytes: u64) {
        let moved = bytes.min(self.of(from));
        self.0[from as usize] -= moved;
        self.0[to as usize] += moved;
    }

    /// Pages that live blocks are on.
    pub fn pinned(&self) -> u64 {
        self.of(Kind::Live) + self.of(Kind::Beside)
    }

    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Blocks that the program has.
#[derive(Debug, Default, Clone, Copy)]
pub struct Blocks {
    pub count: u64,
    pub bytes: u64,
}

impl Blocks {
    pub fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }
}

/// Small blocks of one size.
#[derive(Debug, Default, Clone)]
pub struct Class {
    pub block_bytes: u64,
    pub span_count: u64,
    pub span_bytes: u64,
    pub carved_count: u64,
    pub live_count: u64,
    pub cached_count: u64,
    pub depot_count: u64,
    /// On the lists of their spans, or on pages that have been given back.
    pub free_count: u64,
    pub resident: Resident,
}

/// Middle, large or huge blocks of one size that the program has. They have pages of their own.
#[derive(Debug, Default, Clone, Copy)]
pub struct Larger {
    pub count: u64,
    pub resident_bytes: u64,
}

/// What keeps blocks: a cache has lists; the others have spans, and those of a processor depots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeper {
    /// The cache of a thread, by the system's number.
    Cache(u32),
    /// A cache that is kept for the next thread.
    IdleCache,
    /// A processor's, by its index.
    Central(u32),
    FirstClass,
    /// Blocks that stand in for samples.
    Profile,
    /// One of glibc's, of which the first is the main arena, by how many threads it is used.
    Arena {
        index: usize,
        thread_count: u64,
    },
    /// glibc's of a thread that cannot be told.
    Tcache,
}

#[derive(Debug, Clone)]
pub struct Heap {
    pub keeper: Keeper,
    pub thread_name: Option<String>,
    /// In small blocks of its spans that the program has. Caches have no spans.
    pub live_bytes: u64,
    /// Of what is in its lists and spans.
    pub resident: Resident,
}

impl Heap {
    pub fn name(&self) -> String {
        let thread = self.thread_name.as_deref().unwrap_or_default();
        match self.keeper {
            Keeper::Cache(id) => naming::with_number("thread", thread, Some(id.into())),
            Keeper::IdleCache => "cache for the next thread".to_owned(),
            Keeper::Central(index) => format!("central {index}"),
            Keeper::FirstClass => "first-class heap".to_owned(),
            Keeper::Profile => "profile".to_owned(),
            Keeper::Arena { index: 0, .. } => "main arena".to_owned(),
            Keeper::Arena { index, .. } => format!("arena {index}"),
            Keeper::Tcache => "tcache".to_owned(),
        }
    }

    /// `None` of a cache: what a thread has taken nobody counts. A profile's blocks are the program's
    /// elsewhere.
    pub fn live_bytes(&self) -> Option<u64> {
        let has_blocks =
            matches!(self.keeper, Keeper::Central(_) | Keeper::FirstClass | Keeper::Arena { .. });
        has_blocks.then_some(self.live_bytes)
    }
}

/// What is on a page that is in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Of a page with live blocks `Live`, and of others what most of it is.
    pub kind: Kind,
    pub content: Content,
    pub live_bytes: u32,
    /// Index of the central that has its span, or of the cache or central that has it in a list.
    pub heap: Option<u32>,
}

impl Page {
    pub fn whole(kind: Kind, content: Content, page_bytes: u64, heap: Option<usize>) -> Page {
        let live_bytes = if kind == Kind::Live { page_bytes as u32 } else { 0 };
        let heap = heap.and_then(|index| u32::try_from(index).ok());
        Page { kind, content, live_bytes, heap }
    }
}

/// What a page is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Nothing,
    /// Small blocks, by the index of their class.
    Small(u16),
    Middle,
    Large,
    Huge,
}

/// A part of the address space that is the allocator's.
pub struct Range {
    pub start: u64,
    pub resident: Vec<bool>,
    /// What is on each page; `None` of those that are not in memory.
    pub pages: Vec<Option<Page>>,
}

/// Whose heaps they are.
pub enum Allocator {
    Loam,
    Glibc(Box<Glibc>),
}

impl Allocator {
    pub fn name(&self) -> &'static str {
        match self {
            Allocator::Loam => "loam",
            Allocator::Glibc(_) => "glibc",
        }
    }
}

/// What is said of glibc's malloc besides.
#[derive(Clone)]
pub struct Glibc {
    pub counted: Counted,
    /// What the live blocks would have on loam.
    pub on_loam: on_loam::Range,
    /// Whose malloc hands calls on to glibc's, in words.
    pub wrapper: Option<String>,
    /// How it is started on loam, in words; `None` of a core.
    pub start: Option<String>,
    /// Whose objects are elsewhere, in words: a language's that has a heap of its own.
    pub runtime: Option<String>,
}

/// Which malloc of glibc's it is, and what it has, under the names of the JSON. Bytes are of chunks,
/// but for what a trim gives back.
#[derive(Clone, Serialize, Deserialize)]
pub struct Counted {
    /// As its file says; `None` where that is gone.
    pub version: Option<String>,
    /// How its structures were laid out, as far as they showed it.
    pub layout: Vec<String>,
    pub arena_count: u64,
    /// Of threads that had anything in it.
    pub tcache_count: u64,
    pub tcache_bytes: u64,
    pub fastbin_bytes: u64,
    pub bin_bytes: u64,
    pub top_bytes: u64,
    /// In memory, that `malloc_trim(0)` would give back.
    pub trim_bytes: u64,
    /// Chunks that are mapped by themselves: those found, and as many as malloc has counted.
    pub mapped_count: u64,
    pub known_mapped_count: Option<u64>,
}

pub struct Figures {
    pub allocator: Allocator,
    pub page_bytes: u64,
    pub small: Blocks,
    pub middle: Blocks,
    pub large: Blocks,
    pub huge: Blocks,
    /// Middle, large and huge blocks by size.
    pub larger: BTreeMap<u64, Larger>,
    /// Of all, but for what is not in the ranges.
    pub resident: Resident,
    pub classes: Vec<Class>,
    pub heaps: Vec<Heap>,
    /// Pages of spans that are not in memory: what live blocks have there, as the places of samples
    /// that nobody has written to.
    pub absent: HashMap<u64, u32>,
    pub region_count: u64,
    pub ranges: Vec<Range>,
    /// In spans, and in middle, large and huge blocks: pages that are in use.
    pub active_bytes: u64,
    /// Address space.
    pub mapped_bytes: u64,
    /// Where the table of tags is, if there is one.
    pub tags: Option<(u64, u64)>,
}

impl Figures {
    pub fn live(&self) -> Blocks {
        let all = [self.small, self.middle, self.large, self.huge];
        all.iter().fold(Blocks::default(), |sum, one| Blocks {
            count: sum.count + one.count,
            bytes: sum.bytes + one.bytes,
        })
    }
}
