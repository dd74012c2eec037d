//! The files that a comparison is written to.

use crate::arguments::ExportArguments;
use crate::bench::judge::comparison::Comparison;
use crate::bench::show::csv::Csv;
use crate::bench::show::form::Form;
use crate::bench::show::html::Page;
use crate::bench::show::markdown_table::MarkdownTable;
use crate::replace;
use anyhow::Result;
use std::path::Path;

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
