//! One C library's archive: from its bytes to the grafted ones.

use crate::binary::arch::Arch;
use crate::binary::elf::Architecture;
use crate::graft::archive::{self, Unreadable};
use crate::graft::objects::{self, Objects};
use crate::graft::outcome::{ArchiveOutcome, Done, MemberChange};
use crate::graft::plan::{self, Fate, Refusal, STARTS_PROGRAMS};
use crate::graft::rewrite::rewrite;
use crate::graft::survey::{Content, survey};
use anyhow::{Result, anyhow, bail};
use std::collections::BTreeSet;
use thiserror::Error;

/// A grafted archive that is not written yet.
pub struct Grafted {
    pub bytes: Vec<u8>,
    pub outcome: ArchiveOutcome,
}

/// Whether a file may be a C library's archive: one that says so itself, before it is parsed.
fn may_be_libc(data: &[u8]) -> bool {
    data.starts_with(archive::MAGIC)
        && memchr::memmem::find(data, STARTS_PROGRAMS.as_bytes()).is_some()
}

/// What a file of a folder is.
pub enum Kind {
    Libc,
    Other,
    /// An archive in which a C library may be, and why that cannot be told.
    Unread(String),
}

/// By its content; an error for a C library that cannot be grafted.
pub fn kind_of(data: &[u8]) -> Result<Kind> {
    if may_be_libc(data) {
        return Ok(if is_libc(data)? { Kind::Libc } else { Kind::Other });
    }
    Ok(match archive::read(data) {
        Ok(_) | Err(Unreadable::NotAnArchive) => Kind::Other,
        Err(cause) => Kind::Unread(cause.to_string()),
    })
}

/// Whether an archive is a C library's. One that cannot be read as an archive of objects is none.
fn is_libc(data: &[u8]) -> Result<bool> {
    match recognise_parts(data) {
        Ok(_) => Ok(true),
        Err(Unsuitable::Refused(Refusal::NoLibc)) => Ok(false),
        Err(cause) => Err(cause.into()),
    }
}

/// What a C library's archive is.
pub struct Libc {
    pub architecture: Architecture,
    /// Loam's word for the architecture, if it has one.
    pub arch: Option<Arch>,
    /// `glibc`, `musl` or `C library`.
    pub name: &'static str,
    pub holds_loam: bool,
    /// The archive's size.
    pub bytes: usize,
}

impl Libc {
    /// What is said of it where nothing is changed.
    pub fn unchanged(&self, path: String, architecture: Arch, done: Done) -> ArchiveOutcome {
        ArchiveOutcome {
            path,
            architecture,
            libc: self.name,
            done,
            replaced: None,
            dropped: Vec::new(),
            split: Vec::new(),
            object_bytes: 0,
            object_symbols: 0,
            bytes_before: self.bytes,
            bytes_after: self.bytes,
            original: None,
        }
    }

    pub fn require_arch(&self) -> Result<Arch> {
        self.arch.ok_or_else(|| anyhow!("loam has no object for {}", self.architecture))
    }
}

pub fn recognise(data: &[u8]) -> Result<Libc> {
    recognise_parts(data).map_err(Into::into)
}

#[derive(Debug, Error)]
enum Unsuitable {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

fn recognise_parts(data: &[u8]) -> Result<Libc, Unsuitable> {
    let members = archive::read(data)?;
    let contents = survey(&members);
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    Ok(examine(&contents, &names, data.len())?)
}

fn examine(contents: &[Content], names: &[&str], bytes: usize) -> Result<Libc, Refusal> {
    let architecture = plan::examine(contents, names)?;
    Ok(Libc {
        architecture,
        arch: Arch::of(architecture),
        name: libc_name(contents),
        holds_loam: plan::holds_loam(contents),
        bytes,
    })
}

/// Grafts an archive's bytes. `path` is what it is called in the outcome.
pub fn graft(data: &[u8], path: &str, objects: &mut Objects) -> Result<Grafted> {
    let members = archive::read(data)?;
    let contents = survey(&members);
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let libc = examine(&contents, &names, data.len())?;
    if libc.holds_loam {
        bail!("holds loam already, and the original is not beside it: nothing to start from");
    }
    let arch = libc.require_arch()?;
    let object = objects.get(arch)?;
    let loam = objects::symbols(object)?;
    let family = plan::family(&loam);
    let fates = plan::plan(&contents, &names, &family)?;
    let replaced = (!plan::put_in(&contents).is_empty()).then_some(plan::PUT_IN);
    let replaceable = plan::replaceable(&contents, &fates, &family);
    let bytes = rewrite(&members, &fates, object, &replaceable)?;
    check(&bytes, &family)?;
    let mut outcome = ArchiveOutcome {
        path: path.to_owned(),
        architecture: arch,
        libc: libc.name,
        done: Done::Grafted,
        replaced,
        dropped: Vec::new(),
        split: Vec::new(),
        object_bytes: object.len(),
        object_symbols: family.len(),
        bytes_before: data.len(),
        bytes_after: bytes.len(),
        original: None,
    };
    for ((name, content), fate) in names.iter().zip(&contents).zip(&fates) {
        let Content::Object(_, symbols) = content else { continue };
        let change = |set: BTreeSet<&str>| MemberChange {
            name: (*name).to_owned(),
            symbols: set.into_iter().map(str::to_owned).collect(),
        };
        match fate {
            Fate::Keep => {}
            Fate::Drop => {
                let own = symbols.strong.intersection(&family).copied().collect();
                outcome.dropped.push(change(own));
            }
            Fate::Split(cut) => outcome.split.push(change(cut.clone())),
        }
    }
    Ok(Grafted { bytes, outcome })
}

/// What must hold of every grafted archive: each name of loam's is defined once.
fn check(bytes: &[u8], family: &BTreeSet<&str>) -> Result<()> {
    let members = archive::read(bytes).map_err(|cause| anyhow!("the result is {cause}"))?;
    let contents = survey(&members);
    let mut seen = BTreeSet::new();
    for content in &contents {
        let Content::Object(_, symbols) = content else { continue };
        let is_loam = symbols.is_loam();
        // Beside loam's own there may be weak ones, which come behind it.
        let counts =
            |name: &&str| family.contains(name) && (is_loam || symbols.strong.contains(name));
        if let Some(twice) = symbols.defined().filter(counts).find(|name| !seen.insert(*name)) {
            bail!("the result defines {twice} twice");
        }
    }
    match family.iter().find(|name| !seen.contains(*name)) {
        Some(missing) => bail!("the result does not define {missing}"),
        None => Ok(()),
    }
}

/// Whose C library it is, by a function that only this one has.
fn libc_name(contents: &[Content]) -> &'static str {
    let defines = |name: &str| {
        contents.iter().any(|content| match content {
            Content::Object(_, symbols) => symbols.defines(name),
            _ => false,
        })
    };
    if defines("gnu_get_libc_version") {
        "glibc"
    } else if defines("__init_libc") {
        "musl"
    } else {
        "C library"
    }
}
