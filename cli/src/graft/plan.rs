//! What becomes of each member when loam takes the place of a C library's malloc.

use crate::binary::elf::Architecture;
use crate::binary::entry_points::ALLOCATOR_MARKS;
use crate::graft::survey::{Content, Symbols};
use std::collections::BTreeSet;
use thiserror::Error;

/// What becomes of a member.
#[derive(Debug, PartialEq, Eq)]
pub enum Fate<'data> {
    Keep,
    /// All that anything wants of it, loam defines.
    Drop,
    /// Others want more of it: loam's names in it become references to loam.
    Split(BTreeSet<&'data str>),
}

/// Why an archive is not grafted.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    #[error("no C library: none of its members defines {STARTS_PROGRAMS}")]
    NoLibc,
    #[error("its members are for different architectures: {0} and {1}")]
    Mixed(String, String),
    #[error(
        "member {0} is the compiler's intermediate code (LTO), in which symbols cannot be told; \
         take a C library that was built without -flto"
    )]
    Bitcode(String),
    #[error("member {0} is damaged: {1}")]
    Member(String, String),
    #[error(
        "member {0} defines {1}, loam's name and more that others want, and holds intermediate \
         code (LTO), which cannot be split; take a C library that was built without -flto"
    )]
    SplitLto(String, String),
    #[error(
        "something else has already cut into its malloc: no member defines {0}; restore the \
         original"
    )]
    AlreadyCut(String),
    #[error(
        "it holds no malloc: something has cut that out, or it is in another archive, as with Zig \
         0.17; restore the original, or put loam first on the link line: loam graft \
         --object"
    )]
    NoMalloc,
    #[error("{1} has already been put into it: member {0} defines {2}; restore the original")]
    OtherAllocator(String, &'static str, &'static str),
    #[error(
        "{PUT_IN} has been put into it, and {0} with it, which is the C library's: restore the \
         original"
    )]
    NotAllocators(String),
}

/// Every C library has it, whatever its archive is called.
pub const STARTS_PROGRAMS: &str = "__libc_start_main";

/// The allocator that SDKs of Swift's put into their C library.
pub const PUT_IN: &str = "mimalloc";
/// How its names begin.
const PUT_IN_STARTS: [&str; 2] = ["mi_", "_mi_"];
/// Other names of its that a C library of today has not.
const PUT_IN_EXTRAS: [&str; 5] =
    ["cfree", "__libc_cfree", "reallocarr", "_aligned_malloc", "vfree"];

/// The least that a C library defines of its malloc, strongly or weakly.
const LEAST: [&str; 4] = ["malloc", "free", "calloc", "realloc"];

/// The names of loam's object that may collide with a C library's.
pub fn family<'data>(loam: &Symbols<'data>) -> BTreeSet<&'data str> {
    let is_own = |name: &str| name.starts_with("loam_") || name.starts_with("lm_");
    loam.strong.iter().copied().filter(|name| !is_own(name)).collect()
}

/// Whether loam is in the archive.
pub fn holds_loam(contents: &[Content]) -> bool {
    objects(contents).any(|(_, symbols)| symbols.is_loam())
}

fn objects<'a, 'data>(
    contents: &'a [Content<'data>],
) -> impl Iterator<Item = (usize, &'a Symbols<'data>)> {
    contents.iter().enumerate().filter_map(|(index, content)| match content {
        Content::Object(_, symbols) => Some((index, symbols)),
        _ => None,
    })
}

/// The members of an allocator that has taken the place of the C library's malloc whole, so that
/// loam can take its place in turn.
pub fn put_in(contents: &[Content]) -> BTreeSet<usize> {
    let is_part = |symbols: &Symbols| symbols.strong.iter().any(|name| is_of_put_in(name));
    let parts = || objects(contents).filter(|(_, symbols)| is_part(symbols));
    match parts().any(|(_, symbols)| LEAST.iter().all(|name| symbols.strong.contains(name))) {
        true => parts().map(|(index, _)| index).collect(),
        false => BTreeSet::new(),
    }
}

fn is_of_put_in(name: &str) -> bool {
    PUT_IN_STARTS.iter().any(|start| name.starts_with(start))
}

/// Refuses an archive in which the other allocator's members define what is the C library's.
fn refuse_more_than_allocator(
    contents: &[Content],
    put_in: &BTreeSet<usize>,
    family: &BTreeSet<&str>,
) -> Result<(), Refusal> {
    let others = |index: &usize| !put_in.contains(index);
    let stays = || objects(contents).filter(|(index, _)| others(index));
    let is_allocators =
        |name: &str| family.contains(name) || is_of_put_in(name) || PUT_IN_EXTRAS.contains(&name);
    let is_wanted = |name: &str| stays().any(|(_, symbols)| symbols.wanted.contains(name));
    let is_there = |name: &str| stays().any(|(_, symbols)| symbols.defines(name));
    let mut defined = objects(contents)
        .filter(|(index, _)| put_in.contains(index))
        .flat_map(|(_, symbols)| symbols.defined());
    match defined.find(|name| {
        !family.contains(name) && !is_there(name) && (!is_allocators(name) || is_wanted(name))
    }) {
        Some(name) => Err(Refusal::NotAllocators(name.to_owned())),
        None => Ok(()),
    }
}

/// The architecture of a C library's archive; or why it is none that can be grafted.
pub fn examine(contents: &[Content], names: &[&str]) -> Result<Architecture, Refusal> {
    let name = |index: usize| names.get(index).copied().unwrap_or_default().to_owned();
    let mut architecture: Option<Architecture> = None;
    for (index, content) in contents.iter().enumerate() {
        match content {
            Content::Bitcode => return Err(Refusal::Bitcode(name(index))),
            Content::Damaged(cause) => return Err(Refusal::Member(name(index), cause.clone())),
            Content::Object(found, _) => match architecture {
                Some(first) if first != *found => {
                    return Err(Refusal::Mixed(first.to_string(), found.to_string()));
                }
                _ => architecture = Some(*found),
            },
            Content::Other => {}
        }
    }
    let starts = |(_, symbols): (usize, &Symbols)| symbols.defines(STARTS_PROGRAMS);
    match architecture {
        Some(architecture) if objects(contents).any(starts) => Ok(architecture),
        _ => Err(Refusal::NoLibc),
    }
}

/// Decides for each member. `family`: what loam defines.
pub fn plan<'data>(
    contents: &[Content<'data>],
    names: &[&str],
    family: &BTreeSet<&'data str>,
) -> Result<Vec<Fate<'data>>, Refusal> {
    let put_in = put_in(contents);
    refuse_cut(contents, names, family, &put_in)?;
    refuse_more_than_allocator(contents, &put_in, family)?;
    let mut fates: Vec<Fate> = contents.iter().map(|_| Fate::Keep).collect();
    for (index, symbols) in objects(contents) {
        if !symbols.strong.is_disjoint(family) || put_in.contains(&index) {
            fates[index] = Fate::Drop;
        }
    }
    // A member that must stay may want what another one defines, and so on.
    while let Some(index) = wanted_though_dropped(contents, &fates, family, &put_in) {
        let Content::Object(_, symbols) = &contents[index] else { break };
        let cut: BTreeSet<&str> = symbols.defined().filter(|name| family.contains(name)).collect();
        if symbols.has_lto {
            let first = cut.first().copied().unwrap_or_default().to_owned();
            return Err(Refusal::SplitLto(names[index].to_owned(), first));
        }
        fates[index] = Fate::Split(cut);
    }
    Ok(fates)
}

/// A member to be dropped that defines what others want, or a program may, and nobody else does.
fn wanted_though_dropped(
    contents: &[Content],
    fates: &[Fate],
    family: &BTreeSet<&str>,
    put_in: &BTreeSet<usize>,
) -> Option<usize> {
    let stays = |index: usize| fates[index] != Fate::Drop;
    let mut wanted = BTreeSet::new();
    let mut defined = BTreeSet::new();
    for (_, symbols) in objects(contents).filter(|(index, _)| stays(*index)) {
        wanted.extend(symbols.wanted.iter().copied());
        defined.extend(symbols.defined());
    }
    let is_missed = |name: &str| {
        !family.contains(name)
            && !defined.contains(name)
            && (wanted.contains(name) || is_public(name))
    };
    objects(contents)
        .filter(|(index, _)| !stays(*index) && !put_in.contains(index))
        .find(|(_, symbols)| symbols.defined().any(is_missed))
        .map(|(index, _)| index)
}

/// Among the marks of allocators, those of C libraries' own.
fn is_libcs_own(mark: &str) -> bool {
    mark.starts_with('_')
}

/// Loam's names that a program may define itself: public ones, unless a member that stays defines
/// them weakly, which loam must come before.
pub fn replaceable<'data>(
    contents: &[Content],
    fates: &[Fate],
    family: &BTreeSet<&'data str>,
) -> BTreeSet<&'data str> {
    let stays = |index: usize| fates[index] == Fate::Keep;
    let is_defined = |name: &str| {
        objects(contents).any(|(index, symbols)| stays(index) && symbols.defines(name))
    };
    let is_free = |name: &&str| is_public(name) && !is_defined(name);
    family.iter().copied().filter(is_free).collect()
}

/// Names that begin with an underscore are the C library's own, but for C++'s operators.
fn is_public(name: &str) -> bool {
    !name.starts_with('_') || name.starts_with("_Z")
}

/// Refuses an archive whose malloc is not the C library's own any more.
fn refuse_cut(
    contents: &[Content],
    names: &[&str],
    family: &BTreeSet<&str>,
    put_in: &BTreeSet<usize>,
) -> Result<(), Refusal> {
    let mut defined = BTreeSet::new();
    let mut wanted = BTreeSet::new();
    for (index, symbols) in objects(contents) {
        let allocators = ALLOCATOR_MARKS.iter().filter(|_| !put_in.contains(&index));
        for (mark, allocator) in allocators.filter(|(mark, _)| !is_libcs_own(mark)) {
            if symbols.strong.contains(mark) {
                return Err(Refusal::OtherAllocator(names[index].to_owned(), allocator, mark));
            }
        }
        defined.extend(symbols.defined());
        wanted.extend(symbols.wanted.iter().copied());
    }
    // What was cut for it, loam defines.
    if !put_in.is_empty() {
        return Ok(());
    }
    if LEAST.iter().all(|name| !defined.contains(name)) {
        return Err(Refusal::NoMalloc);
    }
    let mut must_be_there = LEAST.iter().chain(wanted.intersection(family));
    match must_be_there.find(|name| !defined.contains(*name)) {
        Some(missing) => Err(Refusal::AlreadyCut((*missing).to_owned())),
        None => Ok(()),
    }
}
