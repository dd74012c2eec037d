//! What verify found, as text: the verdict, then what is not loam's, or with --all everything.

use crate::entry_points;
use crate::report::{Binding, EntryPointRow, ModuleResult, ModuleRow, Reference, Report, Role};
use std::fmt::Write;

pub fn render(report: &Report, all: bool) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, report, all);
    out
}

fn write(out: &mut String, report: &Report, all: bool) -> std::fmt::Result {
    let process = report.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
    let answer = if report.loam { "" } else { "NOT on loam: " };
    writeln!(out, "{}{process}: {answer}{}", report.program, report.verdict)?;
    if let Some(library) = &report.library {
        writeln!(out, "loam: {library}")?;
    }
    for finding in report.findings.iter().filter(|finding| finding.text != report.verdict) {
        let word = if finding.is_failure { "also" } else { "note" };
        writeln!(out, "{word}: {}", finding.text)?;
    }
    if all || !report.loam {
        entry_point_table(out, &report.entry_points, all)?;
        for module in &report.modules {
            module_table(out, module, all)?;
        }
    }
    Ok(())
}

fn entry_point_table(out: &mut String, rows: &[EntryPointRow], all: bool) -> std::fmt::Result {
    let is_shown = |row: &&EntryPointRow| match row.loam {
        Some(is_loam) => all || !is_loam,
        None => false,
    };
    let is_c_name = |row: &&EntryPointRow| {
        entry_points::find(row.symbol).is_none_or(|entry| !entry.symbol.starts_with("_Z"))
    };
    let shown: Vec<&EntryPointRow> = rows.iter().filter(is_shown).collect();
    if shown.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nentry points of the process")?;
    let brief = !all && shown.iter().any(is_c_name);
    for row in shown {
        // Operators beyond the first say nothing that their C functions do not.
        if brief && row.symbol.starts_with("_Z") && row.symbol != "_Znwm" {
            continue;
        }
        let via = row.via.as_ref().filter(|via| Some(*via) != row.module.as_ref());
        let text = line(row.name, row.loam, row.module.as_deref(), via.map(String::as_str), "");
        writeln!(out, "{text}")?;
    }
    Ok(())
}

fn module_table(out: &mut String, module: &ModuleRow, all: bool) -> std::fmt::Result {
    let is_shown = |reference: &&Reference| all || reference.loam == Some(false);
    if !all && module.result != ModuleResult::Other {
        return Ok(());
    }
    let role = match module.role {
        Role::Program => " (the program)",
        Role::Loam => " (loam)",
        Role::Library => "",
    };
    let none = if module.references.is_empty() && module.role != Role::Loam {
        ": no references"
    } else {
        ""
    };
    writeln!(out, "\n{}{role}{none}", module.path)?;
    let mut lines: Vec<String> = Vec::new();
    for reference in module.references.iter().filter(is_shown) {
        let how = match reference.binding {
            Binding::Bound => "",
            Binding::Lazy => " (on its first call)",
            Binding::Unbound => " (defined nowhere)",
            Binding::Reassigned => " (a variable, set by the program)",
        };
        let target = reference.target_module.as_deref();
        let text = line(reference.name, reference.loam, target, reference.via.as_deref(), how);
        // A module may refer to a function from several places.
        if !lines.contains(&text) {
            lines.push(text);
        }
    }
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn line(
    name: &str,
    loam: Option<bool>,
    module: Option<&str>,
    via: Option<&str>,
    how: &str,
) -> String {
    let mark = match loam {
        Some(true) => "loam",
        Some(false) => "NOT",
        None => "-",
    };
    let module = match (module, loam) {
        (Some(module), _) => module,
        (None, Some(_)) => "code in no module",
        (None, None) => "",
    };
    let via = via.map(|via| format!(" (through {via})")).unwrap_or_default();
    let text = format!("  {mark:<4}  {name:<36} {module}{via}{how}");
    text.trim_end().to_owned()
}
