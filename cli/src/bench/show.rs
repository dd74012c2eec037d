//! The forms in which a comparison is shown.

use super::comparison::Comparison;
use super::csv::Csv;
use super::html::Page;
use super::markdown_table::MarkdownTable;
use super::replace;
use crate::arguments::ExportArguments;
use anyhow::Result;
use std::path::Path;

/// One form: a table for the terminal, a page, a text for other programs, a picture.
pub trait Form {
    fn show(&self, comparison: &Comparison) -> Result<String>;
}

/// Writes every form that was asked for, each in place of what was there.
pub fn export(arguments: &ExportArguments, comparison: &Comparison) -> Result<()> {
    for (form, path) in forms(arguments) {
        replace::file(path, &form.show(comparison)?)?;
    }
    Ok(())
}

/// The files that `export` writes.
pub fn files(arguments: &ExportArguments) -> Vec<&Path> {
    forms(arguments).into_iter().map(|(_, path)| path).collect()
}

fn forms(arguments: &ExportArguments) -> Vec<(&'static dyn Form, &Path)> {
    let asked: [(&'static dyn Form, &Option<_>); 3] = [
        (&Page, &arguments.html),
        (&Csv, &arguments.export_csv),
        (&MarkdownTable, &arguments.export_markdown),
    ];
    asked.into_iter().filter_map(|(form, path)| Some((form, path.as_deref()?))).collect()
}
