//! Made-up samples, for tests.

use crate::account::names::LOAM;
use crate::heap::figures::{Kind, Resident};
use crate::process::group::Limit;
use crate::top::sample::{History, Row, Sample};
use std::time::{Duration, Instant};

pub fn sample(at: Instant, resident_mib: u64) -> Sample {
    let mut heap = Resident::default();
    heap.add(Kind::Live, (resident_mib - 1) << 20);
    heap.add(Kind::Metadata, 1 << 19);
    let row =
        |name: &str, live_bytes| Row { name: name.to_owned(), live_bytes, resident_bytes: 2 << 20 };
    let live = Some(1 << 20);
    Sample {
        at,
        title: "process 7 (server)".to_owned(),
        resident_bytes: resident_mib << 20,
        peak_bytes: 100 << 20,
        names: &LOAM,
        heap,
        live_count: 12345,
        sizes: vec![row("112 bytes", live), row("16 bytes", live)],
        heaps: vec![row("central 0", live), row("server (7)", None)],
        limit: Some(Limit { used_bytes: 64 << 20, limit_bytes: 256 << 20 }),
    }
}

/// Two samples, two seconds apart.
pub fn history() -> History {
    let start = Instant::now();
    let mut history = History::new(7, sample(start, 10));
    history.add(sample(start + Duration::from_secs(2), 14));
    history
}
