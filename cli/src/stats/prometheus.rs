//! The text format that Prometheus reads:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>

use crate::stats::figures::Stats;
use std::fmt::Write;

pub fn render(stats: &Stats) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, stats);
    out
}

fn write(out: &mut String, stats: &Stats) -> std::fmt::Result {
    let of = process_labels(stats);
    let gauges = [
        ("allocated_bytes", "In blocks that the program has.", Some(stats.allocated)),
        ("active_bytes", "In pages that are in use.", Some(stats.active)),
        ("metadata_bytes", "Of loam's own records, in memory.", Some(stats.metadata)),
        ("resident_bytes", "Of loam's pages, in memory.", Some(stats.resident)),
        ("mapped_bytes", "Of address space.", Some(stats.mapped)),
        ("retained_bytes", "Of address space that is not in memory.", Some(stats.retained)),
        ("process_resident_bytes", "Of the process, in memory.", stats.process_resident),
        ("process_resident_peak_bytes", "The same at its highest.", stats.process_resident_peak),
        ("blocks", "Blocks that the program has.", Some(stats.blocks)),
    ];
    for (name, help, value) in gauges {
        if let Some(value) = value {
            head(out, name, help)?;
            writeln!(out, "loam_{name}{{{of}}} {value}")?;
        }
    }
    head(out, "size_blocks", "Small blocks by size and by where they are.")?;
    for bin in &stats.bins {
        for (place, count) in [
            ("live", bin.curregs),
            ("cached", bin.cached),
            ("depots", bin.depots),
            ("free", bin.free),
        ] {
            let size = bin.size;
            writeln!(out, "loam_size_blocks{{{of},size=\"{size}\",place=\"{place}\"}} {count}")?;
        }
    }
    head(out, "size_resident_bytes", "Of spans of small blocks, in memory, by size.")?;
    for bin in &stats.bins {
        let (size, resident) = (bin.size, bin.resident);
        writeln!(out, "loam_size_resident_bytes{{{of},size=\"{size}\"}} {resident}")?;
    }
    head(
        out,
        "heap_resident_bytes",
        "Of the spans and lists of each cache and central, in memory.",
    )?;
    for (index, heap) in stats.heaps.iter().enumerate() {
        let (name, resident) = (quoted(&heap.name), heap.resident);
        let labels = format!("{of},heap=\"{index}\",name=\"{name}\"");
        writeln!(out, "loam_heap_resident_bytes{{{labels}}} {resident}")?;
    }
    Ok(())
}

/// Which process it is: several are often read by one.
fn process_labels(stats: &Stats) -> String {
    let name = quoted(&stats.name);
    match stats.pid {
        Some(pid) => format!("pid=\"{pid}\",process=\"{name}\""),
        None => format!("process=\"{name}\""),
    }
}

fn quoted(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn head(out: &mut String, name: &str, help: &str) -> std::fmt::Result {
    writeln!(out, "# HELP loam_{name} {help}\n# TYPE loam_{name} gauge")
}
