//! What an ELF file defines and refers to, as far as allocation is concerned.

use crate::binary::entry_points::{
    self, ALLOCATOR_MARKS, EntryPoint, LOAM_MARKS, NEW_HANDLER_MARK, SANITIZER_MARKS,
};
use anyhow::{Context, Result, anyhow, bail};
use object::elf;
use object::read::elf::{ElfFile, FileHeader, NoteIterator, ProgramHeader};
use object::read::{Object, ObjectSymbol, ObjectSymbolTable, ReadCache, ReadRef};
use object::read::{RelocationFlags, RelocationTarget};
use object::{Endianness, FileKind, SymbolKind};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// What the kernel and the loader must agree on to load a file into a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    pub machine: elf::Machine,
    pub is_64: bool,
    pub is_little_endian: bool,
}

impl Architecture {
    /// Of a file, by its header alone. `None` if it is not ELF.
    pub fn of_file(path: &Path) -> Result<Option<Architecture>> {
        let shown = || format!("cannot read {}", path.display());
        let mut file = File::open(path).with_context(shown)?;
        if !is_elf(&mut file).with_context(shown)? {
            return Ok(None);
        }
        let cache = ReadCache::new(file);
        match FileKind::parse(&cache).map_err(damaged)? {
            FileKind::Elf32 => header_of::<elf::FileHeader32<Endianness>, _>(&cache),
            FileKind::Elf64 => header_of::<elf::FileHeader64<Endianness>, _>(&cache),
            _ => return Ok(None),
        }
        .map(Some)
    }

    fn in_header<Elf: FileHeader<Endian = Endianness>>(header: &Elf, endian: Endianness) -> Self {
        Architecture {
            machine: header.e_machine(endian),
            is_64: header.is_class_64(),
            is_little_endian: header.is_little_endian(),
        }
    }

    pub fn pointer_bytes(&self) -> u64 {
        if self.is_64 { 8 } else { 4 }
    }
}

#[derive(Debug, Clone)]
pub struct Symbol {
    pub name: String,
    pub address: u64,
    pub size_bytes: u64,
}

/// A place in a module that the loader fills with the address of an entry point.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    pub entry: &'static EntryPoint,
    pub address: u64,
    /// In the program's own data, which the program may change later.
    pub is_data: bool,
}

/// A part of the file that is mapped into memory.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    pub offset: u64,
    pub address: u64,
    pub size_bytes: u64,
}

/// What loam leaves in every file that holds it, stripped or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoamNote {
    pub version: String,
    /// `fast` or `checking`.
    pub build: String,
}

#[derive(Debug)]
pub struct Image {
    pub architecture: Architecture,
    /// A library that is no program as well: it names no loader and has no place to begin at.
    pub is_library: bool,
    /// An executable or a library; relocatable objects and core dumps are neither.
    pub is_loadable: bool,
    pub entry_address: u64,
    pub interpreter: Option<PathBuf>,
    pub dynamic_address: Option<u64>,
    pub needed: Vec<String>,
    /// Linked with -Bsymbolic: it looks in itself first.
    pub is_symbolic: bool,
    pub segments: Vec<Segment>,
    /// Functions of the dynamic symbol table that are defined, by address.
    pub exports: Vec<Symbol>,
    /// Undefined functions that nevertheless have an address: the file's own PLT entry.
    pub plt_entries: Vec<Symbol>,
    /// Functions of interest in .symtab that are defined. Empty for a stripped file.
    pub internals: Vec<Symbol>,
    pub has_symbol_table: bool,
    pub loam_notes: Vec<LoamNote>,
    pub slots: Vec<Slot>,
    /// Calls dlopen: it may load modules at any time.
    pub opens_modules: bool,
}

impl Image {
    /// Reads a file. `None` if it is not ELF.
    pub fn read(path: &Path) -> Result<Option<Image>> {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Image::read_from(file).map_err(|cause| {
            let shown = path.display();
            let is_systems = cause.is::<std::io::Error>();
            cause.context(if is_systems {
                format!("cannot read {shown}")
            } else {
                shown.to_string()
            })
        })
    }

    pub fn read_from(mut file: File) -> Result<Option<Image>> {
        if !is_elf(&mut file)? {
            return Ok(None);
        }
        let cache = ReadCache::new(file);
        match FileKind::parse(&cache).map_err(damaged)? {
            FileKind::Elf32 => parse::<elf::FileHeader32<Endianness>, _>(&cache),
            FileKind::Elf64 => parse::<elf::FileHeader64<Endianness>, _>(&cache),
            _ => bail!("neither a 32-bit nor a 64-bit ELF file"),
        }
        .map(Some)
    }

    pub fn export(&self, name: &str) -> Option<&Symbol> {
        self.exports.iter().find(|symbol| symbol.name == name)
    }

    pub fn defines_entry(&self, entry: &EntryPoint) -> Option<&Symbol> {
        let is_entry = |symbol: &&Symbol| entry_points::find(&symbol.name) == Some(entry);
        self.exports.iter().find(is_entry)
    }

    /// The definition of an entry point at an address of the file.
    pub fn entry_at(&self, entry: &EntryPoint, address: u64) -> Option<&Symbol> {
        let is_here = |symbol: &&Symbol| {
            symbol.address == address && entry_points::find(&symbol.name) == Some(entry)
        };
        self.exports.iter().find(is_here)
    }

    /// Whether the file is loam, or a program with loam linked in: stripped ones have the note.
    pub fn is_loam(&self) -> bool {
        !self.loam_notes.is_empty()
            || LOAM_MARKS.iter().all(|mark| self.export(mark).is_some() || self.has_internal(mark))
    }

    /// Whether it holds loam under loam's own names alone, as a crate's global allocator has it.
    pub fn is_loam_beside_malloc(&self) -> bool {
        let defines = |name| self.export(name).is_some() || self.has_internal(name);
        let at = |name| self.internals.iter().find(|symbol| symbol.name == name);
        let same = |loams: &Symbol| at("malloc").is_some_and(|own| own.address == loams.address);
        self.is_loam() && at("loam_malloc").is_some_and(|loams| !defines("malloc") || !same(loams))
    }

    /// Whether a function is loam's: each of these also has a name with its prefix, at the same
    /// address.
    pub fn is_loams(&self, symbol: &Symbol) -> bool {
        let same =
            |other: &Symbol| other.address == symbol.address && other.name.starts_with("loam_");
        self.internals.iter().any(same)
    }

    /// The name of the sanitizer whose runtime the file carries or asks for.
    pub fn sanitizer(&self) -> Option<&'static str> {
        let carried = SANITIZER_MARKS
            .iter()
            .find(|(mark, _)| self.export(mark).is_some() || self.has_internal(mark));
        let asked_for = || self.needed.iter().find_map(|name| sanitizer_library(name));
        carried.map(|(_, name)| *name).or_else(asked_for)
    }

    pub fn has_internal(&self, name: &str) -> bool {
        self.internals.iter().any(|symbol| symbol.name == name)
    }

    /// The function that an address of the file belongs to.
    pub fn symbol_at(&self, address: u64) -> Option<&Symbol> {
        let around = |symbol: &&Symbol| {
            let size_bytes = symbol.size_bytes.max(1);
            (symbol.address..symbol.address.saturating_add(size_bytes)).contains(&address)
        };
        self.exports.iter().chain(&self.internals).find(around)
    }
}

fn damaged(cause: object::Error) -> anyhow::Error {
    anyhow!("damaged ELF file: {cause}")
}

fn header_of<'data, Elf, R>(data: R) -> Result<Architecture>
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    let header = Elf::parse(data).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    Ok(Architecture::in_header(header, endian))
}

/// Leaves the file at its beginning.
fn is_elf(file: &mut File) -> std::io::Result<bool> {
    let mut magic = [0; 4];
    match file.read_exact(&mut magic) {
        Err(cause) if cause.kind() == ErrorKind::UnexpectedEof => return Ok(false),
        outcome => outcome?,
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(magic == elf::ELFMAG)
}

/// The sanitizer that a runtime library's name stands for.
pub fn sanitizer_library(name: &str) -> Option<&'static str> {
    let stems = [
        ("hwasan", "HWAddressSanitizer"),
        ("asan", "AddressSanitizer"),
        ("tsan", "ThreadSanitizer"),
        ("msan", "MemorySanitizer"),
        ("lsan", "LeakSanitizer"),
    ];
    let starts = |stem: &str| {
        name.strip_prefix("lib")
            .and_then(|rest| rest.strip_prefix("clang_rt.").or(Some(rest)))
            .and_then(|rest| rest.strip_prefix(stem))
            .is_some_and(|rest| rest.starts_with(['.', '-']))
    };
    stems.iter().find(|(stem, _)| starts(stem)).map(|(_, sanitizer)| *sanitizer)
}

fn is_of_interest(name: &str) -> bool {
    entry_points::find(name).is_some()
        || name == NEW_HANDLER_MARK
        || name.starts_with("loam_")
        || ALLOCATOR_MARKS.iter().any(|(mark, _)| *mark == name)
        || SANITIZER_MARKS.iter().any(|(mark, _)| *mark == name)
}

fn parse<'data, Elf, R>(data: R) -> Result<Image>
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    let file = ElfFile::<Elf, R>::parse(data).map_err(damaged)?;
    let endian = file.endian();
    let header = file.elf_header();
    let mut image = Image {
        architecture: Architecture::in_header(header, endian),
        is_library: false,
        is_loadable: [elf::ET_EXEC, elf::ET_DYN].contains(&header.e_type(endian)),
        entry_address: header.e_entry(endian).into(),
        interpreter: None,
        dynamic_address: None,
        needed: Vec::new(),
        is_symbolic: false,
        segments: Vec::new(),
        exports: Vec::new(),
        plt_entries: Vec::new(),
        internals: Vec::new(),
        has_symbol_table: file.symbol_table().is_some(),
        loam_notes: Vec::new(),
        slots: Vec::new(),
        opens_modules: false,
    };
    read_segments(&file, data, &mut image).map_err(damaged)?;
    let is_marked_program = read_dynamic(&file, &mut image).map_err(damaged)?;
    image.is_library = header.e_type(endian) == elf::ET_DYN
        && image.interpreter.is_none()
        && image.dynamic_address.is_some()
        && !is_marked_program
        // Linkers of old do not mark static programs; these need no library, and begin somewhere.
        && (image.entry_address == 0 || !image.needed.is_empty());
    read_symbols(&file, &mut image);
    image.slots = read_slots(&file, image.architecture.machine);
    Ok(image)
}

fn read_segments<'data, Elf, R>(
    file: &ElfFile<'data, Elf, R>,
    data: R,
    image: &mut Image,
) -> object::Result<()>
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    use std::os::unix::ffi::OsStrExt;
    let endian = file.endian();
    for header in file.elf_program_headers() {
        if let Some(path) = header.interpreter(endian, data)? {
            image.interpreter = Some(std::ffi::OsStr::from_bytes(path).into());
        }
        if let Some(notes) = header.notes(endian, data)? {
            image.loam_notes.extend(loam_notes::<Elf>(notes, endian));
        }
        let segment = Segment {
            offset: header.p_offset(endian).into(),
            address: header.p_vaddr(endian).into(),
            size_bytes: header.p_memsz(endian).into(),
        };
        match header.p_type(endian) {
            elf::PT_LOAD => image.segments.push(segment),
            elf::PT_DYNAMIC => image.dynamic_address = Some(segment.address),
            _ => {}
        }
    }
    Ok(())
}

/// Loam's among the notes of a segment. What a damaged one is followed by is not looked at.
pub fn loam_notes<Elf>(mut notes: NoteIterator<Elf>, endian: Endianness) -> Vec<LoamNote>
where
    Elf: FileHeader<Endian = Endianness>,
{
    const OWNER: &[u8] = b"loam";
    const TYPE: elf::NoteType = elf::NoteType(1);
    let mut found = Vec::new();
    while let Ok(Some(note)) = notes.next() {
        if note.name() != OWNER || note.n_type(endian) != TYPE {
            continue;
        }
        let mut texts = note.desc().split(|byte| *byte == 0);
        let mut text = || String::from_utf8_lossy(texts.next().unwrap_or_default()).into_owned();
        found.push(LoamNote { version: text(), build: text() });
    }
    found
}

/// Gives whether it says of itself that it is a program.
fn read_dynamic<'data, Elf, R>(
    file: &ElfFile<'data, Elf, R>,
    image: &mut Image,
) -> object::Result<bool>
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    let table = file.elf_dynamic_table()?;
    let mut is_marked_program = false;
    for entry in table.iter() {
        match entry.tag {
            elf::DT_NEEDED => {
                let name = table.string(entry)?;
                image.needed.push(String::from_utf8_lossy(name).into_owned());
            }
            elf::DT_SYMBOLIC => image.is_symbolic = true,
            elf::DT_FLAGS => {
                image.is_symbolic |= entry.val & elf::DF_SYMBOLIC.0 != 0;
            }
            elf::DT_FLAGS_1 => is_marked_program = entry.val & elf::DF_1_PIE.0 != 0,
            _ => {}
        }
    }
    Ok(is_marked_program)
}

fn read_symbols<'data, Elf, R>(file: &ElfFile<'data, Elf, R>, image: &mut Image)
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    for symbol in file.dynamic_symbols() {
        let Ok(name) = symbol.name() else { continue };
        let found =
            Symbol { name: name.to_owned(), address: symbol.address(), size_bytes: symbol.size() };
        if symbol.is_undefined() {
            image.opens_modules |= name == "dlopen";
            if found.address != 0 && is_of_interest(name) {
                image.plt_entries.push(found);
            }
        } else if is_function(symbol.kind()) || name == "_r_debug" {
            image.exports.push(found);
        }
    }
    for symbol in file.symbols().filter(|symbol| symbol.is_definition()) {
        let Ok(name) = symbol.name() else { continue };
        if is_of_interest(name) {
            image.internals.push(Symbol {
                name: name.to_owned(),
                address: symbol.address(),
                size_bytes: symbol.size(),
            });
        }
    }
}

fn is_function(kind: SymbolKind) -> bool {
    matches!(kind, SymbolKind::Text | SymbolKind::Unknown)
}

fn read_slots<'data, Elf, R>(file: &ElfFile<'data, Elf, R>, machine: elf::Machine) -> Vec<Slot>
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    let Some(relocations) = file.dynamic_relocations() else { return Vec::new() };
    let slot = |(address, relocation): (u64, object::Relocation)| {
        let RelocationTarget::Symbol(index) = relocation.target() else { return None };
        let RelocationFlags::Elf { r_type } = relocation.flags() else { return None };
        let is_data = match kind_of(machine, r_type) {
            RelocationKind::Slot => false,
            RelocationKind::Data => true,
            RelocationKind::Other => return None,
        };
        let symbol = file.dynamic_symbol_table()?.symbol_by_index(index).ok()?;
        let entry = entry_points::find(symbol.name().ok()?)?;
        Some(Slot { entry, address, is_data })
    };
    relocations.filter_map(slot).collect()
}

enum RelocationKind {
    /// Of the linker's making: the global offset table or the PLT's part of it.
    Slot,
    /// A pointer in the program's data.
    Data,
    Other,
}

fn kind_of(machine: elf::Machine, r_type: elf::RelocationType) -> RelocationKind {
    let (jump_slot, got, data) = match machine {
        elf::EM_X86_64 => (elf::R_X86_64_JUMP_SLOT, elf::R_X86_64_GLOB_DAT, elf::R_X86_64_64),
        elf::EM_386 => (elf::R_386_JMP_SLOT, elf::R_386_GLOB_DAT, elf::R_386_32),
        elf::EM_AARCH64 => {
            (elf::R_AARCH64_JUMP_SLOT, elf::R_AARCH64_GLOB_DAT, elf::R_AARCH64_ABS64)
        }
        elf::EM_ARM => (elf::R_ARM_JUMP_SLOT, elf::R_ARM_GLOB_DAT, elf::R_ARM_ABS32),
        // RISC-V has no type of its own for the global offset table.
        elf::EM_RISCV => (elf::R_RISCV_JUMP_SLOT, elf::R_RISCV_64, elf::R_RISCV_64),
        elf::EM_S390 => (elf::R_390_JMP_SLOT, elf::R_390_GLOB_DAT, elf::R_390_64),
        elf::EM_PPC64 => (elf::R_PPC64_JMP_SLOT, elf::R_PPC64_GLOB_DAT, elf::R_PPC64_ADDR64),
        _ => return RelocationKind::Other,
    };
    if r_type == jump_slot || r_type == got {
        RelocationKind::Slot
    } else if r_type == data {
        RelocationKind::Data
    } else {
        RelocationKind::Other
    }
}

/// An architecture's name for people.
impl std::fmt::Display for Architecture {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bits = if self.is_64 { 64 } else { 32 };
        let name = match self.machine {
            elf::EM_X86_64 if !self.is_64 => "x32",
            elf::EM_X86_64 => "x86-64",
            elf::EM_386 => "x86 (i386)",
            elf::EM_AARCH64 => "AArch64",
            elf::EM_ARM => "Arm",
            elf::EM_RISCV => "RISC-V",
            elf::EM_S390 => "s390",
            elf::EM_PPC64 => "PowerPC",
            elf::EM_LOONGARCH => "LoongArch",
            elf::EM_MIPS => "MIPS",
            other => return write!(out, "{bits}-bit ELF machine {}", other.0),
        };
        let order = if self.is_little_endian { "" } else { ", big-endian" };
        write!(out, "{bits}-bit {name}{order}")
    }
}
