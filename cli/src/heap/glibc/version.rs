//! Which glibc it is, as its file says: `GNU C Library ... release version 2.36.`

use crate::heap::source::{Name, Process};
use std::path::PathBuf;

/// `None` where there is no such file any longer.
pub fn of(process: &Process, file: &Name) -> Option<String> {
    let Name::File(path) = file else { return None };
    let inside = process.pid.filter(|_| process.is_live).map(|pid| {
        let root = PathBuf::from(format!("/proc/{pid}/root"));
        root.join(path.strip_prefix("/").unwrap_or(path))
    });
    let is_file = |path: &PathBuf| path.metadata().is_ok_and(|data| data.is_file());
    let path = inside.filter(is_file).unwrap_or_else(|| path.clone());
    let bytes = is_file(&path).then(|| std::fs::read(&path).ok())??;
    release(&bytes)
}

fn release(bytes: &[u8]) -> Option<String> {
    const BANNER: &[u8] = b"GNU C Library ";
    const VERSION: &[u8] = b" version ";
    const BANNER_BYTES_MAX: usize = 256;
    let starts = bytes.windows(BANNER.len()).enumerate().filter(|(_, window)| *window == BANNER);
    starts.into_iter().find_map(|(at, _)| {
        let line = &bytes[at..bytes.len().min(at + BANNER_BYTES_MAX)];
        let line = line.split(|byte| *byte == b'\n').next()?;
        let is_version = |window: &[u8]| window == VERSION;
        let from = line.windows(VERSION.len()).position(is_version)? + VERSION.len();
        let is_part = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
        let digits: Vec<u8> = line[from..].iter().take_while(is_part).copied().collect();
        let text = String::from_utf8(digits).ok()?;
        let text = text.trim_end_matches('.').to_owned();
        text.contains('.').then_some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_read_from_the_banner() {
        let banner =
            b"\0GNU C Library (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.\n";
        assert_eq!(release(banner).as_deref(), Some("2.36"));
        let next = b"GNU C Library (GNU libc) development release version 2.42.9000.\n";
        assert_eq!(release(next).as_deref(), Some("2.42.9000"));
        assert_eq!(release(b"GNU C Library of books"), None);
    }
}
