//! The chunks of a region, one behind the other. The process goes on meanwhile, and so each header is
//! looked at before it is believed: what does not fit is an error here, and for the one who calls a
//! reason to begin again.

use crate::heap::glibc::regions::{LEAST_BYTES, Region};
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
const FLAGS: u64 = 7;

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

/// Shows all chunks of the region, in their order. `resident` is of its pages; where its top is by
/// then, `top` says.
pub fn each(
    source: &dyn Source,
    region: Region,
    (resident, page_bytes): (&[bool], u64),
    top: &mut dyn FnMut() -> Result<u64>,
    visit: &mut dyn FnMut(Chunk) -> Result<()>,
) -> Result<u64> {
    let mut window = Window {
        source,
        region,
        page_bytes,
        resident,
        start: region.start,
        bytes: Vec::new(),
        ahead: page_bytes,
    };
    let mut at = region.first;
    let mut header = window.header(at)?;
    let mut known_top = region.top;
    loop {
        let bytes = header.bytes();
        let is_at_end = at + bytes >= region.end;
        if is_at_end || known_top.is_some_and(|top| at >= top) {
            known_top = known_top.map(|_| top()).transpose()?;
        }
        if known_top == Some(at) {
            visit(Chunk { at, bytes: region.end.max(at) - at, kind: Kind::Top })?;
            return Ok(region.end);
        }
        if bytes < LEAST_BYTES {
            return fence(&mut window, at, bytes, visit);
        }
        check(at, header, &region)?;
        if at + bytes + HEADER_BYTES > region.end {
            bail!(broken(at, "a chunk reaches to where its heap ends"));
        }
        let next = window.header(at + bytes)?;
        let is_used = next.word & PREVIOUS_IS_USED != 0;
        if !is_used && next.before_bytes != bytes {
            bail!(broken(at, "a free chunk and the one behind it differ in its size"));
        }
        let kind = if is_used { Kind::Used } else { Kind::Free };
        visit(Chunk { at, bytes, kind })?;
        (at, header) = (at + bytes, next);
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

/// Two headers of no chunks; what is behind them is not this heap's. Returns where they end.
fn fence(
    window: &mut Window,
    at: u64,
    bytes: u64,
    visit: &mut dyn FnMut(Chunk) -> Result<()>,
) -> Result<u64> {
    let is_last = at + 2 * HEADER_BYTES >= window.region.end;
    let is_fence = bytes == HEADER_BYTES || bytes == 0 && is_last;
    let second = if is_last { Ok(0) } else { window.header(at + HEADER_BYTES).map(Header::bytes) };
    if !is_fence || ![0, HEADER_BYTES].contains(&second?) {
        bail!(broken(at, &format!("a chunk of {bytes:#x} bytes")));
    }
    let end = (at + 2 * HEADER_BYTES).min(window.region.end);
    visit(Chunk { at, bytes: end - at, kind: Kind::Fence })?;
    Ok(end)
}
