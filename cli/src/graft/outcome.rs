//! What graft did, as data. Serialised, this is the JSON that docs/graft.md describes.

use crate::binary::arch::Arch;
use crate::graft::advice::Advice;
use crate::numbers;
use anyhow::{Result, bail};
use serde::Serialize;
use std::fmt::{Display, Write};
use std::path::Path;

/// Raised when a field changes its meaning or goes; new fields do not raise it.
pub const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
pub struct Outcome {
    pub schema: u32,
    pub target: String,
    /// Nothing was written.
    pub is_dry_run: bool,
    /// The file that was written in the place of the target, if it was another one.
    pub output: Option<String>,
    pub archives: Vec<ArchiveOutcome>,
    /// Files in which a C library may be that was not found for it.
    pub unread: Vec<Unread>,
    /// How builds get what was grafted.
    pub advice: Vec<Advice>,
}

/// A file that could not be looked into.
#[derive(Debug, Clone, Serialize)]
pub struct Unread {
    pub path: String,
    pub why: String,
}

/// What there was in a folder, packed or not.
#[derive(Debug)]
pub struct Contents<T> {
    pub found: Vec<T>,
    pub unread: Vec<Unread>,
}

impl<T> Contents<T> {
    pub fn new() -> Self {
        Contents { found: Vec::new(), unread: Vec::new() }
    }

    pub fn note_unread(&mut self, path: &Path, why: impl Into<String>) {
        self.unread.push(Unread { path: path.display().to_string(), why: why.into() });
    }

    /// An error where there is no C library, with what may hold one.
    pub fn require_found(self, folder: impl Display) -> Result<Self> {
        if !self.found.is_empty() {
            return Ok(self);
        }
        let unread = self.unread.iter().map(|one| format!("; not read: {}: {}", one.path, one.why));
        let unread: String = unread.collect();
        bail!("{folder}: there is no C library's archive in it{unread}")
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct ArchiveOutcome {
    pub path: String,
    pub architecture: Arch,
    /// `glibc`, `musl` or `C library`.
    pub libc: &'static str,
    pub done: Done,
    /// Another allocator that had been put into it, and is left out.
    pub replaced: Option<&'static str>,
    /// Members left out, with the names that loam defines in their place.
    pub dropped: Vec<MemberChange>,
    /// Members kept, with the names that are references to loam now.
    pub split: Vec<MemberChange>,
    pub object_bytes: usize,
    pub object_symbols: usize,
    pub bytes_before: usize,
    pub bytes_after: usize,
    /// Where the original is kept.
    pub original: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Done {
    Grafted,
    /// It already was what it would have become.
    AlreadyGrafted,
    /// Its architecture is not among those asked for.
    Skipped,
    /// The original is back.
    Undone,
}

#[derive(Debug, Clone, Serialize)]
pub struct MemberChange {
    pub name: String,
    pub symbols: Vec<String>,
}

impl Outcome {
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    pub fn render(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        for archive in &self.archives {
            archive.write(out, self.is_dry_run)?;
        }
        for one in &self.unread {
            writeln!(out, "not read: {}: {}", one.path, one.why)?;
        }
        if let Some(output) = &self.output {
            let word = if self.is_dry_run { "would write" } else { "wrote" };
            writeln!(out, "{word} {output}")?;
        }
        if !self.advice.is_empty() {
            writeln!(out, "\nfrom here:")?;
        }
        self.advice.iter().try_for_each(|advice| advice.write(out))
    }
}

impl ArchiveOutcome {
    fn write(&self, out: &mut String, is_dry_run: bool) -> std::fmt::Result {
        let Self { path, architecture, libc, .. } = self;
        let done = match (self.done, is_dry_run) {
            (Done::Grafted, false) => "grafted",
            (Done::Grafted, true) => "would be grafted",
            (Done::AlreadyGrafted, _) => "already grafted; nothing to do",
            (Done::Skipped, _) => "skipped: not among the architectures asked for",
            (Done::Undone, false) => "the original is back",
            (Done::Undone, true) => "the original would come back",
        };
        writeln!(out, "{path}: {libc}, {architecture}: {done}")?;
        if self.done != Done::Grafted {
            return Ok(());
        }
        if let Some(other) = self.replaced {
            writeln!(out, "  replace  {other}, which had been put into it")?;
        }
        members(out, "drop", &self.dropped)?;
        members(out, "split", &self.split)?;
        let kib = self.object_bytes.div_ceil(1024);
        writeln!(out, "  add      loam.o: {} symbols, {kib} KiB", self.object_symbols)?;
        let [after, before] =
            [self.bytes_after, self.bytes_before].map(|bytes| numbers::bytes(bytes as u64));
        writeln!(out, "  size     {after}, before {before}")?;
        match &self.original {
            Some(original) => writeln!(out, "  original {original}"),
            None => Ok(()),
        }
    }
}

fn members(out: &mut String, word: &str, changes: &[MemberChange]) -> std::fmt::Result {
    if changes.is_empty() {
        return Ok(());
    }
    let noun = if changes.len() == 1 { "member" } else { "members" };
    writeln!(out, "  {word:<8} {} {noun}:", changes.len())?;
    changes.iter().try_for_each(|change| {
        writeln!(out, "           {}: {}", change.name, change.symbols.join(", "))
    })
}
