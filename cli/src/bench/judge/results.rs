//! What was measured, as data. Serialised, this is the JSON that docs/bench.md describes; every
//! table, page and plot is drawn from it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Raised when a field changes its meaning or goes; new fields do not raise it.
pub const SCHEMA: u32 = 1;

/// One call of `loam bench` or `loam bench suite`, or several that were merged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Results {
    pub schema: u32,
    /// The version of this command.
    pub loam: String,
    /// The commit of the checkout it was built from, with `+changes` where files differ from it.
    pub commit: Option<String>,
    /// The command line, its name first.
    pub command: Vec<String>,
    /// RFC 3339, UTC.
    pub started: String,
    pub seconds: f64,
    /// Of the order of the runs and of the bootstrap.
    pub seed: u64,
    pub machine: Machine,
    /// In the order of the tables.
    pub allocators: Vec<AllocatorRow>,
    pub rows: Vec<Row>,
    /// What was merged, in this order; empty if it was measured in one call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// One call of several that a measurement was made in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Part {
    pub command: Vec<String>,
    pub started: String,
    pub seconds: f64,
    pub seed: u64,
    pub taken_by_others: Option<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Machine {
    pub processor: String,
    pub processor_count: usize,
    pub memory_kib: u64,
    pub kernel: String,
    pub system: String,
    pub libc: String,
    /// The setting of /sys/kernel/mm/transparent_hugepage/enabled, such as `madvise`.
    pub huge_pages: Option<String>,
    /// The share of all processors' time that went to others while we measured, 0 to 1: other
    /// processes, or other virtual machines.
    pub taken_by_others: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocatorRow {
    pub name: String,
    pub version: Option<String>,
    /// The compiler flags, where we know them.
    pub flags: Option<String>,
    /// `None` for the system's own malloc.
    pub library: Option<String>,
    /// Variables set for it beside LD_PRELOAD.
    pub environment: BTreeMap<String, String>,
    /// Not an allocator to use, but a line to compare with.
    pub is_limit: bool,
    /// Why it takes no part in any row.
    pub problem: Option<String>,
}

/// A program measured under each allocator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    /// The suite's section that it belongs to; `None` for a command of the user's.
    pub group: Option<String>,
    pub title: String,
    /// What it shows, in a sentence or two.
    pub about: Option<String>,
    /// What was run, as a shell would take it.
    pub command: String,
    /// Why it was not run at all.
    pub skipped: Option<String>,
    /// The metrics that verdicts are given for, in the order of the tables; at least one.
    pub judged: Vec<String>,
    /// Every metric of `values`, by name.
    pub metrics: BTreeMap<String, Metric>,
    /// At most one per allocator, in the order of `Results::allocators`.
    pub cells: Vec<Cell>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// `s`, `KiB`, `ns`, `/s`, or empty for a plain number.
    pub unit: String,
    pub better: Better,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    Lower,
    Higher,
}

/// One program under one allocator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cell {
    pub allocator: String,
    /// What malloc led to in the trial before the measurement.
    pub effect: Effect,
    /// Why there are no numbers to compare: crashes, hangs, cannot be preloaded. Runs that went
    /// well before that are kept, and take no part in any verdict.
    pub problem: Option<String>,
    pub runs: Vec<Run>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Every process that called malloc got this allocator's.
    Full,
    /// Some processes of the command got another's; the texts say which.
    Partial(Vec<String>),
    /// It was not looked at.
    Unchecked,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Run {
    /// From 0: runs of the same round were made next to each other, in random order.
    pub round: usize,
    pub values: BTreeMap<String, f64>,
    /// Resident memory over time.
    pub resident: Option<Samples>,
    /// Why this run failed; then `values` is empty.
    pub problem: Option<String>,
}

/// Resident memory of the command's processes together, sampled at an even pace from the start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Samples {
    pub interval_ms: f64,
    pub kib: Vec<u64>,
}

/// The metrics that every run has.
pub mod metric {
    pub const WALL: &str = "wall";
    pub const USER: &str = "user";
    pub const SYSTEM: &str = "system";
    /// User and system time together.
    pub const CPU: &str = "cpu";
    /// The largest resident memory.
    pub const PEAK: &str = "peak";
    pub const FAULTS_MINOR: &str = "minor faults";
    pub const FAULTS_MAJOR: &str = "major faults";
    pub const SWITCHES_VOLUNTARY: &str = "voluntary switches";
    pub const SWITCHES_INVOLUNTARY: &str = "involuntary switches";
}

impl Row {
    pub fn cell(&self, allocator: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.allocator == allocator)
    }
}

impl Cell {
    /// The values of one metric, of the runs that went well, each with its round.
    pub fn values<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = (usize, f64)> + 'a {
        self.runs.iter().filter_map(move |run| Some((run.round, *run.values.get(metric)?)))
    }
}
