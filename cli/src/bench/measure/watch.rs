//! Watches a running program and all it starts: resident memory over time, and which executables
//! run with the allocator in them.

use crate::bench::judge::results::Samples;
use crate::binary::elf::Image;
use crate::process::tree;
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The first pace; halved whenever there are `SAMPLES_MAX` samples.
const INTERVAL_START: Duration = Duration::from_millis(5);
const SAMPLES_MAX: usize = 400;
/// A process that was seen once may have been between two programs.
const SIGHTINGS_TO_JUDGE: u32 = 2;
/// One without any library but its loader has come past that when it was seen this often.
const SIGHTINGS_OF_LOADER_MAX: u32 = 40;

pub struct Watch<'a> {
    program: Pid,
    /// The library that every process should have; `None` to look at memory only.
    library: Option<&'a Path>,
    page_kib: u64,
    start: Instant,
    interval: Duration,
    kib: Vec<u64>,
    processes: BTreeMap<(i32, PathBuf), Sighting>,
    /// The executable of the launcher.
    itself: Option<PathBuf>,
}

#[derive(Default)]
struct Sighting {
    count: u32,
    has_library: bool,
    /// However long that took: a busy machine lets a process wait anywhere.
    is_past_loader: bool,
}

impl<'a> Watch<'a> {
    pub fn new(program: Pid, library: Option<&'a Path>) -> Self {
        let page_bytes = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten();
        let page_kib = page_bytes.and_then(|bytes| u64::try_from(bytes / 1024).ok()).unwrap_or(4);
        Watch {
            program,
            library,
            page_kib,
            start: Instant::now(),
            interval: INTERVAL_START,
            kib: Vec::new(),
            processes: BTreeMap::new(),
            itself: crate::binary::itself::path().ok(),
        }
    }

    /// Takes the samples that are due. To be called often; gives how long nothing is due.
    pub fn look(&mut self) -> Duration {
        let due = self.start + self.interval * u32::try_from(self.kib.len()).unwrap_or(u32::MAX);
        let now = Instant::now();
        if now < due {
            return due - now;
        }
        let tree = tree::of(self.program);
        let total = tree.iter().filter_map(|&pid| resident_pages(pid)).sum::<u64>() * self.page_kib;
        // The places that were missed, because the machine was busy, get what is seen now.
        let elapsed = (now - self.start).as_nanos() / self.interval.as_nanos();
        let wanted = usize::try_from(elapsed).unwrap_or(0) + 1;
        while self.kib.len() < wanted.min(SAMPLES_MAX) {
            self.kib.push(total);
        }
        if self.library.is_some() {
            tree.into_iter().for_each(|pid| self.note(pid));
        }
        if self.kib.len() >= SAMPLES_MAX {
            self.slow_down();
        }
        self.interval
    }

    /// Half the pace: of each two samples the larger one stays.
    fn slow_down(&mut self) {
        let larger = |pair: &[u64]| pair.iter().copied().max().unwrap_or(0);
        self.kib = self.kib.chunks(2).map(larger).collect();
        self.interval *= 2;
    }

    fn note(&mut self, pid: i32) {
        let Ok(executable) = fs::read_link(format!("/proc/{pid}/exe")) else { return };
        if Some(&executable) == self.itself.as_ref() {
            return; // between fork and exec
        }
        let sighting = self.processes.entry((pid, executable)).or_default();
        sighting.count += 1;
        if !sighting.has_library
            && let (Some(library), Ok(maps)) =
                (self.library, fs::read_to_string(format!("/proc/{pid}/maps")))
        {
            sighting.has_library =
                maps.lines().any(|line| line.ends_with(&*library.to_string_lossy()));
            sighting.is_past_loader = sighting.has_library
                || sighting.count >= SIGHTINGS_OF_LOADER_MAX
                || has_come_past_loader(&maps);
        }
    }

    pub fn samples(&self) -> Samples {
        Samples { interval_ms: self.interval.as_secs_f64() * 1000.0, kib: self.kib.clone() }
    }

    /// The executables that ran without the allocator, in words.
    pub fn strangers(&self) -> Vec<String> {
        let mut by_executable: BTreeMap<&Path, (u32, u32)> = BTreeMap::new();
        for ((_, executable), sighting) in &self.processes {
            let is_judged = sighting.is_past_loader && sighting.count >= SIGHTINGS_TO_JUDGE;
            let counts = by_executable.entry(executable).or_default();
            counts.0 += u32::from(is_judged);
            counts.1 += u32::from(is_judged && !sighting.has_library);
        }
        let mut strangers = Vec::new();
        for (executable, (judged, without)) in by_executable {
            let shown = executable.display();
            if without > 0 {
                strangers.push(format!("{shown} ran without it ({without} of {judged} processes)"));
            } else if judged > 0 && brings_malloc(executable) {
                strangers.push(format!("{shown} uses a malloc of its own"));
            }
        }
        strangers
    }
}

/// Whether the process whose maps these are has libraries, or needs none. A loader maps those that
/// are preloaded first.
fn has_come_past_loader(maps: &str) -> bool {
    let is_code = |line: &&str| line.split(' ').nth(1).is_some_and(|flags| flags.contains('x'));
    let paths = maps.lines().filter(is_code).filter_map(|line| Some(&line[line.find('/')?..]));
    let (loaders, others): (BTreeSet<_>, BTreeSet<_>) =
        paths.partition(|path| path.rsplit('/').next().is_some_and(|name| name.starts_with("ld")));
    loaders.is_empty() || others.len() > 1
}

fn brings_malloc(executable: &Path) -> bool {
    Image::read(executable)
        .ok()
        .flatten()
        .is_some_and(|image| crate::binary::reach::defines_malloc(&image))
}

fn resident_pages(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_this_process_is_seen() {
        let mut watch = Watch::new(Pid::this(), None);
        watch.look();
        assert!(watch.samples().kib[0] > 100);
    }

    #[test]
    fn a_process_in_its_loader_may_come_to_have_the_library() {
        let line = |path| format!("7f2a00000000-7f2a00001000 r-xp 00000000 08:01 42    {path}\n");
        let program = line("/usr/bin/true");
        let loading = program.clone() + &line("/usr/lib/ld-linux-x86-64.so.2");
        assert!(has_come_past_loader(&program), "it is static");
        assert!(!has_come_past_loader(&loading));
        assert!(!has_come_past_loader(&(loading.clone() + &loading)));
        assert!(has_come_past_loader(&(loading.clone() + &line("/usr/lib/libc.so.6"))));
        let cache = line("/etc/ld.so.cache").replace("r-xp", "r--p");
        assert!(!has_come_past_loader(&(loading + &cache)));
    }

    #[test]
    fn a_long_run_keeps_its_peaks_and_few_samples() {
        let mut watch = Watch::new(Pid::this(), None);
        watch.kib = (0..SAMPLES_MAX as u64).collect();
        watch.slow_down();
        assert_eq!(watch.kib.len(), SAMPLES_MAX / 2);
        assert_eq!(watch.kib.last(), Some(&(SAMPLES_MAX as u64 - 1)));
        assert_eq!(watch.interval, INTERVAL_START * 2);
    }
}
