//! The figures of a recording, as text.

use crate::numbers;
use crate::trace::figures::Figures;
use std::fmt::Write;

pub fn render(figures: &Figures) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, figures);
    out
}

fn write(out: &mut String, figures: &Figures) -> std::fmt::Result {
    write_head(out, figures)?;
    write_calls(out, figures)?;
    write_sizes(out, figures)?;
    write_lifetimes(out, figures)
}

fn count(number: u64) -> String {
    numbers::figure(number as f64, "")
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { numbers::percent(part as f64 / whole as f64) }
}

fn row(out: &mut String, name: &str, figure: &str, what: &str) -> std::fmt::Result {
    writeln!(out, "{}", format!("  {name:<26}{figure:>12}  {what}").trim_end())
}

fn write_head(out: &mut String, figures: &Figures) -> std::fmt::Result {
    let (header, summary) = (&figures.header, &figures.summary);
    let command = match header.arguments.is_empty() {
        true => header.program.clone(),
        false => header.arguments.join(" "),
    };
    let ended = summary.ended.as_ref().map(|ended| format!(": {ended}")).unwrap_or_default();
    writeln!(out, "{command}{ended}\n")?;
    let each = figures.file_bytes as f64 / summary.events.max(1) as f64;
    row(out, "events", &count(summary.events), &format!("{each:.2} bytes each in the file"))?;
    if header.has_times {
        row(out, "time", &numbers::duration(summary.time_us as f64 / 1e6), "")?;
    }
    row(out, "threads", &count(summary.threads.into()), "")?;
    let taken = format!("{} blocks, {} resizes", count(summary.objects), count(figures.resizes));
    row(out, "taken", &numbers::bytes(summary.taken_bytes), &taken)?;
    row(out, "live at the peak", &numbers::bytes(summary.peak_live_bytes), "as asked for")?;
    let bound = numbers::bytes(figures.bound_bytes);
    row(out, "the bound", &bound, "no allocator can do with less")?;
    if let Some(bytes) = summary.peak_resident_bytes {
        row(
            out,
            "resident at the peak",
            &numbers::bytes(bytes),
            "the program's own run, all of it",
        )?;
    }
    let left = format!("{} blocks", count(summary.live_blocks));
    row(out, "live at the end", &numbers::bytes(summary.live_bytes), &left)?;
    let temporaries = share(figures.temporaries, summary.objects);
    row(out, "temporaries", &temporaries, "freed before their thread took another")?;
    let others = share(figures.gives_by_others, figures.gives);
    row(out, "freed by another thread", &others, "")?;
    if header.has_stacks {
        let files = format!("calls of {} files", figures.modules);
        row(out, "stacks", &count(figures.stack_nodes as u64), &files)?;
    }
    match summary.foreign {
        0 => Ok(()),
        foreign => row(out, "frees of unknown blocks", &count(foreign), "left out"),
    }
}

fn write_calls(out: &mut String, figures: &Figures) -> std::fmt::Result {
    writeln!(out)?;
    let mut calls: Vec<_> = figures.calls.iter().collect();
    calls.sort_by_key(|&(_, &times)| std::cmp::Reverse(times));
    calls.into_iter().try_for_each(|(name, &times)| row(out, name, &count(times), ""))
}

fn write_sizes(out: &mut String, figures: &Figures) -> std::fmt::Result {
    writeln!(out, "\n  {:<26}{:>12}{:>12}{:>12}", "up to", "blocks", "bytes", "at the peak")?;
    for size in &figures.sizes {
        let up_to = numbers::figure(size.up_to_bytes as f64, "B");
        let (blocks, bytes) = (count(size.blocks), numbers::bytes(size.bytes));
        writeln!(out, "  {up_to:<26}{blocks:>12}{bytes:>12}{:>12}", count(size.blocks_at_peak))?;
    }
    Ok(())
}

fn write_lifetimes(out: &mut String, figures: &Figures) -> std::fmt::Result {
    writeln!(out, "\n  {:<26}{:>12}{:>12}", "freed after", "blocks", "bytes")?;
    let mut above = String::new();
    for lifetime in &figures.lifetimes {
        let limit = lifetime.up_to_us.map(|limit| numbers::figure(limit as f64, "µs"));
        let name = match (lifetime.up_to_us, limit) {
            (None, _) => "never".to_owned(),
            (Some(u64::MAX), _) => format!("more than {above}"),
            (_, limit) => {
                above = limit.unwrap_or_default();
                format!("up to {above}")
            }
        };
        let bytes = numbers::bytes(lifetime.bytes);
        writeln!(out, "  {name:<26}{:>12}{bytes:>12}", count(lifetime.blocks))?;
    }
    Ok(())
}
