//! Reads a recording, event by event, from its begin or from any section on.

use crate::recording::about::{FORMAT, Header, Module, Summary, VERSION};
use crate::recording::event::Event;
use crate::recording::index::{self, FOOTER_BYTES, Kind, LABEL_BYTES, SectionEntry};
use crate::recording::section::{Extras, decode};
use crate::recording::stacks::Stacks;
use anyhow::{Context, Error, Result, anyhow, bail};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use zstd::bulk::Decompressor;

/// A section that becomes longer than this is damaged.
const SECTION_MAX_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    file: File,
    file_bytes: u64,
    header: Header,
    summary: Summary,
    sections: Vec<SectionEntry>,
    modules: Vec<Module>,
}

impl Reader {
    pub fn open(path: &Path) -> Result<Reader> {
        let shown = path.display();
        let file = File::open(path).with_context(|| format!("cannot read {shown}"))?;
        let metadata = file.metadata().with_context(|| format!("cannot read {shown}"))?;
        if metadata.is_dir() {
            bail!("cannot read {shown}: is a directory");
        }
        let (header, _) = read_header(&file, path)?;
        let index = read_index(&file, metadata.len())
            .with_context(|| format!("{shown} is damaged"))?
            .ok_or_else(|| {
                anyhow!("{shown} is cut off: 'loam trace recover' saves what is whole")
            })?;
        let mut reader = Reader {
            path: path.to_path_buf(),
            file,
            file_bytes: metadata.len(),
            header,
            summary: Summary::default(),
            sections: index.0,
            modules: Vec::new(),
        };
        reader.read_others(&index.1).map_err(|cause| reader.damaged(&cause))?;
        Ok(reader)
    }

    fn read_others(&mut self, offsets: &[u64]) -> Result<()> {
        for &offset in offsets {
            let Section { kind, content, .. } = read_section(&self.file, offset)?;
            match kind {
                Kind::Modules => self.modules.extend(parsed::<Vec<Module>>(&content)?),
                Kind::Summary => self.summary = parsed(&content)?,
                _ => bail!("the index leads to a section of another kind"),
            }
        }
        Ok(())
    }

    fn damaged(&self, cause: &Error) -> Error {
        anyhow!("{} is damaged: {cause}", self.path.display())
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// What was mapped into the program, in a recording that has stacks.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// The index: sections of events, at most 65,536 in each.
    #[allow(dead_code)] // for those who draw
    pub fn sections(&self) -> &[SectionEntry] {
        &self.sections
    }

    /// All events.
    pub fn events(&self) -> Events<'_> {
        self.events_from(0)
    }

    /// The events of a section and of those behind it. Stacks are known only from the begin on.
    pub fn events_from(&self, section: usize) -> Events<'_> {
        Events {
            reader: self,
            section,
            decompressor: None,
            stacks: Stacks::default(),
            events: Vec::new().into_iter(),
        }
    }
}

/// The events of a recording. After an error there are no more.
pub struct Events<'a> {
    reader: &'a Reader,
    section: usize,
    decompressor: Option<Decompressor<'static>>,
    stacks: Stacks,
    events: std::vec::IntoIter<Event>,
}

impl Events<'_> {
    /// The stacks of the events so far.
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    fn read(&mut self, entry: SectionEntry) -> Result<Vec<Event>> {
        let frame = match read_frame(&self.reader.file, entry.offset)? {
            (Kind::Events, frame) => frame,
            _ => bail!("the index leads to a section of another kind"),
        };
        let decompressor = match &mut self.decompressor {
            Some(there) => there,
            none => none.insert(Decompressor::new()?),
        };
        let section = decompressor.decompress(&frame, SECTION_MAX_BYTES)?;
        let header = &self.reader.header;
        let extras = Extras { addresses: header.has_addresses, stacks: header.has_stacks };
        let mut events = Vec::new();
        decode(&section, extras, &mut self.stacks, &mut events)?;
        if events.len() as u64 != entry.event_count {
            bail!("a section has another number of events than the index says");
        }
        Ok(events)
    }
}

impl Iterator for Events<'_> {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Result<Event>> {
        loop {
            if let Some(event) = self.events.next() {
                return Some(Ok(event));
            }
            let entry = *self.reader.sections.get(self.section)?;
            self.section += 1;
            match self.read(entry) {
                Ok(events) => self.events = events.into_iter(),
                Err(cause) => {
                    self.section = self.reader.sections.len();
                    return Some(Err(self.reader.damaged(&cause)));
                }
            }
        }
    }
}

/// And where the section behind it is in the file. What a later version means is not known.
pub fn read_header(file: &File, path: &Path) -> Result<(Header, u64)> {
    let shown = path.display();
    let (header, end) = read_section(file, 0)
        .and_then(|section| Ok((header_of(&section)?, section.end)))
        .with_context(|| format!("{shown} is not a recording"))?;
    if header.version > VERSION {
        bail!("{shown} is a recording of version {}, which this loam cannot read", header.version);
    }
    Ok((header, end))
}

fn header_of(section: &Section) -> Result<Header> {
    let header: Header = parsed(&section.content)?;
    if section.kind != Kind::Header || header.format != FORMAT {
        bail!("its first section is no header");
    }
    Ok(header)
}

type Index = (Vec<SectionEntry>, Vec<u64>);

/// `None` if the file has none at its end.
fn read_index(file: &File, file_bytes: u64) -> Result<Option<Index>> {
    let mut footer = [0; FOOTER_BYTES];
    let Some(at) = file_bytes.checked_sub(FOOTER_BYTES as u64) else { return Ok(None) };
    file.read_exact_at(&mut footer, at)?;
    let Some(length) = index::length(footer) else { return Ok(None) };
    let at = file_bytes.checked_sub(length).context("the index is longer than the file")?;
    let mut bytes = vec![0; usize::try_from(length)?];
    file.read_exact_at(&mut bytes, at)?;
    Ok(Some(index::decode(&bytes)?))
}

pub struct Section {
    pub kind: Kind,
    pub content: Vec<u8>,
    /// Where the next one is in the file.
    pub end: u64,
}

pub fn read_section(file: &File, offset: u64) -> Result<Section> {
    let (kind, frame) = read_frame(file, offset)?;
    let content = zstd::bulk::decompress(&frame, SECTION_MAX_BYTES)?;
    Ok(Section { kind, content, end: offset + (LABEL_BYTES + frame.len()) as u64 })
}

fn read_frame(file: &File, offset: u64) -> Result<(Kind, Vec<u8>)> {
    let mut label = [0; LABEL_BYTES];
    file.read_exact_at(&mut label, offset).context("a section is missing")?;
    let (kind, length) = index::read_label(&label)?;
    let kind = kind.context("the index where a section should be")?;
    let start = offset + LABEL_BYTES as u64;
    let file_bytes = file.metadata()?.len();
    if file_bytes.saturating_sub(start) < u64::from(length) {
        bail!("a section ends early");
    }
    let mut frame = vec![0; length as usize];
    file.read_exact_at(&mut frame, start)?;
    Ok((kind, frame))
}

pub fn parsed<T: DeserializeOwned>(content: &[u8]) -> Result<T> {
    serde_json::from_slice(content).context("a section is no JSON of its kind")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::in_one_line;
    use crate::recording::event::What;
    use crate::recording::salvage::Salvage;
    use crate::recording::synthetic;
    use crate::recording::writer::Writer;

    /// More than two sections, with everything that events can have.
    fn written(path: &Path) -> Vec<Event> {
        let header =
            Header { has_addresses: true, has_stacks: true, ..Header::new("program".into()) };
        let mut writer = Writer::new(File::create(path).unwrap(), &header).unwrap();
        for above in 0..4 {
            writer
                .add_node(crate::recording::stacks::Node { above, address: 16 * u64::from(above) });
        }
        let events = synthetic::events(150_000);
        synthetic::write(&events, &mut writer);
        writer.finish(Some("status 0".into()), Some(4096)).unwrap();
        events
    }

    fn read(reader: &Reader) -> Vec<Event> {
        reader.events().map(Result::unwrap).collect()
    }

    #[test]
    fn what_was_written_is_read_from_the_begin_or_any_section() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let events = written(&path);
        let reader = Reader::open(&path).unwrap();
        assert_eq!(read(&reader), events);
        assert_eq!(reader.summary().events, events.len() as u64);
        let last = reader.sections()[2];
        let part: Vec<Event> = reader.events_from(2).map(Result::unwrap).collect();
        assert_eq!(part, events[last.first_event as usize..]);
        let ahead = &events[..last.first_event as usize];
        let takes = ahead.iter().filter(|event| matches!(event.what, What::Take { .. })).count();
        let gives = ahead.iter().filter(|event| matches!(event.what, What::Give { .. })).count();
        assert_eq!(last.first_object, takes as u64);
        assert_eq!(last.live_blocks, (takes - gives) as u64);
    }

    #[test]
    fn of_a_file_that_is_cut_off_whole_sections_are_saved() {
        let folder = tempfile::tempdir().unwrap();
        let (path, saved) = (folder.path().join("trace"), folder.path().join("saved"));
        let events = written(&path);
        let cut = Reader::open(&path).unwrap().sections()[2].offset + 100;
        File::options().write(true).open(&path).unwrap().set_len(cut).unwrap();
        let refusal = in_one_line(&Reader::open(&path).unwrap_err());
        assert!(refusal.contains("is cut off"), "{refusal}");

        let salvage = Salvage::open(&path).unwrap();
        let mut writer = Writer::new(File::create(&saved).unwrap(), salvage.header()).unwrap();
        salvage.copy_to(&mut writer).unwrap();
        writer.finish(None, None).unwrap();
        let read = read(&Reader::open(&saved).unwrap());
        assert_eq!(read.len(), 2 * 65_536);
        assert_eq!(read, events[..read.len()]);
    }

    #[test]
    fn what_is_damaged_or_no_recording_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        written(&path);
        let at = Reader::open(&path).unwrap().sections()[1].offset as usize;
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[at + 1000] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let reader = Reader::open(&path).unwrap();
        let refusal = reader.events().find_map(Result::err).expect("a refusal");
        assert!(in_one_line(&refusal).contains("is damaged"), "{refusal}");
        for other in [&b""[..], b"hello", &[0x5c, 0x2a, 0x4d, 0x18, 8, 0, 0, 0]] {
            std::fs::write(&path, other).unwrap();
            let refusal = in_one_line(&Reader::open(&path).unwrap_err());
            assert!(refusal.contains("is not a recording"), "{refusal}");
        }
    }
}
