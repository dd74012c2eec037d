//! `loam record`: what a program takes and frees, in a file.

mod drain; // from the rings into the file
mod mappings; // what the program maps itself
mod memory; // the program's memory, as the system sees it
mod recorded; // what one process has done, as a recording
mod ring; // the memory that is shared with the program
mod stream; // the events of a ring
mod time; // the processor's counter as time

use crate::arguments::RecordArguments;
use crate::binary::elf::Image;
use crate::binary::library::Library;
use crate::binary::{carried, reach};
use crate::failure::{Failure, REFUSED, complain};
use crate::numbers;
use crate::process::launch::{self, Target};
use crate::process::supervise::Ended;
use crate::process::{execute, preload, supervise};
use crate::record::drain::{Children, Drain, Wanted};
use crate::record::ring::Shared;
use crate::recording::about::Header;
use anyhow::{Context, Result, bail};
use nix::sys::wait::WaitStatus;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

/// Read by the recorder (layout.h).
const VARIABLE: &str = "LOAM_RECORD";
const NOT_IN_IT: &str = "are not in it (see --children)";

pub fn record(arguments: &RecordArguments) -> Result<ExitCode, Failure> {
    let refused = |cause| Failure { status: REFUSED, cause };
    let command = &arguments.command;
    let path = launch::find(&command[0])?;
    let target = launch::resolve(&path, command)?;
    let recorder = recorder().map_err(refused)?;
    refuse_unreachable(&target, &recorder)?;
    let mut preloaded = preload::value(&recorder, target.image.as_ref());
    let loam = match arguments.loam {
        true => Some(Library::locate(arguments.library.library.as_deref()).map_err(refused)?),
        false => None,
    };
    if let Some(loam) = &loam {
        preloaded.push(":");
        preloaded.push(preload::entry(loam, target.image.as_ref()));
    }
    let shared = Shared::new(arguments.stacks).map_err(refused)?;
    let environment = [("LD_PRELOAD", preloaded), (VARIABLE, shared.path())];
    let output = output(arguments);
    let header = Header {
        arguments: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        started: Some(humantime::format_rfc3339_seconds(SystemTime::now()).to_string()),
        allocator: loam.map(|loam| loam.path.display().to_string()).or_else(preloaded_before),
        has_times: true,
        has_addresses: arguments.addresses,
        has_stacks: arguments.stacks,
        ..Header::new(target.path.display().to_string())
    };
    let mut drain = Drain::new(&shared, Wanted { place: output.clone(), header })?;
    let program = || {
        if !arguments.children {
            shared.set_program(std::process::id());
        }
        execute::become_child(&path, command, &environment)
    };
    let ended = supervise::run(program, &mut |program| drain.look(program))?;
    let was_started = !matches!(ended.status, WaitStatus::Exited(_, 125..=127));
    match finish(drain, &ended, &output) {
        Ok(()) => Ok(supervise::end_like(ended.status)),
        // It has said why itself.
        Err(_) if !was_started => Ok(supervise::end_like(ended.status)),
        Err(cause) => Err(cause.into()),
    }
}

fn recorder() -> Result<Library> {
    let path = carried::recorder()?;
    let image = Image::read(&path)?.context("the recorder is no library")?;
    Ok(Library { path, image, twin: None })
}

fn refuse_unreachable(target: &Target, recorder: &Library) -> Result<(), Failure> {
    let image = target.image.as_ref();
    match image.and_then(|image| reach::obstacle(&target.path, image, recorder)) {
        Some(obstacle) => Err(Failure::new(REFUSED, format!("cannot be recorded: {obstacle}"))),
        None => Ok(()),
    }
}

fn output(arguments: &RecordArguments) -> PathBuf {
    arguments.output.clone().unwrap_or_else(|| {
        let name = Path::new(&arguments.command[0]).file_name().unwrap_or_default();
        let mut name = name.to_owned();
        name.push(".trace");
        name.into()
    })
}

/// What the user has preloaded, and so recorded with.
fn preloaded_before() -> Option<String> {
    let value = std::env::var_os("LD_PRELOAD").filter(|value| !value.is_empty());
    value.map(|value| value.to_string_lossy().into_owned())
}

fn finish(drain: Drain, ended: &Ended, output: &Path) -> Result<()> {
    let left_out = drain.left_out();
    let refused = drain.refused();
    let (program, children) = drain.finish(in_words(ended.status))?;
    let Some((place, summary)) = program else {
        bail!(
            "nothing was recorded: the program has an allocator of its own, or calls none, or has \
             closed this command's files"
        );
    };
    let said = said(summary.events, output, place.keep()?);
    match left_out {
        0 => complain(said),
        1 => complain(said + "; a process that it started is not in it (see --children)"),
        _ => complain(said + &format!("; {left_out} processes that it started {NOT_IN_IT}")),
    }
    if children.count > 0 {
        complain(said_of_children(&children, output));
    }
    if refused > 0 {
        complain(format_args!(
            "{refused} threads were not recorded: there were too many at a time"
        ));
    }
    Ok(())
}

fn said(events: u64, output: &Path, bytes: u64) -> String {
    let each = bytes as f64 / events.max(1) as f64;
    let (events, size) = (numbers::figure(events as f64, ""), numbers::bytes(bytes));
    format!("{events} events in {} ({size}, {each:.2} bytes each)", output.display())
}

fn said_of_children(children: &Children, output: &Path) -> String {
    let mut places = output.to_owned().into_os_string();
    places.push(".PID");
    let said = said(children.events, Path::new(&places), children.bytes);
    match children.count {
        1 => format!("a process that it started: {said}"),
        count => format!("{count} processes that it started: {said}"),
    }
}

fn in_words(status: WaitStatus) -> Option<String> {
    match status {
        WaitStatus::Exited(_, code) => Some(format!("status {code}")),
        WaitStatus::Signaled(_, signal, _) => Some(signal.to_string()),
        _ => None,
    }
}
