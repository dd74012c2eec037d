//! The report for the terminal: one block per judged metric for a command, one matrix per aspect
//! for a suite, then the means and what one must know.

use crate::bench::judge::comparison::{
    Aspect, AspectTotal, ComparedMetric, ComparedRow, Comparison, Verdict,
};
use crate::bench::show::answer::answer;
use crate::bench::show::form::Form;
use crate::bench::show::notes;
use crate::bench::show::wording;
use crate::bench::show::wording::printable;
use crate::numbers;
use crate::picture::letters::shortened;
use anyhow::Result;
use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table, TableStyle,
};
use std::fmt::Write;
use std::io::IsTerminal;

/// Of an allocator's in the head of a column.
const NAME_LENGTH: usize = 16;

/// What is written to.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// In columns; `None` where lines may be of any length.
    pub width: Option<u16>,
    pub is_colored: bool,
}

impl Style {
    /// That of standard output. NO_COLOR counts if it is set and not empty (no-color.org).
    pub fn of_stdout() -> Style {
        let is_terminal = std::io::stdout().is_terminal();
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let width = if is_terminal { Table::new().width().map(believed) } else { None };
        Style { width, is_colored: is_terminal && !refused }
    }
}

/// A terminal that says it has no width does not know it: inside of editors and of CI.
fn believed(width: u16) -> u16 {
    const USUAL: u16 = 80;
    if width == 0 { USUAL } else { width }
}

impl Form for Style {
    fn show(&self, comparison: &Comparison) -> Result<String> {
        let mut out = String::new();
        write(&mut out, comparison, *self)?;
        Ok(out)
    }
}

fn write(out: &mut String, comparison: &Comparison, style: Style) -> std::fmt::Result {
    heading(out, comparison)?;
    if comparison.is_suite() {
        writeln!(out, "\n{}", printable(&wording::direction(comparison)))?;
        for aspect in [Aspect::Time, Aspect::Memory, Aspect::Other] {
            matrix(out, comparison, aspect, style)?;
        }
        marks(out)?;
        totals(out, comparison, style)?;
    } else {
        for row in &comparison.rows {
            block(out, comparison, row, style)?;
        }
    }
    let notes = notes::notes(comparison);
    if !notes.is_empty() {
        writeln!(out)?;
    }
    notes.iter().try_for_each(|note| writeln!(out, "note: {}", printable(note)))?;
    writeln!(out, "\n{}", printable(&answer(comparison)))
}

fn heading(out: &mut String, comparison: &Comparison) -> std::fmt::Result {
    for command in wording::measured_by(comparison.results) {
        writeln!(out, "{}", printable(&command))?;
    }
    for (name, fact) in wording::machine_facts(comparison.results) {
        writeln!(out, "  {name:<16} {}", printable(&fact))?;
    }
    let versions = wording::allocator_versions(comparison).join("; ");
    writeln!(out, "  {:<16} {}", "allocators", printable(&versions))
}

/// One row in full.
fn block(
    out: &mut String,
    comparison: &Comparison,
    row: &ComparedRow,
    style: Style,
) -> std::fmt::Result {
    writeln!(out, "\n{}: {}", printable(&row.row.name), printable(&row.row.title))?;
    if row.row.title != row.row.command {
        writeln!(out, "  {}", printable(&row.row.command))?;
    }
    for compared in row.judged().filter(|compared| compared.has_figures()) {
        let mut table = new_table(style);
        table.set_header(vec![
            text(wording::title(compared.name)),
            number("median ± spread"),
            number(&format!("times {}'s (95 %)", comparison.baseline)),
            text(&format!("compared with {}", comparison.baseline)),
        ]);
        for entry in &compared.entries {
            let figure = entry.summary.map(|summary| {
                numbers::figure_and_spread(summary.median, summary.spread, &compared.metric.unit)
            });
            let ratio = entry.ratio.map(wording::ratio_and_range).unwrap_or_default();
            let partial = if entry.is_partial { " (in part)" } else { "" };
            // A line may break anywhere but before the sign.
            let verdict = wording::verdict(entry, compared.name, compared.metric);
            let verdict = match style.width {
                Some(_) => verdict.replace(" %", "\u{a0}%"),
                None => verdict,
            };
            table.add_row(vec![
                text(&format!("{}{partial}", entry.allocator)),
                number(&figure.unwrap_or_else(|| "-".into())),
                number(&ratio),
                colored(text(&verdict), entry.verdict),
            ]);
        }
        writeln!(out, "\n{}", table.trim_fmt())?;
    }
    others(out, row, style)
}

/// The medians of what is not judged.
fn others(out: &mut String, row: &ComparedRow, style: Style) -> std::fmt::Result {
    const NARROW: u16 = 100;
    const COLUMNS_IF_NARROW: usize = 4;
    let shown: Vec<&ComparedMetric> =
        row.unjudged().filter(|compared| compared.has_figures()).collect();
    let is_narrow = style.width.is_some_and(|width| width < NARROW);
    let columns = if is_narrow { COLUMNS_IF_NARROW } else { shown.len().max(1) };
    shown.chunks(columns).try_for_each(|part| medians(out, part, style))
}

fn medians(out: &mut String, shown: &[&ComparedMetric], style: Style) -> std::fmt::Result {
    let Some(first) = shown.first() else { return Ok(()) };
    let mut table = new_table(style);
    let titles = shown.iter().map(|compared| number(wording::title(compared.name)));
    table.set_header([text("other medians")].into_iter().chain(titles).collect::<Vec<_>>());
    for (at, entry) in first.entries.iter().enumerate() {
        let figure = |compared: &&ComparedMetric| {
            let summary = compared.entries[at].summary;
            let figure = summary.map(|all| numbers::figure(all.median, &compared.metric.unit));
            number(&figure.unwrap_or_else(|| "-".into()))
        };
        let cells = shown.iter().map(figure);
        table.add_row([text(entry.allocator)].into_iter().chain(cells).collect::<Vec<_>>());
    }
    writeln!(out, "\n{}", table.trim_fmt())
}

/// Rows by allocators. In as many tables as the width asks for.
fn matrix(
    out: &mut String,
    comparison: &Comparison,
    aspect: Aspect,
    style: Style,
) -> std::fmt::Result {
    let of_aspect = |row| judged_of(row, aspect);
    let shown: Vec<(&ComparedRow, &ComparedMetric)> =
        comparison.rows.iter().flat_map(of_aspect).collect();
    if shown.is_empty() {
        return Ok(());
    }
    let names = comparison.others();
    for names in columns_that_fit(&shown, &names, style.width) {
        let mut table = new_table(style);
        let head = format!("{}: NAME / {}", aspect.name(), comparison.baseline);
        let header = [text(&head), number(comparison.baseline)].into_iter();
        let columns = names.iter().map(|name| {
            let is_limit = comparison.limits.iter().any(|row| row.name == *name);
            let name = shortened(name, NAME_LENGTH);
            number(&if is_limit { format!("{name} (limit)") } else { name })
        });
        table.set_header(header.chain(columns).collect::<Vec<_>>());
        for (row, compared) in &shown {
            table.add_row(matrix_row(comparison, row, compared, names));
        }
        writeln!(out, "\n{}", table.trim_fmt())?;
    }
    Ok(())
}

fn judged_of<'a>(
    row: &'a ComparedRow<'a>,
    aspect: Aspect,
) -> impl Iterator<Item = (&'a ComparedRow<'a>, &'a ComparedMetric<'a>)> {
    let fits = move |compared: &&ComparedMetric| compared.metric.aspect() == aspect;
    row.judged().filter(fits).map(move |compared| (row, compared))
}

fn matrix_row(
    comparison: &Comparison,
    row: &ComparedRow,
    compared: &ComparedMetric,
    names: &[&str],
) -> Vec<Cell> {
    let figure = compared
        .entry(comparison.baseline)
        .and_then(|entry| entry.summary)
        .map(|summary| numbers::figure(summary.median, &compared.metric.unit));
    let ratio = |name: &&str| {
        let Some(entry) = compared.entry(name) else { return number("-") };
        let mark = wording::mark(entry.verdict);
        let ratio = compared.cost(entry).map(|ratio| numbers::ratio(ratio.value));
        let missing = if mark.is_empty() { "-" } else { "" };
        let content = format!("{}{mark}", ratio.as_deref().unwrap_or(missing));
        // All points stand below each other: a place is kept for the mark.
        let place = if mark.is_empty() { " " } else { "" };
        colored(number(&format!("{content}{place}")), entry.verdict)
    };
    [text(&wording::row_label(row, compared)), number(figure.as_deref().unwrap_or("!"))]
        .into_iter()
        .chain(names.iter().map(ratio))
        .collect()
}

/// The allocators, in groups that fit beside the rows' names.
fn columns_that_fit<'n>(
    shown: &[(&ComparedRow, &ComparedMetric)],
    names: &'n [&'n str],
    width: Option<u16>,
) -> Vec<&'n [&'n str]> {
    const GAP: usize = 3;
    const NARROWEST: usize = 6;
    const BASELINE: usize = 10;
    let Some(width) = width else { return vec![names] };
    let labels =
        shown.iter().map(|(row, compared)| wording::row_label(row, compared).chars().count());
    let label_width = labels.max().unwrap_or(0).max(20) + GAP + BASELINE + GAP;
    let mut groups = Vec::new();
    let mut start = 0;
    let mut used = label_width;
    for (at, name) in names.iter().enumerate() {
        let wanted = name.chars().count().clamp(NARROWEST, NAME_LENGTH) + GAP;
        if used + wanted > usize::from(width) && at > start {
            groups.push(&names[start..at]);
            (start, used) = (at, label_width);
        }
        used += wanted;
    }
    groups.push(&names[start..]);
    groups
}

fn marks(out: &mut String) -> std::fmt::Result {
    writeln!(out)?;
    wording::MARKS.iter().try_for_each(|(mark, meaning)| writeln!(out, "  {mark}  {meaning}"))
}

fn totals(out: &mut String, comparison: &Comparison, style: Style) -> std::fmt::Result {
    let mut table = new_table(style);
    let against = comparison.baseline;
    table.set_header(vec![
        text(&format!("all rows: NAME / {against}")),
        number("time, mean (95 %)"),
        number("rows"),
        number("less"),
        number("more"),
        number("memory, mean (95 %)"),
        number("rows"),
        number("less"),
        number("more"),
    ]);
    for total in &comparison.totals {
        let cells = [&total.time, &total.memory].into_iter().flat_map(aspect_cells);
        table.add_row([text(total.allocator)].into_iter().chain(cells).collect::<Vec<_>>());
    }
    writeln!(out, "\n{}", table.trim_fmt())?;
    let sentence = "Means are geometric, over the rows that both finished; their intervals say \
                    what other rows of this kind would give.\nless, more: rows in which NAME \
                    takes less or more, beyond chance and 2 %.";
    writeln!(out, "{sentence}")
}

fn aspect_cells(total: &AspectTotal) -> [Cell; 4] {
    let mean = total.mean.map_or_else(|| "-".into(), wording::ratio_and_range);
    let counts = [total.row_count, total.better, total.worse];
    let [rows, less, more] = counts.map(|count| number(&count.to_string()));
    [number(&mean), rows, less, more]
}

fn new_table(style: Style) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(rule));
    match style.width {
        Some(width) => {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        None => {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    if style.is_colored {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table
}

fn text(content: &str) -> Cell {
    Cell::new(printable(content))
}

fn number(content: &str) -> Cell {
    text(content).set_alignment(CellAlignment::Right)
}

fn colored(cell: Cell, verdict: Verdict) -> Cell {
    match verdict {
        Verdict::Better => cell.fg(Color::Green),
        Verdict::Worse => cell.fg(Color::Red),
        Verdict::Failed(_) | Verdict::BaselineFailed(_) => {
            cell.fg(Color::Red).add_attribute(Attribute::Bold)
        }
        _ => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::synthetic;

    const PLAIN: Style = Style { width: None, is_colored: false };

    fn rendered(
        results: &crate::bench::judge::results::Results,
        baseline: &str,
        style: Style,
    ) -> String {
        style.show(&Comparison::new(results, baseline).expect("a baseline")).expect("a text")
    }

    #[test]
    fn a_command_is_shown_in_full() {
        let text = rendered(&synthetic::command(1), "glibc", PLAIN);
        for part in ["Example 9000", "wall time", "times glibc's (95 %)", "a limit, not judged"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(text.contains("faster: ") || text.contains("slower: "), "{text}");
        assert!(text.contains("other medians") && text.contains("minor faults"), "{text}");
        assert!(text.contains("1 of 7 runs failed: took longer than 60 s"), "{text}");
    }

    #[test]
    fn a_suite_is_matrices_means_and_notes() {
        let text = rendered(&synthetic::suite(1), "loam", PLAIN);
        for part in [
            "time: NAME / loam",
            "memory: NAME / loam",
            "all rows: NAME / loam",
            "redis: requests",
            "bump (limit)",
            "jemalloc failed: ended by SIGSEGV in round 2",
            "ran only in part on snmalloc: sh: glibc's malloc",
            "gperftools was left out",
            "rocksdb was skipped",
            "Others took 7.0 %",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn narrow_terminals_get_more_tables_not_broken_ones() {
        let style = Style { width: Some(80), is_colored: false };
        let results = synthetic::suite(1);
        let text = rendered(&results, "loam", style);
        assert!(text.matches("time: NAME / loam").count() > 1, "{text}");
        let matrix = text.lines().skip_while(|line| !line.contains("time: NAME"));
        for line in matrix.take_while(|line| !line.is_empty()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn a_terminal_without_width_is_as_wide_as_most() {
        assert_eq!((believed(0), believed(72)), (80, 72));
    }

    #[test]
    fn a_failure_is_reported_once() {
        let mut results = synthetic::command(1);
        for cell in &mut results.rows[0].cells {
            cell.problem = Some("ended with status 1".into());
            cell.runs.clear();
        }
        let text = rendered(&results, "glibc", PLAIN);
        assert_eq!(text.matches("ended with status 1").count(), 1, "{text}");
        assert!(!text.contains("median"), "no tables without figures: {text}");
        assert!(text.contains("with loam, glibc, mimalloc"), "{text}");
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        let mut results = synthetic::command(1);
        results.rows[0].title = "\u{1b}[2Jgone".into();
        results.machine.processor = "\u{1b}]0;title\u{7}".into();
        let text = rendered(&results, "loam", PLAIN);
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text}");
    }

    #[test]
    fn colours_come_only_when_asked_for() {
        let style = Style { width: Some(120), is_colored: true };
        assert!(rendered(&synthetic::command(1), "glibc", style).contains('\u{1b}'));
    }

    #[test]
    fn a_baseline_that_was_not_measured_is_an_error() {
        let results = synthetic::suite(1);
        let error = Comparison::new(&results, "tcmalloc").err().map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains("loam, glibc, mimalloc")));
    }
}
