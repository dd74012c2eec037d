//! Inspects a program that no library can be loaded into: by its symbols, or by loam's note.

use crate::binary::callers;
use crate::binary::elf::{Image, Symbol};
use crate::binary::entry_points::{self, ALLOCATOR_MARKS, ENTRY_POINTS, EntryPoint, Group};
use crate::failure::in_one_line;
use crate::verify::findings;
use crate::verify::report::{
    EntryPointRow, Finding, FindingKind, Linkage, Report, SCHEMA, Started,
};
use crate::verify::words::{list, name_of, shown};
use std::collections::BTreeSet;
use std::path::Path;

pub fn report(path: &Path, image: &Image, pid: Option<i32>) -> Report {
    let entry_points: Vec<EntryPointRow> =
        ENTRY_POINTS.iter().map(|entry| row(path, image, entry)).collect();
    let served = |symbol: &str| {
        entry_points.iter().any(|row| row.symbol == symbol && row.loam == Some(true))
    };
    let holds_loam = match image.has_symbol_table {
        true => image.is_loam() && served("malloc") && served("free"),
        false => !image.loam_notes.is_empty(),
    };
    let mut found: Vec<Finding> =
        findings::of_static(path, image, holds_loam).into_iter().collect();
    if holds_loam {
        found.extend(beside_loam(path, image));
        found.extend(twice(path, image));
    }
    let is_loam = !found.iter().any(|finding| finding.is_failure);
    let verdict = match found.iter().find(|finding| finding.is_failure) {
        Some(finding) => finding.text.clone(),
        None => format!("static executable: {}", proof(image)),
    };
    Report {
        schema: SCHEMA,
        loam: is_loam,
        verdict,
        program: shown(path),
        name: name_of(path),
        pid,
        started: Started::AsItIs,
        linkage: Linkage::Static,
        library: is_loam.then(|| shown(path)),
        findings: found,
        entry_points,
        modules: Vec::new(),
        run: None,
    }
}

/// By what it is known that the program is on loam.
fn proof(image: &Image) -> String {
    let version = match image.loam_notes.first() {
        Some(note) => format!(" {} ({})", note.version, note.build),
        None => String::new(),
    };
    match image.has_symbol_table {
        true => format!("every malloc function in it is loam's{version}, and no other is left"),
        false => format!(
            "holds loam{version}, by its note; it is stripped, so whether another malloc is left \
             in it cannot be told"
        ),
    }
}

fn row(path: &Path, image: &Image, entry: &EntryPoint) -> EntryPointRow {
    let definition = definition(image, entry);
    EntryPointRow {
        name: entry.shown,
        symbol: entry.symbol,
        module: definition.map(|_| shown(path)),
        via: None,
        loam: definition.map(|symbol| match entry.group {
            Group::Malloc => image.is_loams(symbol),
            // The C++ runtime's operators call malloc.
            Group::New | Group::Delete => image.is_loam(),
        }),
    }
}

fn definition<'a>(image: &'a Image, entry: &EntryPoint) -> Option<&'a Symbol> {
    image.internals.iter().find(|symbol| entry_points::find(&symbol.name) == Some(entry))
}

/// Another allocator that is left in beside loam, and what still reaches it.
fn beside_loam(path: &Path, image: &Image) -> Option<Finding> {
    let mark = ALLOCATOR_MARKS.iter().find(|(mark, _)| image.has_internal(mark));
    let doors: Vec<(&'static str, u64)> = ENTRY_POINTS
        .iter()
        .filter(|entry| entry.group == Group::Malloc)
        .filter_map(|entry| Some((entry.shown, definition(image, entry)?)))
        .filter(|(_, symbol)| !image.is_loams(symbol))
        .map(|(name, symbol)| (name, symbol.address))
        .collect();
    if doors.is_empty() && mark.is_none() {
        return None;
    }
    let names: Vec<&'static str> = doors.iter().map(|(name, _)| *name).collect();
    let other = mark.map_or("another malloc", |(_, name)| name);
    let through = if names.is_empty() { String::new() } else { format!(": {}", list(&names)) };
    let addresses: BTreeSet<u64> = doors.iter().map(|(_, address)| *address).collect();
    let reached = match callers::of(path, &addresses) {
        Ok(callers) if callers.is_empty() => "; no call of it was found".to_owned(),
        Ok(callers) => {
            let callers: Vec<&str> = callers.iter().map(String::as_str).collect();
            format!("; still called by {}", callers.join(", "))
        }
        Err(cause) => format!("; what calls it is not known ({})", in_one_line(&cause)),
    };
    let text = format!(
        "static executable: {other} is left in beside loam{through}{reached}; put loam into the \
         C library with 'loam graft'"
    );
    Some(Finding {
        kind: FindingKind::OtherAllocator,
        is_failure: true,
        module: Some(shown(path)),
        entry_points: names,
        text,
    })
}

fn twice(path: &Path, image: &Image) -> Option<Finding> {
    (image.loam_notes.len() > 1).then(|| Finding {
        kind: FindingKind::OtherAllocator,
        is_failure: true,
        module: Some(shown(path)),
        entry_points: Vec::new(),
        text: format!("static executable: it holds loam {} times", image.loam_notes.len()),
    })
}
