//! All of a recording that is drawn.

use crate::arguments::PlotMoment;
use crate::plot::recording::classes::{Classes, classes};
use crate::plot::recording::origin::Origin;
use crate::plot::recording::pins::{Moment, moments};
use crate::plot::recording::raster::{Raster, raster};
use crate::plot::recording::sums::Sums;
use crate::plot::recording::time::COLUMNS;
use crate::plot::recording::unpinned::Unpinned;
use crate::recording::reader::Reader;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::path::Path;

pub struct Recording {
    pub origin: Origin,
    pub has_addresses: bool,
    pub sums: Sums,
    pub raster: Raster,
    /// Where the recording has what it takes: addresses, and what was in memory.
    pub unpinned: Option<Unpinned>,
    /// When most was free on pages that are pinned: the end of a column.
    pub worst: usize,
    /// Then.
    pub classes: Classes,
    /// Who keeps pages, in the order of time; `None` where it does not say who has taken what.
    pub moments: Option<Vec<Moment>>,
}

/// Reads it twice, as what its addresses are is known at its end only; once more up to the worst
/// moment, to see how well pages are used then; and to see who keeps pages: at the moment asked for,
/// or else at the worst one and at the end.
pub fn read(path: &Path, at: Option<PlotMoment>) -> Result<Recording> {
    let reader = Reader::open(path)?;
    if at.is_some() && !reader.header().has_stacks {
        let shown = path.display();
        bail!("{shown} does not say who keeps pages, for --at: record it with --stacks");
    }
    let sums = Sums::of(&reader)?;
    let asked_for = at.map(|moment| sums.span.column_of(moment)).transpose();
    let asked_for = asked_for.with_context(|| path.display().to_string())?;
    let raster = raster(&reader, &sums)?;
    let worst = worst(&raster, &sums);
    let classes = classes(&reader, sums.span, worst)?;
    let elsewhere = reader.summary().elsewhere_bytes.filter(|_| reader.header().has_addresses);
    let unpinned = elsewhere.map(|bytes| sums.memory.unpinned(&raster.pinned_bytes, bytes));
    let columns = asked_for.map_or(BTreeSet::from([worst, COLUMNS - 1]), |one| [one].into());
    let header = reader.header();
    let moments = header.has_stacks.then(|| moments(&reader, sums.span, &columns)).transpose()?;
    let (origin, has_addresses) = (Origin::of(path, header), header.has_addresses);
    Ok(Recording { origin, has_addresses, sums, raster, unpinned, worst, classes, moments })
}

fn worst(raster: &Raster, sums: &Sums) -> usize {
    let pairs = raster.pinned_bytes.iter().zip(&sums.last_live_bytes);
    let wasted = pairs.map(|(pinned, live)| pinned.saturating_sub(*live));
    wasted.enumerate().max_by_key(|(_, wasted)| *wasted).map_or(0, |(column, _)| column)
}
