//! A made recording: work of blocks that come and go, and sessions among them that stay.

use crate::plot::recording::placement::{Model, Place};
use crate::recording::about::Header;
use crate::recording::event::{Block, Entry};
use crate::recording::writer::Writer;
use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;

const SIZE: u64 = 100;
/// One in so many is a session.
const SESSIONS: u64 = 64;

/// In the first half blocks are taken, of which an eighth is freed soon; in the second what is no
/// session is freed.
pub fn write(path: &Path, event_count: u64, has_addresses: bool) {
    let header = Header { has_addresses, has_times: true, ..Header::new("made".into()) };
    let mut writer = Writer::new(File::create(path).unwrap(), &header).unwrap();
    let mut model = Model::default();
    let mut work: VecDeque<Place> = VecDeque::new();
    let mut taken = 0;
    for event in 0..event_count {
        let is_take = event < event_count / 2 && (event % 9 != 8 || work.is_empty());
        if is_take {
            let place = model.take(SIZE);
            let block =
                Block { entry: Entry::Malloc, size: SIZE, alignment: 0, address: None, stack: 0 };
            writer.take(event, 0, place.address, block).unwrap();
            taken += 1;
            if taken % SESSIONS != 0 {
                work.push_back(place);
            }
        } else if let Some(place) = work.pop_front() {
            writer.give(event, 0, place.address, Entry::Free).unwrap();
            model.give(place);
        }
    }
    writer.finish(Some("status 0".into()), None).unwrap();
}
