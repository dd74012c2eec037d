//! What a reader must know before believing the numbers.

use super::comparison::Comparison;
use super::numbers;
use super::results::{Cell, Effect, Row};

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
        for cell in &row.cells {
            cell_notes(row, cell, &mut notes);
        }
    }
    for limit in &comparison.limits {
        notes.push(format!(
            "{} is a limit that none can beat, not an allocator to use; it is not judged.",
            limit.name
        ));
    }
    notes
}

fn cell_notes(row: &Row, cell: &Cell, notes: &mut Vec<String>) {
    let name = &cell.allocator;
    if let Some(problem) = &cell.problem {
        notes.push(format!("{} with {name} failed: {problem}.", row.name));
    }
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
