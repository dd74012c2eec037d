//! Processors that run programs of 64 and of 32 bits, and where their loaders look for a library of
//! each.

use crate::binary::elf::Architecture;
use object::elf;
use std::path::{Path, PathBuf};

pub struct WordSizes {
    machine: elf::Machine,
    small_machine: elf::Machine,
    /// The folder of libraries for 32 bits, in a release.
    small_name: &'static str,
    loader: &'static str,
    pub small_loader: &'static str,
    /// What Debian's loaders make of `$LIB`.
    debians: [&'static str; 2],
}

const ALL: [WordSizes; 2] = [
    WordSizes {
        machine: elf::EM_X86_64,
        small_machine: elf::EM_386,
        small_name: "i386",
        loader: "/lib64/ld-linux-x86-64.so.2",
        small_loader: "/lib/ld-linux.so.2",
        debians: ["lib/x86_64-linux-gnu", "lib/i386-linux-gnu"],
    },
    WordSizes {
        machine: elf::EM_AARCH64,
        small_machine: elf::EM_ARM,
        small_name: "armhf",
        loader: "/lib/ld-linux-aarch64.so.1",
        small_loader: "/lib/ld-linux-armhf.so.3",
        debians: ["lib/aarch64-linux-gnu", "lib/arm-linux-gnueabihf"],
    },
];

impl WordSizes {
    /// Of the processor that a library of 64 bits is for.
    pub fn of(architecture: Architecture) -> Option<&'static WordSizes> {
        let is_its = |sizes: &&WordSizes| sizes.machine == architecture.machine;
        ALL.iter().filter(|_| architecture.is_64).find(is_its)
    }

    pub fn are_small(&self, architecture: Architecture) -> bool {
        architecture.machine == self.small_machine && !architecture.is_64
    }

    /// Where a library of the same name for 32 bits may lie: as in a release, or as the loaders want
    /// it, if the library itself lies so.
    pub fn twins(&self, library: &Path) -> impl Iterator<Item = PathBuf> + use<> {
        let folder = library.parent().unwrap_or(Path::new("/"));
        let name = library.file_name().unwrap_or_default().to_owned();
        let mut folders = vec![
            folder.join("loam").join(self.small_name),
            folder.join("../loam").join(self.small_name),
        ];
        let [wide, small] = self.debians;
        let pairs = [(wide, small), (wide, "lib32"), ("lib64", "lib"), ("lib", "lib32")];
        for (own, other) in pairs.into_iter().filter(|(own, _)| folder.ends_with(own)) {
            let root = folder.ancestors().nth(own.split('/').count());
            folders.extend(root.map(|root| root.join(other)));
        }
        folders.into_iter().map(move |folder| folder.join(&name))
    }

    /// What the loaders for 64 and for 32 bits make of `$LIB`, the likeliest last; none where there
    /// is no loader for 32 bits. A loader lies in that folder itself; that of a container, which may
    /// be of another distribution, has another.
    pub fn lib_folders(&self) -> Option<[Vec<PathBuf>; 2]> {
        let own = lib_folder(&Path::new(self.loader).canonicalize().ok()?)?;
        let other = lib_folder(&Path::new(self.small_loader).canonicalize().ok()?)?;
        if own == other {
            return None;
        }
        let [wide, small] = self.debians;
        let unless = |taken: &Path, folders: [&str; 2], likeliest: &Path| {
            let others = folders.map(PathBuf::from).into_iter().filter(|one| one != taken);
            others.chain([likeliest.to_owned()]).collect::<Vec<_>>()
        };
        Some([unless(&other, [wide, "lib64"], &own), unless(&own, [small, "lib32"], &other)])
    }
}

/// Of a loader's path without links.
fn lib_folder(loader: &Path) -> Option<PathBuf> {
    let folder = loader.parent()?.strip_prefix("/").ok()?;
    Some(folder.strip_prefix("usr").unwrap_or(folder).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_folder_is_what_lib_stands_for() {
        for (loader, folder) in [
            ("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu"),
            ("/lib/i386-linux-gnu/ld-linux.so.2", "lib/i386-linux-gnu"),
            ("/usr/lib64/ld-linux-x86-64.so.2", "lib64"),
            ("/usr/lib32/ld-linux.so.2", "lib32"),
            ("/usr/lib/ld-linux.so.2", "lib"),
        ] {
            assert_eq!(lib_folder(Path::new(loader)).unwrap(), Path::new(folder));
        }
    }

    #[test]
    fn twins_lie_as_in_a_release_or_as_the_loaders_want_it() {
        let sizes = &ALL[0];
        let twins = |path: &str| sizes.twins(Path::new(path)).collect::<Vec<_>>();
        let shown = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            twins("/opt/loam/lib/libloam.so"),
            shown(&[
                "/opt/loam/lib/loam/i386/libloam.so",
                "/opt/loam/lib/../loam/i386/libloam.so",
                "/opt/loam/lib32/libloam.so",
            ])
        );
        assert_eq!(
            twins("/usr/lib/x86_64-linux-gnu/l.so")[1..],
            shown(&[
                "/usr/lib/x86_64-linux-gnu/../loam/i386/l.so",
                "/usr/lib/i386-linux-gnu/l.so",
                "/usr/lib32/l.so",
            ])
        );
        assert_eq!(twins("/usr/lib64/l.so")[2..], shown(&["/usr/lib/l.so"]));
    }
}
