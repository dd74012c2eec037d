//! Where libloam.so is, and whether it is loam.

use crate::binary::carried;
use crate::binary::elf::Image;
use crate::binary::word_sizes::WordSizes;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Library {
    /// Absolute, as LD_PRELOAD needs it.
    pub path: PathBuf,
    pub image: Image,
    /// The same for programs of 32 bits.
    pub twin: Option<Box<Library>>,
}

/// Where the library lies beside the command, from the folder that holds the command. ARCH is the
/// processor: Debian's packages have a folder for each; lib64 is where other systems' are.
const PLACES: [&str; 5] = [
    "../lib/libloam.so",
    "../lib/ARCH-linux-gnu/libloam.so",
    "../lib64/libloam.so",
    "../lib/loam/libloam.so",
    "libloam.so",
];

impl Library {
    /// The library that was asked for, or else the one installed with this command, or else the one
    /// that it carries.
    pub fn locate(asked_for: Option<&Path>) -> Result<Library> {
        // An empty LOAM_LIBRARY is one that is not set.
        match asked_for.filter(|path| !path.as_os_str().is_empty()) {
            Some(path) => Library::with_twin_beside(path),
            None => Library::installed(),
        }
    }

    fn installed() -> Result<Library> {
        let candidates = beside_command()?;
        if let Some(path) = candidates.iter().find(|candidate| candidate.exists()) {
            return Library::with_twin_beside(path);
        }
        let Some(path) = carried::library()? else {
            bail!(
                "cannot find libloam.so: looked for {}; name it with --library PATH or LOAM_LIBRARY",
                candidates.map(|path| path.display().to_string()).join(", ")
            )
        };
        let twin = carried::twin()?.map(|path| Library::open(&path)).transpose()?;
        Ok(Library { twin: twin.map(Box::new), ..Library::open(&path)? })
    }

    fn with_twin_beside(path: &Path) -> Result<Library> {
        let library = Library::open(path)?;
        let twin = WordSizes::of(library.image.architecture).and_then(|sizes| {
            let beside = path.canonicalize().ok()?;
            let candidates = sizes.twins(&beside).filter_map(|path| Library::open(&path).ok());
            candidates.into_iter().find(|one| sizes.are_small(one.image.architecture))
        });
        Ok(Library { twin: twin.map(Box::new), ..library })
    }

    /// The library that a program's loader takes: this one, or its twin.
    pub fn of_program(&self, program: &Image) -> Option<&Library> {
        let is_its = |library: &&Library| library.image.architecture == program.architecture;
        let is_loaded_so = |interpreter: &PathBuf| {
            WordSizes::of(self.image.architecture)
                .is_some_and(|sizes| interpreter == Path::new(sizes.small_loader))
        };
        let twin = self.twin.as_deref().filter(is_its);
        let is_reached = program.interpreter.as_ref().is_none_or(is_loaded_so);
        Some(self).filter(is_its).or(twin.filter(|_| is_reached))
    }

    fn open(path: &Path) -> Result<Library> {
        let shown = path.display();
        let path = path.canonicalize().with_context(|| format!("cannot find library {shown}"))?;
        let image = match Image::read(&path)? {
            Some(image) if image.is_loadable && image.export("malloc").is_some() => image,
            _ => bail!("{shown} is not loam's library: not a shared library that defines malloc"),
        };
        if !image.is_loam() {
            bail!("{shown} is not loam's library: it does not define loam_version");
        }
        let path = match carried::can_be_preloaded(&path) {
            true => path,
            false => carried::copied(&path).with_context(|| {
                let shown = path.display();
                format!(
                    "cannot preload {shown}: LD_PRELOAD cannot hold a path with a space or colon"
                )
            })?,
        };
        Ok(Library { path, image, twin: None })
    }
}

fn beside_command() -> Result<[PathBuf; PLACES.len()]> {
    let command = crate::binary::itself::path()?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    Ok(PLACES.map(|place| folder.join(place.replace("ARCH", std::env::consts::ARCH))))
}
