//! The judged figures as Markdown: for an issue, a pull request or a page.

use crate::bench::judge::comparison::{ComparedMetric, ComparedRow, Comparison, Entry};
use crate::bench::show::answer::answer;
use crate::bench::show::form::Form;
use crate::bench::show::markdown::{cell, code};
use crate::bench::show::{notes, wording};
use crate::numbers;
use anyhow::Result;
use std::fmt::Write;

pub struct MarkdownTable;

impl Form for MarkdownTable {
    fn show(&self, comparison: &Comparison) -> Result<String> {
        let mut out = String::new();
        for row in &comparison.rows {
            table(&mut out, comparison, row)?;
        }
        for note in notes::notes(comparison) {
            writeln!(out, "- {}", cell(&note))?;
        }
        writeln!(out, "\n{}", cell(&answer(comparison)))?;
        Ok(out)
    }
}

fn table(out: &mut String, comparison: &Comparison, row: &ComparedRow) -> std::fmt::Result {
    let baseline = cell(comparison.baseline);
    writeln!(out, "{}\n", code(&row.row.command))?;
    for compared in row.judged().filter(|compared| compared.has_figures()) {
        let title = cell(wording::title(compared.name));
        writeln!(
            out,
            "| {title} | median ± spread | lowest to highest | / {baseline} (95 %) | verdict |"
        )?;
        writeln!(out, "|:---|---:|---:|---:|:---|")?;
        compared.entries.iter().try_for_each(|entry| line(out, compared, entry))?;
        writeln!(out)?;
    }
    Ok(())
}

fn line(out: &mut String, compared: &ComparedMetric, entry: &Entry) -> std::fmt::Result {
    let unit = &compared.metric.unit;
    let (figure, range) = match entry.summary {
        None => ("-".into(), "-".into()),
        Some(all) => (
            numbers::figure_and_spread(all.median, all.spread, unit),
            [all.lowest, all.highest].map(|end| numbers::figure(end, unit)).join(" to "),
        ),
    };
    let ratio = entry.ratio.map(wording::ratio_and_range).unwrap_or_default();
    let verdict = wording::verdict(entry, compared.name, compared.metric);
    let name = cell(entry.allocator);
    writeln!(out, "| {name} | {figure} | {range} | {ratio} | {} |", cell(&verdict))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::synthetic;

    #[test]
    fn there_is_a_table_for_each_judged_metric_and_the_answer() {
        let results = synthetic::command(1);
        let text = MarkdownTable.show(&Comparison::new(&results, "glibc").unwrap()).unwrap();
        assert!(text.contains("| wall time | median") && text.contains("| peak memory | median"));
        for line in text.lines().filter(|line| line.starts_with('|')) {
            let bars = line.replace("\\|", "").matches('|').count();
            assert_eq!(bars, 6, "{line}");
        }
        assert!(!text.contains("<script>"));
        assert!(text.trim_end().ends_with('.'), "{text}");
    }
}
