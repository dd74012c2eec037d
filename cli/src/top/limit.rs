//! The limit of memory of the cgroup that a process is in, or of one above it.

use std::fs;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub used_bytes: u64,
    pub limit_bytes: u64,
}

/// The lowest one; `None` where there is none, or none to be seen.
pub fn of(pid: i32) -> Option<Limit> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = Path::new("/sys/fs/cgroup");
    let folder = root.join(group);
    let above = folder.ancestors().take_while(|folder| folder.starts_with(root));
    above.filter_map(in_folder).min_by_key(|limit| limit.limit_bytes)
}

fn in_folder(folder: &Path) -> Option<Limit> {
    let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok();
    Some(Limit { limit_bytes: number("memory.max")?, used_bytes: number("memory.current")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_two_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(in_folder(folder.path()), None);
        write("memory.current", "1000\n");
        write("memory.max", "max\n");
        assert_eq!(in_folder(folder.path()), None);
        write("memory.max", "4096\n");
        let limit = Limit { used_bytes: 1000, limit_bytes: 4096 };
        assert_eq!(in_folder(folder.path()), Some(limit));
    }
}
