//! What LD_PRELOAD holds for a program that is started on loam.

use crate::binary::carried;
use crate::binary::elf::Image;
use crate::binary::library::Library;
use crate::binary::word_sizes::WordSizes;
use crate::failure::complain;
use crate::process::allocator;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The value of LD_PRELOAD with the library behind what is there already, which watches malloc and
/// passes calls on, but in front of other allocators, which do not: a line names those.
pub fn value(library: &Library, program: Option<&Image>) -> OsString {
    let present = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    let entries: Vec<&OsStr> = entries(&present);
    let other = entries.iter().position(|entry| allocator_at(entry).is_some());
    if let Some((entry, name)) =
        other.and_then(|at| Some((entries[at], allocator_at(entries[at])?)))
        && name != "loam"
    {
        complain(format_args!(
            "LD_PRELOAD names {}, which is {name}: loam is put in front of it",
            entry.display()
        ));
    }
    let own = entry(library, program);
    let (front, behind) = entries.split_at(other.unwrap_or(entries.len()));
    let all: Vec<&OsStr> = front.iter().copied().chain([own.as_os_str()]).collect();
    all.into_iter().chain(behind.iter().copied()).collect::<Vec<_>>().join(OsStr::new(":"))
}

/// As the loader takes them apart.
fn entries(value: &OsStr) -> Vec<&OsStr> {
    let parts = value.as_bytes().split(|byte| b": ".contains(byte));
    parts.filter(|part| !part.is_empty()).map(OsStr::from_bytes).collect()
}

fn allocator_at(entry: &OsStr) -> Option<&'static str> {
    let image = Image::read(Path::new(entry)).ok()??;
    allocator::of_library(&image)
}

/// What LD_PRELOAD names: the library; where it has a twin and programs of 32 bits have a loader, a
/// path with `$LIB`, which leads each loader to its own. The loader says a line for each program
/// that is named a library of the other size, or one that is not there.
pub fn entry(library: &Library, program: Option<&Image>) -> PathBuf {
    by_word_size(library).unwrap_or_else(|refusals| {
        complain(format_args!("programs of the other word size run without loam: {refusals}"));
        let own = program.and_then(|program| library.of_program(program));
        own.unwrap_or(library).path.clone()
    })
}

fn by_word_size(library: &Library) -> Result<PathBuf, String> {
    let folders = WordSizes::of(library.image.architecture).and_then(|sizes| sizes.lib_folders());
    let (Some(twin), Some([own, other])) = (&library.twin, folders) else {
        return Ok(library.path.clone());
    };
    let name = library.path.file_name().unwrap_or_default();
    // musl's loader takes the name as it stands.
    let own = own.into_iter().chain([PathBuf::from("$LIB")]);
    let links: Vec<_> = own
        .map(|folder| (folder.join(name), library.path.as_path()))
        .chain(other.into_iter().map(|folder| (folder.join(name), twin.path.as_path())))
        .collect();
    carried::folder_of_links(&links).map(|root| root.join("$LIB").join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_taken_apart_at_colons_and_blanks() {
        assert_eq!(entries(OsStr::new("")), Vec::<&OsStr>::new());
        assert_eq!(entries(OsStr::new("a.so: /b.so::c.so")), ["a.so", "/b.so", "c.so"]);
    }
}
