//! The functions that loam must serve: the malloc family and C++'s operators new and delete.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Malloc,
    New,
    Delete,
}

#[derive(Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// The linker's name, as 64-bit systems spell it.
    pub symbol: &'static str,
    /// The name for people.
    pub shown: &'static str,
    pub group: Group,
}

pub const fn c(symbol: &'static str) -> EntryPoint {
    EntryPoint { symbol, shown: symbol, group: Group::Malloc }
}

const fn new(symbol: &'static str, shown: &'static str) -> EntryPoint {
    EntryPoint { symbol, shown, group: Group::New }
}

const fn delete(symbol: &'static str, shown: &'static str) -> EntryPoint {
    EntryPoint { symbol, shown, group: Group::Delete }
}

pub static ENTRY_POINTS: &[EntryPoint] = &[
    c("malloc"),
    c("free"),
    c("calloc"),
    c("realloc"),
    c("aligned_alloc"),
    c("posix_memalign"),
    c("memalign"),
    c("valloc"),
    c("pvalloc"),
    c("reallocarray"),
    c("malloc_usable_size"),
    c("free_sized"),
    c("free_aligned_sized"),
    c("__libc_malloc"),
    c("__libc_free"),
    c("__libc_calloc"),
    c("__libc_realloc"),
    c("__libc_memalign"),
    c("__libc_valloc"),
    c("__libc_pvalloc"),
    c("__posix_memalign"),
    new("_Znwm", "operator new"),
    new("_Znam", "operator new[]"),
    new("_ZnwmRKSt9nothrow_t", "operator new (nothrow)"),
    new("_ZnamRKSt9nothrow_t", "operator new[] (nothrow)"),
    new("_ZnwmSt11align_val_t", "operator new (aligned)"),
    new("_ZnamSt11align_val_t", "operator new[] (aligned)"),
    new("_ZnwmSt11align_val_tRKSt9nothrow_t", "operator new (aligned, nothrow)"),
    new("_ZnamSt11align_val_tRKSt9nothrow_t", "operator new[] (aligned, nothrow)"),
    delete("_ZdlPv", "operator delete"),
    delete("_ZdaPv", "operator delete[]"),
    delete("_ZdlPvm", "operator delete (sized)"),
    delete("_ZdaPvm", "operator delete[] (sized)"),
    delete("_ZdlPvRKSt9nothrow_t", "operator delete (nothrow)"),
    delete("_ZdaPvRKSt9nothrow_t", "operator delete[] (nothrow)"),
    delete("_ZdlPvSt11align_val_t", "operator delete (aligned)"),
    delete("_ZdaPvSt11align_val_t", "operator delete[] (aligned)"),
    delete("_ZdlPvmSt11align_val_t", "operator delete (sized, aligned)"),
    delete("_ZdaPvmSt11align_val_t", "operator delete[] (sized, aligned)"),
    delete("_ZdlPvSt11align_val_tRKSt9nothrow_t", "operator delete (aligned, nothrow)"),
    delete("_ZdaPvSt11align_val_tRKSt9nothrow_t", "operator delete[] (aligned, nothrow)"),
];

/// Functions that only loam defines. A module that exports them is loam.
pub static LOAM_MARKS: [&str; 2] = ["loam_version", "loam_malloc"];

/// What only other allocators define, and their names: libraries, then C libraries' own.
pub static ALLOCATOR_MARKS: &[(&str, &str)] = &[
    ("mi_malloc", "mimalloc"),
    ("je_malloc", "jemalloc"),
    ("mallctl", "jemalloc"),
    ("rpmalloc", "rpmalloc"),
    ("sn_rust_alloc", "snmalloc"),
    ("tc_malloc", "tcmalloc"),
    ("scalable_malloc", "TBB's malloc"),
    ("GC_malloc", "the Boehm collector"),
    ("_int_malloc", "glibc's malloc"),
    ("__malloc_alloc_meta", "musl's malloc"),
    ("__bin_chunk", "musl's older malloc"),
];

/// Functions that only a sanitizer's runtime defines, and the sanitizer's name.
pub static SANITIZER_MARKS: &[(&str, &str)] = &[
    ("__hwasan_init", "HWAddressSanitizer"),
    ("__asan_init", "AddressSanitizer"),
    ("__tsan_init", "ThreadSanitizer"),
    ("__msan_init", "MemorySanitizer"),
    ("__lsan_init", "LeakSanitizer"),
    ("__lsan_do_leak_check", "LeakSanitizer"),
];

/// std::get_new_handler: defined where the C++ runtime is.
pub static NEW_HANDLER_MARK: &str = "_ZSt15get_new_handlerv";

/// The entry point that a symbol names. 32-bit systems mangle size_t as `j`, 64-bit ones as `m`,
/// 64-bit Windows as `y`.
pub fn find(symbol: &str) -> Option<&'static EntryPoint> {
    let exact = ENTRY_POINTS.iter().find(|entry| entry.symbol == symbol);
    if exact.is_some() || !symbol.starts_with("_Z") {
        return exact;
    }
    let wide = ["_Znw", "_Zna", "_ZdlPv", "_ZdaPv"].iter().find_map(|stem| {
        let rest = symbol.strip_prefix(stem)?.strip_prefix(['j', 'y'])?;
        Some(format!("{stem}m{rest}"))
    })?;
    ENTRY_POINTS.iter().find(|entry| entry.symbol == wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_operator_new_are_found() {
        assert_eq!(find("_Znwm"), find("_Znwj"));
        assert_eq!(find("_ZdlPvjSt11align_val_t"), find("_ZdlPvmSt11align_val_t"));
        assert!(find("_Znwj").is_some());
    }

    #[test]
    fn other_symbols_are_not_entry_points() {
        assert!(find("mallopt").is_none());
        assert!(find("_Znwx").is_none());
    }
}
