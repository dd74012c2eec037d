//! The functions of an ELF file by address, and how to unwind them.

use anyhow::{Context, Result};
use object::read::{Object, ObjectSection, ObjectSymbol};
use object::{SectionKind, SymbolKind};
use std::path::Path;

/// A named range of addresses.
struct Function {
    address: u64,
    size_bytes: u64,
    name: String,
}

/// A section's bytes and where they lie.
#[derive(Default)]
pub struct Section {
    pub address: u64,
    pub bytes: Vec<u8>,
}

#[derive(Default)]
pub struct Functions {
    /// By address.
    functions: Vec<Function>,
    /// How the functions' frames are left (.eh_frame).
    pub frames: Section,
    pub code_address: u64,
}

impl Functions {
    pub fn read(path: &Path) -> Result<Functions> {
        let data =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let file = object::File::parse(&*data).with_context(|| path.display().to_string())?;
        let mut functions: Vec<Function> = file
            .symbols()
            .chain(file.dynamic_symbols())
            .filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text)
            .filter_map(|symbol| {
                let name = symbol.name().ok()?.to_owned();
                Some(Function { address: symbol.address(), size_bytes: symbol.size(), name })
            })
            .collect();
        functions.sort_by(|one, other| (one.address, &one.name).cmp(&(other.address, &other.name)));
        functions.dedup_by(|one, other| one.address == other.address && one.name == other.name);
        let frames = match file.section_by_name(".eh_frame") {
            Some(section) => {
                let bytes = section.uncompressed_data().unwrap_or_default().into_owned();
                Section { address: section.address(), bytes }
            }
            None => Section::default(),
        };
        let code = file.sections().find(|section| section.kind() == SectionKind::Text);
        let code_address = code.map_or(0, |section| section.address());
        Ok(Functions { functions, frames, code_address })
    }

    /// All names of the function around an address of the file.
    pub fn names_at(&self, address: u64) -> impl Iterator<Item = &str> {
        let end = self.functions.partition_point(|function| function.address <= address);
        let around = self.functions[..end]
            .iter()
            .rev()
            .find(|function| address - function.address < function.size_bytes)
            .map(|function| function.address);
        let first = self.functions.partition_point(|function| Some(function.address) < around);
        self.functions[first..end]
            .iter()
            .take_while(move |function| Some(function.address) == around)
            .map(|function| &*function.name)
    }
}
