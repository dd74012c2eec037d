//! What a profile has of a process: its places, the samples that the program has, and those that it
//! has freed last. Read while the process goes on, so that a chain may lead from one list to
//! another: what is seen twice counts once, and a sample without a block is none.

use crate::heap::layout::Layout;
use crate::heap::source::Source;
use anyhow::{Result, bail};
use std::collections::{HashMap, HashSet};

/// What samples stand for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Weight {
    pub count: f64,
    pub bytes: u64,
    pub samples: u64,
    /// How far off the bytes are by chance, squared.
    pub variance: f64,
}

pub struct Site {
    pub number: u64,
    pub taken: Weight,
    pub live: Weight,
    pub peak: Weight,
    /// The innermost first.
    pub callers: Vec<u64>,
}

/// A block that the program has. Where it would be without a profile is what is asked for.
pub struct Sample {
    /// Its address in the process.
    pub site: u64,
    pub address: u64,
    pub bytes: u64,
    /// How many blocks it stands for.
    pub count: f64,
    /// By the process's clock.
    pub taken_ms: u64,
}

pub struct Freed {
    pub site: u64,
    pub address: u64,
    pub bytes: u64,
    pub weighted_bytes: u64,
}

/// A line of Python that sites refer to by its number.
pub struct Line {
    pub number: u64,
    pub line: u32,
    pub function_line: u32,
    pub function: Vec<u8>,
    pub file: Vec<u8>,
}

pub struct Samples {
    /// How far apart they are on average.
    pub bytes: u64,
    pub taken: Weight,
    pub live: Weight,
    pub peak: Weight,
    pub lost_count: u64,
    /// By their address in the process.
    pub sites: HashMap<u64, Site>,
    pub lines: Vec<Line>,
    pub in_use: Vec<Sample>,
    /// The last one first.
    pub freed: Vec<Freed>,
}

const SITES_MAX: usize = 1 << 20;
const SAMPLES_MAX: usize = 1 << 22;
const LINES_MAX: usize = 1 << 20;
const NAME_MAX_BYTES: u64 = 1 << 12;

struct Reader<'source> {
    source: &'source dyn Source,
    layout: &'source Layout,
    width: usize,
    unit: f64,
}

/// A structure that has been read.
struct Record<'reader> {
    reader: &'reader Reader<'reader>,
    bytes: &'reader [u8],
}

impl Record<'_> {
    fn number(&self, field: &str, width: usize) -> Result<u64> {
        let at = self.reader.layout.number(field)? as usize;
        let mut word = [0; 8];
        let Some(bytes) = self.bytes.get(at..at + width) else {
            bail!("{} has {field} out of its place", self.reader.layout.file);
        };
        word[..width].copy_from_slice(bytes);
        Ok(u64::from_le_bytes(word))
    }

    fn pointer(&self, field: &str) -> Result<u64> {
        self.number(field, self.reader.width)
    }

    fn weight(&self, field: &str) -> Result<Weight> {
        let at = self.reader.layout.number(field)? as usize;
        let bytes = self.bytes.get(at..).unwrap_or_default();
        let sum = Record { reader: self.reader, bytes };
        let count = sum.number("sum.count", 8)? as f64 / self.reader.unit;
        let variance = f64::from_bits(sum.number("sum.variance", 8)?);
        let samples = sum.number("sum.sample_count", 8)?;
        Ok(Weight { count, bytes: sum.number("sum.bytes", 8)?, samples, variance })
    }
}

impl Reader<'_> {
    fn number(&self, name: &str) -> Result<u64> {
        self.layout.number(name)
    }

    fn site(&self, address: u64, peak_round: u64) -> Result<(Site, u64)> {
        let head_bytes = self.number("site.callers")?;
        let head = self.source.bytes(address, head_bytes as usize)?;
        let head = Record { reader: self, bytes: &head };
        let depth = head.number("site.depth", 4)?.min(self.number("site.depth_max")?);
        let callers = self.source.bytes(address + head_bytes, depth as usize * self.width)?;
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        let live = head.weight("site.live")?;
        let is_at_peak = head.number("site.peak_round", 8)? < peak_round;
        let site = Site {
            number: head.number("site.number", 4)?,
            taken: head.weight("site.taken")?,
            live,
            peak: if is_at_peak { live } else { head.weight("site.at_peak")? },
            callers: callers.chunks_exact(self.width).map(word).collect(),
        };
        Ok((site, head.pointer("site.next_made")?))
    }

    fn sites(&self, peak_round: u64) -> Result<HashMap<u64, Site>> {
        let mut sites = HashMap::new();
        let mut next = self.layout.pointer_at(self.source, self.layout.root("profile_sites")?)?;
        while next != 0 && sites.len() < SITES_MAX && !sites.contains_key(&next) {
            let (site, following) = self.site(next, peak_round)?;
            sites.insert(next, site);
            next = following;
        }
        Ok(sites)
    }

    fn line(&self, address: u64) -> Result<(Line, u64)> {
        let head_bytes = self.number("line.texts")?;
        let head = self.source.bytes(address, head_bytes as usize)?;
        let head = Record { reader: self, bytes: &head };
        let bytes = |field| Ok::<_, anyhow::Error>(head.number(field, 4)?.min(NAME_MAX_BYTES));
        let (function, file) = (bytes("line.function_bytes")?, bytes("line.file_bytes")?);
        let mut text = self.source.bytes(address + head_bytes, (function + file) as usize)?;
        let file = text.split_off(function as usize);
        let number = |field| Ok::<_, anyhow::Error>(head.number(field, 4)? as u32);
        let line = Line {
            number: number("line.number")?.into(),
            line: number("line.line")?,
            function_line: number("line.function_line")?,
            function: text,
            file,
        };
        Ok((line, head.pointer("line.next_made")?))
    }

    fn lines(&self) -> Result<Vec<Line>> {
        let mut lines = Vec::new();
        let mut next = self.layout.pointer_at(self.source, self.layout.root("python_lines")?)?;
        while next != 0 && lines.len() < LINES_MAX {
            let (line, following) = self.line(next)?;
            lines.push(line);
            next = following;
        }
        Ok(lines)
    }

    fn in_use(&self) -> Result<Vec<Sample>> {
        let count = self.number("sample.bucket_count")? as usize;
        let size = self.number("sample.size")? as usize;
        let buckets =
            self.source.bytes(self.layout.root("profile_samples")?, count * self.width)?;
        let (mut samples, mut seen) = (Vec::new(), HashSet::new());
        for bucket in buckets.chunks_exact(self.width) {
            let mut word = [0; 8];
            word[..self.width].copy_from_slice(bucket);
            let mut next = u64::from_le_bytes(word);
            while next != 0 && seen.len() < SAMPLES_MAX && seen.insert(next) {
                let bytes = self.source.bytes(next, size)?;
                let record = Record { reader: self, bytes: &bytes };
                next = record.pointer("sample.next")?;
                let block = record.pointer("sample.block")?;
                let shadow = record.pointer("sample.shadow")?;
                if block == 0 {
                    continue;
                }
                samples.push(Sample {
                    site: record.pointer("sample.site")?,
                    address: if shadow != 0 { shadow } else { block },
                    bytes: record.pointer("sample.bytes")?,
                    count: record.number("sample.count", 8)? as f64 / self.unit,
                    taken_ms: record.number("sample.taken_ms", 8)?,
                });
            }
        }
        Ok(samples)
    }

    fn freed(&self, ever: u64) -> Result<Vec<Freed>> {
        let (room, size) = (self.number("freed.count")?, self.number("freed.size")?);
        let kept = ever.min(room);
        let ring = self.source.bytes(self.layout.root("profile_freed")?, (kept * size) as usize)?;
        let one = |number: u64| -> Result<Freed> {
            let at = (number % room * size) as usize;
            let bytes = ring.get(at..at + size as usize).unwrap_or_default();
            let record = Record { reader: self, bytes };
            Ok(Freed {
                site: record.pointer("freed.site")?,
                address: record.pointer("freed.block")?,
                bytes: record.pointer("freed.bytes")?,
                weighted_bytes: record.number("freed.weighted_bytes", 8)?,
            })
        };
        (ever - kept..ever).rev().map(one).collect()
    }
}

/// A word of four bytes.
pub fn word_at(source: &dyn Source, address: u64) -> Result<u32> {
    let mut word = [0; 4];
    source.read(address, &mut word)?;
    Ok(u32::from_le_bytes(word))
}

impl Samples {
    /// `None` if no profile has ever been taken.
    pub fn read(source: &dyn Source, layout: &Layout) -> Result<Option<Samples>> {
        let bytes = word_at(source, layout.root("profile_last_bytes")?)?;
        if bytes == 0 {
            return Ok(None);
        }
        let reader = Reader {
            source,
            layout,
            width: layout.number("pointer.size")? as usize,
            unit: layout.number("profile.count_unit")?.max(1) as f64,
        };
        let totals = layout.number("totals.size")? as usize;
        let totals = source.bytes(layout.root("profile_totals")?, totals)?;
        let totals = Record { reader: &reader, bytes: &totals };
        Ok(Some(Samples {
            bytes: bytes.into(),
            taken: totals.weight("totals.taken")?,
            live: totals.weight("totals.live")?,
            peak: totals.weight("totals.peak")?,
            lost_count: totals.number("totals.lost_count", 8)?,
            // The samples first: a place is there before its samples are.
            in_use: reader.in_use()?,
            freed: reader.freed(totals.number("totals.freed_count", 8)?)?,
            sites: reader.sites(totals.number("totals.peak_round", 8)?)?,
            // Behind the sites, which refer to them.
            lines: reader.lines()?,
        }))
    }
}
