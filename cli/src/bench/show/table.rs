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
const NAME_LENGTH_IF_NARROW: usize = 14;
/// As wide as a terminal is at least.
const USUAL: u16 = 80;
/// Below this verdicts are short; from that on the means of both aspects stand side by side.
const NARROW: u16 = 100;
const WIDE: u16 = 120;

/// What is written to.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// In columns, which no line is longer than.
    pub width: u16,
    pub is_colored: bool,
}

impl Style {
    /// That of standard output. NO_COLOR counts if it is set and not empty (no-color.org).
    pub fn of_stdout() -> Style {
        let is_terminal = std::io::stdout().is_terminal();
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        // What is no terminal may become one: of mail, of documents, of a pager.
        let width = Table::new().width().filter(|_| is_terminal).map_or(USUAL, believed);
        Style { width, is_colored: is_terminal && !refused }
    }
}

/// A terminal that says it has no width does not know it: inside of editors and of CI.
fn believed(width: u16) -> u16 {
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
    heading(out, comparison, style)?;
    if comparison.is_suite() {
        writeln!(out)?;
        style.sentence(out, "", "", &wording::direction(comparison))?;
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
    notes.iter().try_for_each(|note| style.sentence(out, "note: ", "  ", note))?;
    writeln!(out)?;
    style.sentence(out, "", "", &answer(comparison))
}

impl Style {
    /// On as many lines as it takes: the first begins with that, the others with so much.
    fn sentence(
        self,
        out: &mut String,
        first: &str,
        others: &str,
        content: &str,
    ) -> std::fmt::Result {
        let options = textwrap::Options::new(usize::from(self.width))
            .initial_indent(first)
            .subsequent_indent(others)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .word_separator(textwrap::WordSeparator::AsciiSpace);
        writeln!(out, "{}", textwrap::fill(&printable(content), options))
    }
}

fn heading(out: &mut String, comparison: &Comparison, style: Style) -> std::fmt::Result {
    for command in wording::measured_by(comparison.results) {
        style.sentence(out, "", "    ", &command)?;
    }
    let versions = wording::allocator_versions(comparison).join("; ");
    let facts = wording::machine_facts(comparison.results);
    for (name, fact) in facts.into_iter().chain([("allocators", versions)]) {
        style.sentence(out, &format!("  {name:<16} "), &" ".repeat(19), &fact)?;
    }
    Ok(())
}

/// One row in full.
fn block(
    out: &mut String,
    comparison: &Comparison,
    row: &ComparedRow,
    style: Style,
) -> std::fmt::Result {
    writeln!(out)?;
    style.sentence(out, "", "  ", &format!("{}: {}", row.row.name, row.row.title))?;
    if row.row.title != row.row.command {
        style.sentence(out, "  ", "    ", &row.row.command)?;
    }
    let is_narrow = style.width < NARROW;
    let name_length = if is_narrow { NAME_LENGTH_IF_NARROW } else { NAME_LENGTH };
    let baseline = shortened(comparison.baseline, name_length);
    for compared in row.judged().filter(|compared| compared.has_figures()) {
        let mut table = new_table(style);
        table.set_header(vec![
            text(wording::title(compared.name)),
            number("median ± spread"),
            number(&format!("times {baseline}'s (95 %)")),
            text(&format!("compared with {baseline}")),
        ]);
        for entry in &compared.entries {
            let figure = entry.summary.map(|summary| {
                numbers::figure_and_spread(summary.median, summary.spread, &compared.metric.unit)
            });
            let ratio = entry.ratio.map(wording::ratio_and_range).unwrap_or_default();
            let partial = if entry.is_partial { " (in part)" } else { "" };
            // The column before it has the interval, too.
            let verdict = match is_narrow {
                true => wording::short_verdict(entry, compared.name, compared.metric),
                false => wording::verdict(entry, compared.name, compared.metric),
            };
            // A line may break anywhere but before the sign.
            let verdict = verdict.replace(" %", "\u{a0}%");
            table.add_row(vec![
                text(&format!("{}{partial}", shortened(entry.allocator, name_length))),
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
    const COLUMNS_IF_NARROW: usize = 4;
    let shown: Vec<&ComparedMetric> =
        row.unjudged().filter(|compared| compared.has_figures()).collect();
    let columns = if style.width < NARROW { COLUMNS_IF_NARROW } else { shown.len().max(1) };
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
        let name = text(&shortened(entry.allocator, NAME_LENGTH));
        table.add_row([name].into_iter().chain(cells).collect::<Vec<_>>());
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
    let baseline = shortened(comparison.baseline, NAME_LENGTH);
    let head = format!("{}: NAME / {baseline}", aspect.name());
    for names in columns_that_fit(comparison, &shown, (&head, &names), style.width) {
        let mut table = new_table(style);
        let header = [text(&head), number(&baseline)].into_iter();
        let columns = names.iter().map(|name| number(&column_head(comparison, name)));
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

/// The head of an allocator's column.
fn column_head(comparison: &Comparison, name: &str) -> String {
    let is_limit = comparison.limits.iter().any(|row| row.name == name);
    let name = shortened(name, NAME_LENGTH);
    if is_limit { format!("{name} (limit)") } else { name }
}

/// The allocators, in groups that fit beside the rows' names.
fn columns_that_fit<'n>(
    comparison: &Comparison,
    shown: &[(&ComparedRow, &ComparedMetric)],
    (head, names): (&str, &'n [&'n str]),
    width: u16,
) -> Vec<&'n [&'n str]> {
    const GAP: usize = 3;
    const NARROWEST: usize = 7;
    const FIGURE: usize = 10;
    let labels =
        shown.iter().map(|(row, compared)| wording::row_label(row, compared).chars().count());
    let label_width = labels.max().unwrap_or(0).max(head.chars().count());
    let baseline = comparison.baseline.chars().count().clamp(FIGURE, NAME_LENGTH);
    let label_width = label_width + GAP + baseline + GAP;
    let mut groups = Vec::new();
    let mut start = 0;
    let mut used = label_width;
    for (at, name) in names.iter().enumerate() {
        let wanted = column_head(comparison, name).chars().count().max(NARROWEST) + GAP;
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
    let aspects = [Aspect::Time, Aspect::Memory];
    let at_once = if style.width < WIDE { 1 } else { aspects.len() };
    for aspects in aspects.chunks(at_once) {
        let mut table = new_table(style);
        let head = format!("all rows: NAME / {}", shortened(comparison.baseline, NAME_LENGTH));
        let heads = aspects.iter().flat_map(|aspect| {
            let mean = format!("{}, mean (95 %)", aspect.name());
            [number(&mean), number("rows"), number("less"), number("more")]
        });
        table.set_header([text(&head)].into_iter().chain(heads).collect::<Vec<_>>());
        for total in &comparison.totals {
            let cells = aspects.iter().flat_map(|aspect| match aspect {
                Aspect::Memory => aspect_cells(&total.memory),
                _ => aspect_cells(&total.time),
            });
            let name = text(&shortened(total.allocator, NAME_LENGTH));
            table.add_row([name].into_iter().chain(cells).collect::<Vec<_>>());
        }
        writeln!(out, "\n{}", table.trim_fmt())?;
    }
    for sentence in [
        "Means are geometric, over the rows that both finished; their intervals say what other \
         rows of this kind would give.",
        "less, more: rows in which NAME takes less or more, beyond chance and 2 %.",
    ] {
        style.sentence(out, "", "", sentence)?;
    }
    Ok(())
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
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(style.width);
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

    const PLAIN: Style = Style { width: 200, is_colored: false };

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
        let style = Style { width: 80, is_colored: false };
        let results = synthetic::suite(1);
        let text = rendered(&results, "loam", style);
        assert!(text.matches("time: NAME / loam").count() > 1, "{text}");
        let matrix = text.lines().skip_while(|line| !line.contains("time: NAME"));
        for line in matrix.take_while(|line| !line.is_empty()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    /// Names, figures and sentences as long as they get.
    fn extreme(mut results: crate::bench::judge::results::Results, factor: f64) -> String {
        let long = |name: &str| format!("{name}-of-the-distribution-with-all-options");
        for row in &mut results.rows {
            row.name = format!("{}-with-a-name-that-says-what-is-measured", row.name);
            row.title = "a title of many words ".repeat(8);
            row.command = format!("/opt/{} --flag", "folder/".repeat(20));
            for cell in &mut row.cells {
                cell.allocator = long(&cell.allocator);
                for value in cell.runs.iter_mut().flat_map(|run| run.values.values_mut()) {
                    *value *= factor;
                }
            }
        }
        for allocator in &mut results.allocators {
            allocator.name = long(&allocator.name);
            allocator.version = Some("1.2.3-beta4+commit.0123456789abcdef".repeat(3));
        }
        results.machine.processor = "Intel(R) Xeon(R) Platinum 8488C ".repeat(4);
        let baseline = long("loam");
        rendered(&results, &baseline, Style { width: 80, is_colored: false })
    }

    #[test]
    fn no_line_is_longer_than_the_terminal_whatever_is_in_it() {
        let eighty = Style { width: 80, is_colored: false };
        let texts = [
            rendered(&synthetic::large_suite(1), "loam", eighty),
            rendered(&synthetic::suite(2), "glibc", eighty),
            rendered(&synthetic::command(1), "glibc", eighty),
            extreme(synthetic::large_suite(1), 1.0),
            extreme(synthetic::command(1), 1e9),
            extreme(synthetic::command(1), 1e-6),
        ];
        for text in texts {
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{line}\nin\n{text}");
            }
        }
    }

    #[test]
    fn figures_stand_on_one_line_at_eighty_columns() {
        let text =
            rendered(&synthetic::command(1), "glibc", Style { width: 80, is_colored: false });
        let row = text.lines().find(|line| line.trim_start().starts_with("loam  "));
        let row = row.unwrap_or_else(|| panic!("{text}"));
        assert!(row.contains('±') && row.contains(" to ") && row.contains("less time"), "{text}");
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
        let style = Style { width: 120, is_colored: true };
        assert!(rendered(&synthetic::command(1), "glibc", style).contains('\u{1b}'));
    }

    #[test]
    fn a_baseline_that_was_not_measured_is_an_error() {
        let results = synthetic::suite(1);
        let error = Comparison::new(&results, "tcmalloc").err().map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains("loam, glibc, mimalloc")));
    }
}
