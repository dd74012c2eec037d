//! The page of one recording, or of two beside each other.

use crate::numbers;
use crate::picture::bars::{Amount, Row, name_of_sizes, parts};
use crate::picture::packed;
use crate::picture::page::{self, Template};
use crate::plot::recording::reading::Recording;
use crate::plot::recording::sums::{Sum, Sums};
use crate::plot::recording::time::{COLUMNS, Span};
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Debug;

const TEMPLATE: Template = Template {
    html: include_str!("trace.html"),
    scripts: &[page::RASTER, include_str!("trace.js")],
};

pub fn render(recordings: &[Recording]) -> Result<String> {
    let sections = recordings.iter().map(Section::of).collect::<Result<Vec<_>>>()?;
    let title = recordings.iter().map(|one| one.program.as_str()).collect::<Vec<_>>().join(" | ");
    let content = Content { title: format!("Recording of {title}"), sections };
    page::render(&TEMPLATE, &content)
}

#[derive(Serialize)]
struct Content {
    title: String,
    sections: Vec<Section>,
}

#[derive(Serialize)]
struct Section {
    program: String,
    answer: String,
    facts: Vec<(&'static str, String)>,
    has_addresses: bool,
    sizes: Vec<Row>,
    lifetimes: Vec<Row>,
    data: String,
    cells: String,
}

/// What the page's script draws.
#[derive(Serialize)]
struct Data<'a> {
    columns: usize,
    rows: usize,
    /// Of the whole: `us`, or `events`.
    unit: &'static str,
    length: u64,
    row_pages: u64,
    /// In hexadecimal, by row.
    addresses: Vec<String>,
    live_bytes: &'a [u64],
    kept_bytes: &'a [u64],
    resident_bytes: Option<&'a [Option<u64>]>,
}

impl Section {
    fn of(recording: &Recording) -> Result<Section> {
        let Recording { sums, raster, .. } = recording;
        let (unit, length) = match sums.span {
            Span::Microseconds(length) => ("us", length),
            Span::Events(length) => ("events", length),
        };
        let has_resident = sums.resident_bytes.iter().any(Option::is_some);
        let data = Data {
            columns: COLUMNS,
            rows: raster.addresses.len(),
            unit,
            length,
            row_pages: raster.row_pages,
            addresses: raster.addresses.iter().map(|address| format!("{address:x}")).collect(),
            live_bytes: &sums.live_bytes,
            kept_bytes: &raster.kept_bytes,
            resident_bytes: has_resident.then_some(&sums.resident_bytes),
        };
        Ok(Section {
            program: recording.program.clone(),
            answer: answer(recording),
            facts: facts(recording),
            has_addresses: recording.has_addresses,
            sizes: rows(&sums.sizes, |power| name_of_sizes(*power)),
            lifetimes: lifetimes(sums),
            data: packed::json(&data)?,
            cells: packed::bytes(&[&raster.fullness[..], &raster.kept].concat())?,
        })
    }
}

fn bytes(count: u64) -> String {
    numbers::figure(count as f64, "B")
}

/// Where the pages that are kept are emptiest by so many bytes, or that they are well used.
fn answer(recording: &Recording) -> String {
    let Recording { sums, raster, .. } = recording;
    let pairs = raster.kept_bytes.iter().zip(&sums.live_bytes);
    let wasted = pairs.map(|(kept, live)| kept.saturating_sub(*live));
    let worst = wasted.enumerate().max_by_key(|(_, wasted)| *wasted);
    let peak = bytes(sums.peak.bytes);
    let end = bytes(sums.at_end.bytes);
    let Some((column, wasted)) = worst else { return String::new() };
    let kept = raster.kept_bytes[column];
    if wasted * 2 < kept {
        return format!("At most {peak} were live, {end} at the end, on pages that are well used.");
    }
    format!(
        "At most {peak} were live, {end} at the end. At {} blocks of {} kept pages of {}: {} of \
         them free.",
        moment(sums.span, column),
        bytes(sums.live_bytes[column]),
        bytes(kept),
        numbers::percent(wasted as f64 / kept as f64),
    )
}

/// When a column is.
fn moment(span: Span, column: usize) -> String {
    let part = |length: u64| length as f64 * (column + 1) as f64 / COLUMNS as f64;
    match span {
        Span::Microseconds(length) => numbers::figure(part(length) * 1e-6, "s"),
        Span::Events(length) => format!("event {:.0}", part(length)),
    }
}

fn facts(recording: &Recording) -> Vec<(&'static str, String)> {
    let Recording { sums, raster, .. } = recording;
    let in_blocks = |sum: Sum| format!("{} in {} blocks", bytes(sum.bytes), sum.count);
    let kept = raster.kept_bytes.iter().max().copied().unwrap_or(0);
    let mut facts = vec![
        ("events", numbers::figure(sums.event_count as f64, "")),
        ("live at the peak, as asked for", in_blocks(sums.peak)),
        ("live at the end", in_blocks(sums.at_end)),
        ("pages that live blocks are on, at most", bytes(kept)),
    ];
    if let Span::Microseconds(length) = sums.span {
        facts.insert(0, ("took", numbers::duration(length as f64 * 1e-6)));
    }
    if let Some(resident) = sums.resident_bytes.iter().flatten().max() {
        facts.push(("in memory at most", bytes(*resident)));
    }
    facts
}

fn rows<Key: Debug>(sums: &BTreeMap<Key, Sum>, name: impl Fn(&Key) -> String) -> Vec<Row> {
    let longest = sums.values().map(|sum| sum.bytes).max().unwrap_or(0);
    let row = |(key, sum): (&Key, &Sum)| Row {
        name: name(key),
        parts: parts(&[Amount { name: "taken", color: "full", bytes: sum.bytes }], longest),
        figure: format!("{} in {}", bytes(sum.bytes), sum.count),
        content: None,
    };
    sums.iter().map(row).collect()
}

/// The shortest first, and what was never freed last.
fn lifetimes(sums: &Sums) -> Vec<Row> {
    let name = |key: &Option<u32>| match key {
        Some(power) => {
            let most = 10_u64.checked_pow(*power).unwrap_or(u64::MAX);
            format!("to {}", numbers::figure(most as f64 * 1e-6, "s"))
        }
        None => "never freed".to_owned(),
    };
    let mut rows = rows(&sums.lifetimes, name);
    if sums.lifetimes.contains_key(&None) {
        rows.rotate_left(1);
    }
    rows
}
