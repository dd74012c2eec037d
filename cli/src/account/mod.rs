//! Where the resident memory of a process is: as sums, in words, and as data.

pub mod advice; // what that means, and what to do, in words
pub mod report; // as data and JSON
pub mod sums; // the whole process: loam's memory, and what is not loam's
