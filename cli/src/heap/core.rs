//! A core file: what a process has left when it ended, or what gcore has written of it. What is
//! not in it, as code and constants, is read from the files that the process had mapped, if they
//! are still the same.

use crate::heap::source::{Mapping, Name, Process, Source, Thread};
use anyhow::{Context, Result, anyhow, bail, ensure};
use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::read::{ReadCache, ReadRef};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

pub struct Core {
    path: PathBuf,
    file: File,
    process: Process,
    segments: Vec<Segment>,
}

struct Segment {
    start: u64,
    /// What of it is in the core.
    kept_bytes: u64,
    end: u64,
    offset: u64,
}

type Header = FileHeader64<LittleEndian>;

impl Core {
    pub fn open(path: &Path) -> Result<Core> {
        let name = path.display();
        let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
        let length = file.metadata().with_context(|| format!("cannot read {name}"))?.len();
        let cache =
            ReadCache::new(file.try_clone().with_context(|| format!("cannot read {name}"))?);
        let no_core = || anyhow!("{name} is no core file of a 64-bit program");
        let header = Header::parse(&cache).map_err(|_| no_core())?;
        ensure!(header.e_type(LittleEndian) == elf::ET_CORE, no_core());
        let cut = || anyhow!("cannot read {name}: it is cut short");
        let headers = header.program_headers(LittleEndian, &cache).map_err(|_| cut())?;
        let (mut segments, mut files, mut threads) = (Vec::new(), Vec::new(), Vec::new());
        for one in headers {
            let (offset, kept_bytes) = (one.p_offset(LittleEndian), one.p_filesz(LittleEndian));
            ensure!(offset.checked_add(kept_bytes).is_some_and(|end| end <= length), cut());
            if one.p_type(LittleEndian) == elf::PT_LOAD {
                let start = one.p_vaddr(LittleEndian);
                let end = start.saturating_add(one.p_memsz(LittleEndian));
                segments.push(Segment { start, kept_bytes, end, offset });
            } else if one.p_type(LittleEndian) == elf::PT_NOTE {
                read_notes(one, &cache, &mut files, &mut threads).map_err(|_| cut())?;
            }
        }
        ensure!(!segments.is_empty(), "cannot read {name}: there is no memory in it");
        segments.sort_by_key(|segment| segment.start);
        let mut mappings: Vec<Mapping> =
            segments.iter().map(|segment| mapping(segment, &files)).collect();
        // What nobody has written to may be left out altogether.
        let is_left_out = |file: &Mapping| !mappings.iter().any(|one| one.contains(file.start));
        let left_out: Vec<Mapping> =
            files.iter().filter(|file| is_left_out(file)).cloned().collect();
        mappings.extend(left_out);
        mappings.sort_by_key(|mapping| mapping.start);
        let process = Process {
            title: format!("core {name}"),
            name: name.to_string(),
            pid: threads.first().map(|thread| thread.id.into()),
            is_live: false,
            mappings,
            threads,
            resident_bytes: None,
            peak_bytes: None,
        };
        Ok(Core { path: path.to_owned(), file, process, segments })
    }

    /// The bytes of a segment that are in the core.
    fn kept(&self, address: u64) -> Option<(&Segment, u64)> {
        let next = self.segments.partition_point(|segment| segment.start <= address);
        let segment = &self.segments[next.checked_sub(1)?];
        (address < segment.start + segment.kept_bytes).then_some((segment, address - segment.start))
    }

    fn read_of_file(&self, address: u64, buffer: &mut [u8]) -> Result<()> {
        let mapping = self.process.mappings.iter().find(|mapping| mapping.contains(address));
        let not_in_it = || {
            format!("cannot read {}: what was at {address:#x} is not in it", self.path.display())
        };
        let Some(Mapping { name: Name::File(path), offset, start, .. }) = mapping else {
            bail!(not_in_it());
        };
        let file = File::open(path).with_context(not_in_it)?;
        self.check_build(path, &file)?;
        file.read_exact_at(buffer, offset + (address - start)).with_context(not_in_it)
    }

    /// Whether the file is the one that ran: its first page, which has the build's id, is in the
    /// core.
    fn check_build(&self, path: &Path, file: &File) -> Result<()> {
        let is_first =
            |mapping: &&Mapping| mapping.offset == 0 && mapping.name == Name::File(path.to_owned());
        let Some(first) = self.process.mappings.iter().find(is_first) else { return Ok(()) };
        const COMPARED_BYTES: usize = 2048;
        let (mut kept, mut present) = ([0; COMPARED_BYTES], [0; COMPARED_BYTES]);
        let Some((segment, _)) = self.kept(first.start) else { return Ok(()) };
        if segment.kept_bytes < COMPARED_BYTES as u64 {
            return Ok(());
        }
        self.file.read_exact_at(&mut kept, segment.offset).context("cannot read the core")?;
        let is_same = file.read_exact_at(&mut present, 0).is_ok() && kept == present;
        ensure!(
            is_same,
            "cannot read {}: {} is not the build that ran",
            self.path.display(),
            path.display()
        );
        Ok(())
    }
}

fn mapping(segment: &Segment, files: &[Mapping]) -> Mapping {
    let file = files.iter().find(|file| file.contains(segment.start));
    Mapping {
        start: segment.start,
        end: segment.end,
        offset: file.map_or(0, |file| file.offset + (segment.start - file.start)),
        name: file.map_or(Name::Anonymous, |file| file.name.clone()),
        is_accessible: true,
        resident_bytes: None,
    }
}

fn read_notes<'data, R: ReadRef<'data>>(
    header: &elf::ProgramHeader64<LittleEndian>,
    data: R,
    files: &mut Vec<Mapping>,
    threads: &mut Vec<Thread>,
) -> object::Result<()> {
    let Some(mut notes) = header.notes(LittleEndian, data)? else { return Ok(()) };
    while let Some(note) = notes.next()? {
        if note.n_type(LittleEndian) == elf::NT_FILE {
            files.extend(mapped_files(note.desc()));
        } else if note.n_type(LittleEndian) == elf::NT_PRSTATUS && note.name() == b"CORE" {
            // Behind the signal's numbers, as struct elf_prstatus has it.
            const PID_AT: usize = 32;
            let id = note.desc().get(PID_AT..PID_AT + 4).and_then(|word| word.try_into().ok());
            let id = u32::from_le_bytes(id.unwrap_or_default());
            threads.push(Thread { id, name: None, stack_pointer: None });
        }
    }
    Ok(())
}

/// Count, page size; start, end and offset in pages of each; then their names.
fn mapped_files(note: &[u8]) -> Vec<Mapping> {
    let word = |index: usize| {
        let bytes = note.get(index * 8..index * 8 + 8).and_then(|word| word.try_into().ok());
        u64::from_le_bytes(bytes.unwrap_or_default())
    };
    let count = usize::try_from(word(0)).unwrap_or(0).min(note.len() / 24);
    let names = note.get((2 + 3 * count) * 8..).unwrap_or_default();
    let names = names.split(|byte| *byte == 0);
    let mapped = |(index, name): (usize, &[u8])| Mapping {
        start: word(2 + 3 * index),
        end: word(3 + 3 * index),
        offset: word(4 + 3 * index).saturating_mul(word(1)),
        name: Name::File(PathBuf::from(OsString::from_vec(name.to_vec()))),
        is_accessible: true,
        resident_bytes: None,
    };
    names.take(count).enumerate().map(mapped).collect()
}

impl Source for Core {
    fn process(&self) -> &Process {
        &self.process
    }

    fn read(&self, address: u64, buffer: &mut [u8]) -> Result<()> {
        let (mut address, mut rest) = (address, buffer);
        while !rest.is_empty() {
            let Some((segment, at)) = self.kept(address) else {
                return self.read_of_file(address, rest);
            };
            let room = usize::try_from(segment.kept_bytes - at).unwrap_or(usize::MAX);
            let count = rest.len().min(room);
            let (part, more) = rest.split_at_mut(count);
            self.file
                .read_exact_at(part, segment.offset + at)
                .with_context(|| format!("cannot read {}", self.path.display()))?;
            address += count as u64;
            rest = more;
        }
        Ok(())
    }

    fn resident(&self, address: u64, count: usize, page_bytes: u64) -> Result<Vec<bool>> {
        let mut page = vec![0; page_bytes as usize];
        let mut is_kept = |index: usize| {
            let at = address + index as u64 * page_bytes;
            self.kept(at).is_some()
                && self.read(at, &mut page).is_ok()
                && page.iter().any(|&byte| byte != 0)
        };
        Ok((0..count).map(&mut is_kept).collect())
    }
}
