//! Where the library says that its structures are, and how they are laid out (src/api/layout.c).

use crate::heap::image::{Image, Note};
use crate::heap::source::{Name, Source};
use crate::heap::without;
use anyhow::{Context, Result, anyhow, bail};
use std::collections::HashMap;
use std::path::Path;

const OWNER: &[u8] = b"loam-layout";
const FORMAT: u32 = 2;
/// What the note's words stand for, in their order.
const ROOTS: [&str; 21] = [
    "layout",
    "tags",
    "region_map",
    "caches",
    "shared_heaps",
    "huge_buckets",
    "meta",
    "classes",
    "os",
    "kept_mappings",
    "profile_sites",
    "profile_samples",
    "profile_freed",
    "profile_totals",
    "profile_bytes",
    "profile_last_bytes",
    "profile_order",
    "centrals",
    "profile_heap",
    "python_lines",
    "aside",
];

pub struct Layout {
    roots: Vec<u64>,
    numbers: HashMap<String, u64>,
    pub file: String,
}

impl Layout {
    /// Of the process's loam.
    pub fn find(source: &dyn Source) -> Result<Layout> {
        match Layout::look_for(source)? {
            Some(layout) => Ok(layout),
            None => bail!("{}", without::told(source)),
        }
    }

    /// Of several, the one that has caches or heaps; `None` where there is no loam.
    pub fn look_for(source: &dyn Source) -> Result<Option<Layout>> {
        let mut found = Vec::new();
        for (note, path) in notes(source) {
            let roots = roots_of(&note.description, note.address)?;
            found.push(Layout::read(source, roots, path.display().to_string())?);
        }
        let is_in_use = |layout: &Layout| -> bool {
            let first = |root| layout.root(root).and_then(|at| layout.pointer_at(source, at));
            first("caches").is_ok_and(|first| first != 0)
                || first("shared_heaps").is_ok_and(|first| first != 0)
        };
        let index = found.iter().position(is_in_use);
        let index = index.or_else(|| (!found.is_empty()).then_some(0));
        Ok(index.map(|index| found.swap_remove(index)))
    }

    /// Whether the process has a loam, of whatever version.
    pub fn is_in(source: &dyn Source) -> bool {
        notes(source).next().is_some()
    }

    fn read(source: &dyn Source, roots: Vec<u64>, file: String) -> Result<Layout> {
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
        index.and_then(|index| self.roots.get(index).copied()).ok_or_else(|| self.misses(name))
    }

    pub fn number(&self, name: &str) -> Result<u64> {
        self.numbers.get(name).copied().ok_or_else(|| self.misses(name))
    }

    fn misses(&self, name: &str) -> anyhow::Error {
        anyhow!("{} is another version of loam than this command: it has no {name}", self.file)
    }

    pub fn pointer_at(&self, source: &dyn Source, address: u64) -> Result<u64> {
        let width = self.number("pointer.size")? as usize;
        let mut bytes = [0; 8];
        source.read(address, bytes.get_mut(..width).context("a pointer of no size")?)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// Those of the files that the process has mapped.
fn notes(source: &dyn Source) -> impl Iterator<Item = (Note, &Path)> {
    source.process().mappings.iter().filter_map(move |mapping| {
        let Name::File(path) = &mapping.name else { return None };
        let image = Image::at(source, mapping)?;
        let note = image.notes.into_iter().find(|note| note.owner == OWNER)?;
        Some((note, path.as_path()))
    })
}

/// A number, and the distance from each word to what it stands for.
fn roots_of(description: &[u8], address: u64) -> Result<Vec<u64>> {
    let word = |index: usize| {
        let bytes = description.get(index * 4..index * 4 + 4)?;
        bytes.try_into().ok().map(u32::from_le_bytes)
    };
    if word(0) != Some(FORMAT) {
        bail!("the process's loam is another version than this command");
    }
    let root = |index: usize| {
        let at = address + 4 * (index as u64 + 1);
        Some(at.wrapping_add_signed(i64::from(word(index + 1)?.cast_signed())))
    };
    let roots: Vec<u64> = (0..ROOTS.len()).map_while(root).collect();
    if roots.len() < ROOTS.len() {
        bail!("the process's loam is an older version");
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
        let count = i32::try_from(ROOTS.len()).unwrap();
        let roots = roots_of(&words(FORMAT, count), 5000).unwrap();
        assert_eq!(roots[..3], [5104, 4808, 4512]);
        let said = |description: &[u8]| roots_of(description, 5000).unwrap_err().to_string();
        assert!(said(&words(FORMAT + 1, count)).contains("another version"));
        assert!(said(&words(FORMAT, count - 1)).contains("an older version"));
    }
}
