//! Where the resident memory of a process is: as sums, in words, and as data.

pub mod advice; // what that means, and what to do, in words
mod glibc_advice; // the same of glibc's heap
pub mod malloc; // what is known of glibc's malloc besides
pub mod names; // what the kinds are called
pub mod report; // as data and JSON
pub mod sums; // the whole process: loam's memory, and what is not loam's
mod words; // what is said of any heap
