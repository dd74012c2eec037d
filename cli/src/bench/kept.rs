//! Verb `bench report`: shows what an earlier call measured.

use crate::arguments::ExportArguments;
use crate::bench::judge::baseline::baseline_of;
use crate::bench::judge::comparison::Comparison;
use crate::bench::judge::merge::merge;
use crate::bench::judge::results::{Results, SCHEMA};
use crate::bench::show::agreement;
use crate::bench::show::documents;
use crate::bench::show::export::{self, export};
use crate::bench::show::form::Form;
use crate::bench::show::table::Style;
use crate::replace;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What `report` does beside printing the table.
#[derive(Debug, Default)]
pub struct Request<'a> {
    /// One or more; the table is printed of each, unless they are merged.
    pub files: &'a [PathBuf],
    /// What else to write; for exactly one file.
    pub export: ExportArguments,
    /// `None` for the usual one.
    pub baseline: Option<&'a str>,
    /// The checkout whose README and docs are to show these results.
    pub docs: Option<&'a Path>,
    /// Where the files, put together as parts of one measurement, are written to.
    pub merge: Option<&'a Path>,
    /// Another measurement of the same suite, to be held against the one file.
    pub agree: Option<&'a Path>,
}

/// Reads before it writes: if a file is wrong, nothing is printed or replaced.
pub fn report(request: &Request) -> Result<()> {
    let mut all = request.files.iter().map(|file| read(file)).collect::<Result<Vec<Results>>>()?;
    if request.merge.is_some() {
        let named = request.files.iter().map(PathBuf::as_path).zip(all);
        all = vec![merge(named.collect())?];
    }
    let other = request.agree.map(read).transpose()?;
    let needs_one = !export::files(&request.export).is_empty() || other.is_some();
    if needs_one && all.len() != 1 {
        let count = all.len();
        bail!("--html, --export-... and --agree take exactly one file of results, not {count}");
    }
    if let (Some(path), Some(whole)) = (request.merge, all.first()) {
        let text = serde_json::to_string(whole).context("cannot write JSON")?;
        replace::file(path, &text)?;
    }
    let mut out = std::io::stdout().lock();
    let style = Style::of_stdout();
    for results in &all {
        let baseline = baseline_of(results, request.baseline);
        let text = match &other {
            None => style.show(&Comparison::new(results, baseline)?)?,
            Some(other) => agreement::compare(results, other, baseline)?.render(),
        };
        out.write_all(text.as_bytes()).context("standard output")?;
        export(&request.export, &Comparison::new(results, baseline)?)?;
    }
    match request.docs {
        Some(root) => documents::update_checkout(&all, root),
        None => Ok(()),
    }
}

/// Results in a file. What is wrong with it is one line that names it.
pub fn read(path: &Path) -> Result<Results> {
    #[derive(Deserialize)]
    struct Outline {
        schema: u32,
    }
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = path.display();
    let outline: Outline = serde_json::from_str(&text)
        .with_context(|| format!("{name}: these are no results of loam bench"))?;
    if outline.schema != SCHEMA {
        let found = outline.schema;
        bail!("{name}: results of schema {found}; this command reads schema {SCHEMA}");
    }
    serde_json::from_str(&text).with_context(|| format!("{name}: the results are damaged"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::show::csv::Csv;
    use crate::bench::show::html::Page;
    use crate::bench::show::markdown_table::MarkdownTable;
    use crate::bench::synthetic;

    fn error_of(text: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.json");
        std::fs::write(&path, text).expect("a file");
        let error = read(&path).expect_err("an error");
        assert!(format!("{error:#}").contains("results.json"), "{error:#}");
        format!("{error:#}")
    }

    #[test]
    fn files_that_are_no_results_are_told_apart() {
        for text in ["", "hello", "[1, 2]", "{\"name\": 1}"] {
            assert!(error_of(text).contains("no results of loam bench"), "{}", error_of(text));
        }
        assert!(error_of("{\"schema\": 99}").contains("results of schema 99"));
        assert!(error_of("{\"schema\": 1, \"loam\": 3}").contains("damaged"));
        assert!(!error_of("{\n").contains('\n'));
    }

    #[test]
    fn results_survive_being_written_and_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.json");
        let json = serde_json::to_string(&synthetic::suite(3)).expect("JSON");
        std::fs::write(&path, &json).expect("a file");
        let again = serde_json::to_string(&read(&path).expect("results")).expect("JSON");
        assert!(json == again, "a value has changed");
    }

    #[test]
    fn the_usual_baseline_is_loam_for_suites_and_the_systems_for_commands() {
        assert_eq!(baseline_of(&synthetic::suite(1), None), "loam");
        assert_eq!(baseline_of(&synthetic::command(1), None), "glibc");
        assert_eq!(baseline_of(&synthetic::command(1), Some("loam")), "loam");
        let mut without = synthetic::command(1);
        without.allocators.retain(|row| row.name != "glibc");
        assert_eq!(baseline_of(&without, None), "loam");
        let mut of_musl = synthetic::command(1);
        let system = of_musl.allocators.iter_mut().find(|row| row.name == "glibc");
        system.expect("the system's").name = "musl".into();
        assert_eq!(baseline_of(&of_musl, None), "musl");
    }

    /// The text, the page and the documents, which must come about whatever is missing.
    fn show(results: &Results, baseline: &str) -> String {
        let comparison = Comparison::new(results, baseline).expect("a baseline");
        let style = Style { width: 80, is_colored: true };
        let forms: [&dyn Form; 3] = [&Page, &Csv, &MarkdownTable];
        for form in forms {
            let text = form.show(&comparison).expect("a text");
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
        let wide = Style { width: 200, ..style };
        style.show(&comparison).expect("a text") + &wide.show(&comparison).expect("a text")
    }

    #[test]
    fn results_with_holes_are_shown_all_the_same() {
        let whole = synthetic::suite(1);
        let mut no_rows = whole.clone();
        no_rows.rows.clear();
        show(&no_rows, "loam");
        let mut all_skipped = whole.clone();
        all_skipped.rows.iter_mut().for_each(|row| row.skipped = Some("no time".into()));
        assert!(show(&all_skipped, "loam").contains("no time"));
        let mut baseline_failed = whole.clone();
        baseline_failed.rows[0].cells[0].problem = Some("it fell over".into());
        baseline_failed.rows[0].cells[0].runs.clear();
        assert!(show(&baseline_failed, "loam").contains("factor with loam failed: it fell over"));
        let mut one_run = whole.clone();
        let cells = one_run.rows.iter_mut().flat_map(|row| &mut row.cells);
        cells.for_each(|cell| cell.runs.truncate(1));
        assert!(show(&one_run, "loam").contains('?'));
        let mut zeros = whole.clone();
        let runs = zeros.rows.iter_mut().flat_map(|row| &mut row.cells).flat_map(|c| &mut c.runs);
        runs.for_each(|run| run.values.values_mut().for_each(|value| *value = 0.0));
        show(&zeros, "glibc");
        let mut bare = whole;
        for row in &mut bare.rows {
            row.cells.clear();
            row.metrics.retain(|name, _| name == "wall");
        }
        show(&bare, "loam");
    }
}
