//! Counts a program's calls of the allocation functions while it runs, and who makes them.
//!
//! Loam's own paths are left as they are: a breakpoint stands at the begin of each function, and
//! a traced program stops there with the return address on its stack.

#[cfg(target_arch = "x86_64")]
mod breakpoints;
#[cfg(target_arch = "x86_64")]
mod callers;
#[cfg(target_arch = "x86_64")]
mod doors;
#[cfg(target_arch = "x86_64")]
mod follow;
#[cfg(target_arch = "x86_64")]
mod functions;
#[cfg(target_arch = "x86_64")]
mod unwind;

use crate::process::trace::Stopped;
use crate::verify::report::RunReport;
use anyhow::Result;

/// Lets a program that stands at its entry point run to its end, and counts.
#[cfg(target_arch = "x86_64")]
pub fn run(stopped: Stopped) -> Result<RunReport> {
    follow::run(stopped)
}

#[cfg(not(target_arch = "x86_64"))]
pub fn run(_: Stopped) -> Result<RunReport> {
    anyhow::bail!("calls can be counted on x86-64 only")
}
