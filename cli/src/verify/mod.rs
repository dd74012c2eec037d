//! `loam verify`: proof that a program, or a running process, allocates with loam only.

mod count; // counts a program's calls while it runs
mod findings; // what is wrong, in words
mod inspect; // a process, inspected
mod inspect_pe; // a program for Windows, inspected
mod inspect_static; // a static program, inspected
mod launchers; // programs that start others
mod report; // what was found, as data and JSON
mod runtime_pe; // the C runtimes of programs for Windows
mod text; // what was found, as text
mod words; // what these share

use crate::arguments::{LIBRARY_VARIABLE, VerifyArguments};
use crate::binary::elf::Image;
use crate::binary::library::Library;
use crate::binary::reach::{self, Obstacle};
use crate::failure::{Failure, USAGE};
use crate::process::launch;
use crate::process::launch::Target;
use crate::process::modules;
use crate::process::modules::Process;
use crate::process::preload;
use crate::process::trace;
use crate::process::trace::{IsLauncher, NotFollowed, Stopped, Streams};
use anyhow::{Context, Result, anyhow, bail};
use launchers::Launcher;
use report::{FindingKind, Report, Started};
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub fn verify(arguments: &VerifyArguments) -> Result<ExitCode, Failure> {
    let report = match pid(arguments)? {
        Some(pid) => of_process(pid)?,
        None => of_program(arguments)?,
    };
    let output = if arguments.json {
        report.to_json().context("cannot write JSON")? + "\n"
    } else {
        text::render(&report, arguments.all)
    };
    std::io::stdout().write_all(output.as_bytes()).context("cannot write to standard output")?;
    Ok(ExitCode::from(report.status()))
}

/// The process number asked for. A program whose name is a number needs a path: `./4711`.
fn pid(arguments: &VerifyArguments) -> Result<Option<i32>, Failure> {
    let Some(text) = arguments.target.to_str() else {
        return Ok(None);
    };
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    if arguments.run {
        return Err(anyhow!("--run starts a program; process {text} runs already").into());
    }
    if !arguments.arguments.is_empty() {
        return Err(anyhow!("arguments are for a program, and {text} is a process").into());
    }
    match text.parse() {
        Ok(pid) if pid > 0 => Ok(Some(pid)),
        _ => Err(anyhow!("there is no process {text}").into()),
    }
}

fn of_process(pid: i32) -> Result<Report> {
    let mut report = of_opened(&Process::open(pid)?, Some(pid))?;
    if let Ok(name) = std::fs::read_to_string(format!("/proc/{pid}/comm")) {
        report.name = name.trim_end().replace(char::is_control, "\u{fffd}");
    }
    Ok(report)
}

/// `pid`: of a process that was not started for the purpose.
fn of_opened(process: &Process, pid: Option<i32>) -> Result<Report> {
    let program = process.program()?;
    let is_static = program.image.interpreter.is_none() && program.order.is_none();
    if is_static {
        return Ok(inspect_static::report(&program.path, &program.image, pid));
    }
    inspect::process(process, pid)
}

fn of_program(arguments: &VerifyArguments) -> Result<Report, Failure> {
    let command: Vec<OsString> =
        [&arguments.target].into_iter().chain(&arguments.arguments).cloned().collect();
    // What is wrong with the program is an error of usage here, not a result.
    let usage = |failure: Failure| Failure { status: USAGE, ..failure };
    // A file for Windows needs no permission to be executed here.
    let named = Path::new(&command[0]);
    let is_named_file = command[0].as_bytes().contains(&b'/') && named.is_file();
    if is_named_file && let Some(report) = inspect_pe::report(named)? {
        if arguments.run {
            let named = named.display();
            return Err(usage(anyhow!("{named}: a program for Windows cannot be run here").into()));
        }
        return Ok(report);
    }
    if is_named_file && Image::read(named)?.is_some_and(|image| image.is_library) {
        let text = format!(
            "{} is a shared library, not a program: name a program that loads it, or the number \
             of a process that has",
            named.display()
        );
        return Err(Failure::new(USAGE, text));
    }
    let found = launch::find(&command[0]).map_err(usage)?;
    let path = found.canonicalize().with_context(|| format!("cannot find {}", found.display()))?;
    let target = launch::resolve(&path, &command).map_err(usage)?;
    match launchers::of(&target.path, &target.argv) {
        None => {
            let mut report = of_target(arguments, &target)?;
            if target.path != path {
                report.findings.push(findings::of_script(&path, &target.path));
            }
            Ok(report)
        }
        Some(Launcher::StartsChildren) if !arguments.run => Ok(not_followed(&path, &target, None)),
        Some(_) => Ok(through_launchers(arguments, &path, &target)?),
    }
}

/// The report on what launchers become in the end.
fn through_launchers(arguments: &VerifyArguments, path: &Path, target: &Target) -> Result<Report> {
    let library = preloaded(arguments)?;
    let environment = environment(library.as_ref(), target.image.as_ref());
    let streams = if arguments.run { Streams::Shared } else { Streams::Closed };
    let becomes: IsLauncher = |path, argv| launchers::of(path, argv) == Some(Launcher::Becomes);
    let stopped = match Stopped::start(target, &environment, streams, becomes) {
        Err(cause) => match cause.downcast_ref::<NotFollowed>() {
            Some(why) => return Ok(not_followed(path, target, Some(why))),
            None => return Err(cause),
        },
        Ok(stopped) => stopped,
    };
    let (program, argv) = modules::executed(stopped.pid())?;
    let has_become_another = stopped.has_followed;
    let mut report = of_opened(&Process::open(stopped.pid())?, None)?;
    add_start(&mut report, library.as_ref());
    if arguments.run {
        report = counted(report, stopped)?;
    }
    let has_executed = report.run.as_ref().is_none_or(|run| run.executed > 0);
    if has_executed && launchers::of(&program, &argv) == Some(Launcher::StartsChildren) {
        let run = report.run.take();
        return Ok(Report { run, ..not_followed(path, target, None) });
    }
    if has_become_another {
        report.findings.push(findings::of_launcher(path, &report.program));
    }
    Ok(report)
}

/// The report where a launcher or a script hides what is run in the end.
fn not_followed(path: &Path, target: &Target, why: Option<&NotFollowed>) -> Report {
    let is_script = target.path != path;
    let kind = if is_script { FindingKind::Script } else { FindingKind::Launcher };
    let what = if is_script { "a script" } else { "a launcher" };
    let why = match why {
        Some(why) => format!("this is {what}, and {why}"),
        None => format!("this is {what} that starts programs as its children"),
    };
    let text = format!("{why}: what it runs in the end was not looked at; name that program");
    inspect::not_inspected(path, kind, text)
}

fn of_target(arguments: &VerifyArguments, target: &Target) -> Result<Report> {
    let shown = target.path.display();
    let Some(image) = &target.image else {
        match &target.unreadable {
            Some(cause) => bail!("{cause}"),
            None => bail!("{shown} is neither an ELF program nor a script"),
        }
    };
    if image.interpreter.is_none() {
        let report = inspect_static::report(&target.path, image, None);
        return match arguments.run {
            true => {
                counted(report, Stopped::start(target, &[], Streams::Shared, trace::no_launcher)?)
            }
            false => Ok(report),
        };
    }
    // A program that holds loam is what it is.
    let library = if image.is_loam() { None } else { preloaded(arguments)? };
    if let Some(report) = library.as_ref().and_then(|library| not_started(target, library)) {
        return Ok(report);
    }
    let streams = if arguments.run { Streams::Shared } else { Streams::Closed };
    let environment = environment(library.as_ref(), Some(image));
    let stopped = Stopped::start(target, &environment, streams, trace::no_launcher)?;
    let mut report = inspect::process(&Process::open(stopped.pid())?, None)?;
    add_start(&mut report, library.as_ref());
    if arguments.run { counted(report, stopped) } else { Ok(report) }
}

/// The library that is to be preloaded, if one is.
fn preloaded(arguments: &VerifyArguments) -> Result<Option<Library>> {
    if !arguments.preloaded {
        return Ok(None);
    }
    let set = std::env::var_os(LIBRARY_VARIABLE).map(PathBuf::from);
    Library::locate(arguments.library.as_deref().or(set.as_deref())).map(Some)
}

/// What is added to the environment of a program that is started.
fn environment(
    library: Option<&Library>,
    program: Option<&Image>,
) -> Vec<(&'static str, OsString)> {
    let preload = library.map(|library| ("LD_PRELOAD", preload::value(library, program)));
    [("LD_BIND_NOW", OsString::from("1"))].into_iter().chain(preload).collect()
}

/// How the program was started, and what that explains.
fn add_start(report: &mut Report, library: Option<&Library>) {
    match library {
        Some(_) => report.started = Started::Preloaded,
        None => findings::explain_absence(report, std::env::var_os("LD_PRELOAD").as_deref()),
    }
}

/// The report with what a run of the program adds to it.
fn counted(mut report: Report, stopped: Stopped) -> Result<Report> {
    let program = report.program.clone();
    let run = count::run(stopped).with_context(|| program)?;
    if let Some(finding) = findings::of_run(&run) {
        if report.loam {
            report.loam = false;
            report.verdict.clone_from(&finding.text);
        }
        report.findings.push(finding);
    }
    report.run = Some(run);
    Ok(report)
}

/// The report where starting the program would show nothing. One with a malloc of its own starts,
/// and the report then has the details.
fn not_started(target: &Target, library: &Library) -> Option<Report> {
    let image = target.image.as_ref()?;
    let obstacle = reach::obstacle(&target.path, image, library)?;
    let kind = match obstacle {
        Obstacle::OwnMalloc(_) => return None,
        Obstacle::Sanitizer { .. } => FindingKind::Sanitizer,
        _ => FindingKind::Unreachable,
    };
    let report = inspect::not_inspected(&target.path, kind, obstacle.to_string());
    Some(Report { started: Started::Preloaded, ..report })
}
