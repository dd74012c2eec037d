//! Where the library says that its structures are, and how they are laid out (src/api/layout.c).

use crate::heap::source::{Mapping, Name, Source};
use anyhow::{Context, Result, anyhow, bail};
use object::LittleEndian;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, NoteIterator, ProgramHeader};
use std::collections::HashMap;

const OWNER: &[u8] = b"loam-layout";
const FORMAT: u32 = 1;
/// What the note's words stand for, in their order.
const ROOTS: [&str; 10] = [
    "layout",
    "tags",
    "region_map",
    "heaps",
    "shared_heaps",
    "huge_buckets",
    "meta",
    "classes",
    "os",
    "kept_mappings",
];

pub struct Layout {
    roots: [u64; ROOTS.len()],
    numbers: HashMap<String, u64>,
    pub file: String,
}

impl Layout {
    /// Of the process's loam; of several, the one that has heaps.
    pub fn find(source: &dyn Source) -> Result<Layout> {
        let mut found = Vec::new();
        let mappings = &source.process().mappings;
        let begins_file = |one: &&Mapping| one.offset == 0 && matches!(one.name, Name::File(_));
        for mapping in mappings.iter().filter(begins_file) {
            let Some(roots) = roots(source, mapping)? else { continue };
            let Name::File(path) = &mapping.name else { continue };
            found.push(Layout::read(source, roots, path.display().to_string())?);
        }
        let has_heaps = |layout: &Layout| -> bool {
            let first = |root| layout.root(root).and_then(|at| layout.pointer_at(source, at));
            first("heaps").is_ok_and(|first| first != 0)
                || first("shared_heaps").is_ok_and(|first| first != 0)
        };
        let index = found.iter().position(has_heaps);
        match index.or_else(|| (!found.is_empty()).then_some(0)) {
            Some(index) => Ok(found.swap_remove(index)),
            None => bail!(
                "{} has no loam in it, or one without the note that 'loam explain' reads",
                source.process().title
            ),
        }
    }

    fn read(source: &dyn Source, roots: [u64; ROOTS.len()], file: String) -> Result<Layout> {
        const NAME_BYTES: usize = 28;
        const ENTRIES_MAX: u64 = 1000;
        let mut numbers = HashMap::new();
        for index in 0..ENTRIES_MAX {
            let entry = source.bytes(roots[0] + index * (NAME_BYTES as u64 + 4), NAME_BYTES + 4)?;
            let (name, value) = entry.split_at(NAME_BYTES);
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            if name.is_empty() {
                break;
            }
            let value = u32::from_le_bytes(value.try_into().unwrap_or_default());
            numbers.insert(String::from_utf8_lossy(name).into_owned(), u64::from(value));
        }
        Ok(Layout { roots, numbers, file })
    }

    /// Where one of ROOTS is.
    pub fn root(&self, name: &str) -> Result<u64> {
        let index = ROOTS.iter().position(|root| *root == name);
        index.map(|index| self.roots[index]).ok_or_else(|| anyhow!("no root {name}"))
    }

    pub fn number(&self, name: &str) -> Result<u64> {
        self.numbers.get(name).copied().ok_or_else(|| {
            anyhow!("{} is another version of loam than this command: it has no {name}", self.file)
        })
    }

    pub fn pointer_at(&self, source: &dyn Source, address: u64) -> Result<u64> {
        let width = self.number("pointer.size")? as usize;
        let mut bytes = [0; 8];
        source.read(address, bytes.get_mut(..width).context("a pointer of no size")?)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// The addresses that the note of a file that is mapped there leads to.
fn roots(source: &dyn Source, mapping: &Mapping) -> Result<Option<[u64; ROOTS.len()]>> {
    const HEADERS_BYTES: u64 = 4096;
    let count = HEADERS_BYTES.min(mapping.end - mapping.start) as usize;
    // What cannot be read is a device's, or gone.
    let Ok(headers) = source.bytes(mapping.start, count) else { return Ok(None) };
    match headers.get(..5) {
        Some([0x7f, b'E', b'L', b'F', 2]) => {
            roots_by::<FileHeader64<LittleEndian>>(source, mapping, &headers)
        }
        Some([0x7f, b'E', b'L', b'F', 1]) => {
            roots_by::<FileHeader32<LittleEndian>>(source, mapping, &headers)
        }
        _ => Ok(None),
    }
}

fn roots_by<Elf: FileHeader<Endian = LittleEndian>>(
    source: &dyn Source,
    mapping: &Mapping,
    headers: &[u8],
) -> Result<Option<[u64; ROOTS.len()]>> {
    let endian = LittleEndian;
    let header = Elf::parse(headers);
    let Ok(segments) = header.and_then(|header| header.program_headers(endian, headers)) else {
        return Ok(None);
    };
    let first = segments.iter().filter(|one| one.p_type(endian) == elf::PT_LOAD);
    let Some(first) = first.map(|one| one.p_vaddr(endian).into()).min() else { return Ok(None) };
    let bias = mapping.start.wrapping_sub(first);
    for segment in segments.iter().filter(|one| one.p_type(endian) == elf::PT_NOTE) {
        const NOTES_BYTES_MAX: u64 = 1 << 16;
        let start = bias.wrapping_add(segment.p_vaddr(endian).into());
        let length = segment.p_memsz(endian).into().min(NOTES_BYTES_MAX) as usize;
        let Ok(bytes) = source.bytes(start, length) else { continue };
        let Ok(mut notes) = NoteIterator::<Elf>::new(endian, segment.p_align(endian), &bytes)
        else {
            continue;
        };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == OWNER {
                let at = note.desc().as_ptr() as usize - bytes.as_ptr() as usize;
                return roots_of(note.desc(), start + at as u64).map(Some);
            }
        }
    }
    Ok(None)
}

/// A number, and the distance from each word to what it stands for.
fn roots_of(description: &[u8], address: u64) -> Result<[u64; ROOTS.len()]> {
    let word = |index: usize| {
        let bytes = description.get(index * 4..index * 4 + 4)?;
        bytes.try_into().ok().map(u32::from_le_bytes)
    };
    if word(0) != Some(FORMAT) {
        bail!("the process's loam is another version than this command");
    }
    let mut roots = [0; ROOTS.len()];
    for (index, root) in roots.iter_mut().enumerate() {
        let distance = word(index + 1).context("the process's loam is an older version")?;
        let at = address + 4 * (index as u64 + 1);
        *root = at.wrapping_add_signed(i64::from(distance.cast_signed()));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_to_what_they_stand_for_and_other_versions_are_refused() {
        let words = |format: u32, count: i32| {
            let distances = (0..count).map(|index| (100 - 300 * index).to_le_bytes());
            [format.to_le_bytes().to_vec(), distances.flatten().collect()].concat()
        };
        let roots = roots_of(&words(FORMAT, 10), 5000).unwrap();
        assert_eq!(roots[..3], [5104, 4808, 4512]);
        let said = |description: &[u8]| roots_of(description, 5000).unwrap_err().to_string();
        assert!(said(&words(FORMAT + 1, 10)).contains("another version"));
        assert!(said(&words(FORMAT, 9)).contains("an older version"));
    }
}
