//! `loam bench`: what was measured, compared and shown.
#![allow(dead_code)]

mod results; // what was measured, as data
mod statistics; // medians, ratios, intervals
