//! Which modules look in their own libraries first (RTLD_DEEPBIND in dlopen(3)).
//!
//! The loader says so nowhere in public, but each of its struct link_map holds the scopes of its
//! module: addresses of searchlists, in the order of lookup. For a module opened with dlopen these
//! are two: the global one, which is a field of the main program's link_map, and that of the
//! module that was opened. With RTLD_DEEPBIND the latter comes first. The place of the scopes
//! differs between versions of glibc, so they are found by what they look like. Other C libraries
//! have neither the option nor the scopes.

use crate::binary::elf::Image;
use crate::process::memory::Memory;

/// Fields past this many words belong to what stands behind a link_map.
const LINK_MAP_WORDS: u64 = 136;
const MODULE_COUNT_MAX: u64 = 10_000;

/// The link_map addresses that a module looks in before the global ones. `None` for a module that
/// looks in the global ones first.
pub fn searched_first(
    memory: &Memory,
    image: &Image,
    link_map: u64,
    main_link_map: u64,
) -> Option<Vec<u64>> {
    let word = image.architecture.pointer_bytes();
    let read = |address: u64| memory.read_pointer(address, image).ok();
    let is_global = |scope: u64| {
        let offset = scope.wrapping_sub(main_link_map);
        offset < LINK_MAP_WORDS * word && read(scope).and_then(read) == Some(main_link_map)
    };
    for index in 0..LINK_MAP_WORDS - 1 {
        let first = read(link_map + index * word)?;
        let second = read(link_map + (index + 1) * word)?;
        if first == 0 || second == 0 {
            continue;
        }
        let own = |scope| searchlist(memory, image, scope, link_map);
        if is_global(second)
            && !is_global(first)
            && let Some(list) = own(first)
        {
            return Some(list);
        }
        if is_global(first) && own(second).is_some() {
            return None;
        }
    }
    None
}

/// A struct r_scope_elem that lists a module: a pointer to link_map addresses, and their number.
fn searchlist(memory: &Memory, image: &Image, scope: u64, link_map: u64) -> Option<Vec<u64>> {
    let word = image.architecture.pointer_bytes();
    let read = |address: u64| memory.read_pointer(address, image).ok();
    let list = read(scope)?;
    // The count is an unsigned int: the low half of a word, or its high half on big-endian ones.
    let count = match read(scope.checked_add(word)?)? {
        wide if word == 8 && !image.architecture.is_little_endian => wide >> 32,
        wide => wide & 0xffff_ffff,
    };
    if list == 0 || count == 0 || count > MODULE_COUNT_MAX {
        return None;
    }
    let modules: Option<Vec<u64>> =
        (0..count).map(|index| read(list.checked_add(index * word)?)).collect();
    modules.filter(|modules| modules.contains(&link_map))
}
