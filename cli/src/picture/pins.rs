//! Which lines of the program keep pages that would else go back, by what is free there beside their
//! blocks.

use crate::arguments::ProfFigure;
use crate::numbers;
use crate::picture::bars::percent;
use crate::profile::range::Range;
use crate::profile::rows::{Grouping, rows};
use crate::profile::stacks;
use crate::profile::symbols::{Frame, Symbols};
use crate::profile::written::{Profile, Sum};
use serde::Serialize;

/// A line of the program, and what its blocks keep.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    pub function: String,
    /// `server.c:42`, if that is known.
    pub place: Option<String>,
    /// `from main  server.c:7`, the nearest first.
    pub callers: Vec<String>,
    pub pinned_bytes: u64,
    /// Of these.
    pub beside_bytes: u64,
    pub live_bytes: u64,
    pub live_count: u64,
    /// Half of what they keep is by blocks of this age at least, where times are known.
    pub age: Option<String>,
    /// `12 MiB to 15 MiB free, by 120 samples`, of an estimate.
    pub range: Option<String>,
}

/// How a page shows it.
#[derive(Debug, Serialize)]
pub struct Shown<'a> {
    pub line: &'a Line,
    pub beside: String,
    pub share: String,
    /// `of 19.5 MiB that 5000 blocks with 2.29 MiB keep`
    pub of: String,
    pub percent: f64,
}

/// Those beside whose blocks most is free, of so much in all.
pub fn shown(lines: &[Line], beside_bytes: u64) -> Vec<Shown<'_>> {
    let longest = lines.first().map_or(1, |line| line.beside_bytes);
    let shown = lines.iter().take(LINES_SHOWN).filter(|line| line.beside_bytes != 0);
    let shown = shown.map(|line| Shown {
        line,
        beside: bytes(line.beside_bytes),
        // An estimate may be more than there is.
        share: numbers::percent(
            line.beside_bytes.min(beside_bytes) as f64 / (beside_bytes as f64).max(1.0),
        ),
        of: of_what(line),
        percent: percent(line.beside_bytes, longest),
    });
    shown.collect()
}

fn of_what(line: &Line) -> String {
    let (pinned, live) = (bytes(line.pinned_bytes), bytes(line.live_bytes));
    let age = line.age.as_ref();
    let age = age.map_or(String::new(), |age| format!(", half of it for {age} or longer"));
    let range = line.range.as_ref();
    let range = range.map_or(String::new(), |range| format!("; estimated, {range}"));
    format!("of {pinned} that {} blocks with {live} keep{age}{range}", line.live_count)
}

pub const LINES_SHOWN: usize = 12;

fn bytes(count: u64) -> String {
    numbers::figure(count as f64, "B")
}

impl Line {
    /// `keep (server.c:42)`
    pub fn name(&self) -> String {
        let place = self.place.as_ref().map_or(String::new(), |place| format!(" ({place})"));
        format!("{}{place}", self.function)
    }
}

/// Those of a profile, the one that keeps most first.
pub fn of(profile: &Profile, symbols: &mut Symbols) -> Vec<Line> {
    let stacks = stacks::named(profile, symbols);
    let mut lines = Vec::new();
    for row in rows(&stacks, Grouping::lines(ProfFigure::Pinned)) {
        let positive = |number: i64| u64::try_from(number).unwrap_or(0);
        lines.push(Line {
            function: row.frame().short_function(),
            place: row.frame().place(),
            callers: callers(&row.largest_callers()),
            pinned_bytes: positive(row.sums.pinned.bytes),
            beside_bytes: positive(row.sums.beside.bytes),
            live_bytes: positive(row.sums.live.bytes),
            live_count: positive(row.sums.live.count),
            age: row.pinned_age_ms().map(|ms| numbers::duration(ms as f64 * 1e-3)),
            range: range(&row.sums.beside),
        });
    }
    lines
}

fn range(beside: &Sum) -> Option<String> {
    let Range { low, high } = Range::of(beside)?;
    let [low, high] = [low, high].map(|bound| bytes(bound.max(0.0) as u64));
    Some(format!("{low} to {high} free, by {} samples", beside.samples))
}

/// What calls `main` is nobody's.
fn callers(frames: &[&Frame]) -> Vec<String> {
    const SHOWN: usize = 3;
    let main = frames.iter().position(|frame| frame.function == "main");
    let known = main.map_or(frames.len(), |at| at + 1).min(SHOWN);
    frames[..known].iter().map(|frame| format!("from {}", frame.shown())).collect()
}
