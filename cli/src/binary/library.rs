//! Where libloam.so is, and whether it is loam.

use crate::binary::carried;
use crate::binary::elf::Image;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Library {
    /// Absolute, as LD_PRELOAD needs it.
    pub path: PathBuf,
    pub image: Image,
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
            Some(path) => Library::open(path),
            None => Library::open(&installed()?),
        }
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
        Ok(Library { path, image })
    }
}

fn installed() -> Result<PathBuf> {
    let candidates = beside_command()?;
    if let Some(path) = candidates.iter().find(|candidate| candidate.exists()) {
        return Ok(path.clone());
    }
    match carried::library()? {
        Some(path) => Ok(path),
        None => bail!(
            "cannot find libloam.so: looked for {}; name it with --library PATH or LOAM_LIBRARY",
            candidates.map(|path| path.display().to_string()).join(", ")
        ),
    }
}

fn beside_command() -> Result<[PathBuf; PLACES.len()]> {
    let command = crate::binary::itself::path()?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    Ok(PLACES.map(|place| folder.join(place.replace("ARCH", std::env::consts::ARCH))))
}
