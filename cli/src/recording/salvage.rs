//! What is whole of a recording that was cut off: section by section from its begin.

use crate::recording::about::{Header, Module};
use crate::recording::event::{Block, Event, What};
use crate::recording::index::Kind;
use crate::recording::numbered::NumberMap;
use crate::recording::reader::{parsed, read_header, read_section};
use crate::recording::section::{Extras, decode};
use crate::recording::stacks::Stacks;
use crate::recording::writer::Writer;
use anyhow::{Context, Result};
use std::fs::File;
use std::path::Path;

pub struct Salvage {
    file: File,
    header: Header,
    /// Of the section behind the header.
    start: u64,
    /// By object: what the writer knows the block by.
    keys: NumberMap<u64>,
    stacks: Stacks,
}

/// What was whole.
#[derive(Debug, Default, Clone, Copy)]
pub struct Saved {
    pub events: u64,
    /// From the program's start to the last of them.
    pub span_us: u64,
    /// Up to where the file is whole, of how many.
    pub bytes: u64,
    pub file_bytes: u64,
    /// The summary, which comes last, was there.
    pub is_whole: bool,
}

impl Salvage {
    pub fn open(path: &Path) -> Result<Salvage> {
        let shown = path.display();
        let file = File::open(path).with_context(|| format!("cannot read {shown}"))?;
        let (header, start) = read_header(&file, path)?;
        Ok(Salvage { file, header, start, keys: NumberMap::default(), stacks: Stacks::default() })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Up to the first section that is not whole.
    pub fn copy_to(mut self, writer: &mut Writer) -> Result<Saved> {
        let file_bytes = self.file.metadata().context("cannot tell the file's length")?.len();
        let mut saved = Saved { file_bytes, ..Saved::default() };
        let extras =
            Extras { addresses: self.header.has_addresses, stacks: self.header.has_stacks };
        let mut at = self.start;
        while let Ok(section) = read_section(&self.file, at) {
            match section.kind {
                Kind::Modules => writer.modules(&parsed::<Vec<Module>>(&section.content)?)?,
                Kind::Header => {}
                Kind::Summary => saved.is_whole = true,
                Kind::Events => {
                    let mut events = Vec::new();
                    let known = self.stacks.len();
                    if decode(&section.content, extras, &mut self.stacks, &mut events).is_err() {
                        break;
                    }
                    self.stacks.since(known).iter().for_each(|&node| writer.add_node(node));
                    events.iter().try_for_each(|event| self.copy(event, writer))?;
                    saved.events += events.len() as u64;
                    saved.span_us = events.last().map_or(saved.span_us, |event| event.time_us);
                }
            }
            at = section.end;
        }
        saved.bytes = at;
        Ok(saved)
    }

    fn copy(&mut self, event: &Event, writer: &mut Writer) -> Result<()> {
        let (time_us, thread) = (event.time_us, event.thread);
        let key_of = |object: u64, block: &Block| block.address.unwrap_or(object + 1);
        match event.what {
            What::Take { object, block } => {
                self.keys.insert(object, key_of(object, &block));
                writer.take(time_us, thread, key_of(object, &block), block)
            }
            What::Resize { object, block } => {
                let to = key_of(object, &block);
                let from = self.keys.insert(object, to).unwrap_or(to);
                writer.resize(time_us, thread, (from, to), block)
            }
            What::Give { object, entry } => match self.keys.remove(&object) {
                Some(key) => writer.give(time_us, thread, key, entry),
                None => Ok(()),
            },
            What::Touched { object, bytes } => match self.keys.get(&object) {
                Some(&key) => writer.touched(time_us, thread, key, bytes),
                None => Ok(()),
            },
            What::Resident { bytes } => writer.resident(time_us, thread, bytes),
            What::Mapped { bytes } => writer.mapped(time_us, thread, bytes),
            What::ThreadEnd => writer.thread_end(time_us, thread),
        }
    }
}
