//! What other tools' lines have in common.

use crate::recording::event::Entry;
use anyhow::{Context, Result};

/// What a line of another tool's says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// As the tool numbers it.
    pub thread: u64,
    /// Since whatever the tool counts from.
    pub time_ns: Option<u64>,
    pub what: Said,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    Take { address: u64, entry: Entry, size: u64, alignment: u64 },
    Resize { from: u64, to: u64, size: u64 },
    Give { address: u64 },
    ThreadEnd,
}

/// Reads a tool's lines: `None` for a line that says nothing by itself.
pub trait Format {
    fn call(&mut self, line: &str) -> Result<Option<Call>>;
}

/// `0x1f`, or `1f`.
pub fn hexadecimal(word: &str) -> Result<u64> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    u64::from_str_radix(digits, 16).with_context(|| format!("{word:?} is no address"))
}
