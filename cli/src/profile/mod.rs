//! Heap profiles: which places in a program take memory, and which keep it.

mod debug_link; // what was stripped off a file, by the file's own word
pub mod living; // of a process that runs, or a core
mod own; // what of a stack is loam's
pub mod passing; // functions that take memory for their callers
pub mod range; // how far off an estimate may be
pub mod rows; // by places in the program
pub mod stacks; // with names
pub mod symbols; // names for addresses
pub mod written; // as the library writes them
