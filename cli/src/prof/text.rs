//! The places of a program that have most, as text.

use crate::arguments::ProfFigure;
use crate::numbers;
use crate::profile::range::Range;
use crate::profile::rows::{Caller, Row};
use crate::profile::stacks::{chosen, name_of};
use crate::profile::symbols::Frame;
use crate::profile::written::{Held, Profile, Sum};
use std::fmt::{Result, Write};

/// What is to be shown of a profile.
pub struct View {
    pub by: ProfFigure,
    pub top: usize,
    pub leaks: bool,
    pub difference: bool,
    /// All callers, or the nearest ones.
    pub tree: bool,
    /// Nobody has asked for the figure, which is not what is live.
    pub not_live: bool,
}

/// Before the names of places.
const COLUMNS: usize = 51;
/// A share of fewer samples says nothing.
const SAMPLES_OF_A_SHARE: i64 = 3;

pub fn render(profile: &Profile, rows: &[Row], view: &View) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, profile, rows, view);
    out
}

fn write(out: &mut String, profile: &Profile, rows: &[Row], view: &View) -> Result {
    write_head(out, profile, view)?;
    let is_of_that = |row: &&Row| {
        let Sum { count, bytes, .. } = chosen(&row.sums, view.by);
        (count, bytes) != (0, 0)
    };
    let rows: Vec<&Row> = rows.iter().filter(is_of_that).collect();
    if let Some(held) = profile.held {
        write_held(out, profile, &rows, view, held)?;
        return write_accuracy(out, profile, view);
    }
    if rows.is_empty() {
        return writeln!(out, "\n  No sample is of that.");
    }
    let name = name_of(view.by);
    writeln!(out, "\n{name:>11}{:>7}{:>10}{:>11}{:>10}  where", "", "blocks", "taken", "samples")?;
    for row in rows.iter().take(view.top) {
        let sum = chosen(&row.sums, view.by);
        let (whole, share, taken) = (size(sum), share(profile, sum, view), size(row.sums.taken));
        let (blocks, samples) = (sum.count, sum.samples);
        write!(out, "{whole:>11}{share:>7}{blocks:>10}{taken:>11}{samples:>10}  ")?;
        write_place(out, row, view)?;
    }
    if rows.len() > view.top {
        let rest = rows[view.top..].iter().map(|row| chosen(&row.sums, view.by).bytes).sum();
        writeln!(out, "{:>11}  in {} more places", bytes(rest), rows.len() - view.top)?;
    }
    write_accuracy(out, profile, view)
}

fn write_head(out: &mut String, profile: &Profile, view: &View) -> Result {
    let total = &profile.total;
    let (live, peak, taken) = (size(total.live), size(total.peak), size(total.taken));
    write!(out, "{}: ", profile.title())?;
    match (view.difference, view.leaks) {
        (true, _) => writeln!(out, "{live} live, {taken} taken since the earlier profile"),
        (_, true) => writeln!(out, "{live} in {} blocks were never freed", total.live.count),
        _ => writeln!(out, "{live} live, {peak} at the peak, {taken} taken in all"),
    }?;
    if view.not_live {
        writeln!(
            out,
            "Most is freed at the end, so these are the places of the peak; --leaks: of the rest."
        )?;
    }
    Ok(())
}

fn size(sum: Sum) -> String {
    bytes(sum.bytes)
}

fn bytes(bytes: i64) -> String {
    if bytes == 0 {
        return "0 B".to_owned();
    }
    let sign = if bytes < 0 { "-" } else { "" };
    sign.to_owned() + &numbers::bytes(bytes.unsigned_abs())
}

fn share(profile: &Profile, sum: Sum, view: &View) -> String {
    if view.difference || Range::of(&sum).is_some() && sum.samples < SAMPLES_OF_A_SHARE {
        return String::new();
    }
    let all = chosen(&profile.total, view.by).bytes;
    numbers::percent(sum.bytes as f64 / (all as f64).abs().max(1.0))
}

/// What each place has, has freed that is still in memory, and pins; the columns add up to the last
/// line.
fn write_held(
    out: &mut String,
    profile: &Profile,
    rows: &[&Row],
    view: &View,
    held: Held,
) -> Result {
    let titles = ["live", "freed", "pinned", "samples", "age"];
    let [live, freed, pinned, samples, age_title] = titles;
    writeln!(out, "\n{live:>11}{freed:>11}{pinned:>11}{samples:>9}{age_title:>7}  where")?;
    let write_row = |out: &mut String, [live, freed, pinned]: [i64; 3], of: [&str; 2]| {
        let [live, freed, pinned] = [live, freed, pinned].map(bytes);
        let [samples, age] = of;
        write!(out, "{live:>11}{freed:>11}{pinned:>11}{samples:>9}{age:>7}  ")
    };
    let whole = [held.live, held.freed, held.pinned].map(u64::cast_signed);
    let figures = |row: &Row| [row.sums.live.bytes, row.sums.freed.bytes, row.sums.pinned.bytes];
    let (shown, others) = rows.split_at(rows.len().min(view.top));
    for row in shown {
        let age = row.pinned_age_ms().map(age).unwrap_or_default();
        let samples = chosen(&row.sums, view.by).samples.to_string();
        write_row(out, figures(row), [&samples, &age])?;
        write_place(out, row, view)?;
    }
    let not_sampled = profile.not_sampled().unwrap_or_default().map(u64::cast_signed);
    let total = &profile.total;
    let mut left = [total.live.bytes, total.freed.bytes, total.pinned.bytes];
    for (at, left) in left.iter_mut().enumerate() {
        *left = (*left - shown.iter().map(|row| figures(row)[at]).sum::<i64>()).max(0);
    }
    if !others.is_empty() || left != [0; 3] {
        write_row(out, left, [""; 2])?;
        writeln!(out, "in other places")?;
    }
    write_row(out, not_sampled, [""; 2])?;
    writeln!(out, "not sampled")?;
    write_row(out, whole, [""; 2])?;
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
fn write_beyond(out: &mut String, profile: &Profile) -> Result {
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

fn age(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..100 => format!("{seconds} s"),
        100..6000 => format!("{} min", seconds / 60),
        6000..360_000 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86400),
    }
}

/// The place, what it takes memory through, and its callers; in front of these, between what its
/// figure is.
fn write_place(out: &mut String, row: &Row, view: &View) -> Result {
    const THROUGH: usize = 2;
    writeln!(out, "{}", row.frame().shown())?;
    let mut lines: Vec<String> = row
        .through
        .iter()
        .take(THROUGH)
        .map(|frame| format!("through {}", frame.shown()))
        .collect();
    lines.extend(row.frames[1..].iter().map(|frame| format!("from {}", frame.shown())));
    let whole = chosen(&row.sums, view.by).bytes;
    if !row.frames.iter().any(is_outermost) {
        match view.tree {
            true => add_tree(&mut lines, &row.callers, whole, 0),
            false => add_nearest(&mut lines, &row.callers, whole),
        }
    }
    let mut range = shown_range(&chosen(&row.sums, view.by), view);
    if lines.is_empty() && range.is_some() {
        lines.push(String::new());
    }
    for line in lines {
        let begin = range.take().unwrap_or_default();
        writeln!(out, "{}", format!("{begin:>20}{:1$}{line}", "", COLUMNS - 20).trim_end())?;
    }
    Ok(())
}

fn is_outermost(frame: &Frame) -> bool {
    frame.function == "main" || frame.function == "_start"
}

/// `None` if the figure is exact, or nearly.
fn shown_range(sum: &Sum, view: &View) -> Option<String> {
    let range = if view.difference { Range::around(sum) } else { Range::of(sum)? };
    const NEARLY: f64 = 0.01;
    if range.high - range.low < NEARLY * sum.bytes.abs() as f64 {
        return None;
    }
    Some(format!("{} to {}", bytes(range.low as i64), bytes(range.high as i64)))
}

/// `from main  server.c:7  80 %`
fn from(caller: &Caller, whole: i64) -> String {
    let (bytes, whole) = (caller.sum.bytes as f64, (whole as f64).abs().max(1.0));
    match caller.sum.bytes.abs() == whole as i64 {
        true => format!("from {}", caller.frame.shown()),
        false => format!("from {}  {}", caller.frame.shown(), numbers::percent(bytes / whole)),
    }
}

/// Outwards as long as there is one; the first ones where there are more.
fn add_nearest(lines: &mut Vec<String>, callers: &[Caller], whole: i64) {
    const LINES: usize = 2;
    const SHOWN: usize = 3;
    let mut callers = callers;
    for _ in 0..LINES {
        match callers {
            [] => return,
            [caller] => {
                lines.push(from(caller, whole));
                if is_outermost(&caller.frame) {
                    return;
                }
                callers = &caller.callers;
            }
            several => return add_several(lines, several, SHOWN, whole, ""),
        }
    }
}

/// The first of them, and what the others have together.
fn add_several(lines: &mut Vec<String>, callers: &[Caller], shown: usize, whole: i64, begin: &str) {
    let (first, others) = callers.split_at(callers.len().min(shown));
    lines.extend(first.iter().map(|caller| format!("{begin}{}", from(caller, whole))));
    if !others.is_empty() {
        let bytes: i64 = others.iter().map(|caller| caller.sum.bytes).sum();
        let share = numbers::percent(bytes as f64 / (whole as f64).abs().max(1.0));
        lines.push(format!("{begin}from {} others  {share}", others.len()));
    }
}

/// All callers, each below what it calls; those that have least of the place in one line.
fn add_tree(lines: &mut Vec<String>, callers: &[Caller], whole: i64, depth: usize) {
    const LEAST: f64 = 0.01;
    let begin = "  ".repeat(depth);
    let is_large = |caller: &&Caller| caller.sum.bytes.abs() as f64 >= LEAST * whole.abs() as f64;
    let large = callers.iter().take_while(is_large).count();
    for caller in &callers[..large] {
        lines.push(format!("{begin}{}", from(caller, whole)));
        if !is_outermost(&caller.frame) {
            // Below one that is the only one there is no need to go to the right.
            let below = if callers.len() == 1 { depth } else { depth + 1 };
            add_tree(lines, &caller.callers, whole, below);
        }
    }
    add_several(lines, &callers[large..], 0, whole, &begin);
}

fn write_accuracy(out: &mut String, profile: &Profile, view: &View) -> Result {
    let between = numbers::bytes(profile.sample_bytes);
    let sum = chosen(&profile.total, view.by);
    let name = name_of(view.by);
    writeln!(out)?;
    match shown_range(&sum, view) {
        None => writeln!(out, "Nearly every block of that is a sample: it is exact to 1 %."),
        Some(range) => writeln!(
            out,
            "Estimated from a sample each {between}. What is {name} in all places is {range}, by {} \
             samples.\nSuch bounds, also those below the figures, hold in 95 of 100 cases.",
            sum.samples
        ),
    }?;
    if profile.lost != 0 {
        writeln!(out, "{} samples were lost: there were too many to keep.", profile.lost)?;
    }
    Ok(())
}
