//! What a program or library that a process has mapped says of itself: where it has been put, and
//! its notes.

use crate::heap::source::{Mapping, Name, Source};
use object::LittleEndian;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, NoteIterator, ProgramHeader};

pub struct Image {
    /// Addresses in memory less those in the file.
    pub bias: u64,
    pub notes: Vec<Note>,
}

pub struct Note {
    pub owner: Vec<u8>,
    pub kind: elf::NoteType,
    pub description: Vec<u8>,
    /// Of the description, in memory.
    pub address: u64,
}

impl Image {
    /// `None` if no file that can be read begins there.
    pub fn at(source: &dyn Source, mapping: &Mapping) -> Option<Image> {
        const HEADERS_BYTES: u64 = 4096;
        if mapping.offset != 0 || !matches!(mapping.name, Name::File(_)) {
            return None;
        }
        let count = HEADERS_BYTES.min(mapping.end - mapping.start) as usize;
        // What cannot be read is a device's, or gone.
        let headers = source.bytes(mapping.start, count).ok()?;
        match headers.get(..5)? {
            [0x7f, b'E', b'L', b'F', 2] => {
                read::<FileHeader64<LittleEndian>>(source, mapping, &headers)
            }
            [0x7f, b'E', b'L', b'F', 1] => {
                read::<FileHeader32<LittleEndian>>(source, mapping, &headers)
            }
            _ => None,
        }
    }

    pub fn build_id(&self) -> Option<&[u8]> {
        let is_id = |note: &&Note| note.owner == b"GNU" && note.kind == elf::NT_GNU_BUILD_ID;
        self.notes.iter().find(is_id).map(|note| note.description.as_slice())
    }
}

fn read<Elf: FileHeader<Endian = LittleEndian>>(
    source: &dyn Source,
    mapping: &Mapping,
    headers: &[u8],
) -> Option<Image> {
    let endian = LittleEndian;
    let segments = Elf::parse(headers).ok()?.program_headers(endian, headers).ok()?;
    let loaded = segments.iter().filter(|one| one.p_type(endian) == elf::PT_LOAD);
    let first = loaded.map(|one| one.p_vaddr(endian).into()).min()?;
    let bias = mapping.start.wrapping_sub(first);
    let mut found = Vec::new();
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
            let at = note.desc().as_ptr() as usize - bytes.as_ptr() as usize;
            found.push(Note {
                owner: note.name().to_vec(),
                kind: note.n_type(endian),
                description: note.desc().to_vec(),
                address: start + at as u64,
            });
        }
    }
    Some(Image { bias, notes: found })
}
