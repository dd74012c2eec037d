//! What every form is in which a comparison is shown.

use crate::bench::judge::comparison::Comparison;
use anyhow::Result;

/// One form: a table for the terminal, a page, a text for other programs, a picture.
pub trait Form {
    fn show(&self, comparison: &Comparison) -> Result<String>;
}
