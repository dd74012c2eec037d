//! Links of long lists, read in the order of the memory: a list of fastbins leads all over its arena,
//! and to read a page for each of its chunks would take longer than all else.

use crate::heap::glibc::memory::PAGE_BYTES;
use crate::heap::glibc::regions::{self, FLAGS, Region};
use crate::heap::residency::Pages;
use crate::heap::source::Source;
use anyhow::Result;
use std::collections::HashMap;

/// Of chunks as long as fastbins have them.
const SIZES: std::ops::RangeInclusive<u64> = 32..=176;
const PIECE_BYTES: u64 = 1 << 20;
/// More are read where lists lead.
const COUNT_MAX: usize = 1 << 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    at: u64,
    /// Of the chunk.
    pub bytes: u64,
    /// As it stands there.
    pub word: u64,
}

#[derive(Default)]
pub struct Links {
    pieces: HashMap<u64, Piece>,
    count: usize,
}

/// By address; and where those of each page begin, and those of the last one end.
struct Piece {
    links: Vec<Link>,
    starts: Vec<usize>,
}

impl Links {
    /// All that may be such links: where they lead to, there is a chunk, or nothing.
    pub fn read(
        source: &dyn Source,
        regions: &[Region],
        next: impl Fn(u64, u64) -> u64,
    ) -> Result<Links> {
        let mut links = Links::default();
        let leads_on = |link: &Link| {
            let next = next(link.at, link.word);
            next == 0 || regions::holds(regions, next)
        };
        for region in regions {
            let mut start = region.start / PIECE_BYTES * PIECE_BYTES;
            while start < region.end && links.count < COUNT_MAX {
                let resident =
                    source.resident(start, (PIECE_BYTES / PAGE_BYTES) as usize, PAGE_BYTES)?;
                links.add(&Pages::read(source, start, &resident, PAGE_BYTES)?, &leads_on);
                start += PIECE_BYTES;
            }
        }
        Ok(links)
    }

    /// What is on two pages is left out.
    fn add(&mut self, pages: &Pages, leads_on: &impl Fn(&Link) -> bool) {
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let mut piece = Piece { links: Vec::new(), starts: vec![0] };
        for (page, bytes) in (0..).zip(pages.bytes.chunks_exact(PAGE_BYTES as usize)) {
            for (index, bytes) in (0..).zip(bytes.windows(24).step_by(16)) {
                let size = word(&bytes[8..16]) & !FLAGS;
                let at = pages.start + page * PAGE_BYTES + index * 16;
                let link = Link { at, bytes: size, word: word(&bytes[16..24]) };
                if SIZES.contains(&size) && leads_on(&link) {
                    piece.links.push(link);
                }
            }
            piece.starts.push(piece.links.len());
        }
        self.count += piece.links.len();
        self.pieces.insert(pages.start, piece);
    }

    pub fn get(&self, chunk: u64) -> Option<Link> {
        let start = chunk / PIECE_BYTES * PIECE_BYTES;
        let piece = self.pieces.get(&start)?;
        let page = ((chunk - start) / PAGE_BYTES) as usize;
        let links = &piece.links[piece.starts[page]..piece.starts[page + 1]];
        links.binary_search_by_key(&chunk, |link| link.at).ok().map(|index| links[index])
    }
}
