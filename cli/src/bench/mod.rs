//! `loam bench`: what was measured, compared and shown.
#![allow(dead_code)]

mod agreement; // do two measurements say the same
mod canvas; // pictures as SVG with named colours
mod comparison; // results compared with one allocator's
mod dots; // all rows of a suite in one picture
mod html; // the report as a page
mod markdown; // the figures in the repository's documents
mod notes; // what one must know before believing the numbers
mod numbers; // numbers as people read them
mod plots; // bars, and memory over time
mod replace; // files that take the place of others
mod report; // verb: show what was measured
mod results; // what was measured, as data
mod statistics; // medians, ratios, intervals
#[cfg(test)]
mod synthetic; // made-up results
mod table; // the report for the terminal
mod wording; // verdicts in words
