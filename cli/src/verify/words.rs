//! Words that the findings, the report and its text share.

use std::path::Path;

/// The row for what strdup and the C library's other functions allocate with.
pub const STRDUP: &str = "strdup's allocation";

/// A path in a report.
pub fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What a program is called, by its file.
pub fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// At most a few names, for a line that can be read.
pub fn list(names: &[&str]) -> String {
    const SHOWN_MAX: usize = 4;
    match names.len().checked_sub(SHOWN_MAX) {
        Some(more) if more > 0 => format!("{} and {more} more", names[..SHOWN_MAX].join(", ")),
        _ => names.join(", "),
    }
}

pub fn count(number: usize, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
    }
}
