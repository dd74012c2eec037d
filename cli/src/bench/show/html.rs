//! The report as one page: no other files, nothing from the network, readable without scripts.

use crate::bench::judge::comparison::{
    Aspect, AspectTotal, ComparedMetric, ComparedRow, Comparison, Verdict,
};
use crate::bench::show::form::Form;
use crate::bench::show::{answer, dots, notes, plots, wording};
use crate::numbers;
use crate::picture::page::{COLORS, HEAD, STYLE};
use anyhow::{Context, Result};
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use serde::Serialize;

const PAGE: &str = include_str!("page.html");
/// The others are folded away.
const NOTES_SHOWN: usize = 10;

/// The page, which needs no other files.
pub struct Page;

impl Form for Page {
    fn show(&self, comparison: &Comparison) -> Result<String> {
        render(comparison)
    }
}

/// All names and texts are escaped: only pictures of our own drawing are put in as is.
pub fn render(comparison: &Comparison) -> Result<String> {
    let page = Value::from(Serde(Content::of(comparison)?));
    let mut environment = Environment::new();
    // The names' endings turn escaping on.
    for (name, text) in [("page.html", PAGE), ("head.html", HEAD)] {
        environment.add_template(name, text).context("the page's template")?;
    }
    let template = environment.get_template("page.html").context("the page's template")?;
    let values = context! { page, styles => [COLORS, STYLE] };
    template.render(values).context("the page's template")
}

#[derive(Serialize)]
struct Content<'a> {
    title: String,
    answer: String,
    is_suite: bool,
    allocator_count: usize,
    baseline: &'a str,
    command: String,
    direction: String,
    facts: Vec<(&'static str, String)>,
    notes: Vec<String>,
    more_notes: Vec<String>,
    allocators: Vec<AllocatorFacts<'a>>,
    overview: Vec<String>,
    totals: Vec<TotalLine<'a>>,
    matrices: Vec<Matrix>,
    marks: Vec<(&'static str, &'static str)>,
    rows: Vec<RowSection<'a>>,
}

#[derive(Serialize)]
struct AllocatorFacts<'a> {
    name: &'a str,
    version: Option<&'a str>,
    flags: Option<&'a str>,
    library: Option<&'a str>,
    environment: Vec<String>,
    is_limit: bool,
    problem: Option<&'a str>,
}

#[derive(Serialize)]
struct TotalLine<'a> {
    allocator: &'a str,
    time: TotalCells,
    memory: TotalCells,
}

#[derive(Serialize)]
struct TotalCells {
    mean: String,
    tint: &'static str,
    row_count: usize,
    better: usize,
    worse: usize,
}

#[derive(Serialize)]
struct Matrix {
    name: &'static str,
    columns: Vec<String>,
    lines: Vec<MatrixLine>,
}

#[derive(Serialize)]
struct MatrixLine {
    label: String,
    anchor: String,
    title: String,
    baseline: String,
    cells: Vec<MatrixCell>,
}

#[derive(Serialize)]
struct MatrixCell {
    text: String,
    verdict: String,
    tint: &'static str,
}

#[derive(Serialize)]
struct RowSection<'a> {
    anchor: String,
    name: &'a str,
    group: Option<&'a str>,
    title: &'a str,
    about: Option<&'a str>,
    command: &'a str,
    pictures: Vec<String>,
    judged: Vec<JudgedTable>,
    others: Option<OtherTable>,
}

#[derive(Serialize)]
struct JudgedTable {
    title: String,
    lines: Vec<JudgedLine>,
}

#[derive(Serialize)]
struct JudgedLine {
    allocator: String,
    is_baseline: bool,
    is_partial: bool,
    figure: String,
    range: String,
    runs: usize,
    ratio: String,
    verdict: String,
    tint: &'static str,
}

#[derive(Serialize)]
struct OtherTable {
    titles: Vec<String>,
    lines: Vec<(String, Vec<String>)>,
}

impl<'a> Content<'a> {
    fn of(comparison: &'a Comparison) -> Result<Content<'a>> {
        let is_suite = comparison.is_suite();
        let title = match comparison.rows.first() {
            Some(row) if !is_suite => format!("Allocators compared: {}", row.row.command),
            _ => format!("Allocators compared on {} programs", comparison.rows.len()),
        };
        let rows = comparison.rows.iter().enumerate();
        let mut notes = notes::notes(comparison);
        let more_notes = notes.split_off(notes.len().min(NOTES_SHOWN));
        Ok(Content {
            title,
            answer: answer::answer(comparison),
            is_suite,
            allocator_count: comparison.allocators.len(),
            baseline: comparison.baseline,
            command: wording::measured_by(comparison.results).join(" && "),
            direction: wording::direction(comparison),
            facts: wording::machine_facts(comparison.results),
            notes,
            more_notes,
            allocators: comparison.results.allocators.iter().map(allocator_facts).collect(),
            overview: if is_suite { overview(comparison)? } else { Vec::new() },
            totals: comparison.totals.iter().map(total_line).collect(),
            matrices: [Aspect::Time, Aspect::Memory, Aspect::Other]
                .into_iter()
                .filter_map(|aspect| matrix(comparison, aspect))
                .collect(),
            marks: wording::MARKS.to_vec(),
            rows: rows.map(|(at, row)| section(comparison, row, at)).collect::<Result<_>>()?,
        })
    }
}

fn allocator_facts(row: &crate::bench::judge::results::AllocatorRow) -> AllocatorFacts<'_> {
    AllocatorFacts {
        name: &row.name,
        version: row.version.as_deref(),
        flags: row.flags.as_deref(),
        library: row.library.as_deref(),
        environment: row.environment.iter().map(|(name, set)| format!("{name}={set}")).collect(),
        is_limit: row.is_limit,
        problem: row.problem.as_deref(),
    }
}

fn overview(comparison: &Comparison) -> Result<Vec<String>> {
    let names: Vec<&str> = comparison
        .allocators
        .iter()
        .map(|row| row.name.as_str())
        .filter(|name| *name != comparison.baseline)
        .collect();
    let has = |aspect| comparison.rows.iter().any(|row| row.leading(aspect).is_some());
    [Aspect::Time, Aspect::Memory]
        .into_iter()
        .filter(|aspect| has(*aspect))
        .map(|aspect| dots::Dots { aspect, names: &names }.show(comparison))
        .collect()
}

fn total_line<'a>(total: &'a crate::bench::judge::comparison::Total) -> TotalLine<'a> {
    let cells = |total: &AspectTotal| TotalCells {
        mean: total.mean.map_or_else(|| "-".into(), wording::ratio_and_range),
        tint: match total.mean.and_then(|mean| mean.interval) {
            Some(interval) if interval.high < 1.0 => "better",
            Some(interval) if interval.low > 1.0 => "worse",
            _ => "",
        },
        row_count: total.row_count,
        better: total.better,
        worse: total.worse,
    };
    TotalLine { allocator: total.allocator, time: cells(&total.time), memory: cells(&total.memory) }
}

fn anchor(at: usize) -> String {
    format!("row-{}", at + 1)
}

fn tint(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Failed(_) | Verdict::BaselineFailed(_) => "failed",
        Verdict::NotJudged => "limit",
        _ => "",
    }
}

/// `None` where no row is judged on this aspect.
fn matrix(comparison: &Comparison, aspect: Aspect) -> Option<Matrix> {
    let is_shown = |name: &&str| *name != comparison.baseline;
    let all = comparison.allocators.iter().chain(&comparison.limits);
    let names: Vec<&str> = all.map(|row| row.name.as_str()).filter(is_shown).collect();
    let mut lines = Vec::new();
    for (at, row) in comparison.rows.iter().enumerate() {
        for compared in row.judged().filter(|compared| compared.metric.aspect() == aspect) {
            lines.push(matrix_line(comparison, row, compared, &names, anchor(at)));
        }
    }
    let limit = |name: &str| comparison.limits.iter().any(|row| row.name == name);
    let column = |name: &&str| match limit(name) {
        true => format!("{name} (limit)"),
        false => (*name).to_owned(),
    };
    let columns = names.iter().map(column).collect();
    (!lines.is_empty()).then(|| Matrix { name: aspect.name(), columns, lines })
}

fn matrix_line(
    comparison: &Comparison,
    row: &ComparedRow,
    compared: &ComparedMetric,
    names: &[&str],
    anchor: String,
) -> MatrixLine {
    let figure = compared.entry(comparison.baseline).and_then(|entry| entry.summary);
    let cell = |name: &&str| {
        let Some(entry) = compared.entry(name) else {
            return MatrixCell { text: "-".into(), verdict: "not measured".into(), tint: "" };
        };
        let mark = wording::mark(entry.verdict);
        let ratio = compared.cost(entry).map(|ratio| numbers::ratio(ratio.value));
        let text = match ratio {
            Some(ratio) => format!("{ratio}{mark}"),
            None if mark.is_empty() => "-".into(),
            None => mark.into(),
        };
        let verdict = wording::verdict(entry, compared.name, compared.metric);
        MatrixCell { text, verdict: format!("{name}: {verdict}"), tint: tint(entry.verdict) }
    };
    MatrixLine {
        label: wording::row_label(row, compared),
        anchor,
        title: row.row.title.clone(),
        baseline: figure.map_or_else(
            || "!".into(),
            |summary| numbers::figure(summary.median, &compared.metric.unit),
        ),
        cells: names.iter().map(cell).collect(),
    }
}

fn section<'a>(
    comparison: &'a Comparison,
    row: &'a ComparedRow,
    at: usize,
) -> Result<RowSection<'a>> {
    let mut pictures =
        row.judged().map(|one| plots::bars(comparison, row, one)).collect::<Result<Vec<_>>>()?;
    pictures.extend(plots::memory(comparison, row)?);
    Ok(RowSection {
        anchor: anchor(at),
        name: &row.row.name,
        group: row.row.group.as_deref(),
        title: &row.row.title,
        about: row.row.about.as_deref(),
        command: &row.row.command,
        pictures,
        judged: row.judged().map(judged_table).collect(),
        others: other_table(row),
    })
}

fn judged_table(compared: &ComparedMetric) -> JudgedTable {
    let unit = &compared.metric.unit;
    let line = |entry: &crate::bench::judge::comparison::Entry| JudgedLine {
        allocator: entry.allocator.to_owned(),
        is_baseline: entry.verdict == Verdict::Baseline,
        is_partial: entry.is_partial,
        figure: entry.summary.map_or_else(
            || "-".into(),
            |summary| numbers::figure_and_spread(summary.median, summary.spread, unit),
        ),
        range: entry.summary.map_or_else(String::new, |summary| {
            let ends = [summary.lowest, summary.highest].map(|end| numbers::figure(end, unit));
            ends.join(" to ")
        }),
        runs: entry.summary.map_or(0, |summary| summary.count),
        ratio: entry.ratio.map(wording::ratio_and_range).unwrap_or_default(),
        verdict: wording::verdict(entry, compared.name, compared.metric),
        tint: tint(entry.verdict),
    };
    JudgedTable {
        title: wording::title(compared.name).to_owned(),
        lines: compared.entries.iter().map(line).collect(),
    }
}

fn other_table(row: &ComparedRow) -> Option<OtherTable> {
    let shown: Vec<&ComparedMetric> = row.unjudged().collect();
    let first = shown.first()?;
    let figure = |compared: &ComparedMetric, at: usize| {
        let summary = compared.entries[at].summary;
        let figure = summary.map(|all| numbers::figure(all.median, &compared.metric.unit));
        figure.unwrap_or_else(|| "-".into())
    };
    let line = |(at, entry): (usize, &crate::bench::judge::comparison::Entry)| {
        let figures = shown.iter().map(|compared| figure(compared, at)).collect();
        (entry.allocator.to_owned(), figures)
    };
    Some(OtherTable {
        titles: shown.iter().map(|one| wording::title(one.name).to_owned()).collect(),
        lines: first.entries.iter().enumerate().map(line).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::synthetic;

    fn page(results: &crate::bench::judge::results::Results, baseline: &str) -> String {
        render(&Comparison::new(results, baseline).expect("a baseline")).expect("a page")
    }

    #[test]
    fn names_and_texts_are_escaped() {
        for text in [page(&synthetic::suite(1), "loam"), page(&synthetic::command(1), "glibc")] {
            assert!(!text.contains("<script>alert"), "a script");
            assert!(text.contains("&lt;script&gt;alert"), "no name");
            assert!(!text.contains("<b>with"), "a title");
        }
    }

    #[test]
    fn the_page_stands_alone() {
        let text = page(&synthetic::suite(1), "loam");
        let elsewhere = ["src=", "href=\"http", "url(", "@import", "<link"];
        for part in elsewhere {
            assert!(!text.contains(part), "{part}");
        }
        assert!(text.contains("prefers-color-scheme") && text.contains("viewport"));
    }

    #[test]
    fn pictures_tell_more_under_the_pointer_and_the_answer_comes_first() {
        for text in [page(&synthetic::suite(1), "loam"), page(&synthetic::command(1), "glibc")] {
            assert!(text.contains("class=\"tip\"><title>loam: "), "bars");
            assert!(text.matches("class=\"tip\"").count() > 40, "times");
            let answer = text.find("class=\"answer\"").expect("an answer");
            assert!(answer < text.find("<dl").expect("facts"));
            assert!(!text.contains("max-width: 78rem"));
        }
    }

    #[test]
    fn a_suite_has_overview_and_sections() {
        let text = page(&synthetic::suite(1), "loam");
        assert_eq!(text.matches("<details").count(), 8);
        assert!(text.contains("memory over time") && text.contains("Geometric means"));
    }
}
