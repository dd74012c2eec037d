//! The lines that no allocator can beat: a bump allocator that never frees, for time, and the peak
//! of the bytes that the program has asked for and not freed yet, for memory.

use crate::bench::judge::known::{BUMP, LIVE};
use crate::bench::judge::results::{Cell, Effect, Run, metric};
use crate::bench::measure::allocators::Allocator;
use crate::bench::measure::command_line::Placeholders;
use crate::bench::measure::peers::Found;
use crate::bench::measure::runner::{self, RunError};
use crate::bench::measure::workload::Workload;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The folder that the counting library writes its peaks to.
const LIVE_FOLDER: &str = "LOAM_BENCH_LIVE";
const LIVE_TIME_LIMIT: Duration = Duration::from_secs(600);

/// The libraries built beside the suite's programs.
pub fn find(programs: &Path) -> Vec<Allocator> {
    let library = |name: &str, file: &str| {
        let library = programs.join(file).canonicalize().ok()?;
        let found = Found { library, ..Found::default() };
        Some(Allocator { is_limit: true, ..Allocator::preloaded(name, found) })
    };
    [library(BUMP, "libbump.so"), library(LIVE, "liblive.so")].into_iter().flatten().collect()
}

/// Counts live bytes in one run that is not timed.
pub fn count_live(
    workload: &Workload,
    counter: &Allocator,
    placeholders: &Placeholders,
) -> Result<Cell> {
    let folder = tempfile::tempdir().context("cannot make a folder for the count")?;
    let mut counter = counter.clone();
    counter.environment.insert(LIVE_FOLDER.into(), folder.path().to_string_lossy().into_owned());
    let outcome = match &counter.problem {
        Some(problem) => Err(RunError::Failed(problem.clone())),
        None => runner::run(workload, &counter, placeholders, LIVE_TIME_LIMIT),
    };
    let (runs, problem) = match outcome {
        Ok(_) => match largest_peak(folder.path())? {
            Some(bytes) => {
                #[allow(clippy::cast_precision_loss)] // far below 2^53
                let values = [(metric::PEAK.to_owned(), bytes as f64 / 1024.0)].into();
                (vec![Run { round: 0, values, resident: None, problem: None }], None)
            }
            None => (Vec::new(), Some("nothing was counted".to_owned())),
        },
        Err(RunError::Failed(how)) => (Vec::new(), Some(how)),
        Err(RunError::Broken(cause)) => return Err(cause),
    };
    Ok(Cell { allocator: LIVE.into(), effect: Effect::Unchecked, problem, runs })
}

/// Each process writes the peak of its bytes to a file of its own; the largest counts, as for
/// resident memory.
fn largest_peak(folder: &Path) -> Result<Option<u64>> {
    let mut largest = None;
    for entry in fs::read_dir(folder).context("cannot read the count")? {
        let bytes = fs::read(entry.context("cannot read the count")?.path())?;
        if let Some(number) = bytes.first_chunk::<8>() {
            largest = largest.max(Some(u64::from_ne_bytes(*number)));
        }
    }
    Ok(largest)
}
