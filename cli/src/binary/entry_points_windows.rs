//! The functions of a C or C++ runtime of Windows that allocate, by the names under which PE files
//! import them.

use crate::binary::entry_points::{self, EntryPoint, c};

/// What loam has in their place, beside those that other systems have, too.
static ENTRY_POINTS: &[EntryPoint] = &[
    c("_msize"),
    c("_expand"),
    c("_recalloc"),
    c("_aligned_malloc"),
    c("_aligned_realloc"),
    c("_aligned_recalloc"),
    c("_aligned_offset_malloc"),
    c("_aligned_offset_realloc"),
    c("_aligned_offset_recalloc"),
    c("_aligned_msize"),
    c("_aligned_free"),
    c("strdup"),
    c("_strdup"),
    c("_malloc_base"),
    c("_free_base"),
    c("_realloc_base"),
    c("_calloc_base"),
    c("_recalloc_base"),
    c("_msize_base"),
    c("_expand_base"),
    c("_malloc_dbg"),
    c("_free_dbg"),
    c("_realloc_dbg"),
    c("_calloc_dbg"),
    c("_recalloc_dbg"),
    c("_strdup_dbg"),
];

/// How MSVC's names of operators begin, and the Itanium name of the same.
static MSVC_OPERATORS: [(&str, &str); 4] =
    [("??2@YAP", "_Znwm"), ("??_U@YAP", "_Znam"), ("??3@YAX", "_ZdlPv"), ("??_V@YAX", "_ZdaPv")];

/// Functions whose result is memory of the runtime's own heap, for the caller to free.
static GIVERS: [&str; 13] = [
    "wcsdup",
    "_wcsdup",
    "_mbsdup",
    "_getcwd",
    "_wgetcwd",
    "_getdcwd",
    "_wgetdcwd",
    "_fullpath",
    "_wfullpath",
    "_tempnam",
    "_wtempnam",
    "_dupenv_s",
    "_wdupenv_s",
];

pub fn find(name: &str) -> Option<&'static EntryPoint> {
    let operator = || {
        let (_, same) = MSVC_OPERATORS.iter().find(|(start, _)| name.starts_with(start))?;
        entry_points::find(same)
    };
    ENTRY_POINTS
        .iter()
        .find(|entry| entry.symbol == name)
        .or_else(|| entry_points::find(name))
        .or_else(operator)
}

pub fn find_giver(name: &str) -> Option<&'static str> {
    GIVERS.into_iter().find(|giver| *giver == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_both_compilers_are_found() {
        for name in ["_Znwy", "_Znwj", "??2@YAPEAX_K@Z", "??2@YAPAXI@Z"] {
            assert_eq!(find(name), entry_points::find("_Znwm"), "{name}");
        }
        assert_eq!(find("??_V@YAXPEAX@Z"), entry_points::find("_ZdaPv"));
    }

    #[test]
    fn what_only_uses_memory_is_not_an_entry_point() {
        assert!(
            find("memcpy").is_none() && find("_heapchk").is_none() && find("_wcsdup").is_none()
        );
    }
}
