//! All of a recording that is drawn.

use crate::plot::recording::raster::{Raster, raster};
use crate::plot::recording::sums::Sums;
use crate::recording::reader::Reader;
use anyhow::Result;
use std::path::Path;

pub struct Recording {
    pub program: String,
    pub has_addresses: bool,
    pub sums: Sums,
    pub raster: Raster,
}

/// Reads it twice: what its addresses are is known at its end only.
pub fn read(path: &Path) -> Result<Recording> {
    let reader = Reader::open(path)?;
    let sums = Sums::of(&reader)?;
    let raster = raster(&reader, &sums)?;
    let header = reader.header();
    let words = if header.arguments.is_empty() {
        header.program.clone()
    } else {
        header.arguments.join(" ")
    };
    Ok(Recording { program: words, has_addresses: header.has_addresses, sums, raster })
}
