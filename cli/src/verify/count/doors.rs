//! The functions that are watched: every definition of an entry point in a process.

use crate::binary::entry_points::{ENTRY_POINTS, EntryPoint, Group, find};
use crate::process::modules::{Module, Process};
use std::collections::BTreeMap;

#[derive(Clone)]
pub struct Door {
    pub entry: &'static EntryPoint,
    pub module: String,
    /// `None` for the operators of a C++ runtime, which call malloc.
    pub loam: Option<bool>,
}

/// A module's, by their addresses in the process.
pub fn of(process: &Process, module: &Module) -> BTreeMap<u64, Door> {
    let image = &module.image;
    let is_static = process.is_static();
    let mut doors: BTreeMap<u64, Door> = BTreeMap::new();
    for symbol in image.exports.iter().chain(&image.internals) {
        let Some(entry) = find(&symbol.name) else { continue };
        let loam = match entry.group {
            Group::Malloc if is_static => Some(image.is_loams(symbol)),
            Group::Malloc => Some(image.is_loam()),
            Group::New | Group::Delete => (image.is_loam() && !is_static).then_some(true),
        };
        let address = symbol.address.wrapping_add(module.bias);
        let door = Door { entry, module: module.path.display().to_string(), loam };
        // Of a function's several names, the one that comes first in the list.
        match doors.get(&address) {
            Some(other) if place(other.entry) <= place(entry) => {}
            _ => drop(doors.insert(address, door)),
        }
    }
    doors
}

fn place(entry: &EntryPoint) -> Option<usize> {
    ENTRY_POINTS.iter().position(|other| other == entry)
}
