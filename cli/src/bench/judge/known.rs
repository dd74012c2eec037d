//! The names of allocators that are spoken of wherever results are.

pub const LOAM: &str = "loam";
/// The system's own malloc, without any setting.
pub const SYSTEM: &str = "glibc";
pub const BUMP: &str = "bump";
pub const LIVE: &str = "live bytes";
