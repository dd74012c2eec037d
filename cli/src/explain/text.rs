//! The report as text.

use crate::account::malloc::Malloc;
use crate::account::report::{HeapLine, Parts, Report, Size};
use crate::numbers;
use std::fmt::Write;

const LINES_MAX: usize = 8;
const WIDTH: usize = 100;

pub fn render(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, report);
    out
}

fn write(out: &mut String, report: &Report) -> std::fmt::Result {
    write!(out, "{}: {} ", report.process, numbers::bytes(report.resident_bytes))?;
    match (report.is_live, report.peak_resident_bytes) {
        (true, Some(peak)) => writeln!(out, "in memory, at most {}", numbers::bytes(peak))?,
        (true, None) => writeln!(out, "in memory")?,
        (false, _) => writeln!(out, "in it")?,
    }
    if let Some(malloc) = &report.malloc {
        write_malloc(out, malloc)?;
    }
    writeln!(out)?;
    for (name, size) in report.parts().into_iter().filter(|(_, size)| *size != 0) {
        write_row(out, name, &numbers::bytes(size), size as f64, report)?;
    }
    let unexplained = report.unexplained_bytes;
    let sign = if unexplained < 0 { "-" } else { "" };
    let size = sign.to_owned() + &numbers::bytes(unexplained.unsigned_abs());
    write_row(out, "unexplained", &size, unexplained as f64, report)?;
    if let Some(left_out) = report.left_out_bytes {
        let left_out = numbers::bytes(left_out);
        writeln!(out, "  not in the core: {left_out} of mapped files that nobody has written to")?;
    }
    let names = report.heap.names();
    write_sizes(out, names.sizes, &report.sizes)?;
    write_heaps(out, names.heaps, &report.heaps)?;
    for text in &report.advice {
        writeln!(out)?;
        wrap(out, text)?;
    }
    Ok(())
}

/// Which malloc it is, and what it has.
fn write_malloc(out: &mut String, malloc: &Malloc) -> std::fmt::Result {
    let Malloc { name, counted, .. } = malloc;
    let version = counted.version.as_deref().unwrap_or("of a version that its file does not tell");
    let count =
        |count: u64, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let text = format!(
        "on {name} {version}: {}, {}, {}",
        count(counted.arena_count, "arena"),
        count(counted.tcache_count, "tcache"),
        count(counted.mapped_count, "mapped block"),
    );
    wrap(out, &text)?;
    wrap(out, &format!("its memory shows {}", counted.layout.join("; ")))
}

fn write_row(
    out: &mut String,
    name: &str,
    size: &str,
    value: f64,
    report: &Report,
) -> std::fmt::Result {
    let share = numbers::percent(value / (report.resident_bytes as f64).max(1.0));
    writeln!(out, "  {name:<38}{size:>12}{share:>9}")
}

fn write_sizes(out: &mut String, title: &str, sizes: &[Size]) -> std::fmt::Result {
    if sizes.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    writeln!(
        out,
        "  {:<26}{:>12}{:>12}{:>12}{:>12}{:>12}",
        title, "in memory", "live", "beside", "free pages", "live blocks"
    )?;
    for size in sizes.iter().take(LINES_MAX) {
        writeln!(
            out,
            "  {:<26}{:>12}{:>12}{:>12}{:>12}{:>12}",
            format!("{} bytes", size.block_bytes),
            numbers::bytes(size.resident_bytes),
            numbers::bytes(size.live_bytes),
            numbers::bytes(size.beside_bytes),
            numbers::bytes(size.idle_bytes),
            size.live_count
        )?;
    }
    write_more(out, sizes.len())
}

fn write_heaps(out: &mut String, title: &str, heaps: &[HeapLine]) -> std::fmt::Result {
    if heaps.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    writeln!(
        out,
        "  {:<26}{:>12}{:>12}{:>12}{:>12}{:>12}",
        title, "in memory", "live", "beside", "free pages", "in lists"
    )?;
    for heap in heaps.iter().take(LINES_MAX) {
        let Parts { live_bytes, beside_bytes, idle_bytes, dirty_bytes, .. } = *heap.heap;
        writeln!(
            out,
            "  {:<26}{:>12}{:>12}{:>12}{:>12}{:>12}",
            heap.name,
            numbers::bytes(heap.resident_bytes),
            numbers::bytes(live_bytes),
            numbers::bytes(beside_bytes),
            numbers::bytes(idle_bytes + dirty_bytes),
            numbers::bytes(heap.heap.cached_bytes + heap.heap.depot_bytes)
        )?;
    }
    write_more(out, heaps.len())
}

fn write_more(out: &mut String, count: usize) -> std::fmt::Result {
    match count.checked_sub(LINES_MAX) {
        Some(more) if more > 0 => writeln!(out, "  and {more} smaller ones"),
        _ => Ok(()),
    }
}

pub fn wrap(out: &mut String, text: &str) -> std::fmt::Result {
    let mut column = 0;
    for word in text.split(' ') {
        if column != 0 && column + 1 + word.chars().count() > WIDTH {
            writeln!(out)?;
            column = 0;
        } else if column != 0 {
            write!(out, " ")?;
            column += 1;
        }
        write!(out, "{word}")?;
        column += word.chars().count();
    }
    writeln!(out)
}
