//! Where blocks are: as the recording has it, or by a model of an allocator where it does not.

use crate::recording::event::Block;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::num::NonZeroU64;

/// Where a block is, as long as was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub address: u64,
    bytes: NonZeroU64,
}

impl Place {
    /// At least one byte, and none beyond the last address.
    pub fn new(address: u64, bytes: u64) -> Place {
        let bytes = bytes.min(u64::MAX - address).min(BYTES_MAX);
        Place { address, bytes: NonZeroU64::new(bytes).unwrap_or(NonZeroU64::MIN) }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }
}

const BYTES_MAX: u64 = 1 << 46;

pub enum Placement {
    Recorded,
    Model(Model),
}

impl Placement {
    pub fn new(has_addresses: bool) -> Placement {
        if has_addresses { Placement::Recorded } else { Placement::Model(Model::default()) }
    }

    pub fn take(&mut self, block: &Block) -> Place {
        match self {
            Placement::Recorded => Place::new(block.address.unwrap_or(0), block.size),
            Placement::Model(model) => model.take(block.size),
        }
    }

    pub fn give(&mut self, place: Place) {
        if let Placement::Model(model) = self {
            model.give(place);
        }
    }
}

/// Runs of places of one size each, of which the lowest free one is taken: as most allocators have
/// it, without their threads' caches.
#[derive(Default)]
pub struct Model {
    /// By size, those that are free.
    free: HashMap<u64, BinaryHeap<Reverse<u64>>>,
    end: u64,
}

const RUN_BYTES: u64 = 64 << 10;
const PAGE_BYTES: u64 = 4096;

impl Model {
    pub fn take(&mut self, size: u64) -> Place {
        let bytes = class_bytes(size);
        let free = self.free.entry(bytes).or_default();
        if free.is_empty() {
            let count = (RUN_BYTES / bytes).max(1);
            let run = self.end;
            free.extend((0..count).map(|index| Reverse(run + index * bytes)));
            self.end = (run + count * bytes).next_multiple_of(PAGE_BYTES);
        }
        let address = free.pop().map_or(self.end, |Reverse(address)| address);
        Place::new(address, size)
    }

    pub fn give(&mut self, place: Place) {
        self.free.entry(class_bytes(place.bytes())).or_default().push(Reverse(place.address));
    }
}

/// The largest size of its class: a multiple of 16, and of an eighth of the power of two below.
pub fn class_bytes(size: u64) -> u64 {
    let size = size.clamp(1, BYTES_MAX);
    let step = (1_u64 << size.ilog2() >> 3).max(16);
    size.next_multiple_of(step)
}

/// The least size of the class.
pub fn class_least(class_bytes: u64) -> u64 {
    let step = (1_u64 << (class_bytes - 1).max(1).ilog2() >> 3).max(16);
    class_bytes - step + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_place_of_a_size_is_taken_again() {
        let mut model = Model::default();
        let places = [100, 100, 100, 200_000].map(|size| model.take(size));
        assert_eq!(places[1].address - places[0].address, 112);
        assert_eq!(places[3], Place::new(4096 * 16, 200_000));
        model.give(places[1]);
        model.give(places[0]);
        assert_eq!(model.take(97).address, places[0].address);
        assert_eq!(model.take(112).address, places[1].address);
    }

    #[test]
    fn sizes_become_an_eighth_larger_at_most() {
        for (size, expected) in [(0, 16), (16, 16), (17, 32), (129, 144), (1025, 1152)] {
            assert_eq!(class_bytes(size), expected);
        }
        for size in 1..20_000 {
            let (least, most) = (class_least(class_bytes(size)), class_bytes(size));
            assert!(least <= size && class_bytes(least) == most, "{size}");
            assert!(least == 1 || class_bytes(least - 1) < most, "{size}");
        }
        assert!((1..100_000).all(|size| class_bytes(size) <= size + 15.max(size / 8)));
    }
}
