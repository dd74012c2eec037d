//! Reads a static archive (`ar`), and refuses what is damaged rather than guess.

use object::read::archive::{ArchiveFile, ArchiveMember};
use std::collections::BTreeSet;
use thiserror::Error;

/// How every static archive begins.
pub const MAGIC: &[u8] = b"!<arch>\n";
pub const THIN_MAGIC: &[u8] = b"!<thin>\n";

pub struct Member<'data> {
    pub name: String,
    pub data: &'data [u8],
    pub date: u64,
    pub uid: u32,
    pub gid: u32,
    pub mode: u32,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum Unreadable {
    #[error("not a static archive")]
    NotAnArchive,
    #[error(
        "a thin archive: it names files instead of holding them; make a whole one of it with \
         'ar rc'"
    )]
    Thin,
    #[error("truncated or damaged: {0}")]
    Damaged(String),
    #[error("its symbol table is damaged: {0}")]
    SymbolTable(String),
}

/// The members in their order. Names may occur more than once.
pub fn read(data: &[u8]) -> Result<Vec<Member<'_>>, Unreadable> {
    if data.starts_with(THIN_MAGIC) {
        return Err(Unreadable::Thin);
    }
    if !data.starts_with(MAGIC) {
        return Err(Unreadable::NotAnArchive);
    }
    let damaged = |cause: object::Error| Unreadable::Damaged(cause.to_string());
    let archive = ArchiveFile::parse(data).map_err(damaged)?;
    let mut members = Vec::new();
    let mut beginnings = BTreeSet::new();
    for found in archive.members() {
        let found = found.map_err(damaged)?;
        if let Some(header) = found.header() {
            let address = std::ptr::from_ref(header).addr();
            beginnings.insert(address.wrapping_sub(data.as_ptr().addr()));
        }
        members.push(member(&found, data)?);
    }
    check_symbol_table(&archive, &beginnings)?;
    Ok(members)
}

fn member<'data>(
    found: &ArchiveMember<'data>,
    data: &'data [u8],
) -> Result<Member<'data>, Unreadable> {
    let name = String::from_utf8_lossy(found.name()).into_owned();
    if !may_be_written(&name) {
        return Err(Unreadable::Damaged(format!("a member is called {name:?}")));
    }
    let bytes = found.data(data).map_err(|_| {
        Unreadable::Damaged(format!("member {name} goes beyond the end of the file"))
    })?;
    let number = |field: Option<u64>| field.and_then(|value| u32::try_from(value).ok());
    Ok(Member {
        name,
        data: bytes,
        date: found.date().unwrap_or(0),
        uid: number(found.uid()).unwrap_or(0),
        gid: number(found.gid()).unwrap_or(0),
        mode: number(found.mode()).unwrap_or(0o644),
    })
}

/// Whether a new archive can hold a member of this name: its header is padded by characters, so
/// that only ASCII fits.
fn may_be_written(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_graphic() || letter == ' ';
    !name.is_empty() && name.chars().all(is_plain) && !name.ends_with(['/', ' '])
}

/// Each symbol must lead to where a member begins.
fn check_symbol_table(
    archive: &ArchiveFile,
    beginnings: &BTreeSet<usize>,
) -> Result<(), Unreadable> {
    let damaged = |cause: object::Error| Unreadable::SymbolTable(cause.to_string());
    let Some(symbols) = archive.symbols().map_err(damaged)? else { return Ok(()) };
    for symbol in symbols {
        let symbol = symbol.map_err(damaged)?;
        let begins = usize::try_from(symbol.offset().0).is_ok_and(|at| beginnings.contains(&at));
        if !begins {
            let name = String::from_utf8_lossy(symbol.name());
            let text = format!("{name} is said to be where no member begins");
            return Err(Unreadable::SymbolTable(text));
        }
    }
    Ok(())
}
