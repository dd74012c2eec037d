//! What a PE file, a program or library for Windows, imports and says of loam.

use crate::binary::elf::{self, LoamNote};
use anyhow::{Context, Result, anyhow};
use object::read::elf::NoteIterator;
use object::read::pe::{ImageNtHeaders, ImageThunkData, ImportThunkList, PeFile};
use object::read::{Object, ObjectSection, ObjectSymbol, ReadCache, ReadRef};
use object::{Endianness, FileKind, LittleEndian, pe};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The section that holds loam's note (src/api/note.c).
const NOTE_SECTION: &str = ".loam";

/// A function that another file provides.
#[derive(Debug)]
pub struct Import {
    pub library: String,
    pub name: String,
    /// Where the loader puts the function's address, if the file is where it wants to be.
    pub slot_address: u64,
    /// Looked up at its first call.
    pub is_delayed: bool,
}

#[derive(Debug)]
pub struct Image {
    pub loam_note: Option<LoamNote>,
    /// By name; what is imported by number is left out.
    pub imports: Vec<Import>,
    /// Libraries that it needs, each once.
    pub libraries: Vec<String>,
    /// Where `malloc` and `loam_malloc` are, if it has a symbol table that has both.
    pub malloc_addresses: Option<(u64, u64)>,
}

impl Image {
    /// Reads a file. `None` if it is not PE.
    pub fn read(path: &Path) -> Result<Option<Image>> {
        let shown = path.display();
        let mut file = File::open(path).with_context(|| format!("cannot read {shown}"))?;
        let mut magic = [0; 2];
        if file.read_exact(&mut magic).is_err() || magic != *b"MZ" {
            return Ok(None);
        }
        let cache = ReadCache::new(file);
        let image = match FileKind::parse(&cache) {
            Ok(FileKind::Pe32) => parse::<pe::ImageNtHeaders32, _>(&cache),
            Ok(FileKind::Pe64) => parse::<pe::ImageNtHeaders64, _>(&cache),
            _ => return Ok(None),
        };
        image.map(Some).map_err(|cause| anyhow!("{shown}: damaged PE file: {cause}"))
    }
}

fn parse<'data, Pe: ImageNtHeaders, R: ReadRef<'data>>(data: R) -> object::Result<Image> {
    let file = PeFile::<Pe, R>::parse(data)?;
    let mut image = Image {
        loam_note: read_note(&file)?,
        imports: Vec::new(),
        libraries: Vec::new(),
        malloc_addresses: None,
    };
    read_imports(&file, &mut image)?;
    read_delayed_imports(&file, &mut image)?;
    // 32-bit names have an underscore before them.
    let prefix = if file.is_64() { "" } else { "_" };
    let address = |name: &str| {
        let name = format!("{prefix}{name}");
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(&name))?;
        symbol.is_definition().then(|| symbol.address())
    };
    image.malloc_addresses = address("malloc").zip(address("loam_malloc"));
    Ok(image)
}

fn read_note<'data, Pe, R>(file: &PeFile<'data, Pe, R>) -> object::Result<Option<LoamNote>>
where
    Pe: ImageNtHeaders,
    R: ReadRef<'data>,
{
    type Layout = object::elf::FileHeader32<Endianness>;
    let Some(section) = file.section_by_name(NOTE_SECTION) else { return Ok(None) };
    let notes = NoteIterator::<Layout>::new(Endianness::Little, 4, section.data()?)?;
    Ok(elf::loam_notes::<Layout>(notes, Endianness::Little).into_iter().next())
}

fn read_imports<'data, Pe, R>(file: &PeFile<'data, Pe, R>, image: &mut Image) -> object::Result<()>
where
    Pe: ImageNtHeaders,
    R: ReadRef<'data>,
{
    let Some(table) = file.import_table()? else { return Ok(()) };
    let mut descriptors = table.descriptors()?;
    while let Some(descriptor) = descriptors.next()? {
        let slots = descriptor.first_thunk.get(LittleEndian);
        // Old linkers leave the first of the two lists out.
        let names = Some(descriptor.original_first_thunk.get(LittleEndian)).filter(|at| *at != 0);
        let list = List {
            library: table.name(descriptor.name.get(LittleEndian))?,
            slots_address: file.relative_address_base() + u64::from(slots),
            is_delayed: false,
        };
        let name_at = |address| table.hint_name(address).map(|(_, name)| name);
        list.read::<Pe>(table.thunks(names.unwrap_or(slots))?, name_at, image)?;
    }
    Ok(())
}

fn read_delayed_imports<'data, Pe, R>(
    file: &PeFile<'data, Pe, R>,
    image: &mut Image,
) -> object::Result<()>
where
    Pe: ImageNtHeaders,
    R: ReadRef<'data>,
{
    let Some(table) = file.delay_load_import_table()? else { return Ok(()) };
    let mut descriptors = table.descriptors()?;
    while let Some(descriptor) = descriptors.next()? {
        let slots = descriptor.import_address_table_rva.get(LittleEndian);
        let list = List {
            library: table.name(descriptor.dll_name_rva.get(LittleEndian))?,
            slots_address: file.relative_address_base() + u64::from(slots),
            is_delayed: true,
        };
        let names = table.thunks(descriptor.import_name_table_rva.get(LittleEndian))?;
        let name_at = |address| table.hint_name(address).map(|(_, name)| name);
        list.read::<Pe>(names, name_at, image)?;
    }
    Ok(())
}

/// What one file imports of one library.
struct List<'data> {
    library: &'data [u8],
    slots_address: u64,
    is_delayed: bool,
}

impl<'data> List<'data> {
    fn read<Pe: ImageNtHeaders>(
        &self,
        mut names: ImportThunkList<'data>,
        name_at: impl Fn(u32) -> object::Result<&'data [u8]>,
        image: &mut Image,
    ) -> object::Result<()> {
        let library = String::from_utf8_lossy(self.library).into_owned();
        let mut slot_address = self.slots_address;
        while let Some(name) = names.next::<Pe>()? {
            if !name.is_ordinal() {
                image.imports.push(Import {
                    library: library.clone(),
                    name: String::from_utf8_lossy(name_at(name.address())?).into_owned(),
                    slot_address,
                    is_delayed: self.is_delayed,
                });
            }
            slot_address += size_of::<Pe::ImageThunkData>() as u64;
        }
        if !image.libraries.iter().any(|known| known.eq_ignore_ascii_case(&library)) {
            image.libraries.push(library);
        }
        Ok(())
    }
}
