//! Two measurements of the same suite held against each other: do they say the same?

use crate::bench::judge::comparison::{Comparison, Entry, Verdict};
use crate::bench::judge::results::Results;
use crate::bench::show::wording;
use anyhow::{Result, bail};
use std::fmt::Write;

/// Every verdict that both measurements give, sorted by how far they agree.
#[derive(Debug, Default)]
pub struct Agreement {
    /// The allocator that both were compared with.
    pub baseline: String,
    /// Both say the same.
    pub agreeing: usize,
    /// One says better, the other worse.
    pub contradicting: Vec<Change>,
    /// One sees a difference, the other none.
    pub changed: Vec<Change>,
    /// Only one of them could tell.
    pub undecided: usize,
}

/// A verdict that is not the same in both.
#[derive(Debug)]
pub struct Change {
    pub row: String,
    pub metric: String,
    pub allocator: String,
    pub first: String,
    pub second: String,
}

/// An error where the two have no verdict in common.
pub fn compare(first: &Results, second: &Results, baseline: &str) -> Result<Agreement> {
    let first = Comparison::new(first, baseline)?;
    let second = Comparison::new(second, baseline)?;
    let mut agreement = Agreement { baseline: baseline.into(), ..Agreement::default() };
    for row in &first.rows {
        let Some(other_row) = second.rows.iter().find(|other| other.row.name == row.row.name)
        else {
            continue;
        };
        for compared in row.judged() {
            let Some(other) = other_row.judged().find(|other| other.name == compared.name) else {
                continue;
            };
            for entry in &compared.entries {
                let Some(other_entry) = other.entry(entry.allocator) else { continue };
                let words = |entry: &Entry| wording::verdict(entry, compared.name, compared.metric);
                agreement.add([entry.verdict, other_entry.verdict], || Change {
                    row: row.row.name.clone(),
                    metric: compared.name.to_owned(),
                    allocator: entry.allocator.to_owned(),
                    first: words(entry),
                    second: words(other_entry),
                });
            }
        }
    }
    if agreement.count() == 0 {
        bail!("the two results have no verdict in common: are they of the same suite?");
    }
    Ok(agreement)
}

impl Agreement {
    fn add(&mut self, verdicts: [Verdict; 2], change: impl FnOnce() -> Change) {
        let is_said =
            |verdict: &Verdict| !matches!(verdict, Verdict::Baseline | Verdict::NotJudged);
        let is_told = |verdict: &Verdict| {
            verdict.is_difference() || matches!(verdict, Verdict::Same | Verdict::NoDifference)
        };
        let [first, second] = verdicts;
        if !verdicts.iter().all(is_said) || !verdicts.iter().any(is_told) {
            return;
        }
        if !verdicts.iter().all(is_told) {
            self.undecided += 1;
        } else if first == second || (!first.is_difference() && !second.is_difference()) {
            self.agreeing += 1;
        } else if first.is_difference() && second.is_difference() {
            self.contradicting.push(change());
        } else {
            self.changed.push(change());
        }
    }

    /// All verdicts that at least one of the two could give.
    pub fn count(&self) -> usize {
        self.agreeing + self.contradicting.len() + self.changed.len() + self.undecided
    }

    pub fn render(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{} verdicts, each compared with {}:", self.count(), self.baseline)?;
        writeln!(out, "  {:>5} the same in both", self.agreeing)?;
        writeln!(out, "  {:>5} contradicting: better in one, worse in the other", {
            self.contradicting.len()
        })?;
        writeln!(out, "  {:>5} changed: a difference in one, none in the other", {
            self.changed.len()
        })?;
        writeln!(out, "  {:>5} told by one of them only", self.undecided)?;
        list(out, "contradicting", &self.contradicting)?;
        list(out, "changed", &self.changed)
    }
}

fn list(out: &mut String, title: &str, changes: &[Change]) -> std::fmt::Result {
    if changes.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}")?;
    for change in changes {
        let Change { row, metric, allocator, first, second } = change;
        let title = wording::title(metric);
        let line = format!("{row}, {title}, {allocator}: first {first}; second {second}");
        writeln!(out, "  {}", wording::printable(&line))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::judge::results::metric;
    use crate::bench::synthetic;

    #[test]
    fn results_agree_with_themselves() {
        let results = synthetic::suite(1);
        let agreement = compare(&results, &results, "loam").expect("a suite");
        assert!(agreement.agreeing > 50);
        assert!(agreement.contradicting.is_empty() && agreement.changed.is_empty());
        assert!(agreement.render().contains("the same in both"));
    }

    #[test]
    fn contradictions_and_changes_are_listed() {
        let first = synthetic::suite(1);
        let mut second = first.clone();
        for (cell, factor) in [(1, 0.3), (2, 1.0)] {
            let baseline = second.rows[0].cells[0].clone();
            let runs = second.rows[0].cells[cell].runs.iter_mut().zip(&baseline.runs);
            for (run, base) in runs {
                let wall = base.values[metric::WALL] * factor;
                run.values.insert(metric::WALL.into(), wall);
            }
        }
        let mut third = first.clone();
        for (run, base) in third.rows[0].cells[1].runs.iter_mut().zip(&first.rows[0].cells[0].runs)
        {
            run.values.insert(metric::WALL.into(), base.values[metric::WALL] * 3.0);
        }
        let agreement = compare(&third, &second, "loam").expect("a suite");
        let [change] = agreement.contradicting.as_slice() else {
            panic!("one contradiction: {agreement:?}");
        };
        assert_eq!(change.allocator, "glibc");
        assert!(change.first.starts_with("slower: 3.00 times the time"), "{}", change.first);
        assert!(change.second.starts_with("faster: 70 % less time"), "{}", change.second);
    }

    #[test]
    fn results_of_different_suites_are_refused() {
        let first = synthetic::suite(1);
        let mut second = first.clone();
        second.rows.iter_mut().for_each(|row| row.name.push('x'));
        assert!(compare(&first, &second, "loam").is_err());
    }
}
