//! Pictures of heaps and of recordings: pages for a browser that need no other files, no server and
//! no network.

pub mod bars; // rows of bars
#[cfg(test)]
pub mod color_tests; // colours can be told apart
pub mod heap; // what is in a process's heaps, as a page
mod map; // its address space, page by page
pub mod packed; // bytes inside a page
pub mod page; // what all pages have
mod pins; // which lines of the program keep pages
#[cfg(test)]
mod synthetic; // a heap for tests
