//! The system's C library, which programs that are measured are mostly linked with. This command may
//! be linked with another one, or hold its own: the shell tells.

use crate::binary::elf::Image;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The shell's loader, which is a part of its C library; where there is no shell, musl's if it is
/// there.
pub fn loader() -> Option<PathBuf> {
    let shell = Image::read(Path::new("/bin/sh")).ok().flatten();
    shell.and_then(|image| image.interpreter).or_else(|| loader_of_musl_in(Path::new("/lib")))
}

fn loader_of_musl_in(folder: &Path) -> Option<PathBuf> {
    let files = folder.read_dir().ok()?.flatten();
    files.map(|file| file.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("ld-musl-") && name.ends_with(".so.1")
    })
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
    use super::{loader_of_musl_in, version_in};

    #[test]
    fn without_a_shell_the_loader_of_musl_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "").map(|()| path).expect("a file")
        };
        put("ld-linux-x86-64.so.2");
        assert_eq!(loader_of_musl_in(folder.path()), None);
        let loader = put("ld-musl-x86_64.so.1");
        assert_eq!(loader_of_musl_in(folder.path()), Some(loader));
    }

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
