//! Heap profiles: which places in a program take memory, and which keep it.

pub mod call; // a step of a stack
mod debug_link; // what was stripped off a file, by the file's own word
mod interpreter; // lines of its program in the place of what evaluates them
pub mod known; // names that no file tells
pub mod living; // of a process that runs, or a core
mod own; // what of a stack is loam's
pub mod passing; // functions that take memory for their callers
mod perf_map; // names of code that is made while a program runs
pub mod place; // in code of a file, or with names of their own
pub mod pprof; // as pprof reads them
pub mod range; // how far off an estimate may be
pub mod rows; // by places in the program
pub mod stacks; // with names
pub mod symbols; // names for addresses
pub mod written; // as the library writes them
