//! What a reader must know before believing the numbers.

use crate::bench::judge::comparison::{ComparedRow, Comparison};
use crate::bench::judge::known::{BUMP, LIVE};
use crate::bench::judge::results::{Cell, Effect, Row, metric};
use crate::numbers;

/// From this share of processor time on, others have disturbed the measurement.
const TAKEN_BY_OTHERS_MAX: f64 = 0.05;

/// One sentence each, the weightiest first.
pub fn notes(comparison: &Comparison) -> Vec<String> {
    let results = comparison.results;
    let mut notes = Vec::new();
    if let Some(share) = results.machine.taken_by_others
        && share > TAKEN_BY_OTHERS_MAX
    {
        notes.push(format!(
            "Others took {} of the processors' time during the measurement: trust it less.",
            numbers::percent(share)
        ));
    }
    for row in &results.allocators {
        if let Some(problem) = &row.problem {
            notes.push(format!("{} was left out: {problem}.", row.name));
        }
    }
    for row in &results.rows {
        if let Some(reason) = &row.skipped {
            notes.push(format!("{} was skipped: {reason}.", row.name));
        }
        notes.extend(failures(row));
        for cell in &row.cells {
            cell_notes(row, cell, &mut notes);
        }
    }
    notes.extend(comparison.rows.first().filter(|_| !comparison.is_suite()).and_then(short_runs));
    for limit in &comparison.limits {
        notes.push(format!("{} {}; it is not judged.", limit.name, limit_in_words(&limit.name)));
    }
    notes
}

/// What a reference line is.
fn limit_in_words(name: &str) -> &'static str {
    match name {
        BUMP => {
            "never frees: its calls cost next to nothing, but all its memory is fresh, which costs \
             page faults and cache misses where others use memory again"
        }
        LIVE => "is the peak of what the program had asked for and not freed",
        _ => "is a limit, not an allocator to use",
    }
}

/// What went wrong, each with all whom it has struck.
fn failures(row: &Row) -> Vec<String> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for cell in &row.cells {
        let Some(problem) = cell.problem.as_deref() else { continue };
        match found.iter_mut().find(|(known, _)| *known == problem) {
            Some((_, names)) => names.push(&cell.allocator),
            None => found.push((problem, vec![&cell.allocator])),
        }
    }
    let note = |(problem, names): (&str, Vec<&str>)| {
        format!("{} with {} failed: {problem}.", row.name, names.join(", "))
    };
    found.into_iter().map(note).collect()
}

/// What to do where starting a process is most of what is measured.
fn short_runs(row: &ComparedRow) -> Option<String> {
    const SHORT_S: f64 = 0.005;
    const RUNS_FACTOR: usize = 10;
    let wall = row.metrics.iter().find(|compared| compared.name == metric::WALL)?;
    let summaries = || wall.entries.iter().filter_map(|entry| entry.summary);
    let shortest = summaries().map(|all| all.median).min_by(f64::total_cmp)?;
    let runs = summaries().map(|all| all.count).max()?;
    (shortest < SHORT_S).then(|| {
        format!(
            "A run takes {}: below 5 ms most of it is the start of a process. Let {} do more, or \
             make more runs: --runs {}.",
            numbers::figure(shortest, "s"),
            row.row.name,
            runs * RUNS_FACTOR
        )
    })
}

fn cell_notes(row: &Row, cell: &Cell, notes: &mut Vec<String>) {
    let name = &cell.allocator;
    if let Effect::Partial(others) = &cell.effect {
        let others = others.join(", ");
        notes.push(format!("{} ran only in part on {name}: {others}.", row.name));
    }
    let problems: Vec<&str> = cell.runs.iter().filter_map(|run| run.problem.as_deref()).collect();
    if let (Some(first), None) = (problems.first(), &cell.problem) {
        let (failed, all) = (problems.len(), cell.runs.len());
        notes.push(format!("{} with {name}: {failed} of {all} runs failed: {first}.", row.name));
    }
}
