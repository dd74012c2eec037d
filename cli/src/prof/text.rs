//! The lines of a program that have most, as text.

use crate::arguments::ProfFigure;
use crate::numbers;
use crate::profile::stacks::{Line, chosen, name_of};
use crate::profile::symbols::Frame;
use crate::profile::written::{Held, Profile, Sum};
use std::fmt::Write;

/// What is to be shown of a profile.
pub struct View {
    pub by: ProfFigure,
    pub top: usize,
    pub leaks: bool,
    pub difference: bool,
}

const CALLERS: usize = 2;

pub fn render(profile: &Profile, lines: &[Line], view: &View) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, profile, lines, view);
    out
}

fn write(out: &mut String, profile: &Profile, lines: &[Line], view: &View) -> std::fmt::Result {
    let total = &profile.total;
    let (live, peak, taken) = (size(total.live), size(total.peak), size(total.taken));
    write!(out, "{}: ", profile.title())?;
    match (view.difference, view.leaks) {
        (true, _) => writeln!(out, "{live} live, {taken} taken since the earlier profile")?,
        (_, true) => writeln!(out, "{live} in {} blocks were never freed", total.live.count)?,
        _ => writeln!(out, "{live} live, {peak} at the peak, {taken} taken in all")?,
    }
    let is_of_that = |line: &&Line| chosen(&line.sums, view.by) != Sum::default();
    let lines: Vec<&Line> = lines.iter().filter(is_of_that).collect();
    if let Some(held) = profile.held {
        write_held(out, profile, &lines, view, held)?;
        return write_accuracy(out, profile);
    }
    if lines.is_empty() {
        return writeln!(out, "\n  No sample is of that.");
    }
    let name = name_of(view.by);
    writeln!(out, "\n{name:>11}{:>7}{:>11}{:>11}  where", "", "blocks", "taken")?;
    for line in lines.iter().take(view.top) {
        write_line(out, profile, line, view)?;
    }
    if lines.len() > view.top {
        let rest = lines[view.top..].iter().map(|line| chosen(&line.sums, view.by).bytes).sum();
        let rest = size(Sum { count: 0, bytes: rest });
        writeln!(out, "{rest:>11}  in {} more places", lines.len() - view.top)?;
    }
    write_accuracy(out, profile)
}

fn size(sum: Sum) -> String {
    if sum.bytes == 0 {
        return "0 B".to_owned();
    }
    let sign = if sum.bytes < 0 { "-" } else { "" };
    sign.to_owned() + &numbers::bytes(sum.bytes.unsigned_abs())
}

fn write_line(out: &mut String, profile: &Profile, line: &Line, view: &View) -> std::fmt::Result {
    let sum = chosen(&line.sums, view.by);
    let all = chosen(&profile.total, view.by).bytes;
    let share = numbers::percent(sum.bytes as f64 / (all as f64).abs().max(1.0));
    let share = if view.difference { String::new() } else { share };
    let taken = size(line.sums.taken);
    let whole = size(sum);
    write!(out, "{whole:>11}{share:>7}{:>11}{taken:>11}  ", sum.count)?;
    write_place(out, line, 42)
}

/// What each place has, has freed that is still in memory, and pins; the columns add up to the last
/// line.
fn write_held(
    out: &mut String,
    profile: &Profile,
    lines: &[&Line],
    view: &View,
    held: Held,
) -> std::fmt::Result {
    const COLUMNS: usize = 45;
    writeln!(out, "\n{:>11}{:>12}{:>12}{:>8}  where", "live", "freed", "pinned", "age")?;
    let row = |out: &mut String, [live, freed, pinned]: [i64; 3], age: &str| {
        let [live, freed, pinned] = [live, freed, pinned].map(bytes);
        write!(out, "{live:>11}{freed:>12}{pinned:>12}{age:>8}  ")
    };
    let whole = [held.live, held.freed, held.pinned].map(u64::cast_signed);
    let figures =
        |line: &Line| [line.sums.live.bytes, line.sums.freed.bytes, line.sums.pinned.bytes];
    let (shown, others) = lines.split_at(lines.len().min(view.top));
    for line in shown {
        let age = line.pinned_age_ms().map(age).unwrap_or_default();
        row(out, figures(line), &age)?;
        write_place(out, line, COLUMNS)?;
    }
    let not_sampled = profile.not_sampled().unwrap_or_default().map(u64::cast_signed);
    let total = &profile.total;
    let mut left = [total.live.bytes, total.freed.bytes, total.pinned.bytes];
    for (at, left) in left.iter_mut().enumerate() {
        *left = (*left - shown.iter().map(|line| figures(line)[at]).sum::<i64>()).max(0);
    }
    if !others.is_empty() || left != [0; 3] {
        row(out, left, "")?;
        writeln!(out, "in other places")?;
    }
    row(out, not_sampled, "")?;
    writeln!(out, "not sampled")?;
    row(out, whole, "")?;
    writeln!(out, "in all, as 'loam explain' says")?;
    if held.profile != 0 {
        writeln!(
            out,
            "{:COLUMNS$}and the profile's own {}",
            "",
            bytes(held.profile.cast_signed())
        )?;
    }
    write_beyond(out, profile)
}

/// Below 0 nothing is not sampled.
fn write_beyond(out: &mut String, profile: &Profile) -> std::fmt::Result {
    let beyond = profile.sampled_beyond().unwrap_or_default();
    let named = ["live", "freed", "pinned"].into_iter().zip(beyond);
    let more: Vec<String> = named
        .filter(|(_, beyond)| *beyond != 0)
        .map(|(name, beyond)| format!("{} of {name}", bytes(beyond.cast_signed())))
        .collect();
    if more.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nThe places have {} more: by chance, and as samples stand elsewhere.",
        more.join(" and ")
    )
}

fn bytes(bytes: i64) -> String {
    size(Sum { count: 0, bytes })
}

fn age(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..100 => format!("{seconds} s"),
        100..6000 => format!("{} min", seconds / 60),
        6000..360_000 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86400),
    }
}

fn write_place(out: &mut String, line: &Line, columns: usize) -> std::fmt::Result {
    write_frame(out, &line.frame)?;
    let is_start = |frame: &&Frame| frame.function == "main" || frame.function == "_start";
    let from_main = line.callers.iter().position(|frame| is_start(&frame));
    let known =
        if line.frame.function == "main" { 0 } else { from_main.map_or(CALLERS, |at| at + 1) };
    for caller in line.callers.iter().take(CALLERS.min(known)) {
        write!(out, "{:columns$}from ", "")?;
        write_frame(out, caller)?;
    }
    Ok(())
}

fn write_frame(out: &mut String, frame: &Frame) -> std::fmt::Result {
    writeln!(out, "{}", frame.shown())
}

fn write_accuracy(out: &mut String, profile: &Profile) -> std::fmt::Result {
    let between = numbers::bytes(profile.sample_bytes);
    writeln!(out)?;
    writeln!(
        out,
        "Estimated from a sample each {between}: what comes from n of them may be off by 1/√n.",
    )?;
    if profile.lost != 0 {
        writeln!(out, "{} samples were lost: there were too many to keep.", profile.lost)?;
    }
    Ok(())
}
