//! The program's memory, as the system sees it.

use crate::recording::about::Module;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

const PAGE_BYTES: u64 = 4096;

/// Its resident memory.
pub fn resident_bytes(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * PAGE_BYTES)
}

/// The largest that it ever was.
pub fn peak_bytes(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib * 1024)
}

/// The files that are mapped to be executed.
pub fn modules(process: u32) -> Vec<Module> {
    let text = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    text.lines().filter_map(module).collect()
}

/// `START-END r-xp OFFSET DEVICE INODE PATH`.
fn module(line: &str) -> Option<Module> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let flags = words.next()?;
    let offset = words.next()?;
    let path = words.nth(2)?.trim_start().to_owned();
    let number = |text| u64::from_str_radix(text, 16).ok();
    let is_wanted = flags.contains('x') && path.starts_with('/');
    let (start, end, offset) = (number(start)?, number(end)?, number(offset)?);
    is_wanted.then_some(Module { start, end, offset, path })
}

/// How much of a block has pages.
pub struct PageMap {
    file: File,
}

impl PageMap {
    pub fn open(process: u32) -> Option<PageMap> {
        Some(PageMap { file: File::open(format!("/proc/{process}/pagemap")).ok()? })
    }

    pub fn touched_bytes(&self, address: u64, size: u64) -> Option<u64> {
        const PRESENT_OR_SWAPPED: u64 = 0b11 << 62;
        let first = address / PAGE_BYTES;
        let count = (address + size).div_ceil(PAGE_BYTES) - first;
        let mut entries = vec![0; usize::try_from(count).ok()? * 8];
        self.file.read_exact_at(&mut entries, first * 8).ok()?;
        let entries = entries.chunks_exact(8).filter_map(|entry| entry.try_into().ok());
        let entries = entries.map(u64::from_ne_bytes);
        let pages = entries.filter(|entry| entry & PRESENT_OR_SWAPPED != 0).count() as u64;
        Some((pages * PAGE_BYTES).min(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_block_what_was_written_to_has_pages() {
        const SIZE: usize = 64 << 20;
        let mut block: Vec<u8> = Vec::with_capacity(SIZE);
        block.resize(SIZE / 4, 1);
        let touched = PageMap::open(std::process::id())
            .and_then(|map| map.touched_bytes(block.as_ptr() as u64, SIZE as u64))
            .expect("this process may be read");
        let expected = SIZE as u64 / 4;
        assert!(touched >= expected && touched <= expected + (4 << 20), "{touched}");
        let resident = resident_bytes(std::process::id()).unwrap();
        assert!(resident >= expected && peak_bytes(std::process::id()).unwrap() >= expected);
    }
}
