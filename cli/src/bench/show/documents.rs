//! The figures in the repository's documents: README's blocks, docs/benchmarks.md and its plots. All
//! of it is made from results; nothing of it is written by hand.

use crate::bench::judge::baseline::baseline_of;
use crate::bench::judge::comparison::{Aspect, Comparison};
use crate::bench::judge::results::Results;
use crate::bench::measure::suite;
use crate::bench::show::form::Form;
use crate::bench::show::markdown::{self, MEMORY_PLOT, TIME_PLOT, main_peers};
use crate::bench::show::{dots, means, readme};
use crate::replace;
use anyhow::{Context, Result, bail};
use std::path::Path;

/// The documents of a checkout.
pub fn update_checkout(results: &[Results], root: &Path) -> Result<()> {
    let docs = root.join("docs");
    let unmeasured = unmeasured(results, &root.join("bench"))?;
    let [readme, page, plots] =
        [root.join("README.md"), docs.join("benchmarks.md"), docs.join("benchmarks")];
    update(results, &unmeasured, &readme, &page, &plots)
}

/// Rows of the checkout's suite, if it has one, that no results have.
fn unmeasured(results: &[Results], bench: &Path) -> Result<Vec<String>> {
    if !bench.join(suite::FILE).exists() {
        return Ok(Vec::new());
    }
    let is_measured =
        |name: &str| results.iter().flat_map(|one| &one.rows).any(|row| row.name == name);
    let names = suite::read(bench)?.into_iter().map(|row| row.name);
    Ok(names.filter(|name| !is_measured(name)).collect())
}

/// Replaces README's blocks, the page of all figures and the plots in their folder. The first
/// results are what the README shows. Nothing is replaced unless all could be made.
fn update(
    results: &[Results],
    unmeasured: &[String],
    readme: &Path,
    page: &Path,
    plots: &Path,
) -> Result<()> {
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
    let links = readme::Links { page: relative(readme, page), plots: relative(readme, plots) };
    let programs = readme::rows_of_programs(main);
    let shown = Comparison::new(&programs, main.baseline)?;
    let readme_text = readme::with_blocks(&old, main, &shown, &links).with_context(name)?;
    let first = markdown::First {
        plots: &relative(page, plots),
        programs: (shown.rows.len() < main.rows.len()).then_some(&shown),
        unmeasured,
    };
    let page_text = markdown::page(&comparisons, &first);
    let names = main_peers(main);
    let means = means::show(&shown, &main_peers(&shown), &readme::name_of_rows(main, &shown))?;
    let mut pictures = vec![(readme::MEANS_PLOT, dots::standalone(&means))];
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

/// A path as a link in a file: relative where it lies below the file's folder.
fn relative(from: &Path, to: &Path) -> String {
    let folder = from.parent().unwrap_or(Path::new(""));
    let path = to.strip_prefix(folder).unwrap_or(to);
    path.to_string_lossy().replace(' ', "%20")
}

#[cfg(test)]
#[path = "documents_tests.rs"]
mod tests;
