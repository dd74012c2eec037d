//! What files of programs and libraries say: ELF and PE, what they define, import and call.

pub mod arch; // the architectures that loam has objects for
pub mod callers; // which functions of a static program call others
pub mod carried; // what is inside the command itself
pub mod elf; // what an ELF file defines and refers to
pub mod entry_points; // the functions that loam must serve
pub mod entry_points_windows; // the same by the names of Windows
pub mod itself; // where this command's own file is
pub mod library; // where libloam.so is
pub mod pe; // what a file for Windows imports
pub mod reach; // can a preloaded library serve this program
pub mod word_sizes; // where the loaders of both word sizes look for a library
