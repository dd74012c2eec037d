//! A core file: what a process has left when it ended, or what gcore has written of it. What is
//! not in it, as code and constants, is read from the files that the process had mapped, if they
//! are still the same.

use crate::heap::core_notes::Notes;
use crate::heap::source::{Mapping, Name, Process, Source};
use anyhow::{Context, Result, anyhow, bail, ensure};
use nix::unistd::{Whence, lseek};
use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use std::fs::File;
use std::ops::Range;
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
    is_accessible: bool,
    /// What of it is no hole; `None` in a file without holes, which does not say what was in memory.
    parts: Option<Vec<Range<u64>>>,
}

impl Segment {
    /// By the holes that the kernel leaves for pages that were not in memory, or else by what is on
    /// the page.
    fn was_in_memory(&self, at: u64, page: &[u8]) -> bool {
        let Some(parts) = &self.parts else { return !is_zero(page) };
        let offset = self.offset + at;
        let next = parts.partition_point(|part| part.end <= offset);
        parts.get(next).is_some_and(|part| part.start <= offset)
    }
}

fn is_zero(page: &[u8]) -> bool {
    const ZEROS: [u8; 4096] = [0; 4096];
    page.chunks(ZEROS.len()).all(|part| part == &ZEROS[..part.len()])
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
        let machine = header.e_machine(LittleEndian);
        let (mut segments, mut notes) = (Vec::new(), Notes::default());
        for one in headers {
            let (offset, kept_bytes) = (one.p_offset(LittleEndian), one.p_filesz(LittleEndian));
            ensure!(offset.checked_add(kept_bytes).is_some_and(|end| end <= length), cut());
            if one.p_type(LittleEndian) == elf::PT_LOAD {
                let start = one.p_vaddr(LittleEndian);
                let end = start.saturating_add(one.p_memsz(LittleEndian));
                let is_accessible = one.p_flags(LittleEndian).contains(elf::PF_R);
                segments.push(Segment {
                    start,
                    kept_bytes,
                    end,
                    offset,
                    is_accessible,
                    parts: None,
                });
            } else if one.p_type(LittleEndian) == elf::PT_NOTE {
                notes.read(one, machine, &cache).map_err(|_| cut())?;
            }
        }
        ensure!(!segments.is_empty(), "cannot read {name}: there is no memory in it");
        segments.sort_by_key(|segment| segment.start);
        find_parts(&file, &mut segments);
        let (mappings, page_bytes) = (mappings(&segments, &notes), notes.page_bytes());
        let is_called_core =
            path.file_name().is_some_and(|file| file.to_string_lossy().starts_with("core"));
        let process = Process {
            title: if is_called_core { name.to_string() } else { format!("core {name}") },
            name: name.to_string(),
            pid: notes.threads.first().map(|thread| thread.id.into()),
            is_live: false,
            mappings,
            threads: notes.threads,
            resident_bytes: None,
            peak_bytes: None,
        };
        let mut core = Core { path: path.to_owned(), file, process, segments };
        core.count(page_bytes)?;
        Ok(core)
    }

    /// Counts what was in memory, as far as a core tells: pages that hold anything, and of files
    /// those that are not as in the file.
    fn count(&mut self, page_bytes: u64) -> Result<()> {
        let counts = self.process.mappings.iter().map(|mapping| self.held(mapping, page_bytes));
        let counts: Vec<u64> = counts.collect::<Result<_>>()?;
        for (mapping, count) in self.process.mappings.iter_mut().zip(&counts) {
            mapping.resident_bytes = Some(*count);
        }
        self.process.resident_bytes =
            Some(counts.iter().fold(0, |sum, count| sum.saturating_add(*count)));
        Ok(())
    }

    fn held(&self, mapping: &Mapping, page_bytes: u64) -> Result<u64> {
        const PAGES: u64 = 256;
        let Some((segment, at)) = self.kept(mapping.start) else { return Ok(0) };
        let end = mapping.end.min(segment.start.saturating_add(segment.kept_bytes));
        let file = self.present_file(mapping);
        let most = (PAGES * page_bytes) as usize;
        let (mut kept, mut present) = (vec![0; most], vec![0; most]);
        let (mut offset, mut held) = (0, 0);
        while mapping.start + offset < end {
            let count = (end - mapping.start - offset).min(PAGES * page_bytes);
            let (kept, present) = (&mut kept[..count as usize], &mut present[..count as usize]);
            self.file
                .read_exact_at(kept, segment.offset + at + offset)
                .with_context(|| format!("cannot read {}", self.path.display()))?;
            present.fill(0);
            if let Some(file) = &file {
                read_what_is_there(file, present, mapping.offset.saturating_add(offset));
            }
            let pages = kept.chunks(page_bytes as usize).zip(present.chunks(page_bytes as usize));
            let is_held = |(index, (kept, present)): &(usize, (&[u8], &[u8]))| {
                let at = at + offset + *index as u64 * page_bytes;
                segment.was_in_memory(at, kept) && (file.is_none() || kept != present)
            };
            held += pages.enumerate().filter(is_held).count() as u64 * page_bytes;
            offset += count;
        }
        Ok(held)
    }

    /// The file that is mapped, if it is the one that ran.
    fn present_file(&self, mapping: &Mapping) -> Option<File> {
        let Name::File(path) = &mapping.name else { return None };
        let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        let file = is_file.then(|| File::open(path).ok())??;
        self.check_build(path, &file).ok()?;
        Some(file)
    }

    /// The bytes of a segment that are in the core.
    fn kept(&self, address: u64) -> Option<(&Segment, u64)> {
        let next = self.segments.partition_point(|segment| segment.start <= address);
        let segment = &self.segments[next.checked_sub(1)?];
        (address < segment.start.saturating_add(segment.kept_bytes))
            .then_some((segment, address - segment.start))
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

/// A hole beside data within a segment is the kernel's; a whole segment may be one of gcore's that
/// could not be read.
fn find_parts(file: &File, segments: &mut [Segment]) {
    let range_of = |segment: &Segment| segment.offset..segment.offset + segment.kept_bytes;
    let all = segments.iter().map(|segment| parts(file, range_of(segment)));
    let Some(all) = all.collect::<Option<Vec<_>>>() else { return };
    let has_hole = |(segment, parts): (&Segment, &Vec<Range<u64>>)| {
        !parts.is_empty() && *parts != [range_of(segment)]
    };
    if segments.iter().zip(&all).any(has_hole) {
        for (segment, parts) in segments.iter_mut().zip(all) {
            segment.parts = Some(parts);
        }
    }
}

/// What of a range of the file is no hole; `None` if it does not begin with a page.
fn parts(file: &File, range: Range<u64>) -> Option<Vec<Range<u64>>> {
    const BLOCK_BYTES: u64 = 4096;
    if !range.start.is_multiple_of(BLOCK_BYTES) {
        return None;
    }
    let seek =
        |at: u64, whence| Some(lseek(file, i64::try_from(at).ok()?, whence).ok()?.cast_unsigned());
    let (mut parts, mut at) = (Vec::new(), range.start);
    // There is nothing more behind the last part.
    while let Some(start) = seek(at, Whence::SeekData).filter(|start| *start < range.end) {
        let end = seek(start, Whence::SeekHole)?.min(range.end);
        parts.push(start..end);
        at = end;
        if at == range.end {
            break;
        }
    }
    Some(parts)
}

fn mappings(segments: &[Segment], notes: &Notes) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> =
        segments.iter().map(|segment| mapping(segment, &notes.files)).collect();
    // What nobody has written to may be left out altogether.
    let is_left_out = |file: &&Mapping| !mappings.iter().any(|one| one.contains(file.start));
    let left_out: Vec<Mapping> = notes.files.iter().filter(is_left_out).cloned().collect();
    mappings.extend(left_out);
    mappings.sort_by_key(|mapping| mapping.start);
    notes.name_the_kernels(&mut mappings);
    mappings
}

fn mapping(segment: &Segment, files: &[Mapping]) -> Mapping {
    let file = files.iter().find(|file| file.contains(segment.start));
    Mapping {
        start: segment.start,
        end: segment.end,
        offset: file.map_or(0, |file| file.offset.saturating_add(segment.start - file.start)),
        name: file.map_or(Name::Anonymous, |file| file.name.clone()),
        is_accessible: segment.is_accessible,
        resident_bytes: None,
    }
}

/// What is behind a file's end is zero.
fn read_what_is_there(file: &File, mut buffer: &mut [u8], mut offset: u64) {
    while let Ok(count @ 1..) = file.read_at(buffer, offset) {
        buffer = &mut buffer[count..];
        offset = offset.saturating_add(count as u64);
    }
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
            self.kept(at).is_some_and(|(segment, inside)| {
                self.read(at, &mut page).is_ok() && segment.was_in_memory(inside, &page)
            })
        };
        Ok((0..count).map(&mut is_kept).collect())
    }
}
