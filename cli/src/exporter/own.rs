//! Which processes are this user's. Others are not looked at, whatever the kernel would allow.

use nix::unistd::{geteuid, getuid};
use procfs::process::Process as Folder;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

/// When each began, by its number: what tells it from a later process of that number.
pub fn processes() -> BTreeMap<i32, u64> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|pid| Some((pid, started(pid)?))).collect()
}

/// `None` of what has ended, and of another user's.
pub fn started(pid: i32) -> Option<u64> {
    let (real, effective) = (getuid().as_raw(), geteuid().as_raw());
    // Most of a machine's are others', which this tells at once.
    if std::fs::metadata(format!("/proc/{pid}")).ok()?.uid() != effective {
        return None;
    }
    let folder = Folder::new(pid).ok()?;
    let status = folder.status().ok()?;
    let is_own =
        [status.ruid, status.euid, status.suid].iter().all(|id| [real, effective].contains(id));
    is_own.then(|| folder.stat().ok().map(|stat| stat.starttime)).flatten()
}
