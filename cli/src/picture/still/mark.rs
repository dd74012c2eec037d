//! What stills are made of.

use crate::picture::colors::Color;

/// A place, in points from the upper left.
pub type Point = (i32, i32);

/// What has been put onto a sheet.
pub struct Still {
    pub title: String,
    pub width: u32,
    pub height: u32,
    pub marks: Vec<Mark>,
}

pub enum Mark {
    Rectangle { corner: Point, size: (u32, u32), color: Color },
    Line { points: Vec<Point>, color: Color, width: u32 },
    Text { text: String, at: Point, side: Side, look: Look, color: Color },
    Cells { corner: Point, size: (u32, u32), cells: Cells },
}

/// Where a text is from its place, which is on its base line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Right,
    Left,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Title,
    Bold,
    Plain,
}

impl Look {
    /// Letters are all as wide, so that both kinds of files have them at the same places.
    pub fn letter_width(self) -> u32 {
        if self == Look::Title { 10 } else { 9 }
    }
}

/// Colours in lines.
pub struct Cells {
    pub columns: usize,
    /// By the byte of a cell.
    pub colors: Vec<Color>,
    /// The last line may be short.
    pub cells: Vec<u8>,
}

impl Cells {
    pub fn rows(&self) -> usize {
        self.cells.len().div_ceil(self.columns.max(1))
    }
}
