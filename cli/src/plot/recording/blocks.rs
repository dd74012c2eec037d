//! The blocks that are live: where each is, and since when.

use crate::plot::recording::placement::{Place, Placement};
use crate::recording::event::{Event, What};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    pub place: Place,
    pub born_us: u64,
}

/// What an event does. A block that is resized goes and comes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub came: Option<Block>,
    pub went: Option<Block>,
}

pub struct Blocks {
    placement: Placement,
    live: Table,
}

impl Blocks {
    pub fn new(has_addresses: bool) -> Blocks {
        Blocks { placement: Placement::new(has_addresses), live: Table::default() }
    }

    pub fn change(&mut self, event: &Event) -> Change {
        let born_us = event.time_us;
        match &event.what {
            What::Take { object, block } => {
                let came = Block { place: self.placement.take(block), born_us };
                let went = self.live.replace(*object, Some(came));
                Change { came: Some(came), went }
            }
            What::Resize { object, block } => {
                let went = self.take_away(*object);
                let born_us = went.map_or(born_us, |before| before.born_us);
                let came = Block { place: self.placement.take(block), born_us };
                self.live.replace(*object, Some(came));
                Change { came: Some(came), went }
            }
            What::Give { object, .. } => Change { came: None, went: self.take_away(*object) },
            What::Touched { .. } | What::Resident { .. } | What::ThreadEnd => Change::default(),
        }
    }

    fn take_away(&mut self, object: u64) -> Option<Block> {
        let went = self.live.replace(object, None)?;
        self.placement.give(went.place);
        Some(went)
    }

    pub fn live(&self) -> impl Iterator<Item = Block> {
        self.live.leaves.iter().flatten().flat_map(|leaf| leaf.blocks.iter().copied().flatten())
    }
}

/// Blocks by their numbers, which follow each other: those of one time stand together, and their
/// leaf goes when they have gone.
#[derive(Default)]
struct Table {
    leaves: Vec<Option<Box<Leaf>>>,
}

struct Leaf {
    count: usize,
    blocks: [Option<Block>; LEAF_BLOCKS],
}

const LEAF_BLOCKS: usize = 1024;

impl Table {
    fn replace(&mut self, object: u64, block: Option<Block>) -> Option<Block> {
        let index = usize::try_from(object).ok()?;
        let (at, within) = (index / LEAF_BLOCKS, index % LEAF_BLOCKS);
        if at >= self.leaves.len() {
            // Of what has not come nothing goes.
            block?;
            self.leaves.resize_with(at + 1, || None);
        }
        let place = &mut self.leaves[at];
        if place.is_none() {
            block?;
        }
        let leaf =
            place.get_or_insert_with(|| Box::new(Leaf { count: 0, blocks: [None; LEAF_BLOCKS] }));
        let before = std::mem::replace(&mut leaf.blocks[within], block);
        leaf.count = leaf.count + usize::from(block.is_some()) - usize::from(before.is_some());
        if leaf.count == 0 {
            *place = None;
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_known_by_their_numbers_until_they_go() {
        let mut table = Table::default();
        let block = |address| Some(Block { place: Place::new(address, 10), born_us: 0 });
        assert_eq!(table.replace(5000, None), None);
        assert_eq!(table.replace(5, block(1)), None);
        assert_eq!(table.replace(3000, block(2)), None);
        assert_eq!(table.replace(5, block(3)), block(1));
        assert_eq!(table.replace(5, None), block(3));
        assert!(table.leaves[0].is_none() && table.leaves[2].is_some());
        assert_eq!(table.replace(3001, None), None);
        assert_eq!(table.replace(3000, None), block(2));
        assert_eq!(size_of::<Option<Block>>(), 24);
    }
}
