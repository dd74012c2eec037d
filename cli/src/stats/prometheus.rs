//! The figures as Prometheus reads them.

use crate::exposition::{Exposition, Format, Gauge};
use crate::stats::figures::{Bin, Stats};

type Figure = fn(&Stats) -> Option<u64>;

const fn gauge(name: &'static str, help: &'static str) -> Gauge {
    Gauge { name, help }
}

const WHOLE: [(Gauge, Figure); 9] = [
    (gauge("loam_allocated_bytes", "In blocks that the program has."), |of| Some(of.allocated)),
    (gauge("loam_active_bytes", "In pages that are in use."), |of| Some(of.active)),
    (gauge("loam_metadata_bytes", "Of loam's own records, in memory."), |of| Some(of.metadata)),
    (gauge("loam_resident_bytes", "Of loam's pages, in memory."), |of| Some(of.resident)),
    (gauge("loam_mapped_bytes", "Of address space."), |of| Some(of.mapped)),
    (gauge("loam_retained_bytes", "Of address space that is not in memory."), |of| {
        Some(of.retained)
    }),
    (gauge("loam_process_resident_bytes", "Of the process, in memory."), |of| of.process_resident),
    (gauge("loam_process_resident_peak_bytes", "The same at its highest."), |of| {
        of.process_resident_peak
    }),
    (gauge("loam_blocks", "Blocks that the program has."), |of| Some(of.blocks)),
];
const SIZE_BLOCKS: Gauge = gauge("loam_size_blocks", "Small blocks by size and by where they are.");
const SIZE_RESIDENT: Gauge =
    gauge("loam_size_resident_bytes", "Of spans of small blocks, in memory, by size.");
const HEAP_RESIDENT: Gauge = gauge(
    "loam_heap_resident_bytes",
    "Of the spans and lists of each cache and central, in memory.",
);

type Place = (&'static str, fn(&Bin) -> u64);
const PLACES: [Place; 4] = [
    ("live", |bin| bin.curregs),
    ("cached", |bin| bin.cached),
    ("depots", |bin| bin.depots),
    ("free", |bin| bin.free),
];

pub fn render(stats: &Stats) -> String {
    let mut out = Exposition::new(Format::Prometheus);
    // Which process it is: several are often read by one.
    let pid = stats.pid.map(|pid| pid.to_string());
    let of = || {
        let pid = pid.as_deref().map(|pid| ("pid", pid));
        pid.into_iter().chain([("process", stats.name.as_str())])
    };
    for (gauge, figure) in &WHOLE {
        if let Some(value) = figure(stats) {
            out.begin(gauge);
            out.sample(gauge, &of().collect::<Vec<_>>(), value);
        }
    }
    out.begin(&SIZE_BLOCKS);
    for bin in &stats.bins {
        let size = bin.size.to_string();
        for (place, count) in PLACES {
            let labels = of().chain([("size", size.as_str()), ("place", place)]);
            out.sample(&SIZE_BLOCKS, &labels.collect::<Vec<_>>(), count(bin));
        }
    }
    out.begin(&SIZE_RESIDENT);
    for bin in &stats.bins {
        let size = bin.size.to_string();
        let labels = of().chain([("size", size.as_str())]);
        out.sample(&SIZE_RESIDENT, &labels.collect::<Vec<_>>(), bin.resident);
    }
    out.begin(&HEAP_RESIDENT);
    for (index, heap) in stats.heaps.iter().enumerate() {
        let index = index.to_string();
        let labels = of().chain([("heap", index.as_str()), ("name", heap.name.as_str())]);
        out.sample(&HEAP_RESIDENT, &labels.collect::<Vec<_>>(), heap.resident);
    }
    out.finish()
}
