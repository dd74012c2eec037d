//! The figures as text.

use crate::numbers;
use crate::stats::figures::Stats;
use std::fmt::Write;

pub fn render(stats: &Stats) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, stats);
    out
}

fn write(out: &mut String, stats: &Stats) -> std::fmt::Result {
    writeln!(out, "{}", stats.process)?;
    let rows = [
        ("allocated", stats.allocated),
        ("active", stats.active),
        ("metadata", stats.metadata),
        ("resident", stats.resident),
        ("mapped", stats.mapped),
        ("retained", stats.retained),
        ("process resident", stats.process_resident.unwrap_or(0)),
        ("process resident, peak", stats.process_resident_peak.unwrap_or(0)),
    ];
    for (name, value) in rows {
        writeln!(out, "  {name:<26}{:>12}", numbers::bytes(value))?;
    }
    writeln!(out)?;
    let heads = ["live", "cached", "depots", "free", "spans", "resident"];
    write!(out, "  {:<26}", "blocks of")?;
    heads.iter().try_for_each(|head| write!(out, "{head:>12}"))?;
    writeln!(out)?;
    for bin in &stats.bins {
        write!(out, "  {:<26}", bin.size)?;
        for count in [bin.curregs, bin.cached, bin.depots, bin.free, bin.curslabs] {
            write!(out, "{count:>12}")?;
        }
        writeln!(out, "{:>12}", numbers::bytes(bin.resident))?;
    }
    writeln!(out)?;
    write!(out, "  {:<26}", "caches and centrals")?;
    let heads = ["allocated", "cached", "depots", "resident"];
    heads.iter().try_for_each(|head| write!(out, "{head:>12}"))?;
    writeln!(out)?;
    for heap in &stats.heaps {
        let figures = [heap.allocated.unwrap_or(0), heap.cached, heap.depots, heap.resident];
        write!(out, "  {:<26}", heap.name)?;
        figures.iter().try_for_each(|&figure| write!(out, "{:>12}", numbers::bytes(figure)))?;
        writeln!(out)?;
    }
    Ok(())
}
