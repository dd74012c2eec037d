//! Recordings of what programs allocate: the format that docs/trace.md describes.

pub mod about; // what a recording says of itself: header and summary
mod bytes; // numbers in as few bytes as they need
pub mod event; // what happened
mod index; // where the sections of a file are
mod live; // the blocks that are live, by address
pub mod numbered; // maps by address and object
pub mod place; // where a file is written
pub mod reader; // a file, event by event
pub mod salvage; // what is whole of a file that was cut off
mod section; // events as columns, and back
pub mod stacks; // who called
#[cfg(test)]
mod synthetic; // made-up events
pub mod touches; // how much of a block was used
pub mod writer; // events into a file
