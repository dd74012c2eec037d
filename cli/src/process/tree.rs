//! A process and all that it has started, as far as they still run.

use nix::unistd::Pid;
use std::fs;

/// The numbers of a process and of its descendants.
pub fn of(root: Pid) -> Vec<i32> {
    let mut tree = vec![root.as_raw()];
    let mut next = 0;
    while next < tree.len() {
        let threads = fs::read_dir(format!("/proc/{}/task", tree[next]));
        for thread in threads.into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            tree.extend(children.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
        next += 1;
    }
    tree
}
