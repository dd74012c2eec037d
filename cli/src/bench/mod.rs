//! `loam bench`: allocators compared on a command, on the suite in `bench/suite.toml`, or on a
//! recording (`loam replay`).

mod choice; // the allocators there are, and those that take part
mod judge; // what the figures say
mod kept; // loam bench report
mod measure; // how they come about
mod replay_run; // loam replay
mod session; // one measurement, from its start to what is printed and kept
mod show; // how they are shown
mod suite_run; // loam bench suite
#[cfg(test)]
mod synthetic; // made-up results
mod verbs; // loam bench and its verbs

pub use measure::launcher::{LAUNCH, launch};
pub use verbs::{bench, replay};
