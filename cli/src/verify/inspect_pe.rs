//! Inspects a program for Windows, which is not started: what it and the libraries that stand
//! beside it import.

use crate::binary::entry_points_windows as entry_points;
use crate::binary::pe::{Image, Import};
use crate::process::binding::Binding;
use crate::verify::report::{
    Finding, FindingKind, Linkage, ModuleResult, ModuleRow, Reference, Report, Role, SCHEMA,
    Started,
};
use crate::verify::runtime_pe::{self, REDIRECT, Redirect};
use crate::verify::words::{count, list, name_of, shown};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

struct Module {
    path: PathBuf,
    image: Image,
}

/// The report on a file. `None` if it is not PE.
pub fn report(path: &Path) -> Result<Option<Report>> {
    let Some(image) = Image::read(path)? else { return Ok(None) };
    let modules = with_libraries(path, image)?;
    let program = &modules[0];
    let mut findings: Vec<Finding> = of_program(program).into_iter().collect();
    for module in &modules {
        findings.extend(imported(module, &modules));
        findings.extend(inside(module, program));
        findings.extend(given(module));
    }
    findings.extend(redirect_elsewhere(&modules));
    let failure = findings.iter().find(|finding| finding.is_failure);
    let holder = if is_redirected(program) { named(&modules, REDIRECT) } else { Some(program) };
    let version = holder.and_then(|module| module.image.loam_note.as_ref());
    let version = version.map(|note| format!("{} ({})", note.version, note.build));
    Ok(Some(Report {
        schema: SCHEMA,
        loam: failure.is_none(),
        verdict: failure.map_or_else(
            || {
                let holds = if is_redirected(program) {
                    format!("{REDIRECT}, its first import, has loam")
                } else {
                    "it holds loam".into()
                };
                format!(
                    "program for Windows: {holds}{}, and nothing is imported past it; {} beside it",
                    version.as_ref().map_or_else(String::new, |version| format!(" {version}")),
                    count(modules.len() - 1, "library", "libraries")
                )
            },
            |finding| finding.text.clone(),
        ),
        program: shown(path),
        name: name_of(path),
        pid: None,
        started: Started::AsItIs,
        linkage: Linkage::Dynamic,
        library: version.and(holder).map(|module| shown(&module.path)),
        findings,
        // There is no lookup for the whole process: each module has its imports.
        entry_points: Vec::new(),
        modules: modules.iter().map(|module| row(module, program, &modules)).collect(),
        run: None,
    }))
}

/// The program, and the libraries that it and they need as far as they stand in its folder. Others
/// are the system's.
fn with_libraries(path: &Path, image: Image) -> Result<Vec<Module>> {
    let mut beside = files_beside(path)?;
    let mut modules = vec![Module { path: path.to_path_buf(), image }];
    let mut next = 0;
    while next < modules.len() {
        for library in modules[next].image.libraries.clone() {
            let Some(path) = beside.remove(&library.to_lowercase()) else { continue };
            if let Some(image) = Image::read(&path)? {
                modules.push(Module { path, image });
            }
        }
        next += 1;
    }
    Ok(modules)
}

/// The other files in a file's folder, by their names in lower case: Windows does not tell case.
fn files_beside(path: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let cannot = || format!("cannot read {}", folder.display());
    let mut files = BTreeMap::new();
    for entry in folder.read_dir().with_context(cannot)? {
        let file = entry.with_context(cannot)?.path();
        if let Some(name) = file.file_name().filter(|_| file != path && file.is_file()) {
            files.insert(name.to_string_lossy().to_lowercase(), file);
        }
    }
    Ok(files)
}

/// The module that a name of a library stands for, if it is not the system's.
fn named<'a>(modules: &'a [Module], library: &str) -> Option<&'a Module> {
    modules.iter().find(|module| {
        let name = module.path.file_name().map(|name| name.to_string_lossy());
        name.is_some_and(|name| name.eq_ignore_ascii_case(library))
    })
}

/// Whether loam-redirect.dll is there before any runtime's first malloc.
fn is_redirected(program: &Module) -> bool {
    matches!(runtime_pe::redirect(&program.image), Redirect::First)
}

fn leads_to_loam(modules: &[Module], import: &Import) -> bool {
    if is_redirected(&modules[0]) && runtime_pe::is_redirected(&import.library) {
        return true;
    }
    named(modules, &import.library).is_some_and(|module| module.image.loam_note.is_some())
}

fn row(module: &Module, program: &Module, modules: &[Module]) -> ModuleRow {
    let references: Vec<Reference> =
        module.image.imports.iter().filter_map(|import| reference(import, modules)).collect();
    let result = if references.iter().any(|reference| reference.loam == Some(false)) {
        ModuleResult::Other
    } else if module.image.loam_note.is_some() || !references.is_empty() {
        ModuleResult::Loam
    } else {
        ModuleResult::NoReferences
    };
    let role = if module.path == program.path { Role::Program } else { Role::Library };
    ModuleRow { path: shown(&module.path), role, result, references }
}

fn reference(import: &Import, modules: &[Module]) -> Option<Reference> {
    let entry = entry_points::find(&import.name)?;
    let target = named(modules, &import.library).map(|module| shown(&module.path));
    Some(Reference {
        name: entry.shown,
        symbol: entry.symbol,
        slot: format!("{:#x}", import.slot_address),
        binding: if import.is_delayed { Binding::Lazy } else { Binding::Bound },
        target_module: Some(target.unwrap_or_else(|| import.library.clone())),
        target_symbol: Some(import.name.clone()),
        via: None,
        loam: Some(leads_to_loam(modules, import)),
    })
}

fn of_program(program: &Module) -> Option<Finding> {
    let (kind, text) = match program.image.malloc_addresses {
        _ if is_redirected(program) => return None,
        _ if program.image.loam_note.is_none() => (FindingKind::NotLoaded, without_loam(program)),
        Some((malloc, loam_malloc)) if malloc != loam_malloc => (
            FindingKind::OtherAllocator,
            "program for Windows: it holds loam, but its malloc is another".to_owned(),
        ),
        _ => return None,
    };
    let module = Some(shown(&program.path));
    Some(Finding { kind, is_failure: true, module, entry_points: Vec::new(), text })
}

/// Whose malloc it has, and what would put loam there.
fn without_loam(program: &Module) -> String {
    const START: &str = "program for Windows: it does not hold loam";
    if let Redirect::Behind(library) = runtime_pe::redirect(&program.image) {
        return format!(
            "{START}; it imports {REDIRECT} behind {library}, which may have blocks by then: let \
             it be the first"
        );
    }
    if runtime_pe::is_inside(&program.image) {
        return format!("{START}, and has a C runtime inside: link it with loam-msvc.obj first");
    }
    match runtime_pe::imported(&program.image) {
        Some(runtime) => format!(
            "{START}; its malloc is {runtime}'s: start it by loam-run.exe, or link it with \
             loam-redirect.lib, or of MinGW with loam.o, first"
        ),
        None => format!("{START}; link it with loam.o first"),
    }
}

/// A module beside a redirected program that has a malloc of its own inside.
fn inside(module: &Module, program: &Module) -> Option<Finding> {
    if !is_redirected(program) || !runtime_pe::is_inside(&module.image) {
        return None;
    }
    Some(Finding {
        kind: FindingKind::OwnMalloc,
        is_failure: true,
        module: Some(shown(&module.path)),
        entry_points: Vec::new(),
        text: format!(
            "{}: it has a C runtime inside, whose malloc {REDIRECT} does not reach",
            module.path.display()
        ),
    })
}

/// A note: the loader has to find the library somewhere.
fn redirect_elsewhere(modules: &[Module]) -> Option<Finding> {
    let program = &modules[0];
    if !is_redirected(program) || named(modules, REDIRECT).is_some() {
        return None;
    }
    Some(Finding {
        kind: FindingKind::NotLoaded,
        is_failure: false,
        module: Some(shown(&program.path)),
        entry_points: Vec::new(),
        text: format!("{REDIRECT} is not beside the program, which does not start without it"),
    })
}

/// What a module imports past loam, by the library that it comes from.
fn imported(module: &Module, modules: &[Module]) -> Vec<Finding> {
    let mut by_library: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for import in module.image.imports.iter().filter(|import| !leads_to_loam(modules, import)) {
        let Some(entry) = entry_points::find(&import.name) else { continue };
        by_library.entry(import.library.to_lowercase()).or_default().insert(entry.shown);
    }
    let finding = |(library, names): (String, BTreeSet<&'static str>)| {
        let names: Vec<&'static str> = names.into_iter().collect();
        let text = format!(
            "{}: {}: imported from {library}, which has a heap of its own",
            module.path.display(),
            list(&names)
        );
        let module = Some(shown(&module.path));
        Finding { kind: FindingKind::Imported, is_failure: true, module, entry_points: names, text }
    };
    by_library.into_iter().map(finding).collect()
}

/// A note on what a module with loam inside gets out of the runtime's heap without asking for it.
fn given(module: &Module) -> Option<Finding> {
    module.image.loam_note.as_ref()?;
    let imports = module.image.imports.iter();
    let names: BTreeSet<&'static str> =
        imports.filter_map(|import| entry_points::find_giver(&import.name)).collect();
    let names: Vec<&'static str> = names.into_iter().collect();
    (!names.is_empty()).then(|| Finding {
        kind: FindingKind::Imported,
        is_failure: false,
        module: Some(shown(&module.path)),
        text: format!(
            "{}: {}: the C runtime allocates what these give; loam's free hands it back",
            module.path.display(),
            list(&names)
        ),
        entry_points: names,
    })
}
