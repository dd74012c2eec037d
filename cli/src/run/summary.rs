//! What the processes of a program have said of themselves at their ends, on one screen.

use crate::process::supervise::Ended;
use crate::{naming, numbers};
use nix::sys::wait::WaitStatus;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// More children than these are shown by name, the largest of each.
const LINES_MAX: usize = 14;

/// Heads, and the keys of what the library says.
const COLUMNS: [(&str, &str); 6] = [
    ("small", "small_used_bytes"),
    ("middle", "middle_used_bytes"),
    ("large", "large_used_bytes"),
    ("huge", "huge_used_bytes"),
    ("free", "free_bytes"),
    ("given back", "purged_bytes"),
];

/// One process, or several of a name.
struct Line {
    name: String,
    /// `None` for what this version of the library does not say.
    bytes: [Option<u64>; COLUMNS.len()],
}

impl Line {
    fn of(name: String, said: &Value) -> Line {
        Line { name, bytes: COLUMNS.map(|(_, key)| said[key].as_u64()) }
    }

    fn in_use(&self) -> u64 {
        self.bytes[..4].iter().flatten().sum()
    }
}

/// Of what they have said, a JSON object a line.
pub fn processes(said: &str) -> Vec<Value> {
    said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// `said`: of each process that has ended.
pub fn render(ended: &Ended, said: &str) -> String {
    let processes = processes(said);
    let (own, children): (Vec<&Value>, Vec<&Value>) =
        processes.iter().partition(|one| one["process_id"] == ended.program.as_raw());
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, ended, &own, &children);
    out
}

fn write(out: &mut String, ended: &Ended, own: &[&Value], children: &[&Value]) -> std::fmt::Result {
    let how = match ended.status {
        WaitStatus::Exited(_, code) => format!("ended with status {code}"),
        WaitStatus::Signaled(_, signal, _) => format!("killed by {signal}"),
        _ => "ended".into(),
    };
    let all = || own.iter().chain(children);
    let version = all().find_map(|said| said["loam_version"].as_str().filter(|it| !it.is_empty()));
    let time = numbers::duration(ended.seconds);
    let peak = numbers::figure(ended.peak_kib as f64, "KiB");
    let loam = version.map_or_else(|| "loam".to_owned(), |version| format!("loam {version}"));
    writeln!(out, "{loam}: {how} after {time}; peak of the largest process {peak}")?;
    // It may have become another program on the way: the last one counts.
    let program = own.last().map(|said| Line::of(named(ended, said), said));
    let lines = child_lines(ended, children);
    let width = program.iter().chain(&lines).map(|line| line.name.chars().count()).max();
    let width = width.unwrap_or(0).max("at the end".len());
    if program.is_some() || !lines.is_empty() {
        write!(out, "  {:<width$}", "at the end")?;
        COLUMNS.iter().try_for_each(|(head, _)| write!(out, "{head:>12}"))?;
        writeln!(out)?;
    }
    match &program {
        Some(line) => write_line(out, line, width)?,
        None => writeln!(
            out,
            "  the program said nothing: it is not on loam, has closed its files, or may not be traced"
        )?,
    }
    let count = children.len();
    match count {
        0 => return Ok(()),
        1 => writeln!(out, "  and 1 process that it started")?,
        _ => writeln!(out, "  and {count} processes that it started")?,
    }
    lines.iter().take(LINES_MAX).try_for_each(|line| write_line(out, line, width))?;
    match lines.len().checked_sub(LINES_MAX) {
        Some(more) if more > 0 => writeln!(out, "  and {more} smaller ones"),
        _ => Ok(()),
    }
}

fn named(ended: &Ended, said: &Value) -> String {
    let pid = said["process_id"].as_i64().unwrap_or(0);
    let name = i32::try_from(pid).ok().and_then(|pid| ended.names.get(&pid));
    naming::with_number("process", name.map_or("", String::as_str), u64::try_from(pid).ok())
}

/// The largest first. One each, or where these are too many, the largest of each name.
fn child_lines(ended: &Ended, children: &[&Value]) -> Vec<Line> {
    let mut lines: Vec<Line> =
        children.iter().map(|said| Line::of(named(ended, said), said)).collect();
    if lines.len() > LINES_MAX {
        lines = by_name(lines);
    }
    lines.sort_by_key(|line| std::cmp::Reverse(line.in_use()));
    lines
}

fn by_name(lines: Vec<Line>) -> Vec<Line> {
    let mut groups: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for line in lines {
        let name = match line.name.rsplit_once(" (") {
            Some((name, _)) => name.to_owned(),
            None => "short ones".to_owned(),
        };
        groups.entry(name).or_default().push(line);
    }
    let largest = |(name, group): (String, Vec<Line>)| {
        let count = group.len();
        let line = group.into_iter().max_by_key(Line::in_use)?;
        Some(match count {
            1 => line,
            _ => Line { name: format!("{name}, largest of {count}"), ..line },
        })
    };
    groups.into_iter().filter_map(largest).collect()
}

fn write_line(out: &mut String, line: &Line, width: usize) -> std::fmt::Result {
    write!(out, "  {:<width$}", line.name)?;
    for bytes in line.bytes {
        let text = match bytes {
            None | Some(0) => "-".to_owned(),
            Some(bytes) => numbers::figure(bytes as f64 / 1024.0, "KiB"),
        };
        write!(out, "{text:>12}")?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::Pid;

    fn said(pids: impl Iterator<Item = i32>) -> String {
        let line = |pid: i32| {
            format!(
                "{{\"loam_version\": \"1\", \"process_id\": {pid}, \"small_used_bytes\": {pid}000}}\n"
            )
        };
        pids.map(line).collect()
    }

    fn ended(names: &[(i32, &str)]) -> Ended {
        let program = Pid::from_raw(100);
        Ended {
            program,
            status: WaitStatus::Exited(program, 0),
            seconds: 1.5,
            peak_kib: 2048,
            names: names.iter().map(|(pid, name)| (*pid, (*name).to_owned())).collect(),
        }
    }

    #[test]
    fn the_program_comes_first_and_each_child_has_a_line() {
        let text =
            render(&ended(&[(100, "main"), (101, "one")]), &said([101, 102, 100].into_iter()));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("after 1.50 s; peak of the largest process 2.00 MiB"), "{text}");
        assert!(lines[2].starts_with("  main (100)") && lines[2].contains("97.7 KiB"), "{text}");
        assert_eq!(lines[3], "  and 2 processes that it started");
        assert!(lines[4].starts_with("  process 102") && lines[5].starts_with("  one (101)"));
    }

    #[test]
    fn however_many_children_there_are_it_fits_a_screen() {
        let names: Vec<(i32, String)> =
            (101..900).map(|pid| (pid, format!("tool{}", pid % 50))).collect();
        let names: Vec<(i32, &str)> = names.iter().map(|(pid, name)| (*pid, &**name)).collect();
        let text = render(&ended(&names), &said(100..900));
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.contains("largest of 16") && text.contains("smaller ones"), "{text}");
    }

    #[test]
    fn what_is_missing_leaves_no_gap() {
        let version = |said: &str| {
            let text = render(&ended(&[(100, "")]), said);
            assert!(text.contains("\n  process 100 "), "{text}");
            text.split(" after").next().unwrap_or_default().to_owned()
        };
        assert_eq!(version("{\"process_id\": 100}\n"), "loam: ended with status 0");
        let empty = "{\"process_id\": 100, \"loam_version\": \"\"}\n";
        assert_eq!(version(empty), "loam: ended with status 0");
        let known = "{\"process_id\": 100, \"loam_version\": \"1.2\"}\n";
        assert_eq!(version(known), "loam 1.2: ended with status 0");
    }

    #[test]
    fn what_was_not_said_is_no_figure() {
        let text = render(&ended(&[]), "no JSON\n");
        assert!(text.contains("the program said nothing"), "{text}");
    }
}
