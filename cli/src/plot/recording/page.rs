//! The page of one recording, or of two beside each other.

use crate::picture::packed;
use crate::picture::page::{self, Template};
use crate::plot::recording::content::{self, NamedMoment, Section};
use crate::plot::recording::reading::Recording;
use crate::plot::recording::time::{COLUMNS, Span};
use crate::plot::recording::unpinned::Unpinned;
use anyhow::Result;
use serde::Serialize;

const TEMPLATE: Template = Template {
    html: include_str!("trace.html"),
    scripts: &[page::RASTER, include_str!("trace.js")],
};

pub fn render(recordings: &[Recording]) -> Result<String> {
    let moments = content::all_named(recordings);
    let pairs = recordings.iter().zip(&moments);
    let sections = pairs.map(|(one, moments)| Pictured::of(one, moments));
    let sections = sections.collect::<Result<Vec<_>>>()?;
    page::render(&TEMPLATE, &Content { title: content::title(recordings), sections })
}

#[derive(Serialize)]
struct Content<'a> {
    title: String,
    sections: Vec<Pictured<'a>>,
}

#[derive(Serialize)]
struct Pictured<'a> {
    #[serde(flatten)]
    section: Section<'a>,
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
    pinned_bytes: &'a [u64],
    resident_bytes: Option<&'a [Option<u64>]>,
    unpinned_bytes: Option<&'a Unpinned>,
    /// Columns at whose ends it is known who keeps pages.
    moments: Vec<usize>,
}

impl<'a> Pictured<'a> {
    fn of(recording: &'a Recording, moments: &'a [NamedMoment]) -> Result<Pictured<'a>> {
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
            pinned_bytes: &raster.most_pinned_bytes,
            resident_bytes: has_resident.then_some(&sums.resident_bytes),
            unpinned_bytes: recording.unpinned.as_ref(),
            moments: moments.iter().map(|moment| moment.column).collect(),
        };
        Ok(Pictured {
            section: Section::of(recording, moments),
            data: packed::json(&data)?,
            cells: packed::bytes(&[&raster.fullness[..], &raster.pinned].concat())?,
        })
    }
}
