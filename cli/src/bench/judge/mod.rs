//! What the figures say: results as data, their comparison, and how certain it is.

pub mod baseline; // what others are compared with if nothing else is asked for
pub mod comparison; // results compared with one allocator's
pub mod known; // the names of allocators that are spoken of
pub mod merge; // parts of one measurement, put together
pub mod results; // what was measured, as data
pub mod statistics; // medians, ratios, intervals
