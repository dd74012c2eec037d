//! The blocks that are live, by address: those that are near each other stand near each other here,
//! as a program takes and frees them.

use crate::recording::numbered::NumberMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// Less than 2^40 - 1.
    pub number: u64,
    pub size: u64,
}

/// Of 64 KiB of addresses, an entry for each 16 of them: 0, or an object's number and 1 above the
/// size.
type Leaf = [u64; LEAF_ENTRIES];

const LEAF_SHIFT: u32 = 16;
const GRANULE: u64 = 16;
const LEAF_ENTRIES: usize = (1 << LEAF_SHIFT) / GRANULE as usize;
const SIZE_BITS: u32 = 24;
/// Stands for all sizes from here on, which are in a map.
const SIZE_ELSEWHERE: u64 = (1 << SIZE_BITS) - 1;
const RECENT: usize = 256;
const NO_LEAF: (u64, u32) = (u64::MAX, 0);

#[derive(Debug)]
pub struct Live {
    leaves: Vec<Box<Leaf>>,
    /// By the addresses' upper bits.
    leaf_of: NumberMap<u32>,
    /// Those of `leaf_of` that were asked for last.
    recent: [(u64, u32); RECENT],
    sizes: NumberMap<u64>,
    /// Blocks that begin between two granules.
    odd: NumberMap<Object>,
    count: u64,
}

impl Default for Live {
    fn default() -> Live {
        Live {
            leaves: Vec::new(),
            leaf_of: NumberMap::default(),
            recent: [NO_LEAF; RECENT],
            sizes: NumberMap::default(),
            odd: NumberMap::default(),
            count: 0,
        }
    }
}

impl Live {
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Gives the one that was there.
    #[inline]
    pub fn insert(&mut self, address: u64, object: Object) -> Option<Object> {
        let before = self.put(address, object);
        self.count += u64::from(before.is_none());
        before
    }

    #[inline]
    pub fn remove(&mut self, address: u64) -> Option<Object> {
        let removed = if is_odd(address) {
            self.odd.remove(&address)
        } else {
            let leaf = self.leaf(address)?;
            let entry = std::mem::take(&mut self.leaves[leaf][entry_of(address)]);
            self.unpacked(address, entry)
        };
        self.count -= u64::from(removed.is_some());
        removed
    }

    pub fn get(&mut self, address: u64) -> Option<Object> {
        if is_odd(address) {
            return self.odd.get(&address).copied();
        }
        let leaf = self.leaf(address)?;
        let entry = self.leaves[leaf][entry_of(address)];
        (entry != 0).then(|| self.shown(address, entry))
    }

    /// What stands there, to have it in the cache.
    pub fn entry(&mut self, address: u64) -> u64 {
        self.leaf(address).map_or(0, |leaf| self.leaves[leaf][entry_of(address)])
    }

    /// Addresses and sizes of those of at least so many bytes.
    pub fn at_least(&self, bytes: u64) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        for (&above, &leaf) in &self.leaf_of {
            for (at, &entry) in self.leaves[leaf as usize].iter().enumerate() {
                let address = (above << LEAF_SHIFT) + at as u64 * GRANULE;
                if entry != 0 && self.shown(address, entry).size >= bytes {
                    found.push((address, self.shown(address, entry).size));
                }
            }
        }
        let odd = self.odd.iter().filter(|(_, object)| object.size >= bytes);
        found.extend(odd.map(|(&address, object)| (address, object.size)));
        found
    }

    #[inline]
    fn put(&mut self, address: u64, object: Object) -> Option<Object> {
        if is_odd(address) {
            return self.odd.insert(address, object);
        }
        let leaf = match self.leaf(address) {
            Some(leaf) => leaf,
            None => self.add_leaf(address),
        };
        let packed = (object.number + 1) << SIZE_BITS | object.size.min(SIZE_ELSEWHERE);
        let entry = std::mem::replace(&mut self.leaves[leaf][entry_of(address)], packed);
        let before = self.unpacked(address, entry);
        if object.size >= SIZE_ELSEWHERE {
            self.sizes.insert(address, object.size);
        }
        before
    }

    fn leaf(&mut self, address: u64) -> Option<usize> {
        let above = address >> LEAF_SHIFT;
        let recent = &mut self.recent[above as usize % RECENT];
        if recent.0 != above {
            *recent = (above, *self.leaf_of.get(&above)?);
        }
        Some(recent.1 as usize)
    }

    #[inline(never)]
    fn add_leaf(&mut self, address: u64) -> usize {
        let leaf = self.leaves.len();
        // Pages of it that stay zero are not in memory.
        let zero = vec![0; LEAF_ENTRIES].into_boxed_slice();
        self.leaves.extend(<Box<Leaf>>::try_from(zero));
        self.leaf_of.insert(address >> LEAF_SHIFT, leaf as u32);
        leaf
    }

    fn shown(&self, address: u64, entry: u64) -> Object {
        let size = match entry & SIZE_ELSEWHERE {
            SIZE_ELSEWHERE => self.sizes.get(&address).copied().unwrap_or(SIZE_ELSEWHERE),
            size => size,
        };
        Object { number: (entry >> SIZE_BITS) - 1, size }
    }

    /// Of an entry that is no longer there.
    #[inline]
    fn unpacked(&mut self, address: u64, entry: u64) -> Option<Object> {
        if entry == 0 {
            return None;
        }
        let object = self.shown(address, entry);
        if object.size >= SIZE_ELSEWHERE {
            self.sizes.remove(&address);
        }
        Some(object)
    }
}

fn is_odd(address: u64) -> bool {
    !address.is_multiple_of(GRANULE)
}

fn entry_of(address: u64) -> usize {
    (address / GRANULE) as usize % LEAF_ENTRIES
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_is_a_map_wherever_blocks_are_and_whatever_their_sizes() {
        let (mut live, mut model) = (Live::default(), BTreeMap::new());
        let mut random = 1_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % below
        };
        for number in 0..30_000 {
            let step = [1, 8, 16, 4096, 1 << 30][next(5) as usize];
            let address = u64::MAX / 2 + 1 + step * next(300);
            let size = [0, 100, SIZE_ELSEWHERE - 1, SIZE_ELSEWHERE, 1 << 40][next(5) as usize];
            let object = Object { number, size };
            match next(3) {
                0 => assert_eq!(live.remove(address), model.remove(&address)),
                1 => assert_eq!(live.get(address), model.get(&address).copied()),
                _ => assert_eq!(live.insert(address, object), model.insert(address, object)),
            }
            assert_eq!(live.len(), model.len() as u64);
        }
        let mut large = live.at_least(100);
        large.sort_unstable();
        let expected = model.iter().map(|(&address, object)| (address, object.size));
        assert_eq!(large, expected.filter(|&(_, size)| size >= 100).collect::<Vec<_>>());
        assert!(large.len() > 100);
    }
}
