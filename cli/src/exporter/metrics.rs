//! What was read of all processes, and what reading them takes, as metrics.

use crate::exporter::fleet::Fleet;
use crate::exporter::read::Reading;
use crate::exposition::{Exposition, Format, Gauge};
use std::time::{Duration, UNIX_EPOCH};

const USAGE: Gauge = Gauge {
    name: "loam_memory_usage_bytes",
    help: "Resident memory of the process by what it is; all states together are about the whole.",
};
const PINNED: Gauge = Gauge {
    name: "loam_memory_pinned_bytes",
    help: "Resident pages that live blocks are on: the states live and beside.",
};
const RESIDENT: Gauge = Gauge {
    name: "loam_memory_resident_bytes",
    help: "Resident memory of the process, as the kernel counts it.",
};
const PEAK: Gauge =
    Gauge { name: "loam_memory_resident_peak_bytes", help: "The same at its highest." };
const BLOCKS: Gauge = Gauge { name: "loam_live_blocks", help: "Blocks that the program has." };
const ALLOCATOR: Gauge =
    Gauge { name: "loam_process_allocator_info", help: "Which malloc the process has; always 1." };
const READ: Gauge = Gauge {
    name: "loam_exporter_read_duration_seconds",
    help: "How long it took to read the process.",
};
const READ_AT: Gauge = Gauge {
    name: "loam_exporter_read_timestamp_seconds",
    help: "When the process was read, since 1970.",
};
const PROCESSES: Gauge = Gauge {
    name: "loam_exporter_processes",
    help: "Processes of this user: on loam, on glibc if asked for, others, those that cannot be read, those not read yet.",
};
const SCRAPE: Gauge = Gauge {
    name: "loam_exporter_scrape_duration_seconds",
    help: "How long it took to read what was due for this answer.",
};

type Figure = fn(&Reading) -> Option<f64>;
const FIGURES: [(Gauge, Figure); 6] = [
    (PINNED, |reading| Some(reading.pinned_bytes as f64)),
    (RESIDENT, |reading| Some(reading.resident_bytes as f64)),
    (PEAK, |reading| reading.peak_bytes.map(|bytes| bytes as f64)),
    (BLOCKS, |reading| Some(reading.live_count as f64)),
    (READ, |reading| Some(reading.took.as_secs_f64())),
    (READ_AT, |reading| Some(reading.at.duration_since(UNIX_EPOCH).ok()?.as_secs_f64())),
];

pub fn render(fleet: &Fleet, took: Duration, format: Format) -> String {
    let mut out = Exposition::new(format);
    let processes: Vec<(String, &Reading)> =
        fleet.readings().map(|reading| (reading.pid.to_string(), reading)).collect();
    out.begin(&USAGE);
    for (pid, reading) in &processes {
        for (state, bytes) in &reading.states {
            let labels = [("pid", pid.as_str()), ("process", &reading.name), ("state", state)];
            out.sample(&USAGE, &labels, bytes);
        }
    }
    for (gauge, figure) in &FIGURES {
        out.begin(gauge);
        for (pid, reading) in &processes {
            if let Some(value) = figure(reading) {
                out.sample(gauge, &[("pid", pid), ("process", &reading.name)], value);
            }
        }
    }
    out.begin(&ALLOCATOR);
    for (pid, reading) in &processes {
        let labels =
            [("pid", pid.as_str()), ("process", &reading.name), ("allocator", reading.allocator)];
        out.sample(&ALLOCATOR, &labels, 1);
    }
    out.begin(&PROCESSES);
    let on_loam = processes.iter().filter(|(_, reading)| reading.allocator == "loam").count();
    for (state, count) in [
        ("loam", on_loam),
        ("glibc", processes.len() - on_loam),
        ("other", fleet.other_count()),
        ("unreadable", fleet.unreadable_count()),
        ("waiting", fleet.waiting_count),
    ] {
        out.sample(&PROCESSES, &[("state", state)], count);
    }
    out.begin(&SCRAPE);
    out.sample(&SCRAPE, &[], took.as_secs_f64());
    out.finish()
}
