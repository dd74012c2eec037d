//! `loam replay`: a recording as the workload.

mod plan; // what passes from thread to thread
mod prepare; // what the replayer reads

use crate::arguments::ReplayArguments;
use crate::bench::choice::{find_allocators, with_baseline};
use crate::bench::judge::results::{Row, metric};
use crate::bench::measure::command_line::Placeholders;
use crate::bench::measure::rounds::{Amount, Stop};
use crate::bench::measure::workload::{Kind, Workload};
use crate::bench::session::Session;
use crate::binary::carried;
use crate::recording::reader::Reader;
use anyhow::Result;
use std::path::Path;
use std::process::ExitCode;

pub fn run(arguments: &ReplayArguments) -> Result<ExitCode> {
    let measuring = &arguments.measuring;
    let chosen =
        with_baseline(find_allocators(measuring), measuring.with.as_deref(), &arguments.baseline)?;
    let replayer = carried::replayer()?;
    let prepared = prepare::prepare(&Reader::open(&arguments.trace)?)?;
    let command = [replayer.into_os_string(), prepared.file.path().as_os_str().to_owned()];
    let workload = workload(&arguments.trace, command.into());
    let stop = arguments.time.map_or(Stop::Rounds(arguments.runs), Stop::After);
    let steps = if arguments.time.is_none() { arguments.runs * chosen.len() } else { 0 };
    let mut session = Session::start(measuring, &chosen, &arguments.baseline, steps)?;
    let amount = Amount { stop, warmup: measuring.warmup, time_limit: measuring.timeout };
    let row = session.measure(&workload, &chosen, &Placeholders::default(), amount)?;
    row.command = format!("loam replay {}", arguments.trace.display());
    leave_out(row, prepared.own_kib);
    session.finish()
}

fn workload(trace: &Path, command: Vec<std::ffi::OsString>) -> Workload {
    let mut workload = Workload::of(Kind::Command(command));
    workload.name = trace.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    workload.title = format!("replay of {}", trace.display());
    workload.judged = [metric::WALL, metric::PEAK, metric::FAULTS_MINOR].map(String::from).into();
    workload
}

/// What the replayer itself has in memory is no allocator's.
fn leave_out(row: &mut Row, own_kib: u64) {
    for run in row.cells.iter_mut().flat_map(|cell| &mut cell.runs) {
        if let Some(peak) = run.values.get_mut(metric::PEAK) {
            *peak = (*peak - own_kib as f64).max(0.0);
        }
        let samples = run.resident.iter_mut().flat_map(|resident| &mut resident.kib);
        samples.for_each(|kib| *kib = kib.saturating_sub(own_kib));
    }
}
