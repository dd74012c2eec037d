//! The lines of a program that have most, as data.

use crate::profile::stacks::Line;
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
}

impl From<Sum> for Part {
    fn from(sum: Sum) -> Part {
        Part { blocks: sum.count, bytes: sum.bytes }
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
    callers: Vec<Named<'profile>>,
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
            line: frame.line.as_ref().map(|(_, line)| *line),
        }
    }
}

fn place<'profile>(line: &'profile Line, is_held: bool) -> Place<'profile> {
    let sums = &line.sums;
    Place {
        frame: Named::from(&line.frame),
        live: sums.live.into(),
        peak: sums.peak.into(),
        taken: sums.taken.into(),
        freed: is_held.then(|| sums.freed.into()),
        pinned: is_held.then(|| sums.pinned.into()),
        beside: is_held.then(|| sums.beside.into()),
        pinned_age_ms: line.pinned_age_ms(),
        callers: line.callers.iter().map(Named::from).collect(),
    }
}

pub fn render(profile: &Profile, lines: &[Line]) -> Result<String> {
    let is_held = profile.held.is_some();
    let report = Report {
        schema: 2,
        process: &profile.process,
        name: &profile.process,
        pid: profile.pid,
        sample_bytes: profile.sample_bytes,
        lost_samples: profile.lost,
        live: profile.total.live.into(),
        peak: profile.total.peak.into(),
        taken: profile.total.taken.into(),
        held: profile.held.map(Bytes::from),
        not_sampled: profile.not_sampled().map(Bytes::from),
        sampled_beyond: profile.sampled_beyond().map(Bytes::from),
        profile_bytes: profile.held.map(|held| held.profile),
        places: lines.iter().map(|line| place(line, is_held)).collect(),
    };
    Ok(serde_json::to_string_pretty(&report).context("cannot write JSON")? + "\n")
}
