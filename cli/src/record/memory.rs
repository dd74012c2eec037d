//! The program's memory, as the system sees it.

use crate::recording::about::Module;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// So many entries of the map of pages are read at a time, 8 bytes each.
const ENTRIES_AT_ONCE: u64 = 16384;

/// What is in memory.
#[derive(Debug, Clone, Copy)]
pub struct Resident {
    pub bytes: u64,
    /// Of files, those that are shared memory too.
    pub file_bytes: u64,
}

pub fn resident(process: u32) -> Option<Resident> {
    let text = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let mut bytes = text
        .split_whitespace()
        .map_while(|pages| Some(pages.parse::<u64>().ok()? * procfs::page_size()));
    Some(Resident { bytes: bytes.nth(1)?, file_bytes: bytes.next()? })
}

/// What is in memory of files, their data and stacks: no allocator's.
pub fn elsewhere_bytes(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/smaps")).ok()?;
    let (mut kib, mut is_elsewhere) = (0, false);
    for line in text.lines() {
        if let Some(rss) = line.strip_prefix("Rss:") {
            let rss: u64 = rss.trim().trim_end_matches(" kB").parse().ok()?;
            kib += if is_elsewhere { rss } else { 0 };
        } else if let Some((_, path)) = mapping(line) {
            let is_recorders = path.contains("loam-record");
            let is_file = path.starts_with('/') && !is_recorders;
            is_elsewhere = is_file || path == "[stack]";
        }
    }
    Some(kib * 1024)
}

/// The largest that it ever was.
pub fn peak_bytes(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib * 1024)
}

/// The program's file; of a process that has ended already, its number.
pub fn program(process: u32) -> String {
    let path = fs::read_link(format!("/proc/{process}/exe"));
    path.map_or_else(|_| format!("process {process}"), |path| path.display().to_string())
}

/// Its name first.
pub fn arguments(process: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = bytes.split_inclusive(|&byte| byte == 0);
    words.map(|word| String::from_utf8_lossy(word).trim_end_matches('\0').to_owned()).collect()
}

/// The files that are mapped to be executed.
pub fn modules(process: u32) -> Vec<Module> {
    let text = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    text.lines().filter_map(module).collect()
}

fn module(line: &str) -> Option<Module> {
    let ([range, flags, offset], path) = mapping(line)?;
    let (start, end) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let is_wanted = flags.contains('x') && path.starts_with('/');
    let (start, end, offset) = (number(start)?, number(end)?, number(offset)?);
    is_wanted.then(|| Module { start, end, offset, path: path.to_owned() })
}

/// `START-END r-xp OFFSET DEVICE INODE PATH`: the first three, and the path.
fn mapping(line: &str) -> Option<([&str; 3], &str)> {
    let mut words = line.splitn(6, ' ');
    let first = [words.next().filter(|range| range.contains('-'))?, words.next()?, words.next()?];
    Some((first, words.nth(2).unwrap_or_default().trim_start()))
}

/// Whether an entry of the map says that the page is present or swapped.
fn is_touched(entry: &[u8]) -> bool {
    const PRESENT_OR_SWAPPED: u64 = 0b11 << 62;
    entry.try_into().is_ok_and(|entry| u64::from_ne_bytes(entry) & PRESENT_OR_SWAPPED != 0)
}

/// How much of a block has pages.
#[derive(Debug)]
pub struct PageMap {
    file: File,
}

impl PageMap {
    pub fn open(process: u32) -> Option<PageMap> {
        Some(PageMap { file: File::open(format!("/proc/{process}/pagemap")).ok()? })
    }

    pub fn touched_bytes(&self, address: u64, size: u64) -> Option<u64> {
        let page_bytes = procfs::page_size();
        let (first, end) = (address / page_bytes, (address + size).div_ceil(page_bytes));
        let mut part = vec![0; ENTRIES_AT_ONCE.min(end - first) as usize * 8];
        let mut pages = 0;
        for from in (first..end).step_by(ENTRIES_AT_ONCE as usize) {
            let entries = &mut part[..ENTRIES_AT_ONCE.min(end - from) as usize * 8];
            self.file.read_exact_at(entries, from * 8).ok()?;
            pages += entries.chunks_exact(8).filter(|entry| is_touched(entry)).count() as u64;
        }
        Some((pages * page_bytes).min(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_block_what_was_written_to_has_pages() {
        const SIZE: usize = 256 << 20; // the files of this program are a small part of a quarter
        let mut block: Vec<u8> = Vec::with_capacity(SIZE);
        block.resize(SIZE / 4, 1);
        let touched = PageMap::open(std::process::id())
            .and_then(|map| map.touched_bytes(block.as_ptr() as u64, SIZE as u64))
            .expect("this process may be read");
        let expected = SIZE as u64 / 4;
        assert!(touched >= expected && touched <= expected + (4 << 20), "{touched}");
        let resident = resident(std::process::id()).unwrap();
        assert!(resident.bytes >= expected && resident.file_bytes < resident.bytes - expected);
        assert!(peak_bytes(std::process::id()).unwrap() >= expected);
        let elsewhere = elsewhere_bytes(std::process::id()).unwrap();
        assert!(elsewhere >= resident.file_bytes / 2 && elsewhere < expected, "{elsewhere}");
    }
}
