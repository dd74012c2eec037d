//! What is on each page, told by the pieces that follow each other there: a page goes to the live
//! blocks on it, as loam's do, else to those in lists, else to whoever has most of it.

use crate::heap::figures::{Class, Content, Heap, Kind, Page, Resident};
use crate::heap::glibc::sizes;

/// What some bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// Of a block that the program has, by its class.
    Live(u16),
    /// Of one in a list, by its class: in a thread's cache, by the heap's index.
    Cached(u16, usize),
    /// In the arena's fastbins.
    Fast(u16),
    /// In a bin.
    Free,
    Top,
    /// glibc's own: headers of live blocks, and records.
    Own,
}

/// What adds up over all that has been walked.
#[derive(Clone)]
pub struct Sums {
    pub resident: Resident,
    pub classes: Vec<Class>,
    pub heaps: Vec<Heap>,
}

impl Sums {
    pub fn new(heaps: Vec<Heap>) -> Sums {
        Sums { resident: Resident::default(), classes: sizes::classes(), heaps }
    }

    fn add(&mut self, heap: usize, class: Option<u16>, kind: Kind, bytes: u64) {
        self.resident.add(kind, bytes);
        if let Some(heap) = self.heaps.get_mut(heap) {
            heap.resident.add(kind, bytes);
        }
        if let Some(class) = class {
            self.classes[usize::from(class)].resident.add(kind, bytes);
        }
    }
}

/// Divides a region into pages.
pub struct Pager<'a> {
    start: u64,
    page_bytes: u64,
    resident: &'a [bool],
    /// The arena's index among the heaps.
    arena: usize,
    pub pages: Vec<Option<Page>>,
    /// Of the page that is being filled.
    pieces: Vec<(Piece, u64)>,
}

impl<'a> Pager<'a> {
    /// From the beginning of a page.
    pub fn new(start: u64, page_bytes: u64, resident: &'a [bool], arena: usize) -> Pager<'a> {
        let pages = Vec::with_capacity(resident.len());
        Pager { start, page_bytes, resident, arena, pages, pieces: Vec::new() }
    }

    /// Adds what is behind the last piece; whole pages of it at once.
    pub fn add(&mut self, sums: &mut Sums, piece: Piece, from: u64, to: u64) {
        let mut at = from.max(self.start);
        while at < to {
            let page = self.start + self.pages.len() as u64 * self.page_bytes;
            let end = page + self.page_bytes;
            if at >= end {
                self.flush(sums);
                continue;
            }
            let part = to.min(end) - at;
            match self.pieces.last_mut() {
                Some((last, bytes)) if *last == piece => *bytes += part,
                _ => self.pieces.push((piece, part)),
            }
            at += part;
        }
    }

    /// Up to so many pages.
    pub fn finish(&mut self, sums: &mut Sums, count: usize) {
        while self.pages.len() < count.min(self.resident.len()) {
            self.flush(sums);
        }
    }

    fn flush(&mut self, sums: &mut Sums) {
        let is_resident = self.resident.get(self.pages.len()).copied().unwrap_or(false);
        let page = is_resident.then(|| self.divide(sums));
        self.pages.push(page);
        self.pieces.clear();
    }

    fn sum(&self, is: impl Fn(&Piece) -> bool) -> u64 {
        self.pieces.iter().filter(|(piece, _)| is(piece)).map(|(_, bytes)| bytes).sum()
    }

    fn divide(&self, sums: &mut Sums) -> Page {
        let live = self.sum(|piece| matches!(piece, Piece::Live(_)));
        let own = self.sum(|piece| *piece == Piece::Own);
        sums.add(self.arena, None, Kind::Metadata, own);
        let left = self.page_bytes - own;
        let kind = if live != 0 {
            self.give_to_live(sums, live, left);
            Kind::Live
        } else {
            self.give_to_free(sums, left)
        };
        let heap = u32::try_from(self.arena).ok();
        let live_bytes = (live + if live != 0 { own } else { 0 }) as u32;
        Page { kind, content: self.content(), live_bytes, heap }
    }

    /// What is in a tcache is beside, too, and that of its thread.
    fn give_to_live(&self, sums: &mut Sums, live: u64, left: u64) {
        let beside = left - live;
        let (mut beside_left, mut live_left, mut arenas) = (beside, live, beside);
        for (piece, bytes) in &self.pieces {
            match piece {
                Piece::Live(class) => {
                    let part = beside_left * bytes / live_left;
                    let resident = &mut sums.classes[usize::from(*class)].resident;
                    resident.add(Kind::Live, *bytes);
                    resident.add(Kind::Beside, part);
                    (beside_left, live_left) = (beside_left - part, live_left - bytes);
                }
                Piece::Cached(_, heap) => {
                    sums.heaps[*heap].resident.add(Kind::Beside, *bytes);
                    arenas -= bytes;
                }
                _ => {}
            }
        }
        sums.resident.add(Kind::Live, live);
        sums.resident.add(Kind::Beside, beside);
        let arena = &mut sums.heaps[self.arena].resident;
        arena.add(Kind::Live, live);
        arena.add(Kind::Beside, arenas);
    }

    /// Returns what most of the page is.
    fn give_to_free(&self, sums: &mut Sums, left: u64) -> Kind {
        let of = |piece: &Piece| match piece {
            Piece::Cached(class, heap) => Some((Kind::Cached, Some(*class), *heap)),
            Piece::Fast(class) => Some((Kind::Depots, Some(*class), self.arena)),
            _ => None,
        };
        let listed: Vec<_> =
            self.pieces.iter().filter_map(|one| Some((of(&one.0)?, one.1))).collect();
        if listed.is_empty() {
            let top = self.sum(|piece| *piece == Piece::Top);
            let free = self.sum(|piece| *piece == Piece::Free);
            let is_own = top == 0 && free == 0;
            let kind = if is_own {
                Kind::Metadata
            } else if top > free {
                Kind::Dirty
            } else {
                Kind::Idle
            };
            sums.add(self.arena, None, kind, left);
            return kind;
        }
        let mut rest = (left, listed.iter().map(|(_, bytes)| bytes).sum::<u64>());
        for ((kind, class, heap), bytes) in &listed {
            let part = rest.0 * bytes / rest.1;
            sums.add(*heap, *class, *kind, part);
            rest = (rest.0 - part, rest.1 - bytes);
        }
        listed.iter().max_by_key(|(_, bytes)| *bytes).map_or(Kind::Idle, |((kind, ..), _)| *kind)
    }

    /// The class of which most is on the page: of live blocks, if there are any.
    fn content(&self) -> Content {
        let mut most: Vec<(u16, u64)> = Vec::new();
        for (piece, bytes) in &self.pieces {
            let Piece::Live(class) = piece else { continue };
            match most.iter_mut().find(|(one, _)| one == class) {
                Some((_, sum)) => *sum += bytes,
                None => most.push((*class, *bytes)),
            }
        }
        let most = most.into_iter().max_by_key(|(_, bytes)| *bytes);
        most.map_or(Content::Nothing, |(class, _)| Content::Small(class))
    }
}
