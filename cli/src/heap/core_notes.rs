//! What a core file says of its process beside the memory: threads, mapped files, and where the
//! kernel has put what.

use crate::heap::source::{Mapping, Name, Thread};
use object::LittleEndian;
use object::elf;
use object::read::ReadRef;
use object::read::elf::ProgramHeader;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

#[derive(Default)]
pub struct Notes {
    pub files: Vec<Mapping>,
    pub threads: Vec<Thread>,
    auxiliary: Vec<u8>,
}

impl Notes {
    pub fn read<'data, R: ReadRef<'data>>(
        &mut self,
        header: &elf::ProgramHeader64<LittleEndian>,
        machine: elf::Machine,
        data: R,
    ) -> object::Result<()> {
        let Some(mut notes) = header.notes(LittleEndian, data)? else { return Ok(()) };
        while let Some(note) = notes.next()? {
            match note.n_type(LittleEndian) {
                elf::NT_FILE => self.files.extend(mapped_files(note.desc())),
                elf::NT_PRSTATUS if note.name() == b"CORE" => {
                    self.threads.push(thread(note.desc(), machine));
                }
                elf::NT_AUXV => note.desc().clone_into(&mut self.auxiliary),
                _ => {}
            }
        }
        Ok(())
    }

    pub fn page_bytes(&self) -> u64 {
        const AT_PAGESZ: u64 = 6;
        let is_one = |bytes: &u64| [4 << 10, 16 << 10, 64 << 10].contains(bytes);
        self.auxiliary_value(AT_PAGESZ).filter(is_one).unwrap_or(4096)
    }

    /// Gives the first thread's stack and the C library's heap their names, which no note has.
    pub fn name_the_kernels(&self, mappings: &mut [Mapping]) {
        const AT_RANDOM: u64 = 25;
        let stack = self.auxiliary_value(AT_RANDOM);
        if let Some(stack) = stack.and_then(|at| mappings.iter_mut().find(|one| one.contains(at))) {
            stack.name = Name::Stack;
        }
        if let Some(heap) = self.libc_heap(mappings) {
            mappings[heap].name = Name::Heap;
        }
    }

    /// The kernel lets it begin a random way behind the program's data, and puts nothing between.
    fn libc_heap(&self, mappings: &[Mapping]) -> Option<usize> {
        const AT_PHDR: u64 = 3;
        const WAY_BYTES_MAX: u64 = 1 << 30;
        let headers = self.auxiliary_value(AT_PHDR)?;
        let program = &mappings.iter().find(|one| one.contains(headers))?.name;
        let last = mappings.iter().rposition(|one| one.name == *program)?;
        let mut end = mappings[last].end;
        let behind = mappings.iter().enumerate().skip(last + 1);
        let (index, heap) = behind.into_iter().find(|(_, one)| {
            let is_zero_data = one.start == end;
            end = if is_zero_data { one.end } else { end };
            !is_zero_data
        })?;
        let is_heap =
            heap.name == Name::Anonymous && heap.start.saturating_sub(end) <= WAY_BYTES_MAX;
        is_heap.then_some(index)
    }

    fn auxiliary_value(&self, kind: u64) -> Option<u64> {
        let pairs = self.auxiliary.chunks_exact(16);
        let pairs = pairs.map(|pair| (word_at(pair, 0), word_at(pair, 8)));
        pairs.into_iter().find(|(key, _)| *key == Some(kind))?.1
    }
}

fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// As struct elf_prstatus has it: behind the signal's numbers, and the registers behind the times.
fn thread(note: &[u8], machine: elf::Machine) -> Thread {
    const PID_AT: usize = 32;
    const REGISTERS_AT: usize = 112;
    let id = note.get(PID_AT..PID_AT + 4).and_then(|word| word.try_into().ok());
    let number = match machine {
        elf::EM_X86_64 => Some(19),
        elf::EM_AARCH64 => Some(31),
        elf::EM_RISCV => Some(2),
        _ => None,
    };
    Thread {
        id: u32::from_le_bytes(id.unwrap_or_default()),
        name: None,
        stack_pointer: number.and_then(|number| word_at(note, REGISTERS_AT + 8 * number)),
        is_waiting: true,
    }
}

/// Count, page size; start, end and offset in pages of each; then their names.
fn mapped_files(note: &[u8]) -> Vec<Mapping> {
    let word = |index: usize| word_at(note, index * 8).unwrap_or_default();
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
