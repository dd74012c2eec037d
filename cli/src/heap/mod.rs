//! The heaps of another process, or of one that has left a core: found, read and added up from
//! outside, loam's or glibc's. Nothing runs in it, and nothing of it is stopped.

mod blocks; // what the blocks of a span are
pub mod chosen; // the process or file that was asked for
mod core; // a core file
mod core_notes; // what it says beside the memory
pub mod figures; // what was found
pub mod glibc; // a heap of glibc's
pub mod image; // where a file has been put, and its notes
pub mod layout; // where the library says that its structures are
mod lists; // which blocks are on lists
pub mod live; // a process that runs
pub mod on_loam; // what blocks of another malloc would take on loam
pub mod pinned; // what blocks keep of the pages that they are on
pub mod read; // all of that at once, and in four figures
mod residency; // which pages are in memory
pub mod samples; // what a profile has of them
mod shape; // how structures are laid out
pub mod source; // memory to be read
pub mod walk; // all regions, page by page
mod without; // a process that is not on loam
