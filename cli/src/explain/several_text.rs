//! Several processes as text, at most 80 columns wide.

use crate::explain::several::{GroupLine, Line, Several};
use crate::numbers;
use std::fmt::Write;

pub fn render(several: &Several) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, several);
    out
}

fn write(out: &mut String, several: &Several) -> std::fmt::Result {
    writeln!(out, "{}: {} in memory", title(several), numbers::bytes(several.pss_bytes))?;
    if let Some(group) = &several.cgroup {
        write_group(out, group)?;
    }
    writeln!(out)?;
    writeln!(
        out,
        "  {:<15}{:>9}{:>11}{:>11}{:>11}{:>11}{:>10}",
        "process", "pid", "Pss", "private", "shared", "live", "free"
    )?;
    for line in &several.processes {
        write_line(out, line)?;
    }
    writeln!(
        out,
        "  {:<24}{:>11}{:>11}",
        "in all",
        numbers::bytes(several.pss_bytes),
        numbers::bytes(several.private_bytes)
    )?;
    write_left_out(out, several)
}

fn title(several: &Several) -> String {
    let count = several.processes.len();
    match (several.pid, &several.name) {
        (Some(pid), Some(name)) if several.processes.iter().any(|line| line.pid == pid) => {
            let others = if count == 2 { "other" } else { "others" };
            format!("process {pid} ({name}) and {} {others}", count - 1)
        }
        _ => format!("{count} {}", if count == 1 { "process" } else { "processes" }),
    }
}

fn write_group(out: &mut String, group: &GroupLine) -> std::fmt::Result {
    let path = group.path.display();
    writeln!(out, "cgroup {path}")?;
    if let Some(used) = group.used_bytes {
        writeln!(
            out,
            "  has {}, with the files that it has read and what the kernel has for it",
            numbers::bytes(used)
        )?;
    }
    match (group.limit_bytes, group.limited_used_bytes) {
        (Some(limit), Some(used)) => {
            let (limit_shown, used_shown) = (numbers::bytes(limit), numbers::bytes(used));
            let share = numbers::percent(used as f64 / (limit as f64).max(1.0));
            let whose = if group.used_bytes == Some(used) { "" } else { " of a cgroup above" };
            writeln!(out, "  limit{whose}: {limit_shown}, of which {used_shown} are used, {share}")
        }
        _ => writeln!(out, "  no limit is seen"),
    }
}

fn write_line(out: &mut String, line: &Line) -> std::fmt::Result {
    let name: String = line.name.chars().take(15).collect();
    let [pss, private, shared] =
        [line.pss_bytes, line.private_bytes, line.shared_bytes].map(numbers::bytes);
    write!(out, "  {name:<15}{:>9}{pss:>11}{private:>11}{shared:>11}", line.pid)?;
    match (line.live_bytes, line.free_bytes) {
        (Some(live), Some(free)) => {
            writeln!(out, "{:>11}{:>10}", numbers::bytes(live), numbers::bytes(free))
        }
        _ => {
            let name = line.allocator.as_deref().unwrap_or("not known");
            writeln!(out, "  {:>19}", name.chars().take(19).collect::<String>())
        }
    }
}

fn write_left_out(out: &mut String, several: &Several) -> std::fmt::Result {
    let processes = |count: usize| match count {
        1 => "1 process".to_owned(),
        _ => format!("{count} processes"),
    };
    if several.ended_count != 0 {
        let ended = processes(several.ended_count);
        writeln!(out, "\nLeft out: {ended} that had ended, or had no memory.")?;
    }
    if several.unreadable_count != 0 {
        let count = processes(several.unreadable_count);
        writeln!(out, "\nLeft out: {count} that the kernel does not let you read.")?;
    }
    Ok(())
}
