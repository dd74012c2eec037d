//! A line about a process each so often, until it ends or the user has seen enough; then what has
//! grown and shrunk in between.

use crate::account::report::Report;
use crate::explain::change::Change;
use crate::explain::change_text;
use crate::explain::seen::{put, read};
use crate::failure::Failure;
use crate::heap::live::Live;
use crate::numbers;
use anyhow::{Context, Result, anyhow, bail};
use std::ffi::OsStr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

pub fn watch(target: &OsStr, every: Duration) -> Result<ExitCode, Failure> {
    if every.is_zero() {
        return Err(anyhow!("--watch=0s: it takes a duration above 0").into());
    }
    let (_, _, first) = read(target)?;
    let pid = first.pid.filter(|_| first.is_live).and_then(|pid| i32::try_from(pid).ok());
    let pid =
        pid.with_context(|| format!("{} does not run: --watch is of no use", first.process))?;
    ctrlc::set_handler(|| IS_INTERRUPTED.store(true, Ordering::Relaxed))
        .context("cannot listen for interrupts")?;
    put(&format!("{}\n\n{HEAD}", first.process))?;
    let mut last = None;
    let outcome = look(target, pid, every, &first, &mut last);
    let change = Change::between(&first, last.as_ref().unwrap_or(&first));
    put(&format!("\n{}", change_text::render(&change)))?;
    outcome?;
    Ok(ExitCode::SUCCESS)
}

const HEAD: &str =
    "      time   in memory       live     beside     cached  by a trim      others\n";

/// Whatever it ends with, the last report stays.
fn look(
    target: &OsStr,
    pid: i32,
    every: Duration,
    first: &Report,
    last: &mut Option<Report>,
) -> Result<()> {
    let begin = Instant::now();
    put(&line(first, Duration::ZERO))?;
    let mut due = begin + every;
    while wait(due, pid) {
        match read(target) {
            Ok((_, _, report)) => {
                put(&line(&report, begin.elapsed()))?;
                *last = Some(report);
            }
            Err(_) if Live::has_ended(pid) => break,
            Err(cause) => bail!(cause),
        }
        // What takes longer than the distance leaves looks out.
        due = (due + every).max(Instant::now());
    }
    if Live::has_ended(pid) {
        put("  it has ended\n")?;
    }
    Ok(())
}

/// False if there is nothing to wait for any longer.
fn wait(due: Instant, pid: i32) -> bool {
    const STEP: Duration = Duration::from_millis(50);
    loop {
        if IS_INTERRUPTED.load(Ordering::Relaxed) || Live::has_ended(pid) {
            return false;
        }
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(STEP));
    }
}

fn line(report: &Report, since: Duration) -> String {
    let heap = &report.heap;
    let trimmed = heap.idle_bytes + heap.depot_bytes + heap.dirty_bytes;
    let figures = [
        heap.live_bytes,
        heap.beside_bytes,
        heap.cached_bytes,
        report.malloc.as_ref().map_or(trimmed, |malloc| malloc.counted.trim_bytes),
    ];
    let time =
        if since.is_zero() { "0 s".to_owned() } else { numbers::duration(since.as_secs_f64()) };
    let mut line = format!("{time:>10}{:>12}", numbers::bytes(report.resident_bytes));
    for figure in figures {
        line += &format!("{:>11}", numbers::bytes(figure));
    }
    let others = &report.others;
    let others =
        others.libc_heap_bytes + others.stack_bytes + others.file_bytes + others.mapping_bytes;
    line + &format!("{:>12}\n", numbers::bytes(others))
}
