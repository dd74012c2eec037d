//! The system's C library, which programs that are measured are mostly linked with. This command may
//! be linked with another one, or hold its own: the shell tells.

use crate::binary::elf::Image;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The shell's loader, which is a part of its C library.
pub fn loader() -> Option<PathBuf> {
    Image::read(Path::new("/bin/sh")).ok()??.interpreter
}

/// As `glibc 2.36` or `musl 1.2.3`.
pub fn version() -> Option<String> {
    let output = Command::new(loader()?).arg("--version").output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    version_in(&String::from_utf8_lossy(&text))
}

fn version_in(text: &str) -> Option<String> {
    let after = |text: &str, mark: &str| {
        let (_, rest) = text.split_once(mark)?;
        let end = rest.find(|one: char| !one.is_ascii_digit() && one != '.').unwrap_or(rest.len());
        Some(rest[..end].trim_end_matches('.').to_owned())
    };
    let first = text.lines().next()?;
    if first.starts_with("musl libc") {
        return Some(format!("musl {}", after(text, "Version ")?));
    }
    Some(format!("glibc {}", after(first, "release version ")?))
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn loaders_say_what_they_belong_to() {
        for (text, version) in [
            (
                "ld.so (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.\nCopyright",
                "glibc 2.36",
            ),
            ("ld.so (GNU libc) stable release version 2.40.\n", "glibc 2.40"),
            ("musl libc (x86_64)\nVersion 1.2.3\nDynamic Program Loader\n", "musl 1.2.3"),
        ] {
            assert_eq!(version_in(text).as_deref(), Some(version));
        }
        assert_eq!(version_in("usage: loader FILE"), None);
    }
}
