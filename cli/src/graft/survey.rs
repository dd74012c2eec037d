//! What the members of an archive define and want, by symbol.

use crate::binary::elf::Architecture;
use crate::binary::entry_points::LOAM_MARKS;
use crate::graft::archive::Member;
use object::read::{Object, ObjectComdat, ObjectSection, ObjectSymbol};
use object::{Endianness, SymbolSection, elf};
use std::collections::{BTreeSet, HashSet};

/// The symbols of one member.
#[derive(Default)]
pub struct Symbols<'data> {
    pub strong: BTreeSet<&'data str>,
    /// Also those of COMDAT groups, such as the compiler's helpers for position-independent i386:
    /// several members have them, and linkers take any one.
    pub weak: BTreeSet<&'data str>,
    /// Undefined, and the linker must find them.
    pub wanted: BTreeSet<&'data str>,
    /// Holds compiler's intermediate code beside machine code, or instead of it.
    pub has_lto: bool,
}

pub enum Content<'data> {
    Object(Architecture, Symbols<'data>),
    /// Compiler's intermediate code alone: which symbols it defines cannot be told.
    Bitcode,
    /// An object whose headers or symbols cannot be read.
    Damaged(String),
    /// A text, an index: linkers pass over it.
    Other,
}

impl<'data> Symbols<'data> {
    pub fn defines(&self, name: &str) -> bool {
        self.strong.contains(name) || self.weak.contains(name)
    }

    pub fn defined(&self) -> impl Iterator<Item = &'data str> + '_ {
        self.strong.iter().chain(&self.weak).copied()
    }

    pub fn is_loam(&self) -> bool {
        LOAM_MARKS.iter().all(|mark| self.strong.contains(mark))
    }
}

/// Bitcode of LLVM, bare or wrapped.
const BITCODE_MAGICS: [&[u8]; 2] = [b"BC\xc0\xde", &[0xde, 0xc0, 0x17, 0x0b]];
/// GCC marks objects that hold nothing else with this symbol.
const GCC_SLIM_LTO: &str = "__gnu_lto_slim";
const LTO_SECTIONS: [&str; 2] = [".gnu.lto_", ".llvm.lto"];

pub fn survey<'data>(members: &[Member<'data>]) -> Vec<Content<'data>> {
    members.iter().map(|member| content(member.data)).collect()
}

pub fn content(data: &[u8]) -> Content<'_> {
    if BITCODE_MAGICS.iter().any(|magic| data.starts_with(magic)) {
        return Content::Bitcode;
    }
    if !data.starts_with(&elf::ELFMAG) {
        return Content::Other;
    }
    match object::File::parse(data) {
        Ok(file) => object_content(&file),
        Err(cause) => Content::Damaged(cause.to_string()),
    }
}

fn object_content<'data>(file: &object::File<'data>) -> Content<'data> {
    let Some(architecture) = architecture(file) else {
        return Content::Damaged("neither a 32-bit nor a 64-bit ELF object".into());
    };
    let mut symbols = Symbols::default();
    let mut is_slim = false;
    let groups: HashSet<_> = file.comdats().flat_map(|group| group.sections()).collect();
    for symbol in file.symbols() {
        let name = match symbol.name() {
            Ok(name) => name,
            Err(cause) => return Content::Damaged(cause.to_string()),
        };
        is_slim |= name == GCC_SLIM_LTO;
        if name.is_empty() || !symbol.is_global() {
            continue;
        }
        let is_any_of_several =
            symbol.is_weak() || symbol.section_index().is_some_and(|at| groups.contains(&at));
        let set = match (symbol.section(), is_any_of_several) {
            (SymbolSection::Undefined, true) => continue,
            (SymbolSection::Undefined, false) => &mut symbols.wanted,
            (_, true) => &mut symbols.weak,
            (_, false) => &mut symbols.strong,
        };
        set.insert(name);
    }
    if is_slim {
        return Content::Bitcode;
    }
    symbols.has_lto = file.sections().any(|section| {
        section.name().is_ok_and(|name| LTO_SECTIONS.iter().any(|start| name.starts_with(start)))
    });
    Content::Object(architecture, symbols)
}

fn architecture(file: &object::File) -> Option<Architecture> {
    let (machine, is_64) = match file {
        object::File::Elf32(file) => (machine(file), false),
        object::File::Elf64(file) => (machine(file), true),
        _ => return None,
    };
    Some(Architecture { machine, is_64, is_little_endian: file.is_little_endian() })
}

fn machine<'data, Elf>(file: &object::read::elf::ElfFile<'data, Elf>) -> elf::Machine
where
    Elf: object::read::elf::FileHeader<Endian = Endianness>,
{
    file.elf_header().e_machine(file.endian())
}
