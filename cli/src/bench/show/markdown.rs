//! The page of all figures, docs/benchmarks.md, and what README's figures share with it.

use crate::bench::judge::comparison::{
    Aspect, AspectTotal, ComparedMetric, ComparedRow, Comparison, Verdict,
};
use crate::bench::judge::results::{Better, Row};
use crate::bench::show::{notes, wording};
use crate::numbers;
use std::fmt::Write;

pub const NOTICE: &str = "<!-- Made by `loam bench report --update-docs`; do not edit. -->";
pub const TIME_PLOT: &str = "time.svg";
pub const MEMORY_PLOT: &str = "memory.svg";

/// How other documents link to the section with the tables of real programs.
pub const PROGRAMS_ANCHOR: &str = "real-programs";

/// Those that the README has room for, and a narrow table.
const MAIN_PEERS: [&str; 8] =
    ["glibc", "mimalloc", "snmalloc", "rpmalloc", "jemalloc", "tcmalloc", "gperftools", "tbb"];

/// Of a line in the page of all figures.
const COLUMNS_MAX: usize = 120;

pub fn main_peers<'a>(comparison: &'a Comparison) -> Vec<&'a str> {
    let peers = || {
        let names = comparison.allocators.iter().map(|row| row.name.as_str());
        names.filter(|name| *name != comparison.baseline)
    };
    let there = |wanted: &&str| peers().find(|name| name == wanted);
    let main: Vec<&str> = MAIN_PEERS.iter().filter_map(there).collect();
    if main.is_empty() { peers().collect() } else { main }
}

/// One sentence or two: how often, when, where, of what.
fn how_measured(comparison: &Comparison) -> String {
    let results = comparison.results;
    let machine = &results.machine;
    let huge_pages = machine.huge_pages.as_deref().unwrap_or("unknown");
    let commit = results.commit.as_deref().unwrap_or("unknown");
    let taken = machine.taken_by_others.map_or(String::new(), |share| {
        format!(" Others took {} of the processors' time.", numbers::percent(share))
    });
    format!(
        "{}, in random order within rounds, on {}: {} with {} processors and {}, {}, {}, {}, huge \
         pages {}, commit {}.{taken}",
        how_often(comparison),
        cell(results.started.get(..10).unwrap_or(&results.started)),
        cell(&machine.processor),
        machine.processor_count,
        numbers::figure(machine.memory_kib as f64, "KiB"),
        cell(&machine.kernel),
        cell(&machine.system),
        cell(&machine.libc),
        cell(huge_pages),
        cell(commit),
    )
}

/// One run has no median.
fn how_often(comparison: &Comparison) -> String {
    let medians = comparison.rows.iter().map(|row| rounds(row.row)).filter(|count| *count > 1);
    let (least, most) =
        medians.fold((usize::MAX, 0), |(least, most), one| (least.min(one), most.max(one)));
    let medians = match most {
        0 => "One run each".into(),
        _ if least == most => format!("Medians of {most} runs each"),
        _ => format!("Medians of {least} to {most} runs each"),
    };
    let single = comparison.rows.iter().filter(|row| most != 0 && rounds(row.row) == 1);
    let single: Vec<String> = single.map(|row| cell(&row.row.name)).collect();
    match single.is_empty() {
        true => medians,
        false => format!("{medians} (of {} one run)", single.join(", ")),
    }
}

pub fn rounds(row: &Row) -> usize {
    row.cells.iter().flat_map(|cell| &cell.runs).map(|run| run.round + 1).max().unwrap_or(0)
}

/// Rows by allocators: the ratios of one aspect, and the means of these rows.
fn ratio_table(
    out: &mut String,
    comparison: &Comparison,
    aspect: Aspect,
    names: &[&str],
) -> std::fmt::Result {
    let shown: Vec<(&ComparedRow, &ComparedMetric)> = comparison
        .rows
        .iter()
        .flat_map(|row| row.judged().map(move |compared| (row, compared)))
        .filter(|(_, compared)| compared.metric.aspect() == aspect)
        .collect();
    if shown.is_empty() {
        return Ok(());
    }
    let heads: String = names.iter().map(|name| format!(" {} |", cell(name))).collect();
    let baseline = cell(comparison.baseline);
    writeln!(out, "| {} | {baseline} |{heads}", aspect.name())?;
    writeln!(out, "|---|--:|{}", "--:|".repeat(names.len()))?;
    for (row, compared) in shown {
        let figure = compared
            .entry(comparison.baseline)
            .and_then(|entry| entry.summary)
            .map(|summary| numbers::figure(summary.median, &compared.metric.unit));
        let ratios: String =
            names.iter().map(|name| format!(" {} |", ratio_cell(compared, name))).collect();
        let times = if rounds(row.row) == 1 { ", one run" } else { "" };
        let label = cell(&wording::row_label(row, compared)) + times;
        writeln!(out, "| {label} | {} |{ratios}", figure.as_deref().unwrap_or("!"))?;
    }
    let mean = |name: &&str| {
        let mean = mean_of(comparison, aspect, name);
        format!(" {} |", mean.map_or_else(|| "-".into(), mean_cell))
    };
    let means: String = names.iter().map(mean).collect();
    writeln!(out, "| geometric mean of these rows | |{means}\n")
}

/// Of all rows; `None` of an allocator that is not there.
pub fn mean_of<'c>(
    comparison: &'c Comparison,
    aspect: Aspect,
    allocator: &str,
) -> Option<&'c AspectTotal> {
    let total = comparison.totals.iter().find(|total| total.allocator == allocator)?;
    Some(if aspect == Aspect::Memory { &total.memory } else { &total.time })
}

pub fn mean_cell(total: &AspectTotal) -> String {
    let Some(mean) = total.mean else { return "-".into() };
    let text = numbers::ratio(mean.value);
    if mean.value < 1.0 { format!("**{text}**") } else { text }
}

fn ratio_cell(compared: &ComparedMetric, name: &str) -> String {
    let Some(entry) = compared.entry(name) else { return "-".into() };
    let mark = wording::mark(entry.verdict);
    let text = match compared.cost(entry).map(|ratio| numbers::ratio(ratio.value)) {
        Some(ratio) => format!("{ratio}{}", escaped_mark(mark)),
        None if mark.is_empty() => "-".into(),
        None => mark.into(),
    };
    if entry.verdict == Verdict::Better { format!("**{text}**") } else { text }
}

/// Two tildes in one line would strike out what stands between them.
fn escaped_mark(mark: &str) -> &str {
    if mark == "~" { "\\~" } else { mark }
}

/// What belongs to the first results alone.
pub struct First<'a> {
    /// How the page names the folder of pictures.
    pub plots: &'a str,
    /// Those of the rows that are real programs, if there are others, too.
    pub programs: Option<&'a Comparison<'a>>,
    /// Rows that the suite has and none of the results.
    pub unmeasured: &'a [String],
}

pub fn page(comparisons: &[Comparison], first: &First) -> String {
    let mut out = format!("# Benchmarks\n\n{NOTICE}\n\n");
    for (at, comparison) in comparisons.iter().enumerate() {
        if comparisons.len() > 1 {
            let started = cell(&comparison.results.started);
            let command = code(&wording::measured_by(comparison.results).join(" && "));
            let _ = writeln!(out, "# {}. {command}, {started}\n", at + 1);
        }
        // Writing to a String cannot fail.
        let _ = page_of(&mut out, comparison, (at == 0).then_some(first));
    }
    wrapped(&out)
}

/// Sentences in lines that an editor shows whole; tables, headings and pictures as they are.
pub fn wrapped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let mut column = 0;
        let indent = if line.starts_with("- ") { "  " } else { "" };
        let is_sentence = !line.starts_with(['|', '#', '!', '<', ' ']);
        for (at, word) in line.split(' ').enumerate() {
            let length = word.chars().count();
            let is_full = is_sentence && at > 0 && column + 1 + length > COLUMNS_MAX;
            match (at, is_full) {
                (0, _) => {}
                (_, true) => {
                    out.push('\n');
                    out += indent;
                    column = indent.len();
                }
                (_, false) => {
                    out.push(' ');
                    column += 1;
                }
            }
            out += word;
            column += length;
        }
        out += "\n";
    }
    out
}

fn page_of(out: &mut String, comparison: &Comparison, first: Option<&First>) -> std::fmt::Result {
    let commands = wording::measured_by(comparison.results);
    let commands: Vec<String> = commands.iter().map(|command| code(command)).collect();
    writeln!(out, "{} Measured by {}.\n", how_measured(comparison), commands.join(", "))?;
    how_to_read(out, comparison)?;
    if let Some(programs) = first.and_then(|first| first.programs) {
        real_programs(out, programs)?;
    }
    let peers = comparison.others();
    writeln!(out, "## All rows together\n")?;
    totals(out, comparison)?;
    for (aspect, file) in [(Aspect::Time, TIME_PLOT), (Aspect::Memory, MEMORY_PLOT)] {
        writeln!(out, "### {}\n", aspect.name())?;
        if let Some(first) = first {
            let title = format!("{} of each row", aspect.name());
            writeln!(out, "![{title}]({}/{file})\n", first.plots)?;
        }
        ratio_table(out, comparison, aspect, &peers)?;
    }
    ratio_table(out, comparison, Aspect::Other, &peers)?;
    writeln!(out, "## Each row\n")?;
    if let Some(First { unmeasured: names @ [_, ..], .. }) = first {
        let names: Vec<String> = names.iter().map(|name| cell(name)).collect();
        writeln!(out, "In the suite, but not measured here: {}.\n", names.join(", "))?;
    }
    let mut group = None;
    for row in &comparison.results.rows {
        if row.group != group {
            group.clone_from(&row.group);
            if let Some(name) = &row.group {
                writeln!(out, "### {}\n", cell(name))?;
            }
        }
        describe(out, row)?;
        if let Some(compared) = comparison.rows.iter().find(|one| one.row.name == row.name) {
            figures(out, comparison, compared)?;
        }
    }
    allocators(out, comparison)?;
    writeln!(out, "## Notes\n")?;
    for note in notes::notes(comparison) {
        writeln!(out, "- {}", cell(&note))?;
    }
    writeln!(out)
}

/// The rows that are not of the suite's own programs, beside the allocators that most know.
fn real_programs(out: &mut String, programs: &Comparison) -> std::fmt::Result {
    writeln!(out, "## Real programs\n")?;
    let names = main_peers(programs);
    for aspect in [Aspect::Time, Aspect::Memory] {
        ratio_table(out, programs, aspect, &names)?;
    }
    Ok(())
}

fn how_to_read(out: &mut String, comparison: &Comparison) -> std::fmt::Result {
    let baseline = cell(comparison.baseline);
    let direction = cell(&wording::direction(comparison));
    writeln!(out, "## How to read it\n\n{direction}\n")?;
    writeln!(
        out,
        "A difference is claimed only if the 95 % interval of the ratio lies beyond 2 % on one \
         side. **Bold**: better than {baseline} by that measure. After ± stands half the distance \
         between the quartiles.\n"
    )?;
    for (mark, meaning) in wording::MARKS {
        writeln!(out, "- `{mark}` {meaning}")?;
    }
    writeln!(out)
}

fn totals(out: &mut String, comparison: &Comparison) -> std::fmt::Result {
    let baseline = cell(comparison.baseline);
    writeln!(
        out,
        "Geometric means of NAME / {baseline} over the rows that both finished; the intervals say \
         what other rows of this kind would give. Less, more: rows in which NAME takes less or \
         more, beyond chance and 2 %.\n"
    )?;
    writeln!(out, "| | time | rows | less | more | memory | rows | less | more |")?;
    writeln!(out, "|---|{}", "--:|".repeat(8))?;
    for total in &comparison.totals {
        let cells = [&total.time, &total.memory].map(|total| {
            let mean = total.mean.map_or_else(|| "-".into(), wording::ratio_and_range);
            format!("{mean} | {} | {} | {}", total.row_count, total.better, total.worse)
        });
        writeln!(out, "| {} | {} |", cell(total.allocator), cells.join(" | "))?;
    }
    writeln!(out)
}

fn describe(out: &mut String, row: &Row) -> std::fmt::Result {
    writeln!(out, "#### {}: {}\n", cell(&row.name), cell(&row.title))?;
    if let Some(about) = &row.about {
        writeln!(out, "{}\n", cell(about))?;
    }
    writeln!(out, "{}\n", code(&row.command))?;
    if let Some(reason) = &row.skipped {
        writeln!(out, "Not run: {}.\n", cell(reason))?;
        return Ok(());
    }
    let judged = row.judged.iter().filter_map(|name| Some((name, row.metrics.get(name)?)));
    let words: Vec<String> = judged
        .map(|(name, metric)| {
            let better = match metric.better {
                Better::Lower => "less is better",
                Better::Higher => "more is better",
            };
            format!("{} ({better})", cell(wording::title(name)))
        })
        .collect();
    writeln!(out, "Judged by: {}.\n", words.join(", "))
}

/// Every allocator's median of each judged metric, and what it means.
fn figures(out: &mut String, comparison: &Comparison, row: &ComparedRow) -> std::fmt::Result {
    let judged: Vec<&ComparedMetric> = row.judged().collect();
    let Some(first) = judged.first() else { return Ok(()) };
    let baseline = cell(comparison.baseline);
    let heads: String = judged
        .iter()
        .map(|one| format!(" {} | / {baseline} (95 %) |", cell(wording::title(one.name))))
        .collect();
    writeln!(out, "| |{heads}")?;
    writeln!(out, "|---|{}", "--:|".repeat(2 * judged.len()))?;
    for (at, entry) in first.entries.iter().enumerate() {
        let cells: String =
            judged.iter().map(|compared| figure_cells(compared, &compared.entries[at])).collect();
        writeln!(out, "| {} |{cells}", cell(entry.allocator))?;
    }
    writeln!(out)
}

fn figure_cells(
    compared: &ComparedMetric,
    entry: &crate::bench::judge::comparison::Entry,
) -> String {
    let unit = &compared.metric.unit;
    let figure = entry.summary.map_or_else(
        || "-".into(),
        |summary| numbers::figure_and_spread(summary.median, summary.spread, unit),
    );
    let mark = wording::mark(entry.verdict);
    let ratio = match (entry.ratio, entry.verdict) {
        (_, Verdict::Failed(_)) => "failed".into(),
        (Some(ratio), _) => format!("{}{}", wording::ratio_and_range(ratio), escaped_mark(mark)),
        (None, _) => mark.into(),
    };
    let is_better = entry.verdict == Verdict::Better;
    let ratio = if is_better { format!("**{ratio}**") } else { ratio };
    format!(" {figure} | {ratio} |")
}

fn allocators(out: &mut String, comparison: &Comparison) -> std::fmt::Result {
    writeln!(out, "## Allocators\n\n| | version | flags | environment |\n|---|---|---|---|")?;
    for row in &comparison.results.allocators {
        let set = row.environment.iter().map(|(name, value)| code_cell(&format!("{name}={value}")));
        let version = match &row.problem {
            Some(problem) => format!("left out: {problem}"),
            None => row.version.clone().unwrap_or_default(),
        };
        writeln!(
            out,
            "| {} | {} | {} | {} |",
            cell(&row.name),
            cell(&version),
            row.flags.as_deref().map(code_cell).unwrap_or_default(),
            set.collect::<Vec<_>>().join(" ")
        )?;
    }
    writeln!(out)
}

/// Text without meaning for Markdown or HTML, on one line.
pub fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '~' | '#' | '!' | '$' => {
                out.push('\\');
                out.push(one);
            }
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

/// Text as code, with a fence longer than any run of backquotes in it.
pub fn code(text: &str) -> String {
    let text: String = text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
    let longest = text.split(|one| one != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// The same in a table, where a bar ends the cell even in code.
fn code_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_the_page_are_wrapped_and_tables_are_not() {
        let word = "word ".repeat(40);
        let text = wrapped(&format!("{word}\n- {word}\n| {word}|\n"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[..4].iter().all(|line| line.len() <= 120), "{text}");
        assert!(lines[3].starts_with("  word"), "{text}");
        assert_eq!(lines[4], format!("| {word}|"));
    }

    #[test]
    fn text_is_only_text_and_code_only_code() {
        assert_eq!(cell("a|b_c"), "a\\|b\\_c");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("a | b"), "`a | b`");
        assert_eq!(code_cell("a | b"), "`a \\| b`");
    }
}
