//! README's blocks: two figures against glibc's malloc, and the means against all others. Both are
//! of programs that are not loam's own.

use crate::bench::judge::comparison::{Aspect, Comparison};
use crate::bench::judge::results::Results;
use crate::bench::show::markdown::{
    NOTICE, PROGRAMS_ANCHOR, cell, main_peers, mean_cell, mean_of, rounds, wrapped,
};
use crate::numbers;
use anyhow::{Result, bail};

pub const MEANS_PLOT: &str = "means.svg";
/// Of real programs in the suite (bench/suite.toml).
const GROUP: &str = "real";
/// What a reader has without loam.
const USUAL: &str = "glibc";

/// How README names the other documents.
pub struct Links {
    pub page: String,
    pub plots: String,
}

/// The results of the rows that README's figures are of: real programs that were run more than once;
/// of results without any, all rows.
pub fn rows_of_programs(comparison: &Comparison) -> Results {
    let mut results = comparison.results.clone();
    let is_shown = |row: &&crate::bench::judge::results::Row| {
        row.group.as_deref() == Some(GROUP) && row.skipped.is_none() && rounds(row) > 1
    };
    let shown: Vec<_> = results.rows.iter().filter(is_shown).cloned().collect();
    if !shown.is_empty() {
        results.rows = shown;
    }
    results
}

/// What the rows are called beside a picture.
pub fn name_of_rows(all: &Comparison, shown: &Comparison) -> String {
    match shown.rows.len() == all.rows.len() {
        true => "all rows".into(),
        false => format!("{} real programs", shown.rows.len()),
    }
}

/// README with what stands between its markers replaced. `shown`: the rows of `all` that its figures
/// are of.
pub fn with_blocks(
    old: &str,
    all: &Comparison,
    shown: &Comparison,
    links: &Links,
) -> Result<String> {
    let text = replaced(old, "figures", &figures(shown))?;
    replaced(&text, "bench", &means(all, shown, links))
}

/// The text with what stands between the markers of that name replaced.
fn replaced(old: &str, name: &str, block: &str) -> Result<String> {
    let markers = [format!("<!-- {name}:begin -->"), format!("<!-- {name}:end -->")];
    let [begin, end] = [&markers[0], &markers[1]].map(|marker| {
        let mut lines = old.match_indices(marker.as_str()).map(|(at, _)| at);
        (lines.next(), lines.next())
    });
    let [begin_marker, end_marker] = &markers;
    let (begin, end) = match (begin, end) {
        ((Some(begin), None), (Some(end), None)) if begin < end => (begin, end),
        ((None, _), _) => bail!("the line {begin_marker} is missing"),
        (_, (None, _)) => bail!("the line {end_marker} is missing"),
        _ => bail!("{begin_marker} and {end_marker} must stand there once each, in this order"),
    };
    let head = &old[..begin + begin_marker.len()];
    Ok(format!("{head}\n{NOTICE}\n\n{block}{}", &old[end..]))
}

/// Time and peak against glibc's malloc, as lines of a list.
fn figures(shown: &Comparison) -> String {
    let mut out = String::new();
    for (aspect, what) in [(Aspect::Time, "time"), (Aspect::Memory, "peak memory")] {
        if let Some(line) = figure(shown, aspect, what) {
            out += &line;
        }
    }
    out
}

/// The mean of what the baseline takes of glibc's, and the rows at its ends.
fn figure(shown: &Comparison, aspect: Aspect, what: &str) -> Option<String> {
    let total = shown.totals.iter().find(|total| total.allocator == USUAL)?;
    let total = if aspect == Aspect::Memory { &total.memory } else { &total.time };
    let mean = total.mean?.inverse();
    let mut rows: Vec<(f64, &str)> = shown
        .rows
        .iter()
        .filter_map(|row| {
            let compared = row.leading(aspect)?;
            let cost = compared.cost(compared.entry(USUAL)?)?;
            Some((cost.inverse().value, row.row.name.as_str()))
        })
        .collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    let at = |end: Option<&(f64, &str)>| {
        end.map(|(ratio, name)| format!("{} ({})", numbers::ratio(*ratio), cell(name)))
    };
    Some(format!(
        "- **{}** of the {what} with {USUAL}'s malloc: geometric mean of {} real programs, from {} \
         to {}\n",
        numbers::ratio(mean.value),
        total.row_count,
        at(rows.first())?,
        at(rows.last())?,
    ))
}

/// The means of both aspects, in a picture and in words, and where all else is.
fn means(all: &Comparison, shown: &Comparison, links: &Links) -> String {
    let baseline = cell(shown.baseline);
    let rows = name_of_rows(all, shown);
    let Links { page, plots } = links;
    let sentences: String = [(Aspect::Time, "Time"), (Aspect::Memory, "Peak memory")]
        .map(|(aspect, what)| format!(" {what}: {}.", ratios(shown, aspect)))
        .concat();
    let text = format!(
        "Geometric means of NAME / {baseline} over {rows}: above 1 {baseline} is better, **bold** \
         where the other is.{sentences} {}\n",
        where_rows_are(all, shown, page)
    );
    format!(
        "![Time and memory of {rows}, NAME / {baseline}, geometric means]({plots}/{MEANS_PLOT})\n\n{}",
        wrapped(&text)
    )
}

fn ratios(shown: &Comparison, aspect: Aspect) -> String {
    let ratio = |name: &&str| {
        let mean = mean_of(shown, aspect, name).map_or_else(|| "-".into(), mean_cell);
        format!("{} {mean}", cell(name))
    };
    main_peers(shown).iter().map(ratio).collect::<Vec<_>>().join(", ")
}

fn where_rows_are(all: &Comparison, shown: &Comparison, page: &str) -> String {
    match all.rows.len() - shown.rows.len() {
        0 => format!("Each row, and how it was measured: [{page}]({page})."),
        others => format!(
            "Each of these rows, {others} others with means of their own, and how it was measured: \
             [{page}]({page}#{PROGRAMS_ANCHOR})."
        ),
    }
}
