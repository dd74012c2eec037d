//! What verify found, as text: the verdict, then what is not loam's, or with --all everything.

use crate::binary::entry_points;
use crate::process::binding::Binding;
use crate::verify::report::{
    CallRow, CallerPart, EntryPointRow, ModuleResult, ModuleRow, Reference, Report, Role,
    RunReport, Started,
};
use crate::verify::words::count;
use std::collections::BTreeMap;
use std::fmt::Write;

pub fn render(report: &Report, all: bool) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, report, all);
    out
}

fn write(out: &mut String, report: &Report, all: bool) -> std::fmt::Result {
    let which = match (report.pid, report.started) {
        (Some(pid), _) => format!("process {pid}"),
        (None, Started::AsItIs) => "as it is".to_owned(),
        (None, Started::Preloaded) => "with loam preloaded".to_owned(),
    };
    let answer = match report.findings.iter().find(|finding| finding.is_failure) {
        _ if report.loam => "",
        Some(first) if first.is_not_followed() => "NOT verified: ",
        _ => "NOT on loam: ",
    };
    writeln!(out, "{} ({which}): {answer}{}", report.program, report.verdict)?;
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
    match &report.run {
        Some(run) => run_tables(out, run, all),
        None => Ok(()),
    }
}

/// How it ended, and the calls: by entry point and part, then by function of the C library.
fn run_tables(out: &mut String, run: &RunReport, all: bool) -> std::fmt::Result {
    const PARTS: [(CallerPart, &str); 4] = [
        (CallerPart::Program, "program"),
        (CallerPart::Library, "libraries"),
        (CallerPart::Libc, "C library"),
        (CallerPart::Unknown, "unknown"),
    ];
    let ended = match (run.status, run.signal) {
        (Some(status), _) => format!("ended with status {status}"),
        (None, Some(signal)) => format!("ended by {signal}"),
        (None, None) => "ended as another program".to_owned(),
    };
    writeln!(
        out,
        "\nrun: {ended}; {}, {}",
        count(run.threads, "more thread", "more threads"),
        count(run.children, "child process", "child processes")
    )?;
    if run.executed > 0 {
        let programs = count(run.executed, "program", "programs");
        writeln!(out, "note: not followed: {programs} that it executed")?;
    }
    write!(out, "  {:<4}  {:<32}", "", "calls of")?;
    PARTS.iter().try_for_each(|(_, title)| write!(out, "{title:>12}"))?;
    writeln!(out)?;
    let mut sums: BTreeMap<(&str, Option<bool>), BTreeMap<CallerPart, u64>> = BTreeMap::new();
    for call in run.calls.iter().filter(|call| call.caller != CallerPart::EntryPoint) {
        *sums.entry((call.name, call.loam)).or_default().entry(call.caller).or_default() +=
            call.count;
    }
    for ((name, loam), counts) in &sums {
        write!(out, "  {:<4}  {name:<32}", mark(*loam))?;
        for (part, _) in PARTS {
            write!(out, "{:>12}", counts.get(&part).copied().unwrap_or(0))?;
        }
        writeln!(out)?;
    }
    let is_shown =
        |call: &&CallRow| all || call.caller == CallerPart::Libc || call.loam == Some(false);
    let mut shown = run.calls.iter().filter(is_shown).peekable();
    if shown.peek().is_some() {
        writeln!(out, "\ncallers{}", if all { "" } else { " in the C library" })?;
    }
    shown.try_for_each(|call| {
        let function = call.function.as_deref().unwrap_or("(a function without a name)");
        let mark = mark(call.loam);
        writeln!(out, "  {mark:<4}  {function:<32}{:<20}{:>12}", call.name, call.count)
    })
}

fn mark(loam: Option<bool>) -> &'static str {
    match loam {
        Some(true) => "loam",
        Some(false) => "NOT",
        None => "-",
    }
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
    let mark = mark(loam);
    let module = match (module, loam) {
        (Some(module), _) => module,
        (None, Some(_)) => "code in no module",
        (None, None) => "",
    };
    let via = via.map(|via| format!(" (through {via})")).unwrap_or_default();
    let text = format!("  {mark:<4}  {name:<36} {module}{via}{how}");
    text.trim_end().to_owned()
}
