//! Loam's objects for static linking: one for each architecture, installed with this command.

use crate::binary::arch::Arch;
use crate::graft::survey::{Content, Symbols, content};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the objects lie beside the command, from the folder that holds the command.
const PLACES: [&str; 3] = ["../lib/graft", "../lib/loam/graft", "graft"];

/// The objects there are. Each is read when it is first asked for.
pub struct Objects {
    folder: PathBuf,
    read: BTreeMap<Arch, Vec<u8>>,
}

impl Objects {
    /// The folder that was asked for, or else the one installed with this command.
    pub fn locate(asked_for: Option<&Path>) -> Result<Objects> {
        let folder = match asked_for.filter(|path| !path.as_os_str().is_empty()) {
            Some(path) => path.to_owned(),
            None => beside_command()?,
        };
        if !folder.is_dir() {
            bail!("cannot find loam's objects: {} is not a folder", folder.display());
        }
        Ok(Objects { folder, read: BTreeMap::new() })
    }

    /// What will stop a graft, said before it begins: architectures without an object, of those
    /// asked for, or of all.
    pub fn hint(&self, asked_for: &[Arch]) -> Option<String> {
        let wanted = if asked_for.is_empty() { Arch::value_variants() } else { asked_for };
        let names = |is_there: bool| {
            let archs = wanted.iter().filter(|arch| self.path(**arch).exists() == is_there);
            archs.map(|arch| arch.name()).collect::<Vec<_>>()
        };
        let (there, missing) = (names(true), names(false));
        let limit = match there.is_empty() {
            true => String::new(),
            false => format!(", or leave these out by --arch {}", there.join(",")),
        };
        (!missing.is_empty()).then(|| {
            format!(
                "no object for {} in {}: a C library for one of these stops the graft; build them \
                 with 'make objects'{limit}",
                missing.join(", "),
                self.folder.display()
            )
        })
    }

    fn no_object(&self, arch: Arch) -> String {
        let path = self.path(arch);
        format!(
            "loam has no object for {arch}: there is no {}; build it with 'make objects', or name \
             the other architectures by --arch",
            path.display()
        )
    }

    pub fn path(&self, arch: Arch) -> PathBuf {
        self.folder.join(format!("loam-{arch}.o"))
    }

    /// The object's bytes; an error if there is none.
    pub fn get(&mut self, arch: Arch) -> Result<&[u8]> {
        let path = self.path(arch);
        let missing = self.no_object(arch);
        let slot = match self.read.entry(arch) {
            std::collections::btree_map::Entry::Occupied(read) => read.into_mut(),
            std::collections::btree_map::Entry::Vacant(vacant) => {
                if !path.exists() {
                    bail!(missing);
                }
                let bytes = std::fs::read(&path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                check(&bytes, arch).with_context(|| path.display().to_string())?;
                vacant.insert(bytes)
            }
        };
        Ok(slot)
    }
}

/// Whether an object is loam and of the architecture that its name says.
fn check(bytes: &[u8], arch: Arch) -> Result<()> {
    match content(bytes) {
        Content::Object(architecture, symbols) if symbols.is_loam() => {
            match Arch::of(architecture) == Some(arch) {
                true => Ok(()),
                false => bail!("is for {architecture}, not for {arch}"),
            }
        }
        _ => bail!("is not loam's object"),
    }
}

/// The symbols of an object that `Objects::get` gave.
pub fn symbols(bytes: &[u8]) -> Result<Symbols<'_>> {
    match content(bytes) {
        Content::Object(_, symbols) => Ok(symbols),
        _ => bail!("not loam's object"),
    }
}

fn beside_command() -> Result<PathBuf> {
    let command = crate::binary::itself::path()?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    let candidates = PLACES.map(|place| folder.join(place));
    match candidates.iter().find(|candidate| candidate.is_dir()) {
        Some(path) => Ok(path.clone()),
        None => bail!(
            "cannot find loam's objects: looked for {}; releases have them in lib/loam/graft, \
             'make objects' builds them: name their folder with --objects FOLDER or LOAM_OBJECTS",
            candidates.map(|path| path.display().to_string()).join(", ")
        ),
    }
}
