//! What others are compared with.

use crate::bench::judge::known::{LOAM, is_system};
use crate::bench::judge::results::Results;

/// What others are compared with if nothing else is asked for: loam in a suite; the system's
/// malloc for a command of the user's, or else the first allocator there is.
pub fn baseline_of<'a>(results: &'a Results, asked: Option<&'a str>) -> &'a str {
    if let Some(asked) = asked {
        return asked;
    }
    let took_part = || results.allocators.iter().filter(|row| row.problem.is_none());
    let is_suite = results.rows.iter().any(|row| row.group.is_some());
    let is_usual = |name: &str| if is_suite { name == LOAM } else { is_system(name) };
    let usual = took_part().find(|row| is_usual(&row.name));
    let first = || took_part().find(|row| !row.is_limit);
    usual.or_else(first).map_or(LOAM, |row| row.name.as_str())
}
