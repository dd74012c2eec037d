//! Frames of loam's own, and of the functions that programs call it by: they are nobody's answer.
//! Whatever way loam is in the program: preloaded, or linked in, compiled into its callers or not.

use crate::profile::known::Language;
use crate::profile::symbols::Frame;
use crate::profile::written::Place;

/// Before a call of the program's there are so many places of loam's at most.
pub const DEPTH: usize = 16;

pub fn is_in_library(place: &Place) -> bool {
    let name = place.module.as_ref().and_then(|module| module.path.file_name());
    name.is_some_and(|name| name.to_string_lossy().starts_with("libloam"))
}

/// How many of a stack's frames are loam's: up to the last one that is known by its name or its
/// module, since its static functions may have any. Each frame with whether it is in a library of
/// loam's.
pub fn count<'stack>(frames: impl Iterator<Item = (&'stack Frame, bool)>) -> usize {
    let frames: Vec<(&Frame, bool)> = frames.collect();
    let is_own = |(frame, is_in_library): &(&Frame, bool)| {
        *is_in_library || frame.language == Language::Native && is_entry_point(&frame.function)
    };
    let known = frames.iter().rposition(is_own).map_or(0, |last| last + 1);
    // What is called last may go on in place of what programs call: then that has no frame.
    known + frames[known..].iter().take_while(|(frame, _)| is_static(frame)).count()
}

/// `malloc`, `operator new(unsigned long)`, `lm_malloc_slow.part.0`
fn is_entry_point(function: &str) -> bool {
    const NAMES: [&str; 20] = [
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "recallocarray",
        "aligned_alloc",
        "posix_memalign",
        "memalign",
        "valloc",
        "pvalloc",
        "operator new",
        "operator new[]",
        "malloc_impl",
        "rust_alloc",
        "rust_alloc_zeroed",
        "rust_realloc",
        "rdl_alloc",
        "rg_alloc",
        "rg_alloc_zeroed",
        "rg_realloc",
    ];
    const PREFIXES: [&str; 4] = ["lm_", "loam_", "<loam_malloc::", "loam_malloc::"];
    let name = function.split(['(', '.']).next().unwrap_or(function);
    let plain = name.trim_start_matches('_');
    let plain = plain.strip_prefix("libc_").unwrap_or(plain);
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&plain)
}

/// In a file where loam takes samples; or, where there are no lines, as static functions on the way
/// to a sample are called there.
fn is_static(frame: &Frame) -> bool {
    const FILES: [&str; 4] =
        ["src/api/profile.c", "src/api/allocate.c", "src/api/family.c", "src/os/unwind_linux.c"];
    const NAMES: [&str; 13] = [
        "this_site",
        "begin_sample",
        "sample_small",
        "insert_large",
        "take_any",
        "take_elsewhere",
        "take_elsewhere_unfilled",
        "take_filled",
        "take_guarded",
        "take_by_alignment",
        "realloc_other",
        "resize_large",
        "resize_in_profile",
    ];
    match &frame.line {
        Some((file, _)) => FILES.iter().any(|own| file.ends_with(own)),
        None => NAMES.contains(&frame.function.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(names: &[&str]) -> usize {
        let frames: Vec<Frame> = names.iter().map(|name| Frame::unnamed(name)).collect();
        count(frames.iter().map(|frame| (frame, false)))
    }

    #[test]
    fn what_programs_call_is_known() {
        assert!(is_entry_point("operator new(unsigned long)"));
        assert!(is_entry_point("lm_malloc_slow.part.0"));
        assert!(!is_entry_point("malloc_report"));
    }

    #[test]
    fn static_functions_inside_of_a_known_one_are_loams() {
        assert_eq!(counted(&["this_site", "begin_sample", "lm_take", "malloc", "main"]), 4);
        assert_eq!(counted(&["take_any", "operator new(unsigned long)", "main"]), 2);
        assert_eq!(counted(&["lm_profile_take", "take_elsewhere", "keep", "main"]), 2);
        assert_eq!(counted(&["keep", "main"]), 0);
    }
}
