//! What has grown and shrunk, as text.

use crate::explain::change::{Change, signed};
use crate::explain::text::wrap;
use crate::numbers;
use std::fmt::Write;

const LINES_MAX: usize = 8;

pub fn render(change: &Change) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, change);
    out
}

fn write(out: &mut String, change: &Change) -> std::fmt::Result {
    write!(out, "{}: {} in memory", change.process, numbers::bytes(change.resident_bytes))?;
    let size = numbers::figure(change.change_bytes.unsigned_abs() as f64, "B");
    match change.change_bytes {
        0 => writeln!(out, ", as much as earlier")?,
        more if more > 0 => writeln!(out, ", {size} more than earlier")?,
        _ => writeln!(out, ", {size} less than earlier")?,
    }
    write_parts(out, change)?;
    write_sizes(out, change)?;
    writeln!(out)?;
    change.words.iter().try_for_each(|text| wrap(out, text))
}

fn write_parts(out: &mut String, change: &Change) -> std::fmt::Result {
    if change.parts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n  {:<38}{:>12}{:>12}{:>13}", "in memory", "earlier", "now", "change")?;
    for part in &change.parts {
        let [earlier, now] = [part.earlier_bytes, part.bytes].map(numbers::bytes);
        let change = signed(part.change_bytes);
        writeln!(out, "  {:<38}{earlier:>12}{now:>12}{change:>13}", part.name)?;
    }
    Ok(())
}

fn write_sizes(out: &mut String, change: &Change) -> std::fmt::Result {
    if change.sizes.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n  {:<38}{:>12}{:>12}{:>13}",
        "blocks by size", "live blocks", "live", "beside"
    )?;
    for size in change.sizes.iter().take(LINES_MAX) {
        let name = format!("{} bytes", size.block_bytes);
        let (live, beside) = (signed(size.live_bytes), signed(size.beside_bytes));
        writeln!(out, "  {name:<38}{:>+12}{live:>12}{beside:>13}", size.live_count)?;
    }
    match change.sizes.len().checked_sub(LINES_MAX) {
        Some(more) if more > 0 => writeln!(out, "  and {more} that have changed less"),
        _ => Ok(()),
    }
}
