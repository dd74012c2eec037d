//! The names of allocators that are spoken of wherever results are.

pub const LOAM: &str = "loam";
pub const GLIBC: &str = "glibc";
pub const MUSL: &str = "musl";
pub const BUMP: &str = "bump";
pub const LIVE: &str = "live bytes";

/// Whether it is a system's own malloc, without any setting: its name is the C library's.
pub fn is_system(name: &str) -> bool {
    [GLIBC, MUSL].contains(&name)
}
