//! Chunks that are free though their neighbours take them for used: in the cache of a thread
//! (`tcache`), or in an arena's fastbins. Links are plain to 2.31, and protected from 2.32 on; which
//! it is, the lists themselves tell.

use crate::heap::glibc::arenas::Arenas;
use crate::heap::glibc::links::Links;
use crate::heap::glibc::memory::{Memory, PAGE_BYTES, words_of};
use crate::heap::glibc::regions::{self, FLAGS, Region};
use crate::heap::residency::Pages;
use crate::heap::source::{Mapping, Name, Process};
use anyhow::{Result, bail};
use std::collections::BTreeSet;

/// What `tcache_perthread_struct` is, by version: a count for each list, then where each begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    lists: u64,
    count_bytes: u64,
    /// Counts say how many more would have room.
    is_room: bool,
    pub about: &'static str,
}

const SHAPES: [Shape; 3] = [
    Shape {
        lists: 64,
        count_bytes: 2,
        is_room: false,
        about: "tcaches of 64 lists (2.30 to 2.41)",
    },
    Shape { lists: 76, count_bytes: 2, is_room: true, about: "tcaches of 76 lists (from 2.42)" },
    Shape {
        lists: 64,
        count_bytes: 1,
        is_room: false,
        about: "tcaches of 64 lists (2.26 to 2.29)",
    },
];
/// Lists of one size each; those behind them have a power of two.
const EXACT_LISTS: u64 = 64;

impl Shape {
    fn entries(self) -> u64 {
        self.lists * self.count_bytes
    }

    fn bytes(self) -> u64 {
        self.entries() + self.lists * 8
    }

    /// What is left of a chunk that is too short for another one stays with it.
    fn is_in(self, chunk_bytes: u64) -> bool {
        let least = (self.bytes() + 8).next_multiple_of(16);
        chunk_bytes == least || chunk_bytes == least + 16
    }
}

/// The cache of a thread.
pub struct Tcache {
    pub address: u64,
    pub shape: Shape,
    /// `None` where it cannot be told.
    pub thread: Option<u32>,
}

/// Where a chunk is that nobody has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// By index.
    Tcache(usize),
    Fastbin,
}

#[derive(Default)]
pub struct Lists {
    pub tcaches: Vec<Tcache>,
    /// By address.
    pub chunks: Vec<(u64, Place)>,
    /// `None` where no list says.
    pub are_protected: Option<bool>,
}

/// Reads lists as far as they make sense with links of one kind.
pub fn read(
    memory: &mut Memory,
    arenas: &Arenas,
    regions: &[Region],
    more: &BTreeSet<u64>,
    is_busy: bool,
) -> Result<Lists> {
    let tcaches = tcaches(memory, regions, more)?;
    let mut lists = Lists { tcaches, ..Lists::default() };
    let mut of_kind = |are_protected| {
        let mut reader =
            Reader { memory, regions, are_protected, links: None, broken: 0, found: Vec::new() };
        reader.add_all(arenas, &lists.tcaches);
        (reader.broken, reader.found)
    };
    let ((protected_broken, protected), (plain_broken, plain)) = (of_kind(true), of_kind(false));
    let are_protected = protected_broken < plain_broken;
    if protected_broken.min(plain_broken) != 0 && !is_busy {
        bail!("glibc's lists of free chunks do not add up: links lead nowhere");
    }
    lists.are_protected = (protected_broken != plain_broken).then_some(are_protected);
    lists.chunks = if are_protected { protected } else { plain };
    lists.chunks.sort_unstable();
    if is_busy {
        lists.chunks.dedup_by_key(|(at, _)| *at);
    }
    let is_twice = lists.chunks.windows(2).find(|pair| pair[0].0 == pair[1].0);
    if let Some(pair) = is_twice {
        bail!("glibc's lists of free chunks do not add up: {:#x} is in two", pair[0].0);
    }
    Ok(lists)
}

fn led_to(at: u64, link: u64, is_protected: bool) -> u64 {
    if is_protected { link ^ ((at + 16) >> 12) } else { link }
}

/// Follows lists, with links of one kind.
struct Reader<'a, 'source> {
    memory: &'a mut Memory<'source>,
    regions: &'a [Region],
    are_protected: bool,
    /// Read once a list is long.
    links: Option<Links>,
    /// Lists that lead to no chunk, or to one of another size.
    broken: usize,
    found: Vec<(u64, Place)>,
}

impl Reader<'_, '_> {
    fn add_all(&mut self, arenas: &Arenas, tcaches: &[Tcache]) {
        for arena in &arenas.arenas {
            for (index, first) in (0..).zip(&arena.fastbins) {
                self.add(*first, Some(32 + index * 16), Place::Fastbin);
            }
        }
        for (index, tcache) in tcaches.iter().enumerate() {
            for list in 0..tcache.shape.lists {
                let entry = tcache.address + tcache.shape.entries() + list * 8;
                let at = self.memory.word(entry).unwrap_or(0);
                let at = if at == 0 { 0 } else { at.wrapping_sub(16) };
                let bytes = (list < EXACT_LISTS).then_some(32 + list * 16);
                self.add(at, bytes, Place::Tcache(index));
            }
        }
    }

    fn add(&mut self, first: u64, bytes: Option<u64>, place: Place) {
        const LENGTH_MAX: usize = 1 << 26;
        const LONG: usize = 1 << 12;
        let (mut at, mut length) = (first, 0);
        while at != 0 {
            if length == LONG && self.links.is_none() {
                self.read_links();
            }
            let next = self.next(at, bytes, place);
            let (Some(next), true) = (next, length < LENGTH_MAX) else {
                self.broken += 1;
                return;
            };
            self.found.push((at, place));
            length += 1;
            if next == first {
                self.broken += 1;
                return;
            }
            at = next;
        }
    }

    fn read_links(&mut self) {
        let are_protected = self.are_protected;
        let next = |at, link| led_to(at, link, are_protected);
        self.links = Some(Links::read(self.memory.source, self.regions, next).unwrap_or_default());
    }

    /// The chunk's size and its link as they stand there.
    fn link(&mut self, at: u64) -> Option<(u64, u64)> {
        match self.links.as_ref().and_then(|links| links.get(at)) {
            Some(known) => Some((known.bytes, known.word)),
            None => {
                Some((self.memory.word(at + 8).ok()? & !FLAGS, self.memory.word(at + 16).ok()?))
            }
        }
    }

    /// What the chunk's link leads to; `None` if the chunk is none of the list.
    fn next(&mut self, at: u64, bytes: Option<u64>, place: Place) -> Option<u64> {
        if !regions::holds(self.regions, at) {
            return None;
        }
        let (size, link) = self.link(at)?;
        if bytes.is_some_and(|bytes| bytes != size) {
            return None;
        }
        let next = led_to(at, link, self.are_protected);
        // Lists of tcaches lead to what the program has of a chunk, fastbins to its head.
        Some(match place {
            Place::Tcache(_) if next != 0 => next.wrapping_sub(16),
            _ => next,
        })
    }
}

/// Threads keep where theirs is in what they have of their own, which is at an end of a mapping: with
/// the stack, or, of the first one, where the loader has put it.
fn tcaches(memory: &mut Memory, regions: &[Region], more: &BTreeSet<u64>) -> Result<Vec<Tcache>> {
    let process = memory.source.process();
    let mut found: Vec<Tcache> = Vec::new();
    let mut add = |memory: &mut Memory, address: u64, thread: Option<u32>| {
        if found.iter().any(|one| one.address == address) {
            return;
        }
        if let Some(shape) = shape_at(memory, regions, address) {
            found.push(Tcache { address, shape, thread });
        }
    };
    for mapping in &process.mappings {
        if mapping.is_accessible && matches!(mapping.name, Name::Anonymous | Name::Heap) {
            let thread = thread_of(process, mapping);
            for word in ends_of(memory, mapping)? {
                add(memory, word, thread);
            }
        }
    }
    for address in more {
        add(memory, *address, None);
    }
    // That of the first thread is with no stack.
    let first = process.pid.and_then(|pid| u32::try_from(pid).ok());
    let mut unknown = found.iter_mut().filter(|one| one.thread.is_none());
    if let (Some(one), None) = (unknown.next(), unknown.next()) {
        one.thread = first;
    }
    Ok(found)
}

fn thread_of(process: &Process, mapping: &Mapping) -> Option<u32> {
    let has = |pointer: Option<u64>| pointer.is_some_and(|at| mapping.contains(at));
    let mut threads = process.threads.iter().filter(|thread| has(thread.stack_pointer));
    let first = threads.next()?;
    // The system may have put stacks of several into one mapping.
    threads.next().is_none().then_some(first.id)
}

/// Words at both ends of a mapping that may be addresses of blocks.
fn ends_of(memory: &Memory, mapping: &Mapping) -> Result<Vec<u64>> {
    const END_BYTES: u64 = 64 << 10;
    let (start, end) = (mapping.start, mapping.end);
    let first = start..end.min(start + END_BYTES);
    let last = first.end.max(end.saturating_sub(END_BYTES))..end;
    let mut words = Vec::new();
    for part in [first, last] {
        let count = ((part.end - part.start) / PAGE_BYTES) as usize;
        let resident = memory.source.resident(part.start, count, PAGE_BYTES)?;
        let Ok(pages) = Pages::read(memory.source, part.start, &resident, PAGE_BYTES) else {
            continue;
        };
        words.extend(words_of(&pages.bytes).filter(|word| *word != 0 && word.is_multiple_of(16)));
    }
    words.sort_unstable();
    words.dedup();
    Ok(words)
}

/// Whether a chunk is as long as that of a tcache.
pub fn is_as_long(chunk_bytes: u64) -> bool {
    SHAPES.iter().any(|shape| shape.is_in(chunk_bytes))
}

/// If a tcache is there: each list is empty or begins with a chunk of its size. One without any is
/// told by its place, which is the first of all.
pub fn shape_at(memory: &mut Memory, regions: &[Region], address: u64) -> Option<Shape> {
    if !regions::holds(regions, address.wrapping_sub(16)) {
        return None;
    }
    let chunk_bytes = memory.word(address - 8).ok()? & !FLAGS;
    let shape = SHAPES.into_iter().find(|shape| shape.is_in(chunk_bytes))?;
    let counts = memory.words(address, shape.entries() / 8).ok()?;
    let entries = memory.words(address + shape.entries(), shape.lists).ok()?;
    let count = |list: u64| {
        let at = list * shape.count_bytes;
        counts[(at / 8) as usize] >> (at % 8 * 8) & ((1 << (shape.count_bytes * 8)) - 1)
    };
    let room = (0..shape.lists).map(count).max()?;
    let mut is_empty = true;
    for list in 0..shape.lists {
        let entry = entries[list as usize];
        let is_counted_empty = if shape.is_room { entry == 0 } else { count(list) == 0 };
        if is_counted_empty != (entry == 0) {
            return None;
        }
        if entry == 0 {
            continue;
        }
        is_empty = false;
        let at = entry.wrapping_sub(16);
        let bytes =
            regions::holds(regions, at).then(|| memory.word(at + 8).ok()).flatten()? & !FLAGS;
        let fits = if list < EXACT_LISTS { bytes == 32 + list * 16 } else { bytes > 1040 };
        if !fits {
            return None;
        }
    }
    let is_first = regions.iter().any(|region| region.first == address.wrapping_sub(16));
    // One that has had nothing yet.
    let is_new = match shape.is_room {
        true => room != 0 && (0..shape.lists).all(|list| count(list) == room),
        false => room == 0 && is_first,
    };
    (!is_empty || is_new).then_some(shape)
}
