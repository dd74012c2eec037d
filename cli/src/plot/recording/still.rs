//! One recording or two as a still: what the page has, without what takes a pointer.

use crate::numbers;
use crate::picture::colors::Color;
use crate::picture::still::mark::{Cells, Still};
use crate::picture::still::sheet::{Axis, Line, Sheet};
use crate::plot::recording::content::{self, NamedMoment, Section};
use crate::plot::recording::reading::Recording;
use crate::plot::recording::time::COLUMNS;

/// Those below each other have the same scale.
pub fn draw(recordings: &[Recording]) -> Still {
    let mut sheet = Sheet::new(&content::title(recordings));
    let most = recordings.iter().map(most_bytes).max().unwrap_or(1);
    let moments = content::all_named(recordings);
    for (one, moments) in recordings.iter().zip(&moments) {
        if recordings.len() > 1 {
            sheet.heading(&one.origin.file);
        }
        put(&mut sheet, one, moments, scale_of(most));
    }
    sheet.finish()
}

fn put(sheet: &mut Sheet, recording: &Recording, moments: &[NamedMoment], most: u64) {
    let section = Section::of(recording, moments);
    sheet.paragraph(&format!("{} {}", section.program, section.made), false);
    sheet.paragraph(&section.answer, true);
    let facts = section.facts.iter().map(|(name, fact)| format!("{name}: {fact}"));
    sheet.paragraph(&facts.collect::<Vec<_>>().join("; "), false);
    for keepers in &section.keepers {
        sheet.heading(&format!("Who keeps the pages. {}", keepers.when));
        sheet.paragraph(&keepers.what, false);
        sheet.pins(&keepers.lines);
    }
    put_lines(sheet, recording, moments, most);
    sheet.heading(
        "Addresses over time, from top to bottom; orange is where a few blocks keep pages",
    );
    if !section.has_addresses {
        sheet.paragraph("The recording has no addresses: these are those of a model.", false);
    }
    put_raster(sheet, recording);
    sheet.heading(&format!(
        "How well pages are used, by size. {}, when most was free",
        section.worst
    ));
    sheet.bars(&section.classes);
    sheet.heading(&format!("Sizes of all blocks that were taken: {}", section.all_sizes));
    sheet.bars(&section.sizes);
    sheet.heading(&format!("Lifetimes: {}", section.all_lifetimes));
    sheet.bars(&section.lifetimes);
}

fn put_lines(sheet: &mut Sheet, recording: &Recording, moments: &[NamedMoment], most: u64) {
    let Recording { sums, raster, .. } = recording;
    let known = |values: &[u64]| values.iter().copied().map(Some).collect::<Vec<_>>();
    let mut lines = vec![
        Line {
            color: "m-pinned",
            values: known(&raster.most_pinned_bytes),
            name: "pinned: pages that live blocks are on",
        },
        Line { color: "m-full", values: known(&sums.live_bytes), name: "live, as asked for" },
    ];
    if sums.resident_bytes.iter().any(Option::is_some) {
        let values = sums.resident_bytes.clone();
        lines.push(Line { color: "m-own", values, name: "in memory" });
    }
    if let Some(unpinned) = &recording.unpinned {
        let values = unpinned.clone();
        lines.push(Line {
            color: "m-cached",
            values,
            name: "not pinned: on no page of a live block",
        });
    }
    let label = |quarter: u64| numbers::figure((most * quarter / 4) as f64, "B");
    let axis = Axis {
        most,
        labels: [1, 2, 3, 4].map(label),
        end: sums.span.moment(COLUMNS - 1),
        marked: moments.iter().map(|moment| moment.column).collect(),
    };
    sheet.heading("Memory over time");
    sheet.chart(&axis, &lines);
}

fn put_raster(sheet: &mut Sheet, recording: &Recording) {
    const HEIGHT: usize = 480;
    let Recording { sums, raster, .. } = recording;
    let rows = raster.addresses.len().max(1);
    let cells = Cells {
        columns: COLUMNS,
        colors: (0..=100).map(Color::of_fullness).collect(),
        cells: raster.fullness.clone(),
    };
    sheet.cells(cells, (HEIGHT / rows).clamp(1, 12) as u32);
    sheet.times(&sums.span.moment(COLUMNS - 1));
    sheet.below(&[]);
}

fn most_bytes(recording: &Recording) -> u64 {
    let Recording { sums, raster, .. } = recording;
    let resident = sums.resident_bytes.iter().flatten();
    let all = sums.live_bytes.iter().chain(&raster.most_pinned_bytes).chain(resident);
    all.copied().max().unwrap_or(1).max(1)
}

/// A round number of its unit that is not below.
fn scale_of(most: u64) -> u64 {
    let step = (1_u64 << most.ilog2() >> 2).max(1);
    most.next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_numbers() {
        for (most, expected) in [(1, 1), (3, 3), (9 << 20, 10 << 20), (16 << 20, 16 << 20)] {
            assert_eq!(scale_of(most), expected);
        }
    }
}
