//! Names of code that a process makes while it runs, as its just-in-time compiler writes them for
//! perf: /tmp/perf-PID.map, of lines "START SIZE NAME" with hexadecimal numbers (perf's
//! tools/perf/Documentation/jit-interface.txt).

use crate::profile::known::{Known, Language};
use procfs::process::Process;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub struct PerfMap {
    /// Where each begins: its end and its name.
    codes: BTreeMap<u64, (u64, String)>,
}

/// Times of files and of processes are by different clocks.
const SLACK: Duration = Duration::from_secs(2);

impl PerfMap {
    /// Of a process that runs, as that one sees it. Nobody else's, and not of an earlier process of
    /// that number.
    pub fn of_process(pid: u64) -> Option<PerfMap> {
        let process = Process::new(i32::try_from(pid).ok()?).ok()?;
        let status = process.status().ok()?;
        let own_pid = status.nspid.and_then(|pids| pids.last().copied()).unwrap_or(status.pid);
        let path = PathBuf::from(format!("/proc/{pid}/root/tmp/perf-{own_pid}.map"));
        let started = started(&process)?;
        PerfMap::read(&path, |map| map.uid() == status.euid && is_after(map, started))
    }

    /// Of one that has written a profile after so many milliseconds.
    pub fn of_profile(profile: &Path, pid: u64, age_ms: u64) -> Option<PerfMap> {
        let profile = fs::metadata(profile).ok()?;
        let written = profile.modified().ok()?;
        let started = written.checked_sub(Duration::from_millis(age_ms))?;
        let path = PathBuf::from(format!("/tmp/perf-{pid}.map"));
        PerfMap::read(&path, |map| {
            // Not every file system says when a file was made.
            let is_later = map.created().is_ok_and(|created| created > written + SLACK);
            map.uid() == profile.uid() && is_after(map, started) && !is_later
        })
    }

    fn read(path: &Path, is_its: impl Fn(&Metadata) -> bool) -> Option<PerfMap> {
        let metadata = fs::metadata(path).ok()?;
        if !metadata.is_file() || !is_its(&metadata) {
            return None;
        }
        Some(PerfMap::parse(&String::from_utf8_lossy(&fs::read(path).ok()?)))
    }

    /// What was made later lies where earlier code has been given up. A line that is being written
    /// may be cut.
    fn parse(text: &str) -> PerfMap {
        let mut codes: BTreeMap<u64, (u64, String)> = BTreeMap::new();
        for line in text.lines() {
            let words: Vec<&str> = line.splitn(3, ' ').collect();
            let [start, size, name] = words[..] else { continue };
            let (Some(start), Some(size)) = (hex(start), hex(size)) else { continue };
            let end = start.saturating_add(size);
            while let Some((other, (other_end, _))) = codes.range_mut(..end).next_back() {
                let other = *other;
                if *other_end <= start {
                    break;
                }
                if other < start {
                    *other_end = start;
                    break;
                }
                codes.remove(&other);
            }
            codes.insert(start, (end, name.to_owned()));
        }
        PerfMap { codes }
    }

    /// What the instruction is a part of.
    pub fn known(&self, address: u64) -> Option<Known> {
        let (_, (end, name)) = self.codes.range(..=address).next_back()?;
        (address < *end).then(|| Known::jit(name))
    }
}

fn hex(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
}

fn is_after(map: &Metadata, started: SystemTime) -> bool {
    map.modified().is_ok_and(|modified| modified + SLACK >= started)
}

fn started(process: &Process) -> Option<SystemTime> {
    let ticks = process.stat().ok()?.starttime;
    let after_boot = Duration::from_millis(ticks * 1000 / procfs::ticks_per_second().max(1));
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split(' ').next()?.parse().ok()?;
    let boot = SystemTime::now().checked_sub(Duration::try_from_secs_f64(uptime).ok()?)?;
    boot.checked_add(after_boot)
}

impl Known {
    /// V8 says what kind of code it is and where the function is: `JS:*load /srv/app.js:12:5`.
    fn jit(name: &str) -> Known {
        let name: String =
            name.chars().map(|one| if one.is_control() { '?' } else { one }).collect();
        let (function, line) = of_v8(&name).unwrap_or((name.as_str(), None));
        let line = line.map(|(file, line)| (file.to_owned(), line));
        let function_line = line.as_ref().map_or(0, |(_, line)| *line);
        let function = if function.is_empty() { "(anonymous)" } else { function };
        Known { language: Language::Jit, function: function.to_owned(), line, function_line }
    }
}

const KINDS_OF_V8: [&str; 6] = ["JS:", "LazyCompile:", "Function:", "Script:", "Eval:", "Module:"];

fn of_v8(name: &str) -> Option<(&str, Option<(&str, u32)>)> {
    let rest = KINDS_OF_V8.iter().find_map(|kind| name.strip_prefix(kind))?;
    let rest = rest.trim_start_matches(['~', '^', '*', '+', '-', '\'']);
    // A file's name may have blanks; a function's has none but for those of accessors.
    let (function, place) = rest.split_once(" /").map_or_else(
        || rest.rsplit_once(' ').unwrap_or((rest, "")),
        |(function, place)| (function, &rest[rest.len() - place.len() - 1..]),
    );
    let parts: Vec<&str> = place.rsplitn(3, ':').collect();
    let [_, line, file] = parts[..] else { return Some((function, None)) };
    let file = file.strip_prefix("file://").unwrap_or(file);
    Some((function, line.parse().ok().map(|line| (file, line))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(map: &PerfMap, address: u64) -> Option<String> {
        map.known(address).map(|known| known.function)
    }

    #[test]
    fn the_last_one_at_an_address_counts() {
        let map = PerfMap::parse("1000 100 a\n1100 100 b\n0x1080 0x100 c d\n2000 10 cut");
        let names = [0xfff, 0x1000, 0x107f, 0x1080, 0x117f, 0x1180, 0x2000, 0x2010];
        let names = names.map(|address| shown(&map, address));
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(
            names,
            [None, some("a"), some("a"), some("c d"), some("c d"), None, some("cut"), None]
        );
    }

    #[test]
    fn what_v8_says_is_taken_apart() {
        let of = |name: &str| {
            let known = Known::jit(name);
            (known.function, known.line)
        };
        let at = |file: &str, line| Some((file.to_owned(), line));
        assert_eq!(of("JS:*load /srv/my app.js:12:5"), ("load".into(), at("/srv/my app.js", 12)));
        assert_eq!(of("LazyCompile:~ file:///a.mjs:3:1"), ("(anonymous)".into(), at("/a.mjs", 3)));
        assert_eq!(of("JS:^get size node:fs:7:2"), ("get size".into(), at("node:fs", 7)));
        assert_eq!(of("Builtin:ArrayPush"), ("Builtin:ArrayPush".into(), None));
        assert_eq!(of("julia_f_12"), ("julia_f_12".into(), None));
    }
}
