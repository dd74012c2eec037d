//! `loam bench`: allocators compared on a command, or on the suite in `bench/suite.toml`.

mod agreement; // do two measurements say the same
mod allocators; // the allocators there are
mod answer; // the question answered in one sentence
mod canvas; // pictures as SVG with named colours
mod command_line; // commands as text: words, placeholders
mod comparison; // results compared with one allocator's
mod csv; // figures as comma-separated values
mod dots; // all rows of a suite in one picture
mod effect; // does a program really get an allocator's malloc
mod html; // the report as a page
mod launcher; // the small process that starts a program and measures it
mod limits; // the lines that no allocator can beat
mod machine; // what we measure on, and what others take of it
mod markdown; // the figures in the repository's documents
mod markdown_table; // figures as Markdown
mod notes; // what one must know before believing the numbers
mod peers; // where libraries of other allocators are, and their versions
mod plots; // bars, and memory over time
mod progress; // how far the measurement is
mod replace; // files that take the place of others
mod report; // loam bench report
mod results; // what was measured, as data
mod rounds; // shuffled rounds of one workload
mod runner; // one run of a workload
mod session; // one measurement, from its start to what is printed and kept
mod show; // the forms in which a comparison is shown
mod statistics; // medians, ratios, intervals
mod suite; // the rows of the suite
mod suite_run; // loam bench suite
#[cfg(test)]
mod synthetic; // made-up results
mod table; // the report for the terminal
mod verbs; // loam bench and its verbs
mod watch; // memory over time, and who is in the process tree
mod wording; // verdicts in words
mod workload; // what is run, and which figures are taken

pub use launcher::{LAUNCH, launch};
pub use verbs::bench;
