//! The chunks of a region, one behind the other. The process goes on meanwhile, and so each header is
//! looked at before it is believed: what does not fit is an error here, and for the one who calls a
//! reason to begin again.

use crate::heap::glibc::regions::{FLAGS, LEAST_BYTES, Region};
use crate::heap::source::Source;
use anyhow::{Result, anyhow, bail};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// By its neighbours: the program has it, or a list of tcaches or fastbins.
    Used,
    /// In a bin.
    Free,
    /// The free memory at the arena's end.
    Top,
    /// What stands where memory of the arena's ends.
    Fence,
}

#[derive(Debug, Clone, Copy)]
pub struct Chunk {
    pub at: u64,
    pub bytes: u64,
    pub kind: Kind,
}

const PREVIOUS_IS_USED: u64 = 1;
const IS_MAPPED: u64 = 2;
const IS_OTHERS: u64 = 4;

#[derive(Clone, Copy)]
struct Header {
    before_bytes: u64,
    word: u64,
}

impl Header {
    fn bytes(self) -> u64 {
        self.word & !FLAGS
    }
}

/// Reads what is ahead, the more of it the longer it is read in order.
struct Window<'source> {
    source: &'source dyn Source,
    region: Region,
    page_bytes: u64,
    resident: &'source [bool],
    start: u64,
    bytes: Vec<u8>,
    ahead: u64,
}

const AHEAD_MAX: u64 = 256 << 10;
const HEADER_BYTES: u64 = 16;

impl Window<'_> {
    fn header(&mut self, at: u64) -> Result<Header> {
        let end = self.start + self.bytes.len() as u64;
        if at < self.start || at + HEADER_BYTES > end {
            self.load(at, end)?;
        }
        let from = (at - self.start) as usize;
        let word = |from: usize| {
            let bytes = self.bytes.get(from..from + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map(u64::from_le_bytes).ok_or_else(|| broken(at, "its header is cut off"))
        };
        Ok(Header { before_bytes: word(from)?, word: word(from + 8)? })
    }

    /// A header has been written to, so that its page is there, if not in memory.
    fn load(&mut self, at: u64, end: u64) -> Result<()> {
        let page = self.page_bytes;
        let is_next = at >= self.start && at < end + page;
        self.ahead = if is_next { (self.ahead * 4).min(AHEAD_MAX) } else { page };
        self.start = at / page * page;
        let first = ((self.start - self.region.start / page * page) / page) as usize;
        let pages = self.resident.iter().skip(first).take((self.ahead / page) as usize);
        let count = pages.take_while(|is| **is).count().max(1) as u64;
        self.bytes.resize((count * page) as usize, 0);
        self.source.read(self.start, &mut self.bytes)
    }
}

pub fn broken(at: u64, why: &str) -> anyhow::Error {
    anyhow!("glibc's heap does not add up at {at:#x}: {why}")
}

/// What is asked of the process meanwhile.
pub struct Guide<'a> {
    /// Where the arena's top is by then.
    pub top: &'a mut dyn FnMut() -> Result<u64>,
    /// Where chunks go on behind a place that does not add up.
    pub resume: &'a mut dyn FnMut(u64) -> Option<u64>,
    /// So many such places are what threads are in the midst of, and count as free.
    pub gaps: usize,
}

/// Shows all chunks of the region, in their order, and returns where they end. `resident` is of its
/// pages.
pub fn each(
    source: &dyn Source,
    region: Region,
    (resident, page_bytes): (&[bool], u64),
    guide: &mut Guide,
    visit: &mut dyn FnMut(Chunk),
) -> Result<u64> {
    let window = Window {
        source,
        region,
        page_bytes,
        resident,
        start: region.start,
        bytes: Vec::new(),
        ahead: page_bytes,
    };
    let mut reader = Reader { window, region, top: region.top };
    let mut at = region.first;
    while at < region.end {
        match reader.chunk(at, guide.top) {
            Ok(chunk) => {
                visit(chunk);
                at += chunk.bytes;
                if chunk.kind == Kind::Fence {
                    break;
                }
            }
            Err(cause) => {
                guide.gaps = guide.gaps.checked_sub(1).ok_or(cause)?;
                let next = (guide.resume)(at).filter(|next| *next > at && *next < region.end);
                let next = next.unwrap_or(region.end);
                visit(Chunk { at, bytes: next - at, kind: Kind::Free });
                reader.window.bytes.clear();
                at = next;
            }
        }
    }
    Ok(at.min(region.end))
}

struct Reader<'source> {
    window: Window<'source>,
    region: Region,
    top: Option<u64>,
}

impl Reader<'_> {
    fn chunk(&mut self, at: u64, top: &mut dyn FnMut() -> Result<u64>) -> Result<Chunk> {
        let end = self.region.end;
        let header = self.window.header(at)?;
        let bytes = header.bytes();
        if self.top.is_some_and(|top| at >= top || bytes >= end - at) {
            self.top = Some(top()?);
        }
        if self.top == Some(at) {
            return Ok(Chunk { at, bytes: end - at, kind: Kind::Top });
        }
        if bytes < LEAST_BYTES {
            return fence(&mut self.window, at, bytes);
        }
        let has_grown = self.top.is_some_and(|top| top >= end) && bytes.is_multiple_of(16);
        if has_grown && bytes + HEADER_BYTES > end - at {
            return Ok(Chunk { at, bytes: end - at, kind: Kind::Used });
        }
        check(at, header, &self.region)?;
        if bytes + HEADER_BYTES > end - at {
            bail!(broken(at, "a chunk reaches to where its heap ends"));
        }
        let next = self.window.header(at + bytes)?;
        let is_used = next.word & PREVIOUS_IS_USED != 0;
        if !is_used && next.before_bytes != bytes {
            bail!(broken(at, "a free chunk and the one behind it differ in its size"));
        }
        Ok(Chunk { at, bytes, kind: if is_used { Kind::Used } else { Kind::Free } })
    }
}

fn check(at: u64, header: Header, region: &Region) -> Result<()> {
    let bytes = header.bytes();
    let is_mains = region.arena == 0;
    if header.word & IS_MAPPED != 0 || is_mains && header.word & IS_OTHERS != 0 {
        bail!(broken(at, "a chunk is marked as of another heap"));
    }
    if !bytes.is_multiple_of(16) || bytes > region.end - at {
        bail!(broken(at, &format!("a chunk of {bytes:#x} bytes")));
    }
    Ok(())
}

/// Two headers of no chunks; what is behind them is not this heap's.
fn fence(window: &mut Window, at: u64, bytes: u64) -> Result<Chunk> {
    let is_last = window.region.end - at <= 2 * HEADER_BYTES;
    let is_fence = bytes == HEADER_BYTES || bytes == 0 && is_last;
    let second = if is_last { Ok(0) } else { window.header(at + HEADER_BYTES).map(Header::bytes) };
    if !is_fence || ![0, HEADER_BYTES].contains(&second?) {
        bail!(broken(at, &format!("a chunk of {bytes:#x} bytes")));
    }
    let bytes = (2 * HEADER_BYTES).min(window.region.end - at);
    Ok(Chunk { at, bytes, kind: Kind::Fence })
}
