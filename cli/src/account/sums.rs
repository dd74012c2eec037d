//! The whole process: the allocator's pages are taken out of the mappings that they are in, and what
//! is left of each is somebody else's.

use crate::heap::figures::{Figures, Kind, Resident};
use crate::heap::source::{Mapping, Name, Process};

/// Resident bytes of what is not the allocator's.
#[derive(Debug, Default, Clone, Copy)]
pub struct Others {
    pub libc_heap: u64,
    pub stacks: u64,
    pub files: u64,
    pub mappings: u64,
}

impl Others {
    pub fn sum(&self) -> u64 {
        self.libc_heap + self.stacks + self.files + self.mappings
    }
}

pub struct Account {
    pub title: String,
    pub pid: Option<u64>,
    pub name: String,
    pub is_live: bool,
    pub resident_bytes: u64,
    pub peak_bytes: Option<u64>,
    /// Of loam's, or of glibc's heap.
    pub heap: Resident,
    pub others: Others,
    /// What the kernel counts and nothing here does; below 0 if the other way round.
    pub unexplained_bytes: i64,
    /// Of a core: what it has not of the files that were mapped.
    pub left_out_bytes: Option<u64>,
}

impl Account {
    pub fn of(process: &Process, figures: &Figures) -> Account {
        let mut heap = figures.resident;
        let mut others = Others::default();
        let claimed = claimed(process, figures);
        for (index, mapping) in process.mappings.iter().enumerate() {
            let left = mapping.resident_bytes.unwrap_or(0).saturating_sub(claimed[index]);
            let is_tags =
                figures.tags.is_some_and(|(start, end)| mapping.start < end && start < mapping.end);
            if is_tags && mapping.name == Name::Anonymous {
                heap.add(Kind::Metadata, left);
            } else if is_whole_of_heap(mapping, figures) {
                // The process has gone on since its pages were counted.
            } else {
                *place(&mut others, process, index) += left;
            }
        }
        let explained = heap.sum() + others.sum();
        let resident_bytes = process.resident_bytes.unwrap_or(explained);
        Account {
            title: process.title.clone(),
            pid: process.pid,
            name: process.name.clone(),
            is_live: process.is_live,
            resident_bytes,
            peak_bytes: process.peak_bytes,
            heap,
            others,
            unexplained_bytes: resident_bytes.cast_signed() - explained.cast_signed(),
            left_out_bytes: (!process.is_live).then(|| left_out(process)),
        }
    }
}

fn left_out(process: &Process) -> u64 {
    let files = process.mappings.iter().filter(|mapping| matches!(mapping.name, Name::File(_)));
    files
        .map(|file| {
            file.end.saturating_sub(file.start).saturating_sub(file.resident_bytes.unwrap_or(0))
        })
        .sum()
}

/// Of each mapping, the resident bytes that are the allocator's.
fn claimed(process: &Process, figures: &Figures) -> Vec<u64> {
    let mappings = &process.mappings;
    let mut claimed = vec![0; mappings.len()];
    for range in &figures.ranges {
        let mut index = mappings.partition_point(|mapping| mapping.end <= range.start);
        for (page, _) in range.resident.iter().enumerate().filter(|(_, is)| **is) {
            let address = range.start + page as u64 * figures.page_bytes;
            while index < mappings.len() && mappings[index].end <= address {
                index += 1;
            }
            if index < mappings.len() && mappings[index].contains(address) {
                claimed[index] += figures.page_bytes;
            }
        }
    }
    claimed
}

fn is_whole_of_heap(mapping: &Mapping, figures: &Figures) -> bool {
    figures.ranges.iter().any(|range| {
        let end = range.start + range.resident.len() as u64 * figures.page_bytes;
        range.start <= mapping.start && mapping.end <= end
    })
}

fn place<'others>(
    others: &'others mut Others,
    process: &Process,
    index: usize,
) -> &'others mut u64 {
    let mapping = &process.mappings[index];
    let pointers = process.threads.iter().filter_map(|thread| thread.stack_pointer);
    match &mapping.name {
        Name::Heap => &mut others.libc_heap,
        Name::Stack => &mut others.stacks,
        Name::File(_) => &mut others.files,
        Name::Anonymous if pointers.into_iter().any(|pointer| mapping.contains(pointer)) => {
            &mut others.stacks
        }
        Name::Anonymous => match index.checked_sub(1).map(|before| &process.mappings[before]) {
            Some(before) if before.end == mapping.start => match before.name {
                // The data of a program or library that is zero at its start.
                Name::File(_) => &mut others.files,
                // A page that nobody may touch stands before a thread's stack.
                Name::Anonymous if !before.is_accessible && before.end - before.start < 1 << 17 => {
                    &mut others.stacks
                }
                _ => &mut others.mappings,
            },
            _ => &mut others.mappings,
        },
        Name::Other(_) => &mut others.mappings,
    }
}
