//! What each block pins at a moment.

use crate::heap::pinned::{self, Pinned};
use crate::plot::recording::pages::{PAGE_BYTES, edges};
use crate::plot::recording::placement::Place;
use crate::recording::numbered::NumberMap;

/// Of pages that blocks begin or end on, what live blocks have there.
pub struct Parts {
    live_bytes: NumberMap<u64>,
}

impl Parts {
    pub fn of(live: impl Iterator<Item = Place>) -> Parts {
        let mut live_bytes: NumberMap<u64> = NumberMap::default();
        for (page, bytes) in live.flat_map(edges) {
            *live_bytes.entry(page).or_default() += bytes;
        }
        Parts { live_bytes }
    }

    pub fn pinned(&self, place: Place) -> Pinned {
        let (mut sum, mut within) = (Pinned::default(), place.bytes());
        for (page, bytes) in edges(place) {
            let live = self.live_bytes.get(&page).copied().unwrap_or(bytes);
            sum += pinned::part(PAGE_BYTES, live, bytes);
            within -= bytes;
        }
        // Pages between are the block's alone.
        sum += Pinned { bytes: within as f64, beside: 0.0 };
        sum
    }
}
