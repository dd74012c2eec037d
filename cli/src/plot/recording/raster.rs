//! Pages by address and time.

use crate::plot::recording::blocks::{Blocks, Change};
use crate::plot::recording::pages::{PAGE_BYTES, Pages};
use crate::plot::recording::sums::Sums;
use crate::plot::recording::time::{COLUMNS, Clock};
use crate::recording::reader::Reader;
use anyhow::Result;

const ROWS_MAX: u64 = 480;

/// Pages by address and time.
pub struct Raster {
    pub row_pages: u64,
    pub addresses: Vec<u64>,
    /// By row and column: 0 where nothing is live, else how many hundredths of the pages that are
    /// pinned are in use.
    pub fullness: Vec<u8>,
    /// How many hundredths of the row's pages are pinned.
    pub pinned: Vec<u8>,
    /// Bytes of pages that something live is on, by column, at its end.
    pub pinned_bytes: Vec<u64>,
    /// The most that these were in it.
    pub most_pinned_bytes: Vec<u64>,
}

pub fn raster(reader: &Reader, sums: &Sums) -> Result<Raster> {
    let mut pages = Pages::new(&sums.extent, ROWS_MAX);
    let row_count = pages.rows.len();
    let mut raster = Raster {
        row_pages: pages.row_pages,
        addresses: (0..row_count).map(|row| pages.address(row)).collect(),
        fullness: vec![0; row_count * COLUMNS],
        pinned: vec![0; row_count * COLUMNS],
        pinned_bytes: vec![0; COLUMNS],
        most_pinned_bytes: vec![0; COLUMNS],
    };
    let mut blocks = Blocks::new(reader.header().has_addresses);
    let mut clock = Clock::new(sums.span);
    let mut column = 0;
    for event in reader.events() {
        let event = event?;
        let now = clock.column(&event);
        for passed in column..now {
            raster.take_column(passed, &pages);
            raster.most_pinned_bytes[passed + 1] = raster.pinned_bytes[passed];
        }
        column = now;
        let Change { came, went } = blocks.change(&event);
        if let Some(block) = went {
            pages.change(block.place, false);
        }
        if let Some(block) = came {
            pages.change(block.place, true);
        }
        let most = &mut raster.most_pinned_bytes[column];
        *most = (*most).max(pages.pinned_pages * PAGE_BYTES);
    }
    for rest in column..COLUMNS {
        raster.take_column(rest, &pages);
    }
    let last = raster.pinned_bytes[column];
    raster.most_pinned_bytes[column + 1..].fill(last);
    Ok(raster)
}

impl Raster {
    fn take_column(&mut self, column: usize, pages: &Pages) {
        self.pinned_bytes[column] = pages.pinned_pages * PAGE_BYTES;
        for (at, row) in pages.rows.iter().enumerate().filter(|(_, row)| row.pinned_pages != 0) {
            let hundredths =
                |part: u64, whole: u64| (part * 100 / whole.max(1)).clamp(1, 100) as u8;
            let cell = at * COLUMNS + column;
            self.fullness[cell] = hundredths(row.live_bytes, row.pinned_pages * PAGE_BYTES);
            self.pinned[cell] = hundredths(row.pinned_pages, self.row_pages);
        }
    }
}
