//! The blocks of a span, and what they are on its pages.

use crate::heap::figures::Kind;
use crate::heap::lists::Place;

/// Where each block of a span is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum State {
    Live,
    Free,
    Listed(Place),
}

/// The blocks of a span that are on a page, and how much of each is.
pub fn on_page(
    states: &[State],
    page: &std::ops::Range<u64>,
    block_bytes: u64,
) -> impl Iterator<Item = (State, u64)> {
    let (first, last) = (page.start / block_bytes, (page.end - 1) / block_bytes);
    let (start, end) = (page.start, page.end);
    (first..=last).filter_map(move |index| {
        let block = index * block_bytes..(index + 1) * block_bytes;
        let bytes = block.end.min(end) - block.start.max(start);
        Some((*states.get(index as usize)?, bytes))
    })
}

/// What the bytes of a page of a span are, and in whose heap. Live blocks keep all of it; without any,
/// blocks in lists do, each its part by length; else nobody.
pub fn divided(
    page_bytes: u64,
    live: u64,
    heap: Option<usize>,
    listed: &[(Place, u64)],
) -> Vec<(Kind, Option<usize>, u64)> {
    let listed_bytes: u64 = listed.iter().map(|(_, bytes)| bytes).sum();
    if live == 0 && listed.is_empty() {
        return vec![(Kind::Idle, heap, page_bytes)];
    }
    if live != 0 {
        let beside = listed.iter().map(|(place, bytes)| (Kind::Beside, Some(place.heap()), *bytes));
        let rest = page_bytes - live - listed_bytes;
        return [(Kind::Live, heap, live), (Kind::Beside, heap, rest)]
            .into_iter()
            .chain(beside)
            .collect();
    }
    let (mut left, mut left_listed) = (page_bytes, listed_bytes);
    let part = |(place, bytes): &(Place, u64)| {
        let part = left * bytes / left_listed;
        (left, left_listed) = (left - part, left_listed - bytes);
        (place.kind(), Some(place.heap()), part)
    };
    listed.iter().map(part).collect()
}

/// Free blocks that reach onto pages that have been given back are on no list.
pub fn mark_holes(states: &mut [State], holes: u64, block_bytes: u64, page_bytes: u64) {
    for page in (0..64).filter(|page| holes >> page & 1 == 1) {
        let first = page * page_bytes / block_bytes;
        let last = ((page + 1) * page_bytes - 1) / block_bytes;
        for index in first..=last {
            if let Some(state) = states.get_mut(index as usize) {
                *state = State::Free;
            }
        }
    }
}
