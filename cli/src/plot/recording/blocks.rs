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
    live: Table<Block>,
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
            What::Touched { .. }
            | What::Resident { .. }
            | What::Mapped { .. }
            | What::ThreadEnd => Change::default(),
        }
    }

    fn take_away(&mut self, object: u64) -> Option<Block> {
        let went = self.live.replace(object, None)?;
        self.placement.give(went.place);
        Some(went)
    }

    /// With their numbers.
    pub fn live(&self) -> impl Iterator<Item = (u64, Block)> {
        self.live.iter()
    }
}

/// What is known of blocks, by their numbers, which follow each other: those of one time stand
/// together, and their leaf goes when they have gone.
pub struct Table<T> {
    leaves: Vec<Option<Box<Leaf<T>>>>,
}

struct Leaf<T> {
    count: usize,
    known: [Option<T>; LEAF_BLOCKS],
}

const LEAF_BLOCKS: usize = 1024;

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { leaves: Vec::new() }
    }
}

impl<T: Copy> Table<T> {
    pub fn replace(&mut self, object: u64, known: Option<T>) -> Option<T> {
        let index = usize::try_from(object).ok()?;
        let (at, within) = (index / LEAF_BLOCKS, index % LEAF_BLOCKS);
        if at >= self.leaves.len() {
            // Of what has not come nothing goes.
            known?;
            self.leaves.resize_with(at + 1, || None);
        }
        let place = &mut self.leaves[at];
        if place.is_none() {
            known?;
        }
        let leaf =
            place.get_or_insert_with(|| Box::new(Leaf { count: 0, known: [None; LEAF_BLOCKS] }));
        let before = std::mem::replace(&mut leaf.known[within], known);
        leaf.count = leaf.count + usize::from(known.is_some()) - usize::from(before.is_some());
        if leaf.count == 0 {
            *place = None;
        }
        before
    }

    pub fn get(&self, object: u64) -> Option<T> {
        let index = usize::try_from(object).ok()?;
        let leaf = self.leaves.get(index / LEAF_BLOCKS)?.as_ref()?;
        leaf.known[index % LEAF_BLOCKS]
    }

    fn iter(&self) -> impl Iterator<Item = (u64, T)> {
        let leaves = self.leaves.iter().enumerate();
        let leaves = leaves.filter_map(|(at, leaf)| Some((at * LEAF_BLOCKS, leaf.as_ref()?)));
        leaves.flat_map(|(first, leaf)| {
            let known = leaf.known.iter().enumerate();
            known.filter_map(move |(at, known)| Some(((first + at) as u64, (*known)?)))
        })
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
        assert_eq!((table.get(3000), table.get(3001), table.get(5)), (block(2), None, None));
        assert_eq!(table.iter().collect::<Vec<_>>(), [(3000, block(2).unwrap())]);
        assert_eq!(table.replace(3000, None), block(2));
        assert_eq!(size_of::<Option<Block>>(), 24);
    }
}
