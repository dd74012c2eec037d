//! Pictures of heaps and of recordings: pages for a browser that need no other files, no server and
//! no network, and stills for a report.

pub mod bars; // rows of bars
#[cfg(test)]
pub mod color_tests; // colours can be told apart
pub mod colors; // those of the pages, for stills
pub mod heap; // what is in a process's heaps, as a page
pub mod heap_still; // and as a still
pub mod letters; // texts of others
mod map; // its address space, page by page
pub mod packed; // bytes inside a page
pub mod page; // what all pages have
pub mod pins; // which lines of the program keep pages
pub mod still; // pictures that stand alone
#[cfg(test)]
mod synthetic; // a heap for tests
