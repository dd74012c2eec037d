//! What is run, under which allocators, and how it is measured.

pub mod allocators; // the allocators there are
pub mod c_library; // the system's C library
pub mod command_line; // commands as text: words, placeholders
pub mod effect; // does a program really get an allocator's malloc
pub mod launcher; // the small process that starts a program and measures it
pub mod limits; // the lines that no allocator can beat
pub mod machine; // what we measure on, and what others take of it
pub mod peers; // where libraries of other allocators are, and their versions
pub mod progress; // how far the measurement is
pub mod rounds; // shuffled rounds of one workload
pub mod runner; // one run of a workload
pub mod suite; // the rows of the suite
pub mod watch; // memory over time, and who is in the process tree
pub mod workload; // what is run, and which figures are taken
