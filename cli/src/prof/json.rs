//! The places of a program that have most, as data.

use crate::prof::text::View;
use crate::profile::range::Range;
use crate::profile::rows::{Caller, Row};
use crate::profile::stacks::name_of;
use crate::profile::symbols::Frame;
use crate::profile::written::{Held, Profile, Sum};
use anyhow::{Context, Result};
use serde::Serialize;

#[derive(Serialize)]
struct Report<'profile> {
    schema: u32,
    process: &'profile str,
    name: &'profile str,
    pid: u64,
    sample_bytes: u64,
    lost_samples: u64,
    /// What places are ordered by, and callers' bytes are of.
    by: &'static str,
    live: Part,
    peak: Part,
    taken: Part,
    /// As `loam explain` says, of all blocks; absent of a file.
    held: Option<Bytes>,
    /// What no place has of that.
    not_sampled: Option<Bytes>,
    /// What the places have by chance beyond that.
    sampled_beyond: Option<Bytes>,
    /// What the profile itself takes.
    profile_bytes: Option<u64>,
    places: Vec<Place<'profile>>,
}

#[derive(Serialize)]
struct Bytes {
    live_bytes: u64,
    freed_bytes: u64,
    pinned_bytes: u64,
}

impl From<Held> for Bytes {
    fn from(held: Held) -> Bytes {
        Bytes::from([held.live, held.freed, held.pinned])
    }
}

impl From<[u64; 3]> for Bytes {
    fn from([live_bytes, freed_bytes, pinned_bytes]: [u64; 3]) -> Bytes {
        Bytes { live_bytes, freed_bytes, pinned_bytes }
    }
}

#[derive(Serialize)]
struct Part {
    blocks: i64,
    bytes: i64,
    samples: i64,
    /// Between these the bytes are, in 95 of 100 cases.
    low_bytes: i64,
    high_bytes: i64,
}

impl Part {
    fn new(sum: Sum, is_difference: bool) -> Part {
        let range = if is_difference { Some(Range::around(&sum)) } else { Range::of(&sum) };
        let bound =
            |of: fn(Range) -> f64| range.map_or(sum.bytes, |range| of(range).round() as i64);
        Part {
            blocks: sum.count,
            bytes: sum.bytes,
            samples: sum.samples,
            low_bytes: bound(|range| range.low),
            high_bytes: bound(|range| range.high),
        }
    }
}

#[derive(Serialize)]
struct Place<'profile> {
    #[serde(flatten)]
    frame: Named<'profile>,
    live: Part,
    peak: Part,
    taken: Part,
    freed: Option<Part>,
    pinned: Option<Part>,
    /// Of what is pinned.
    beside: Option<Part>,
    /// Of what pins: half of the bytes is by blocks of this age at least.
    pinned_age_ms: Option<u64>,
    /// What the place takes memory through, its own callee first.
    through: Vec<Named<'profile>>,
    /// Of the stack that has most, the nearest first.
    callers: Vec<Named<'profile>>,
    /// With --tree: who calls it, and what each has.
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<Vec<Branch<'profile>>>,
}

#[derive(Serialize)]
struct Branch<'profile> {
    #[serde(flatten)]
    frame: Named<'profile>,
    blocks: i64,
    bytes: i64,
    samples: i64,
    callers: Vec<Branch<'profile>>,
}

impl<'profile> From<&'profile Caller> for Branch<'profile> {
    fn from(caller: &'profile Caller) -> Branch<'profile> {
        Branch {
            frame: Named::from(&caller.frame),
            blocks: caller.sum.count,
            bytes: caller.sum.bytes,
            samples: caller.sum.samples,
            callers: caller.callers.iter().map(Branch::from).collect(),
        }
    }
}

#[derive(Serialize)]
struct Named<'profile> {
    function: &'profile str,
    file: Option<&'profile str>,
    line: Option<u32>,
}

impl<'profile> From<&'profile Frame> for Named<'profile> {
    fn from(frame: &'profile Frame) -> Named<'profile> {
        Named {
            function: &frame.function,
            file: frame.line.as_ref().map(|(file, _)| file.as_str()),
            line: frame.line.as_ref().map(|(_, line)| *line).filter(|line| *line != 0),
        }
    }
}

fn place<'profile>(row: &'profile Row, is_held: bool, view: &View) -> Place<'profile> {
    let sums = &row.sums;
    let part = |sum| Part::new(sum, view.difference);
    Place {
        frame: Named::from(row.frame()),
        live: part(sums.live),
        peak: part(sums.peak),
        taken: part(sums.taken),
        freed: is_held.then(|| part(sums.freed)),
        pinned: is_held.then(|| part(sums.pinned)),
        beside: is_held.then(|| part(sums.beside)),
        pinned_age_ms: row.pinned_age_ms(),
        through: row.through.iter().map(Named::from).collect(),
        callers: row.largest_callers().into_iter().map(Named::from).collect(),
        tree: view.tree.then(|| row.callers.iter().map(Branch::from).collect()),
    }
}

pub fn render(profile: &Profile, rows: &[Row], view: &View) -> Result<String> {
    let is_held = profile.held.is_some();
    let part = |sum| Part::new(sum, view.difference);
    let report = Report {
        schema: 2,
        process: &profile.process,
        name: &profile.process,
        pid: profile.pid,
        sample_bytes: profile.sample_bytes,
        lost_samples: profile.lost,
        by: name_of(view.by),
        live: part(profile.total.live),
        peak: part(profile.total.peak),
        taken: part(profile.total.taken),
        held: profile.held.map(Bytes::from),
        not_sampled: profile.not_sampled().map(Bytes::from),
        sampled_beyond: profile.sampled_beyond().map(Bytes::from),
        profile_bytes: profile.held.map(|held| held.profile),
        places: rows.iter().map(|row| place(row, is_held, view)).collect(),
    };
    Ok(serde_json::to_string_pretty(&report).context("cannot write JSON")? + "\n")
}
