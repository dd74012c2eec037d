//! The verbs: `loam bench`, `loam bench suite`, `loam bench report`, `loam replay`.

use crate::arguments::{
    BenchArguments, BenchCommandArguments, BenchReportArguments, BenchVerb, ReplayArguments,
};
use crate::bench::choice::{find_allocators, list_allocators, with_baseline};
use crate::bench::judge::results::Better;
use crate::bench::kept::{self, Request};
use crate::bench::measure::allocators;
use crate::bench::measure::command_line::{self, Placeholders};
use crate::bench::measure::effect;
use crate::bench::measure::rounds::{Amount, Stop};
use crate::bench::measure::runner;
use crate::bench::measure::workload::{Figure, Kind, Server, Workload};
use crate::bench::session::Session;
use crate::bench::{replay_run, suite_run};
use crate::failure::{Failure, reason};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::process::ExitCode;

/// As a shell has it for a command that SIGINT ended.
const INTERRUPTED: u8 = 130;

pub fn bench(arguments: BenchArguments) -> Result<ExitCode, Failure> {
    interruptible(|| match &arguments.verb {
        None => of_command(&arguments.command),
        Some(BenchVerb::Suite(suite)) => suite_run::run(suite),
        Some(BenchVerb::Report(kept)) => of_kept(kept),
    })
}

pub fn replay(arguments: &ReplayArguments) -> Result<ExitCode, Failure> {
    interruptible(|| replay_run::run(arguments))
}

fn interruptible(run: impl FnOnce() -> Result<ExitCode>) -> Result<ExitCode, Failure> {
    ctrlc::set_handler(runner::interrupt).context("cannot handle signals")?;
    match run() {
        Err(cause) if runner::is_interrupted() => Err(Failure { status: INTERRUPTED, cause }),
        Ok(_) if runner::is_interrupted() => Ok(ExitCode::from(INTERRUPTED)),
        outcome => Ok(outcome?),
    }
}

fn of_kept(arguments: &BenchReportArguments) -> Result<ExitCode> {
    kept::report(&Request {
        files: &arguments.files,
        export: arguments.export.clone(),
        baseline: arguments.baseline.as_deref(),
        docs: arguments.update_docs.as_deref(),
        agree: arguments.agree.as_deref(),
        merge: arguments.merge.as_deref(),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn of_command(arguments: &BenchCommandArguments) -> Result<ExitCode> {
    let measuring = &arguments.measuring;
    let all = find_allocators(measuring);
    if arguments.list {
        return list_allocators(&all);
    }
    let baseline = match &arguments.baseline {
        Some(asked_for) => asked_for.as_str(),
        None => allocators::system_name(),
    };
    let chosen = with_baseline(all, measuring.with.as_deref(), baseline)?;
    let workload = workload(arguments)?;
    if chosen.iter().any(|allocator| allocator.library.is_some())
        && let Some(reason) = effect::incomparable(workload.kind.measured())
    {
        bail!("{reason}");
    }
    let stop = arguments.time.map_or(Stop::Rounds(arguments.runs), Stop::After);
    let steps = if arguments.time.is_none() { arguments.runs * chosen.len() } else { 0 };
    let mut session = Session::start(measuring, &chosen, baseline, steps)?;
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
            crate::process::launch::find(name).map_err(|failure| failure.cause)?;
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
