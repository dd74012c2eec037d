//! Where this command's own file is: what belongs to it lies beside it.

use anyhow::{Context, Result};
use nix::libc;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// By /proc, or where that is not mounted by the path that the kernel has executed.
pub fn path() -> Result<PathBuf> {
    std::env::current_exe().or_else(|_| executed().canonicalize()).context(
        "cannot find where this command is, as /proc is not mounted: call it by its full path",
    )
}

fn executed() -> &'static Path {
    // SAFETY: the call reads the auxiliary vector, which stays as long as the process.
    let address = unsafe { libc::getauxval(libc::AT_EXECFN) };
    if address == 0 {
        return Path::new("");
    }
    // SAFETY: the kernel has put a text there that ends in a zero byte, and nobody changes it.
    let text = unsafe { CStr::from_ptr(address as *const libc::c_char) };
    Path::new(OsStr::from_bytes(text.to_bytes()))
}
