//! The files that a recording's stacks lead into, as profiles have them: an address in memory
//! becomes one in its file.

use crate::profile::written::Module;
use crate::recording::about;
use object::read::ReadCache;
use object::{Object, ObjectSegment};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What of a file is needed.
#[derive(Default)]
struct Image {
    build_id: String,
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    address: u64,
    offset: u64,
    bytes: u64,
}

const PAGE_BYTES: u64 = 4096;

pub fn of(recorded: &[about::Module]) -> Vec<Arc<Module>> {
    let mut images: HashMap<&str, Image> = HashMap::new();
    let module = |one: &'_ about::Module, image: &Image| Module {
        start: one.start,
        end: one.end,
        bias: one.start.wrapping_sub(image.address_of(one.offset)),
        build_id: image.build_id.clone(),
        path: PathBuf::from(&one.path),
        file: PathBuf::from(&one.path),
    };
    let mut modules = Vec::new();
    for one in recorded {
        // One that is gone has no names, and its addresses are shown as they are in most files.
        let image = images
            .entry(&one.path)
            .or_insert_with(|| Image::read(Path::new(&one.path)).unwrap_or_default());
        modules.push(Arc::new(module(one, image)));
    }
    modules
}

impl Image {
    fn read(path: &Path) -> Option<Image> {
        let cache = ReadCache::new(File::open(path).ok().filter(is_file)?);
        let file = object::File::parse(&cache).ok()?;
        let id = file.build_id().ok().flatten().unwrap_or_default();
        let segment = |segment: object::Segment<'_, '_, _>| {
            let (offset, bytes) = segment.file_range();
            Segment { address: segment.address(), offset, bytes }
        };
        Some(Image {
            build_id: id.iter().map(|byte| format!("{byte:02x}")).collect(),
            segments: file.segments().map(segment).collect(),
        })
    }

    /// Of what is there in the file.
    fn address_of(&self, offset: u64) -> u64 {
        // The kernel maps whole pages.
        let holds = |one: &&Segment| {
            (one.offset / PAGE_BYTES * PAGE_BYTES..one.offset + one.bytes).contains(&offset)
        };
        let found = self.segments.iter().find(holds);
        found.map_or(offset, |one| one.address.wrapping_add(offset).wrapping_sub(one.offset))
    }
}

fn is_file(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_segment_that_is_mapped() {
        let segment = |address, offset, bytes| Segment { address, offset, bytes };
        let segments = vec![segment(0x40_0000, 0, 0x1800), segment(0x40_2e10, 0x1e10, 0x300)];
        let image = Image { segments, ..Image::default() };
        assert_eq!(image.address_of(0x1000), 0x40_1000);
        assert_eq!(image.address_of(0x2000), 0x40_3000);
        assert_eq!(image.address_of(0x9000), 0x9000);
    }

    #[test]
    fn a_file_says_where_its_code_is_and_one_that_is_gone_is_as_most_are() {
        let of = |path: &str| about::Module {
            start: 0x7000_0000_5000,
            end: 0x7000_0000_9000,
            offset: 0x5000,
            path: path.to_owned(),
        };
        let own = std::env::current_exe().unwrap();
        let modules = of(own.to_str().unwrap());
        let modules = super::of(&[modules, of("/nowhere/lib.so")]);
        assert_eq!(modules[1].bias, 0x7000_0000_0000);
        assert!(modules[1].build_id.is_empty() && modules[0].path == own);
    }
}
