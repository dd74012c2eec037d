//! The verbs: `loam bench`, `loam bench suite`, `loam bench report`.

use super::allocators::{self, Allocator, Places};
use super::command_line::{self, Placeholders};
use super::effect;
use super::report::{self, Request};
use super::results::Better;
use super::rounds::{Amount, Stop};
use super::runner;
use super::session::Session;
use super::suite_run;
use super::workload::{Figure, Kind, Server, Workload};
use crate::arguments::{
    BenchArguments, BenchCommandArguments, BenchReportArguments, BenchVerb, MeasuringArguments,
};
use crate::failure::{Failure, reason};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// As a shell has it for a command that SIGINT ended.
const INTERRUPTED: u8 = 130;

pub fn bench(arguments: BenchArguments) -> Result<ExitCode, Failure> {
    ctrlc::set_handler(runner::interrupt).context("cannot handle signals")?;
    let outcome = match arguments.verb {
        None => of_command(&arguments.command),
        Some(BenchVerb::Suite(suite)) => suite_run::run(&suite),
        Some(BenchVerb::Report(kept)) => of_kept(&kept),
    };
    match outcome {
        Err(cause) if runner::is_interrupted() => Err(Failure { status: INTERRUPTED, cause }),
        Ok(_) if runner::is_interrupted() => Ok(ExitCode::from(INTERRUPTED)),
        outcome => Ok(outcome?),
    }
}

fn of_kept(arguments: &BenchReportArguments) -> Result<ExitCode> {
    report::report(&Request {
        files: &arguments.files,
        export: arguments.export.clone(),
        baseline: arguments.baseline.as_deref(),
        docs: arguments.update_docs.as_deref(),
        agree: arguments.agree.as_deref(),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn of_command(arguments: &BenchCommandArguments) -> Result<ExitCode> {
    let measuring = &arguments.measuring;
    let all = find_allocators(measuring);
    if arguments.list {
        return list_allocators(&all);
    }
    let chosen = with_baseline(all, measuring.with.as_deref(), &arguments.baseline)?;
    let workload = workload(arguments)?;
    if chosen.iter().any(|allocator| allocator.library.is_some())
        && let Some(reason) = effect::incomparable(workload.kind.measured())
    {
        bail!("{reason}");
    }
    let stop = arguments.time.map_or(Stop::Rounds(arguments.runs), Stop::After);
    let steps = if arguments.time.is_none() { arguments.runs * chosen.len() } else { 0 };
    let mut session = Session::start(measuring, &chosen, &arguments.baseline, steps)?;
    let amount = Amount { stop, warmup: measuring.warmup, time_limit: measuring.timeout };
    session.measure(&workload, &chosen, &Placeholders::default(), amount)?;
    session.finish()
}

fn workload(arguments: &BenchCommandArguments) -> Result<Workload> {
    let split = |text: &Option<String>| text.as_deref().map(command_line::split).transpose();
    let kind = match (split(&arguments.server)?, split(&arguments.client)?) {
        (Some(server), Some(client)) => {
            Kind::Server(Server { server, client, ready: split(&arguments.ready)? })
        }
        _ => Kind::Command(arguments.command.clone()),
    };
    let mut workload = Workload::of(kind);
    workload.ignores_status = arguments.ignore_failure;
    workload.setup = split(&arguments.setup)?;
    workload.input.clone_from(&arguments.input);
    let directions = [(&arguments.metrics, Better::Lower), (&arguments.rates, Better::Higher)];
    for (patterns, better) in directions {
        for pattern in patterns {
            let mut figure = Figure::new(pattern, better)?;
            let is_taken = |name: &str| workload.metrics().contains_key(name);
            if is_taken(&figure.name) {
                let count = workload.figures.len() + 1;
                figure.name = format!("{} {count}", figure.name);
            }
            workload.judged.insert(workload.figures.len(), figure.name.clone());
            workload.figures.push(figure);
        }
    }
    check_commands(&workload)?;
    Ok(workload)
}

/// Every command that will be started is there; otherwise the error names it.
fn check_commands(workload: &Workload) -> Result<()> {
    let mut commands: Vec<&[OsString]> = vec![workload.kind.measured()];
    commands.extend(workload.setup.as_deref());
    if let Kind::Server(server) = &workload.kind {
        commands.push(&server.client);
        commands.extend(server.ready.as_deref());
    }
    for command in commands {
        let name = command.first().context("an empty command")?;
        if !name.to_string_lossy().contains('{') {
            crate::launch::find(name).map_err(|failure| failure.cause)?;
        }
    }
    match &workload.input {
        Some(path) => match std::fs::File::open(path) {
            Ok(_) => Ok(()),
            Err(cause) => bail!("cannot read {}: {}", path.display(), reason(&cause)),
        },
        _ => Ok(()),
    }
}

/// All allocators there are.
pub fn find_allocators(arguments: &MeasuringArguments) -> Vec<Allocator> {
    let beside = || {
        let command = crate::itself::path().ok()?;
        let folder = command.parent()?.join("../peers");
        folder.is_dir().then_some(folder)
    };
    let peers: Option<PathBuf> = arguments.peers.clone().or_else(beside);
    let loam = arguments.library.library.as_deref();
    allocators::find_all(&Places { peers: peers.as_deref(), loam, added: &arguments.allocators })
}

/// The allocators asked for, and the baseline in front if it is not among them.
pub fn with_baseline(
    all: Vec<Allocator>,
    names: Option<&[String]>,
    baseline: &str,
) -> Result<Vec<Allocator>> {
    let is_there = |list: &[Allocator]| list.iter().any(|allocator| allocator.name == baseline);
    let chosen = allocators::choose(all.clone(), names)?;
    if is_there(&chosen) {
        return Ok(chosen);
    }
    let mut with = allocators::choose(all, Some(&[baseline.to_owned()]))?;
    with.extend(chosen);
    Ok(with)
}

/// Prints them.
pub fn list_allocators(all: &[Allocator]) -> Result<ExitCode> {
    for allocator in all {
        let version = allocator.version.as_deref().unwrap_or("");
        let library = allocator.library.as_ref().map(|path| path.display().to_string());
        let settings: Vec<String> =
            allocator.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let what = library.unwrap_or_else(|| settings.join(" "));
        let problem = allocator.problem.as_ref().map(|text| format!(" ({text})"));
        let line =
            format!("{:<12} {version:<24} {what}{}", allocator.name, problem.unwrap_or_default());
        println!("{}", line.trim_end());
    }
    Ok(ExitCode::SUCCESS)
}
