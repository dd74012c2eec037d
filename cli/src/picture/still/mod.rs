//! Pictures that stand alone, for a report or an issue: one file, as SVG or as PNG.

pub mod mark; // what they are made of
pub mod png; // as points
pub mod sheet; // what is put on one, from top to bottom
pub mod svg; // as text
