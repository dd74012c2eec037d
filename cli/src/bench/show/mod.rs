//! How a comparison is shown: forms behind one trait, and what they share.

pub mod agreement; // do two measurements say the same
pub mod answer; // the question answered in one sentence
pub mod canvas; // pictures as SVG with named colours
pub mod csv; // figures as comma-separated values
pub mod documents; // figures in the repository's documents
pub mod dots; // all rows of a suite in one picture
pub mod export; // the files that were asked for
pub mod form; // what every form is
pub mod html; // the report as a page
pub mod markdown; // the page of all figures
pub mod markdown_table; // figures as Markdown
pub mod means; // their geometric means in another
pub mod notes; // what one must know before believing the numbers
pub mod plots; // bars, and memory over time
pub mod readme; // README's figures
pub mod table; // the report for the terminal
pub mod wording; // verdicts in words
