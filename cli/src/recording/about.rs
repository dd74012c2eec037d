//! What a recording says of itself, as JSON in its first and last section.

use serde::{Deserialize, Serialize};

pub const FORMAT: &str = "loam trace";
/// Raised when what is written means something else, or there are other events; fields that are new
/// do not raise it. Earlier versions are read, too.
pub const VERSION: u32 = 2;

/// Known when a recording begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Always `FORMAT`.
    pub format: String,
    pub version: u32,
    /// What wrote it, such as `loam 0.1.0`.
    pub writer: String,
    /// The program's file; what it was imported from, if it was.
    pub program: String,
    /// Its own name first; empty where unknown.
    pub arguments: Vec<String>,
    pub pid: Option<u32>,
    /// RFC 3339, UTC.
    pub started: Option<String>,
    /// The library that it allocated with; `None` for the C library's own malloc, or if unknown.
    pub allocator: Option<String>,
    /// Whether times are the program's, or only count its calls.
    pub has_times: bool,
    /// Whether blocks have addresses.
    pub has_addresses: bool,
    /// Whether blocks have stacks.
    pub has_stacks: bool,
}

/// Known when it ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// How the program ended: `status 0`, `SIGKILL`; `None` where unknown.
    pub ended: Option<String>,
    /// From the first event to the last.
    pub time_us: u64,
    pub events: u64,
    /// How many blocks were taken.
    pub objects: u64,
    pub threads: u32,
    /// Of all blocks that were taken; of a resized one what it grew by.
    pub taken_bytes: u64,
    /// What was live when that was most, as asked for.
    pub peak_live_bytes: u64,
    /// What was live at the end.
    pub live_blocks: u64,
    pub live_bytes: u64,
    /// The program's own largest resident memory, without what the recording took.
    pub peak_resident_bytes: Option<u64>,
    /// What of that is no allocator's: of files, data segments and stacks.
    pub elsewhere_bytes: Option<u64>,
    /// Frees and resizes of blocks that the recording does not have, which are left out.
    pub foreign: u64,
}

/// A file that was mapped into the program: for the names of a stack's addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    pub start: u64,
    pub end: u64,
    /// Of `start` in the file.
    pub offset: u64,
    pub path: String,
}

impl Header {
    pub fn new(program: String) -> Header {
        Header {
            format: FORMAT.into(),
            version: VERSION,
            writer: format!("loam {}", env!("CARGO_PKG_VERSION")),
            program,
            ..Header::default()
        }
    }
}
