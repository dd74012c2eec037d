//! Which lines of the program keep pages that would else go back.

use crate::arguments::ProfFigure;
use crate::profile::stacks;
use crate::profile::symbols::{Frame, Symbols};
use crate::profile::written::Profile;
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
    pub live_bytes: u64,
    pub live_count: u64,
}

/// Those of a profile, the one that keeps most first.
pub fn of(profile: &Profile) -> Vec<Line> {
    let mut symbols = Symbols::default();
    let stacks = stacks::named(profile, &mut symbols);
    let mut lines = Vec::new();
    for line in stacks::lines(&stacks, ProfFigure::Pinned) {
        let positive = |number: i64| u64::try_from(number).unwrap_or(0);
        lines.push(Line {
            function: line.frame.short_function(),
            place: line.frame.place(),
            callers: callers(&line.callers),
            pinned_bytes: positive(line.sums.pinned.bytes),
            live_bytes: positive(line.sums.live.bytes),
            live_count: positive(line.sums.live.count),
        });
    }
    lines
}

/// What calls `main` is nobody's.
fn callers(frames: &[Frame]) -> Vec<String> {
    const SHOWN: usize = 3;
    let main = frames.iter().position(|frame| frame.function == "main");
    let known = main.map_or(frames.len(), |at| at + 1).min(SHOWN);
    frames[..known].iter().map(|frame| format!("from {}", frame.shown())).collect()
}
