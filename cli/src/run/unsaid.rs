//! What a process would have said of itself at its end, had it not been killed.

use crate::heap::figures::{Figures, Kind};
use crate::heap::live::Live;
use crate::heap::walk;
use nix::unistd::Pid;
use serde_json::json;

/// `None` of a process that is not on loam, or that nobody may look into.
pub fn line(pid: Pid) -> Option<String> {
    let figures = walk::of_loam(&Live::open(pid.as_raw()).ok()?).ok()?;
    Some(json_of(pid, &figures).to_string() + "\n")
}

/// By the keys of the library's own statistics. What was given back is not known from outside.
fn json_of(pid: Pid, figures: &Figures) -> serde_json::Value {
    const FREE: [Kind; 5] = [Kind::Beside, Kind::Idle, Kind::Cached, Kind::Depots, Kind::Dirty];
    json!({
        "process_id": pid.as_raw(),
        "small_used_bytes": figures.small.bytes,
        "middle_used_bytes": figures.middle.bytes,
        "large_used_bytes": figures.large.bytes,
        "huge_used_bytes": figures.huge.bytes,
        "free_bytes": FREE.iter().map(|kind| figures.resident.of(*kind)).sum::<u64>(),
    })
}
