//! Writes an archive anew: without what is dropped, with loam's object first.

use crate::graft::archive::Member;
use crate::graft::plan::Fate;
use crate::graft::survey::{Content, content};
use anyhow::{Context, Result, anyhow, bail};
use ar_archive_writer::{ArchiveKind, NewArchiveMember, ObjectReader, write_archive_to_stream};
use object::elf::{FileHeader32, FileHeader64, Ident};
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{Endianness, elf, pod};
use std::collections::BTreeSet;
use std::io::Cursor;
use std::mem::offset_of;

/// What loam's object is called in an archive.
pub const LOAM_MEMBER: &str = "loam.o";

/// The new archive's bytes. Linkers take the first member that defines a name: loam's.
/// `replaceable`: loam's names that a program may define itself, as it may with any C library.
pub fn rewrite(
    members: &[Member],
    fates: &[Fate],
    object: &[u8],
    replaceable: &BTreeSet<&str>,
) -> Result<Vec<u8>> {
    let loam = edit(object, replaceable, Change::Weaken).context("cannot use loam's object")?;
    let mut written = vec![NewArchiveMember::new(loam, &SYMBOLS, LOAM_MEMBER.to_owned())];
    for (member, fate) in members.iter().zip(fates) {
        let data = match fate {
            Fate::Keep => member.data.to_vec(),
            Fate::Drop => continue,
            Fate::Split(names) => edit(member.data, names, Change::Undefine)
                .with_context(|| format!("cannot split member {}", member.name))?,
        };
        let mut new = NewArchiveMember::new(data, &SYMBOLS, member.name.clone());
        new.mtime = member.date;
        new.uid = member.uid;
        new.gid = member.gid;
        new.perms = member.mode;
        written.push(new);
    }
    let mut bytes = Cursor::new(Vec::new());
    write_archive_to_stream(&mut bytes, &written, ArchiveKind::Gnu, false, None)
        .context("cannot write the archive")?;
    Ok(bytes.into_inner())
}

/// How the writer learns what to put into the symbol table.
static SYMBOLS: ObjectReader = ObjectReader {
    get_symbols: |data, add| {
        let Content::Object(_, symbols) = content(data) else { return Ok(false) };
        symbols.defined().try_for_each(|name| add(name.as_bytes()))?;
        Ok(true)
    },
    is_64_bit_object_file: |data| {
        data.get(offset_of!(Ident, class)).is_some_and(|class| *class == elf::ELFCLASS64.0)
    },
    is_ec_object_file: |_| false,
    is_any_arm64_coff: |_| false,
    get_xcoff_member_alignment: |_| 0,
};

/// What becomes of a definition.
#[derive(Clone, Copy)]
enum Change {
    /// A reference: what is wanted by this name, even by the object itself, is then loam's.
    Undefine,
    /// A weak definition, which gives way to a program's own.
    Weaken,
}

/// An object in which the definitions of some names are changed.
fn edit(data: &[u8], names: &BTreeSet<&str>, change: Change) -> Result<Vec<u8>> {
    match data.get(offset_of!(Ident, class)).map(|class| elf::FileClass(*class)) {
        Some(elf::ELFCLASS32) => edit_as::<FileHeader32<Endianness>>(data, names, change),
        Some(elf::ELFCLASS64) => edit_as::<FileHeader64<Endianness>>(data, names, change),
        _ => bail!("neither a 32-bit nor a 64-bit ELF object"),
    }
}

fn edit_as<Elf>(data: &[u8], names: &BTreeSet<&str>, change: Change) -> Result<Vec<u8>>
where
    Elf: FileHeader<Endian = Endianness>,
    Elf::Sym: Edit,
{
    let damaged = |cause: object::Error| anyhow!("{cause}");
    let header = Elf::parse(data).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    let sections = header.sections(endian, data).map_err(damaged)?;
    let symbols = sections.symbols(endian, data, elf::SHT_SYMTAB).map_err(damaged)?;
    let table = sections.section(symbols.section()).map_err(damaged)?;
    let table_offset: u64 = table.sh_offset(endian).into();
    let table_offset = usize::try_from(table_offset).context("its symbol table is damaged")?;
    let mut new = data.to_vec();
    for (index, symbol) in symbols.enumerate() {
        let name = symbols.symbol_name(endian, symbol).map_err(damaged)?;
        let is_named = std::str::from_utf8(name).is_ok_and(|name| names.contains(name));
        if !is_named || symbol.is_local() {
            continue;
        }
        let mut edited = *symbol;
        match change {
            Change::Undefine => edited.undefine(endian),
            Change::Weaken => edited.weaken(),
        }
        let at = table_offset + index.0 * size_of::<Elf::Sym>();
        let bytes = pod::bytes_of(&edited);
        new.get_mut(at..at + bytes.len())
            .context("its symbol table is damaged")?
            .copy_from_slice(bytes);
    }
    Ok(new)
}

trait Edit: Sym<Endian = Endianness> {
    /// A weak definition, too, becomes a strong reference: loam must be linked.
    fn undefine(&mut self, endian: Endianness);
    fn weaken(&mut self);
}

macro_rules! edit {
    ($symbol:ident) => {
        impl Edit for elf::$symbol<Endianness> {
            fn undefine(&mut self, endian: Endianness) {
                self.set_st_info(elf::STB_GLOBAL, elf::STT_NOTYPE);
                self.st_shndx.set(endian, elf::SHN_UNDEF);
                self.st_value.set(endian, 0);
                self.st_size.set(endian, 0);
            }

            fn weaken(&mut self) {
                self.set_st_info(elf::STB_WEAK, self.st_type());
            }
        }
    };
}

edit!(Sym32);
edit!(Sym64);
