//! A control group: its processes, what they have in memory, and the limit of that.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of the kernel's, of one hierarchy for all or of memory's own.
pub struct Group {
    pub folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub used_bytes: u64,
    pub limit_bytes: u64,
}

const ROOT: &str = "/sys/fs/cgroup";
/// What the first hierarchy's files of one name are called in the second's.
const USED: [&str; 2] = ["memory.current", "memory.usage_in_bytes"];
const LIMIT: [&str; 2] = ["memory.max", "memory.limit_in_bytes"];
/// The older hierarchy has no word for no limit, but about so many bytes.
const NO_LIMIT: u64 = 1 << 62;

impl Group {
    /// That of a process; `None` where none counts memory.
    pub fn of(pid: i32) -> Option<Group> {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let found = groups.lines().filter_map(folder_of);
        let counts = |folder: &PathBuf| used_bytes(folder).is_some();
        found.map(|folder| Path::new(ROOT).join(folder)).find(counts).map(|folder| Group { folder })
    }

    /// A folder, or what stands for one below the kernel's: `/system.slice/server.service`.
    pub fn at(path: &Path) -> Result<Group> {
        let below = Path::new(ROOT).join(path.strip_prefix("/").unwrap_or(path));
        let found = [path, &below].into_iter().find(|folder| folder.join(PROCESSES).is_file());
        match found {
            Some(folder) => Ok(Group { folder: folder.to_owned() }),
            None => bail!("{} is no cgroup: it has no {PROCESSES}", path.display()),
        }
    }

    /// All in it, and in those below it.
    pub fn processes(&self) -> Result<Vec<i32>> {
        let file = self.folder.join(PROCESSES);
        let own = fs::read_to_string(&file);
        let own = own.with_context(|| format!("cannot read {}", file.display()))?;
        let mut all = numbers(&own);
        add_below(&self.folder, &mut all);
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    pub fn used_bytes(&self) -> Option<u64> {
        used_bytes(&self.folder)
    }

    /// The lowest one, its own or that of one above; `None` where there is none, or none to be seen.
    pub fn limit(&self) -> Option<Limit> {
        let above = self.folder.ancestors().take_while(|folder| used_bytes(folder).is_some());
        above.filter_map(limit_of).min_by_key(|limit| limit.limit_bytes)
    }
}

const PROCESSES: &str = "cgroup.procs";

/// Of a line of `/proc/PID/cgroup`: `0::/a/b`, or `4:memory:/a/b` of the older hierarchy.
fn folder_of(line: &str) -> Option<PathBuf> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    let path = path.strip_prefix('/')?;
    match controllers {
        "" => Some(PathBuf::from(path)),
        _ if controllers.split(',').any(|one| one == "memory") => {
            Some(Path::new("memory").join(path))
        }
        _ => None,
    }
}

fn add_below(folder: &Path, all: &mut Vec<i32>) {
    for below in fs::read_dir(folder).into_iter().flatten().flatten() {
        if below.file_type().is_ok_and(|kind| kind.is_dir()) {
            // What has gone meanwhile has no processes.
            let own = fs::read_to_string(below.path().join(PROCESSES)).unwrap_or_default();
            all.extend(numbers(&own));
            add_below(&below.path(), all);
        }
    }
}

/// Those that are not seen from here are 0.
fn numbers(text: &str) -> Vec<i32> {
    text.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0).collect()
}

fn number(folder: &Path, names: [&str; 2]) -> Option<u64> {
    let text = names.iter().find_map(|name| fs::read_to_string(folder.join(name)).ok())?;
    text.trim().parse().ok()
}

fn used_bytes(folder: &Path) -> Option<u64> {
    number(folder, USED)
}

fn limit_of(folder: &Path) -> Option<Limit> {
    let limit_bytes = number(folder, LIMIT).filter(|limit| *limit < NO_LIMIT)?;
    Some(Limit { limit_bytes, used_bytes: used_bytes(folder)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_two_numbers_and_the_lowest_above_counts() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("below");
        fs::create_dir(&below).unwrap();
        let write = |folder: &Path, name: &str, text: &str| {
            fs::write(folder.join(name), text).unwrap();
        };
        assert_eq!(limit_of(&below), None);
        write(&below, "memory.current", "1000\n");
        write(&below, "memory.max", "max\n");
        assert_eq!(limit_of(&below), None);
        write(folder.path(), "memory.usage_in_bytes", "2000\n");
        write(folder.path(), "memory.limit_in_bytes", "4096\n");
        let limit = Limit { used_bytes: 2000, limit_bytes: 4096 };
        assert_eq!(Group { folder: below.clone() }.limit(), Some(limit));
        write(folder.path(), "memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(Group { folder: below }.limit(), None);
    }

    #[test]
    fn processes_are_those_of_groups_below_too() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("below");
        fs::create_dir(&below).unwrap();
        assert!(Group::at(&below).is_err());
        fs::write(folder.path().join(PROCESSES), "7\n0\n").unwrap();
        fs::write(below.join(PROCESSES), "9\n8\n").unwrap();
        assert_eq!(Group::at(folder.path()).unwrap().processes().unwrap(), [7, 8, 9]);
    }

    #[test]
    fn lines_of_both_hierarchies_lead_to_folders() {
        let folder = |line| folder_of(line).map(|path| path.display().to_string());
        assert_eq!(folder("0::/a.slice/b").as_deref(), Some("a.slice/b"));
        assert_eq!(folder("4:cpu,memory:/a").as_deref(), Some("memory/a"));
        assert_eq!(folder("3:cpuset:/a"), None);
    }
}
