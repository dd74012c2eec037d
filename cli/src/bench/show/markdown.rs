//! The figures in the repository's documents: the README's block, docs/benchmarks.md and its
//! plots. All of it is made from results; nothing of it is written by hand.

use crate::bench::judge::baseline::baseline_of;
use crate::bench::judge::comparison::{
    Aspect, AspectTotal, ComparedMetric, ComparedRow, Comparison, Verdict,
};
use crate::bench::judge::results::{Better, Results, Row};
use crate::bench::show::form::Form;
use crate::bench::show::{dots, means, notes, wording};
use crate::numbers;
use crate::replace;
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::path::Path;

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";
const NOTICE: &str = "<!-- Made by `loam bench report --update-docs`; do not edit. -->";
const TIME_PLOT: &str = "time.svg";
const MEMORY_PLOT: &str = "memory.svg";
const MEANS_PLOT: &str = "means.svg";

/// Those that the README has room for; all others are in docs/benchmarks.md.
const MAIN_PEERS: [&str; 8] =
    ["glibc", "mimalloc", "snmalloc", "rpmalloc", "jemalloc", "tcmalloc", "gperftools", "tbb"];

/// The rows that the README shows: real programs, and what stays of a peak. All others are in
/// docs/benchmarks.md.
const MAIN_ROWS: [&str; 13] = [
    "thinlto",
    "clang",
    "mariadb",
    "redis",
    "python",
    "lua",
    "perl",
    "sqlite",
    "phases",
    "probe-threads-ended",
    "probe-idle",
    "probe-orphans-freed",
    "probe-holes",
];

/// Of a line in the page of all figures.
const COLUMNS_MAX: usize = 120;

/// The documents of a checkout.
pub fn update_checkout(results: &[Results], root: &Path) -> Result<()> {
    let docs = root.join("docs");
    update(results, &root.join("README.md"), &docs.join("benchmarks.md"), &docs.join("benchmarks"))
}

/// Replaces the README's block, the page of all figures and the plots in their folder. The first
/// results are what the README shows. Nothing is replaced unless all could be made.
pub fn update(results: &[Results], readme: &Path, page: &Path, plots: &Path) -> Result<()> {
    let Some(first) = results.first() else { bail!("no results to show") };
    let name = || readme.display().to_string();
    let old = std::fs::read_to_string(readme)
        .with_context(|| format!("cannot read {}", readme.display()))?;
    let comparisons = results
        .iter()
        .map(|results| Comparison::new(results, baseline_of(results, None)))
        .collect::<Result<Vec<_>>>()?;
    let Some(main) = comparisons.first() else { bail!("no results to show") };
    if main.rows.is_empty() {
        bail!("the results of {} hold no row to show", first.started);
    }
    let links = Links {
        page: relative(readme, page),
        plots_from_readme: relative(readme, plots),
        plots_from_page: relative(page, plots),
    };
    let readme_text = with_block(&old, &block(main, &links)).with_context(name)?;
    let page_text = wrapped(&whole_page(&comparisons, &links));
    let names = main_peers(main);
    let mut pictures = vec![(MEANS_PLOT, dots::standalone(&means::show(main, &names)?))];
    for (aspect, file) in [(Aspect::Time, TIME_PLOT), (Aspect::Memory, MEMORY_PLOT)] {
        let picture = dots::Dots { aspect, names: &names }.show(main)?;
        pictures.push((file, dots::standalone(&picture)));
    }
    std::fs::create_dir_all(plots)
        .with_context(|| format!("cannot make folder {}", plots.display()))?;
    for (file, svg) in pictures {
        replace::file(&plots.join(file), &svg)?;
    }
    replace::file(page, &page_text)?;
    replace::file(readme, &readme_text)
}

/// How the documents name each other.
struct Links {
    page: String,
    plots_from_readme: String,
    plots_from_page: String,
}

/// A path as a link in a file: relative where it lies below the file's folder.
fn relative(from: &Path, to: &Path) -> String {
    let folder = from.parent().unwrap_or(Path::new(""));
    let path = to.strip_prefix(folder).unwrap_or(to);
    path.to_string_lossy().replace(' ', "%20")
}

/// The text with what stands between the markers replaced.
fn with_block(old: &str, block: &str) -> Result<String> {
    let [begin, end] = [BEGIN, END].map(|marker| {
        let mut lines = old.match_indices(marker).map(|(at, _)| at);
        (lines.next(), lines.next())
    });
    let (begin, end) = match (begin, end) {
        ((Some(begin), None), (Some(end), None)) if begin < end => (begin, end),
        ((None, _), _) => bail!("the line {BEGIN} is missing"),
        (_, (None, _)) => bail!("the line {END} is missing"),
        _ => bail!("{BEGIN} and {END} must stand there once each, in this order"),
    };
    let head = &old[..begin + BEGIN.len()];
    Ok(format!("{head}\n{block}{}", &old[end..]))
}

fn main_peers<'a>(comparison: &'a Comparison) -> Vec<&'a str> {
    let peers = || {
        let names = comparison.allocators.iter().map(|row| row.name.as_str());
        names.filter(|name| *name != comparison.baseline)
    };
    let there = |wanted: &&str| peers().find(|name| name == wanted);
    let main: Vec<&str> = MAIN_PEERS.iter().filter_map(there).collect();
    if main.is_empty() { peers().collect() } else { main }
}

fn block(comparison: &Comparison, links: &Links) -> String {
    let mut out = String::new();
    let names = main_peers(comparison);
    let baseline = cell(comparison.baseline);
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{NOTICE}\n");
    let page = &links.page;
    let plots = &links.plots_from_readme;
    let _ = writeln!(
        out,
        "![Time and memory of all rows, NAME / {baseline}, geometric means]({plots}/{MEANS_PLOT})\n"
    );
    let _ = writeln!(
        out,
        "Time and memory of each, divided by {baseline}'s: above 1 {baseline} is better, **bold** \
         where the other is better, in rows beyond chance and 2 %. `~` no difference seen, `=` the \
         same within 2 %, `?` too few runs to tell, `!` failed. The means are of all rows, these and \
         those in [{page}]({page}).\n"
    );
    for aspect in [Aspect::Time, Aspect::Memory] {
        let _ = ratio_table(&mut out, comparison, aspect, &names, &|row| {
            MAIN_ROWS.contains(&row.row.name.as_str())
        });
    }
    let _ = writeln!(out, "{}", how_measured(comparison));
    out
}

/// One sentence or two: when, where, of what, by which command.
fn how_measured(comparison: &Comparison) -> String {
    let results = comparison.results;
    let machine = &results.machine;
    let rounds = comparison.rows.iter().map(|row| rounds(row.row));
    let (least, most) =
        rounds.fold((usize::MAX, 0), |(least, most), one| (least.min(one), most.max(one)));
    let rounds = if least >= most { most.to_string() } else { format!("{least} to {most}") };
    let huge_pages = machine.huge_pages.as_deref().unwrap_or("unknown");
    let commit = results.commit.as_deref().unwrap_or("unknown");
    let taken = machine.taken_by_others.map_or(String::new(), |share| {
        format!(" Others took {} of the processors' time.", numbers::percent(share))
    });
    format!(
        "Medians of {rounds} runs each, in random order within rounds, on {}: {} with {} \
         processors and {}, {}, {}, {}, huge pages {}, commit {}; measured by {}.{taken}",
        cell(results.started.get(..10).unwrap_or(&results.started)),
        cell(&machine.processor),
        machine.processor_count,
        numbers::figure(machine.memory_kib as f64, "KiB"),
        cell(&machine.kernel),
        cell(&machine.system),
        cell(&machine.libc),
        cell(huge_pages),
        cell(commit),
        wording::measured_by(results)
            .iter()
            .map(|command| code(command))
            .collect::<Vec<_>>()
            .join(", "),
    )
}

fn rounds(row: &Row) -> usize {
    row.cells.iter().flat_map(|cell| &cell.runs).map(|run| run.round + 1).max().unwrap_or(0)
}

/// Rows by allocators: the ratios of one aspect, and their means.
fn ratio_table(
    out: &mut String,
    comparison: &Comparison,
    aspect: Aspect,
    names: &[&str],
    is_shown: &dyn Fn(&ComparedRow) -> bool,
) -> std::fmt::Result {
    let shown: Vec<(&ComparedRow, &ComparedMetric)> = comparison
        .rows
        .iter()
        .filter(|row| is_shown(row))
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
        let label = cell(&wording::row_label(row, compared));
        writeln!(out, "| {label} | {} |{ratios}", figure.as_deref().unwrap_or("!"))?;
    }
    let mean = |name: &&str| {
        let total = comparison.totals.iter().find(|total| total.allocator == *name);
        let mean = total.map(|total| aspect_total(total, aspect));
        format!(" {} |", mean.map_or_else(|| "-".into(), mean_cell))
    };
    let means: String = names.iter().map(mean).collect();
    writeln!(out, "| geometric mean | |{means}\n")
}

fn aspect_total<'t>(
    total: &'t crate::bench::judge::comparison::Total,
    aspect: Aspect,
) -> &'t AspectTotal {
    if aspect == Aspect::Memory { &total.memory } else { &total.time }
}

fn mean_cell(total: &AspectTotal) -> String {
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

fn whole_page(comparisons: &[Comparison], links: &Links) -> String {
    let mut out = format!("# Benchmarks\n\n{NOTICE}\n\n");
    for (at, comparison) in comparisons.iter().enumerate() {
        if comparisons.len() > 1 {
            let started = cell(&comparison.results.started);
            let command = code(&wording::measured_by(comparison.results).join(" && "));
            let _ = writeln!(out, "# {}. {command}, {started}\n", at + 1);
        }
        // Writing to a String cannot fail.
        let _ = page_of(&mut out, comparison, links, at == 0);
    }
    out
}

/// Sentences in lines that an editor shows whole; tables, headings and pictures as they are.
fn wrapped(text: &str) -> String {
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

fn page_of(
    out: &mut String,
    comparison: &Comparison,
    links: &Links,
    has_plots: bool,
) -> std::fmt::Result {
    writeln!(out, "{}\n", how_measured(comparison))?;
    how_to_read(out, comparison)?;
    let peers = comparison.others();
    writeln!(out, "## All rows together\n")?;
    totals(out, comparison)?;
    for (aspect, file) in [(Aspect::Time, TIME_PLOT), (Aspect::Memory, MEMORY_PLOT)] {
        writeln!(out, "### {}\n", aspect.name())?;
        if has_plots {
            let plots = &links.plots_from_page;
            let title = format!("{} of each row", aspect.name());
            writeln!(out, "![{title}]({plots}/{file})\n")?;
        }
        ratio_table(out, comparison, aspect, &peers, &|_| true)?;
    }
    ratio_table(out, comparison, Aspect::Other, &peers, &|_| true)?;
    writeln!(out, "## Each row\n")?;
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
#[path = "markdown_tests.rs"]
mod tests;
