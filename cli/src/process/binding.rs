//! To what a reference leads: from a slot's value to the function that will be called.

use crate::binary::elf::Slot;
use crate::binary::entry_points::{self, EntryPoint, Group, NEW_HANDLER_MARK};
use crate::process::modules::{Module, Process};
use anyhow::Result;
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    /// The slot holds the function's address.
    Bound,
    /// The first call will fill the slot; the target is what it will then find.
    Lazy,
    /// A weak reference that nothing defines.
    Unbound,
    /// A pointer variable that the program has set to a function of its own.
    Reassigned,
}

pub struct Resolver<'a> {
    pub process: &'a Process,
    /// Modules in the order in which symbols are looked up.
    scope: Vec<&'a Module>,
}

/// The function that a reference leads to.
#[derive(Clone)]
pub struct Target<'a> {
    /// `None` for code that belongs to no module.
    pub module: Option<&'a Module>,
    pub symbol: Option<String>,
    /// The C++ runtime in between, whose operators call malloc and free.
    pub via: Option<&'a Module>,
    pub is_loam: bool,
}

pub struct Bound<'a> {
    pub binding: Binding,
    /// `None` where no entry point would be called.
    pub target: Option<Target<'a>>,
}

impl<'a> Resolver<'a> {
    pub fn new(process: &'a Process) -> Self {
        Resolver { process, scope: process.scope() }
    }

    /// The first definition in the order of lookup: what dlsym(RTLD_DEFAULT, ...) gives.
    pub fn look_up(&self, entry: &EntryPoint) -> Option<Target<'a>> {
        self.scope.iter().find_map(|module| self.definition_in(module, entry))
    }

    /// The first definition in the order in which a module looks.
    fn look_up_from(&self, module: &Module, entry: &EntryPoint) -> Option<Target<'a>> {
        let first = module.looks_first_in.iter().flatten();
        let at = |place: &usize| self.scope.iter().find(|other| other.order == Some(*place));
        first
            .filter_map(at)
            .find_map(|module| self.definition_in(module, entry))
            .or_else(|| self.look_up(entry))
    }

    fn definition_in(&self, module: &'a Module, entry: &EntryPoint) -> Option<Target<'a>> {
        let symbol = module.image.defines_entry(entry)?;
        Some(self.target(module, Some(symbol.name.clone()), entry))
    }

    /// The first module in the order of lookup that defines a function.
    pub fn definer(&self, name: &str) -> Option<&'a Module> {
        self.scope.iter().find(|module| module.image.export(name).is_some()).copied()
    }

    /// Follows a module's slot.
    pub fn follow(&self, module: &'a Module, slot: &Slot) -> Result<Bound<'a>> {
        let address = module.bias.wrapping_add(slot.address);
        let value = self.process.read_pointer(address, &module.image)?;
        let value = match self.behind_plt(value, slot.entry)? {
            Some(behind) => behind,
            None => value,
        };
        if value == 0 {
            return Ok(Bound { binding: Binding::Unbound, target: None });
        }
        let holder = self.process.module_at(value);
        let is_definition = holder.is_some_and(|holder| {
            holder.image.entry_at(slot.entry, value.wrapping_sub(holder.bias)).is_some()
        });
        if slot.is_data && !is_definition {
            return Ok(Bound { binding: Binding::Reassigned, target: None });
        }
        let Some(holder) = holder else {
            let target = Target { module: None, symbol: None, via: None, is_loam: false };
            return Ok(Bound { binding: Binding::Bound, target: Some(target) });
        };
        // A slot not used yet leads back into its own module's PLT.
        if holder.start == module.start && !is_definition {
            let target = self.look_up_from(module, slot.entry);
            return Ok(Bound { binding: Binding::Lazy, target });
        }
        let address = value.wrapping_sub(holder.bias);
        // Functions often have several names; the one asked for says most.
        let symbol = holder.image.entry_at(slot.entry, address);
        let symbol = symbol.or_else(|| holder.image.symbol_at(address));
        let target = self.target(holder, symbol.map(|symbol| symbol.name.clone()), slot.entry);
        Ok(Bound { binding: Binding::Bound, target: Some(target) })
    }

    /// Where a module's calls of an entry point by name go.
    pub fn calls_of(&self, module: &'a Module, name: &str) -> Option<Target<'a>> {
        let mut slots = module.image.slots.iter();
        let slot = slots.find(|slot| slot.entry.symbol == name && !slot.is_data)?;
        self.follow(module, slot).ok()?.target
    }

    /// A program that is not position-independent may give its own PLT entry as a function's
    /// address: then that entry's slot holds the truth.
    fn behind_plt(&self, value: u64, entry: &'static EntryPoint) -> Result<Option<u64>> {
        let Some(holder) = self.process.module_at(value) else { return Ok(None) };
        let address = value.wrapping_sub(holder.bias);
        let is_here = |symbol: &crate::binary::elf::Symbol| {
            symbol.address == address && entry_points::find(&symbol.name) == Some(entry)
        };
        if !holder.image.plt_entries.iter().any(is_here) {
            return Ok(None);
        }
        let mut slots = holder.image.slots.iter();
        match slots.find(|slot| slot.entry == entry && !slot.is_data) {
            Some(slot) => {
                let address = holder.bias.wrapping_add(slot.address);
                self.process.read_pointer(address, &holder.image).map(Some)
            }
            None => Ok(None),
        }
    }

    fn target(&self, module: &'a Module, symbol: Option<String>, entry: &EntryPoint) -> Target<'a> {
        let is_operator = entry.group != Group::Malloc;
        if !is_operator || module.image.is_loam() || !is_cxx_runtime(module) {
            let is_loam = module.image.is_loam();
            return Target { module: Some(module), symbol, via: None, is_loam };
        }
        let behind = self.behind_operator(module, entry);
        let is_loam = behind.as_ref().is_some_and(|target| target.is_loam);
        let via = behind.is_some().then_some(module);
        Target { module: behind.map_or(Some(module), |target| target.module), symbol, via, is_loam }
    }

    /// What the C++ runtime's own operators new and delete allocate with.
    fn behind_operator(&self, runtime: &'a Module, entry: &EntryPoint) -> Option<Target<'a>> {
        let names: &[&str] = match entry.group {
            Group::Delete => &["free"],
            _ if entry.symbol.contains("align_val_t") => {
                &["aligned_alloc", "posix_memalign", "memalign", "malloc"]
            }
            _ => &["malloc"],
        };
        names.iter().find_map(|name| self.calls_of(runtime, name))
    }
}

/// Whether a module holds the C++ runtime, whose operators new call malloc.
pub fn is_cxx_runtime(module: &Module) -> bool {
    let image = &module.image;
    image.export(NEW_HANDLER_MARK).is_some() || image.has_internal(NEW_HANDLER_MARK)
}
