//! Where the sections of a file are. Each is a zstd frame; a skippable frame ahead of it says what
//! it is, so that `zstd -d` reads the file, too. The last skippable frame is the index.

use anyhow::{Context, Result, bail};

/// Of the skippable frames.
const MAGIC: u32 = 0x184d_2a5c;
/// Ahead of each section: magic, 8, the kind, the length of the zstd frame.
pub const LABEL_BYTES: usize = 16;
/// At the end of a file: how long the index is, and `END`.
pub const FOOTER_BYTES: usize = 8;
const END: [u8; 4] = *b"loam";
const KIND_INDEX: [u8; 4] = *b"indx";
const ENTRY_BYTES: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Header,
    Events,
    Modules,
    Summary,
}

/// A section of events, and how things stood where it begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SectionEntry {
    /// Of its label in the file.
    pub offset: u64,
    pub event_count: u64,
    /// How many events are ahead of it.
    pub first_event: u64,
    /// How many objects were taken ahead of it.
    pub first_object: u64,
    /// When its first event happened.
    pub start_us: u64,
    pub live_blocks: u64,
    pub live_bytes: u64,
}

impl Kind {
    fn word(self) -> [u8; 4] {
        match self {
            Kind::Header => *b"head",
            Kind::Events => *b"evts",
            Kind::Modules => *b"mods",
            Kind::Summary => *b"summ",
        }
    }

    fn of(word: &[u8]) -> Option<Kind> {
        let all = [Kind::Header, Kind::Events, Kind::Modules, Kind::Summary];
        all.into_iter().find(|kind| kind.word() == word)
    }
}

pub fn label(kind: Kind, frame_bytes: u32) -> [u8; LABEL_BYTES] {
    label_of(kind.word(), 8, frame_bytes)
}

fn label_of(word: [u8; 4], content_bytes: u32, number: u32) -> [u8; LABEL_BYTES] {
    let parts = [MAGIC.to_le_bytes(), content_bytes.to_le_bytes(), word, number.to_le_bytes()];
    let mut label = [0; LABEL_BYTES];
    label.copy_from_slice(parts.as_flattened());
    label
}

/// The kind of a section and the length of its frame; no kind for the index.
pub fn read_label(label: &[u8; LABEL_BYTES]) -> Result<(Option<Kind>, u32)> {
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| label[at + byte]));
    if word(0) != MAGIC {
        bail!("no section begins there");
    }
    match Kind::of(&label[8..12]) {
        Some(kind) => Ok((Some(kind), word(12))),
        None if label[8..12] == KIND_INDEX => Ok((None, 0)),
        None => bail!("a section of an unknown kind"),
    }
}

/// The index with the footer, as it stands at a file's end: of the sections of events, and where
/// those of modules and the summary are.
pub fn encode(events: &[SectionEntry], others: &[u64]) -> Vec<u8> {
    let mut content = Vec::new();
    content.extend((others.len() as u64).to_le_bytes());
    others.iter().for_each(|offset| content.extend(offset.to_le_bytes()));
    for entry in events {
        let fields = [
            entry.offset,
            entry.event_count,
            entry.first_event,
            entry.first_object,
            entry.start_us,
            entry.live_blocks,
            entry.live_bytes,
            0, // room for one more
        ];
        fields.iter().for_each(|field| content.extend(field.to_le_bytes()));
    }
    let content_bytes = (8 + content.len() + FOOTER_BYTES) as u32;
    let count = events.len() as u32;
    let mut index = label_of(KIND_INDEX, content_bytes, count).to_vec();
    index.extend(content);
    index.extend((8 + content_bytes).to_le_bytes());
    index.extend(END);
    index
}

/// How long the index is, by the file's last bytes.
pub fn length(footer: [u8; FOOTER_BYTES]) -> Option<u64> {
    let [a, b, c, d, end @ ..] = footer;
    (end == END).then(|| u64::from(u32::from_le_bytes([a, b, c, d])))
}

pub fn decode(index: &[u8]) -> Result<(Vec<SectionEntry>, Vec<u64>)> {
    let damaged = "the index is damaged";
    let label = index.first_chunk::<LABEL_BYTES>().context(damaged)?;
    if read_label(label)?.0.is_some() {
        bail!(damaged);
    }
    let end = index.len().checked_sub(FOOTER_BYTES).context(damaged)?;
    let content = index.get(LABEL_BYTES..end).context(damaged)?;
    let mut numbers =
        content.chunks_exact(8).filter_map(|chunk| chunk.try_into().ok().map(u64::from_le_bytes));
    let other_count = numbers.next().context(damaged)?;
    let others: Vec<u64> = numbers.by_ref().take(other_count as usize).collect();
    let numbers: Vec<u64> = numbers.collect();
    if others.len() as u64 != other_count || !numbers.len().is_multiple_of(ENTRY_BYTES / 8) {
        bail!(damaged);
    }
    let entry = |fields: &[u64]| SectionEntry {
        offset: fields[0],
        event_count: fields[1],
        first_event: fields[2],
        first_object: fields[3],
        start_us: fields[4],
        live_blocks: fields[5],
        live_bytes: fields[6],
    };
    Ok((numbers.chunks_exact(ENTRY_BYTES / 8).map(entry).collect(), others))
}
