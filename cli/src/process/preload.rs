//! What LD_PRELOAD holds for a program that is started on loam.

use crate::binary::elf::Image;
use crate::binary::library::Library;
use crate::failure::complain;
use crate::process::allocator;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where a library for 64 bit lies, and where one of the same name for 32 bit does: what the loader
/// of each makes of `$LIB`.
const LIB_FOLDERS: [(&str, &str); 3] = [
    ("lib/x86_64-linux-gnu", "lib/i386-linux-gnu"),
    ("lib/x86_64-linux-gnu", "lib32"),
    ("lib64", "lib"),
];

/// The value of LD_PRELOAD with the library behind what is there already, which watches malloc and
/// passes calls on, but in front of other allocators, which do not: a line names those.
pub fn value(library: &Library) -> OsString {
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
    let own = for_both_word_sizes(&library.path);
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

/// The path with the loader's `$LIB` in it where there is a library of the same name for 32 bit:
/// then programs of both word sizes find theirs. The loader says a line for each program that is
/// named a library of the other size, or one that is not there.
fn for_both_word_sizes(path: &Path) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_path_buf();
    };
    let twin = LIB_FOLDERS.iter().find_map(|(own, other)| {
        let root = folder.ancestors().nth(own.split('/').count())?;
        let is_there = folder == root.join(own) && is_of_32_bit(&root.join(other).join(name));
        let is_meant = is_what_the_loader_means(own) && is_what_the_loader_means(other);
        (is_there && is_meant).then(|| root.join("$LIB").join(name))
    });
    twin.unwrap_or_else(|| path.to_path_buf())
}

fn is_of_32_bit(path: &Path) -> bool {
    matches!(Image::read(path), Ok(Some(image)) if !image.architecture.is_64)
}

/// The system's own C library lies in the folder that `$LIB` stands for.
fn is_what_the_loader_means(folder: &str) -> bool {
    Path::new("/").join(folder).join("libc.so.6").exists()
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
