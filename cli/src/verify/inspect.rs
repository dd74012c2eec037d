//! Inspects a process and draws up the report.

use crate::binary::entry_points::{ENTRY_POINTS, EntryPoint, Group};
use crate::process::binding::{Bound, Resolver};
use crate::process::modules::{Module, Process};
use crate::verify::findings::{self, Stray};
use crate::verify::report::{
    EntryPointRow, Finding, FindingKind, Linkage, ModuleResult, ModuleRow, Reference, Report, Role,
    SCHEMA, Started,
};
use crate::verify::words::{STRDUP, count, name_of, shown};
use anyhow::Result;
use std::path::Path;

/// The report on a dynamically linked process.
pub fn process(process: &Process, pid: Option<i32>) -> Result<Report> {
    let resolver = Resolver::new(process);
    let program = process.program()?;
    let entry_points = entry_point_rows(&resolver);
    let mut strays = Vec::new();
    let mut modules = Vec::new();
    for module in &process.modules {
        modules.push(module_row(&resolver, module, program, &mut strays)?);
    }
    let findings = findings::of_process(&resolver, program, &entry_points, &strays);
    let loam = process.modules.iter().find(|module| module.image.is_loam());
    let library = loam.map(|module| shown(&module.path));
    let is_loam = loam.is_some() && !findings.iter().any(|finding| finding.is_failure);
    Ok(Report {
        schema: SCHEMA,
        loam: is_loam,
        verdict: verdict(is_loam, &findings, &modules),
        program: shown(&program.path),
        name: name_of(&program.path),
        pid,
        started: Started::AsItIs,
        linkage: Linkage::Dynamic,
        library,
        findings,
        entry_points,
        modules,
        run: None,
    })
}

/// The report on a program that was not inspected.
pub fn not_inspected(path: &Path, kind: FindingKind, text: String) -> Report {
    let finding = Finding {
        kind,
        is_failure: true,
        module: Some(shown(path)),
        entry_points: Vec::new(),
        text: text.clone(),
    };
    Report {
        schema: SCHEMA,
        loam: false,
        verdict: text,
        program: shown(path),
        name: name_of(path),
        pid: None,
        started: Started::AsItIs,
        linkage: Linkage::Dynamic,
        library: None,
        findings: vec![finding],
        entry_points: Vec::new(),
        modules: Vec::new(),
        run: None,
    }
}

fn entry_point_rows(resolver: &Resolver) -> Vec<EntryPointRow> {
    let row = |entry: &'static EntryPoint| {
        let target = resolver.look_up(entry);
        EntryPointRow {
            name: entry.shown,
            symbol: entry.symbol,
            module: target.as_ref().and_then(|target| Some(shown(&target.module?.path))),
            via: target.as_ref().and_then(|target| Some(shown(&target.via?.path))),
            loam: target.map(|target| target.is_loam),
        }
    };
    let (c, cxx): (Vec<_>, Vec<_>) =
        ENTRY_POINTS.iter().partition(|entry| entry.group == Group::Malloc);
    let mut rows: Vec<EntryPointRow> = c.into_iter().map(row).collect();
    rows.push(strdup_row(resolver));
    rows.extend(cxx.into_iter().map(row));
    rows
}

/// Strdup allocates with what its C library's own references to malloc lead to.
fn strdup_row(resolver: &Resolver) -> EntryPointRow {
    let definer = resolver.definer("strdup");
    let is_loam = definer.is_some_and(|module| module.image.is_loam());
    let target = definer.and_then(|module| resolver.calls_of(module, "malloc"));
    let holder = target.as_ref().and_then(|target| target.module).or(definer);
    EntryPointRow {
        name: STRDUP,
        symbol: "strdup",
        module: holder.map(|module| shown(&module.path)),
        via: definer.filter(|_| !is_loam).map(|module| shown(&module.path)),
        loam: definer.map(|_| is_loam || target.is_some_and(|target| target.is_loam)),
    }
}

fn module_row<'a>(
    resolver: &Resolver<'a>,
    module: &'a Module,
    program: &Module,
    strays: &mut Vec<Stray<'a>>,
) -> Result<ModuleRow> {
    let mut references = Vec::new();
    // Loam's own references are its business.
    let slots = if module.image.is_loam() && module.start != program.start {
        &[][..]
    } else {
        &module.image.slots[..]
    };
    for slot in slots {
        let bound = resolver.follow(module, slot)?;
        let address = module.bias.wrapping_add(slot.address);
        references.push(reference(slot.entry, address, &bound));
        if let Some(target) = bound.target.filter(|target| !target.is_loam) {
            strays.push(Stray { module, entry: slot.entry, target });
        }
    }
    let role = if module.start == program.start {
        Role::Program
    } else if module.image.is_loam() {
        Role::Loam
    } else {
        Role::Library
    };
    let result = if references.iter().any(|reference| reference.loam == Some(false)) {
        ModuleResult::Other
    } else if references.iter().any(|reference| reference.loam == Some(true)) {
        ModuleResult::Loam
    } else {
        ModuleResult::NoReferences
    };
    Ok(ModuleRow { path: shown(&module.path), role, result, references })
}

fn reference(entry: &'static EntryPoint, address: u64, bound: &Bound) -> Reference {
    let target = bound.target.as_ref();
    Reference {
        name: entry.shown,
        symbol: entry.symbol,
        slot: format!("{address:#x}"),
        binding: bound.binding,
        target_module: target.and_then(|target| Some(shown(&target.module?.path))),
        target_symbol: target.and_then(|target| target.symbol.clone()),
        via: target.and_then(|target| Some(shown(&target.via?.path))),
        loam: target.map(|target| target.is_loam),
    }
}

fn verdict(is_loam: bool, findings: &[Finding], modules: &[ModuleRow]) -> String {
    if let Some(finding) = findings.iter().find(|finding| finding.is_failure) {
        return finding.text.clone();
    }
    debug_assert!(is_loam);
    let referring =
        modules.iter().filter(|module| module.result != ModuleResult::NoReferences).count();
    let reference_count: usize = modules.iter().map(|module| module.references.len()).sum();
    let silent = modules
        .iter()
        .filter(|module| module.result == ModuleResult::NoReferences && module.role != Role::Loam);
    format!(
        "all of it is loam's: {} in {}; {} without references",
        count(reference_count, "reference", "references"),
        count(referring, "module", "modules"),
        count(silent.count(), "module", "modules")
    )
}
