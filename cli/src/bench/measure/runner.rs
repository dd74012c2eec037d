//! One run of a workload under one allocator.

use crate::bench::judge::results::{Samples, metric};
use crate::bench::measure::allocators::Allocator;
use crate::bench::measure::command_line::{Placeholders, mentions};
use crate::bench::measure::launcher::{Launched, Start, Usage, bad_end};
use crate::bench::measure::watch::Watch;
use crate::bench::measure::workload::{Kind, Server, Workload};
use anyhow::{Context, Result, anyhow, bail};
use nix::libc;
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Written by the signal handler, read between samples.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

pub fn interrupt() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

const SERVER_START_LIMIT: Duration = Duration::from_secs(30);
const SERVER_STOP_LIMIT: Duration = Duration::from_secs(20);
const READY_PAUSE: Duration = Duration::from_millis(20);

/// What a run gave.
pub struct Outcome {
    pub values: BTreeMap<String, f64>,
    pub resident: Samples,
    /// Executables that ran without the allocator.
    pub strangers: Vec<String>,
}

/// Why a run gave nothing.
#[derive(Debug)]
pub enum RunError {
    /// The program's or the allocator's fault: a result.
    Failed(String),
    /// Ours, or the user's: no measurement can go on.
    Broken(anyhow::Error),
}

impl From<anyhow::Error> for RunError {
    fn from(cause: anyhow::Error) -> Self {
        RunError::Broken(cause)
    }
}

/// Runs the workload once. `time_limit` is for the program, not for setup and start of a server.
pub fn run(
    workload: &Workload,
    allocator: &Allocator,
    placeholders: &Placeholders,
    time_limit: Duration,
) -> Result<Outcome, RunError> {
    let folder = tempfile::tempdir().context("cannot make a folder for the run")?;
    let mut placeholders = placeholders.clone();
    placeholders.set("dir", folder.path());
    if needs_port(workload) {
        placeholders.set("port", free_port()?.to_string());
    }
    let one = One { workload, allocator, placeholders, time_limit };
    one.set_up()?;
    match &workload.kind {
        Kind::Command(command) => one.command(command),
        Kind::Server(server) => one.server(server),
    }
}

fn needs_port(workload: &Workload) -> bool {
    let setup = workload.setup.as_deref().unwrap_or_default();
    mentions(workload.kind.measured(), "port") || mentions(setup, "port")
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot find a free TCP port")?;
    Ok(listener.local_addr().context("cannot find a free TCP port")?.port())
}

/// One run.
struct One<'a> {
    workload: &'a Workload,
    allocator: &'a Allocator,
    placeholders: Placeholders,
    time_limit: Duration,
}

/// A process started by us, with what it prints.
struct Process {
    launched: Launched,
    output: File,
    errors: File,
}

impl One<'_> {
    fn set_up(&self) -> Result<(), RunError> {
        let Some(setup) = &self.workload.setup else { return Ok(()) };
        let mut process = self.start(setup, None, Stdio::null(), self.time_limit)?;
        wait(&mut process.launched, None)?;
        let usage = process.launched.usage()?;
        match bad_end(process.launched.program, usage.wait_status) {
            None => Ok(()),
            Some(how) => Err(anyhow!("setup {how}{}", process.last_words()).into()),
        }
    }

    fn command(&self, command: &[OsString]) -> Result<Outcome, RunError> {
        let input = self.input()?;
        let mut process = self.start(command, Some(self.allocator), input, self.time_limit)?;
        let mut watch = self.watch(&process);
        let in_time = wait(&mut process.launched, Some(&mut watch))?;
        let usage = process.finish(in_time, self.time_limit, self.workload.ignores_status)?;
        let output = process.printed();
        self.outcome(&usage, usage.wall_ns, &watch, &output)
    }

    fn server(&self, server: &Server) -> Result<Outcome, RunError> {
        let input = self.input()?;
        // The server is told to stop; what limits it is the client.
        let limit = self.time_limit + SERVER_START_LIMIT + SERVER_STOP_LIMIT;
        let mut process = self.start(&server.server, Some(self.allocator), input, limit)?;
        let mut watch = self.watch(&process);
        self.wait_until_ready(server, &mut process, &mut watch)?;
        let mut client = self.start(&server.client, None, Stdio::null(), self.time_limit)?;
        while client.launched.is_running() && process.launched.is_running() {
            pause(Some(&mut watch))?;
            if client.launched.is_late() {
                return Err(RunError::Failed(late("the client", self.time_limit)));
            }
        }
        if !process.launched.is_running() {
            return Err(process.server_ended("under load")?);
        }
        let load = client.launched.usage()?;
        let is_ignored = self.workload.ignores_status && libc::WIFEXITED(load.wait_status);
        if let Some(how) =
            bad_end(client.launched.program, load.wait_status).filter(|_| !is_ignored)
        {
            return Err(RunError::Failed(format!("the client {how}{}", client.last_words())));
        }
        let usage = stop(&mut process, &mut watch)?;
        self.outcome(&usage, load.wall_ns, &watch, &client.printed())
    }

    fn wait_until_ready(
        &self,
        server: &Server,
        process: &mut Process,
        watch: &mut Watch,
    ) -> Result<(), RunError> {
        let Some(ready) = &server.ready else { return Ok(()) };
        let deadline = Instant::now() + SERVER_START_LIMIT;
        loop {
            let mut question = self.start(ready, None, Stdio::null(), SERVER_START_LIMIT)?;
            wait(&mut question.launched, Some(watch))?;
            let answer = question.launched.usage();
            if answer
                .is_ok_and(|usage| bad_end(question.launched.program, usage.wait_status).is_none())
            {
                return Ok(());
            }
            if !process.launched.is_running() {
                return Err(process.server_ended("at its start")?);
            }
            if Instant::now() >= deadline {
                let limit = SERVER_START_LIMIT.as_secs();
                return Err(RunError::Failed(format!("the server was not ready after {limit} s")));
            }
            std::thread::sleep(READY_PAUSE);
        }
    }

    fn start(
        &self,
        command: &[OsString],
        allocator: Option<&Allocator>,
        input: Stdio,
        time_limit: Duration,
    ) -> Result<Process> {
        let command = self.placeholders.fill_words(command);
        let filled = |(name, value): (&String, &String)| {
            (OsString::from(name), OsString::from(self.placeholders.fill(value)))
        };
        let mut environment: Vec<_> = self.workload.environment.iter().map(filled).collect();
        environment.extend(allocator.map(Allocator::variables).unwrap_or_default());
        let output = tempfile::tempfile().context("cannot make a file for the output")?;
        let errors = tempfile::tempfile().context("cannot make a file for the output")?;
        let copy = |file: &File| file.try_clone().context("cannot make a file for the output");
        let start = Start {
            command: &command,
            environment: &environment,
            input,
            output: copy(&output)?,
            errors: copy(&errors)?,
        };
        let shown = || crate::bench::measure::command_line::shown(&command);
        match Launched::start(start, time_limit) {
            Ok(launched) => Ok(Process { launched, output, errors }),
            Err(cause) => {
                let words = last_line(&[text_of(&errors)]).unwrap_or_default();
                Err(cause.context(format!("cannot start {}: {words}", shown())))
            }
        }
    }

    fn input(&self) -> Result<Stdio> {
        let Some(path) = &self.workload.input else { return Ok(Stdio::null()) };
        let path = self.placeholders.fill(&path.to_string_lossy());
        let file = File::open(&path).with_context(|| format!("cannot read {path}"))?;
        Ok(file.into())
    }

    fn watch(&self, process: &Process) -> Watch<'_> {
        Watch::new(process.launched.program, self.allocator.library.as_deref())
    }

    fn outcome(
        &self,
        usage: &Usage,
        wall_ns: u64,
        watch: &Watch,
        printed: &str,
    ) -> Result<Outcome, RunError> {
        let resident = watch.samples();
        let mut values = values_of(usage, wall_ns, &resident);
        for figure in &self.workload.figures {
            let number =
                figure.find(printed).map_err(|cause| RunError::Failed(cause.to_string()))?;
            values.insert(figure.name.clone(), number);
        }
        Ok(Outcome { values, resident, strangers: watch.strangers() })
    }
}

#[allow(clippy::cast_precision_loss)] // counts and times far below 2^53
fn values_of(usage: &Usage, wall_ns: u64, resident: &Samples) -> BTreeMap<String, f64> {
    // The kernel's peak is that of the largest process; samples are of all of them together.
    let peak_kib = resident.kib.iter().copied().max().unwrap_or(0).max(usage.peak_kib);
    let seconds = |microseconds: u64| microseconds as f64 / 1e6;
    [
        (metric::WALL, wall_ns as f64 / 1e9),
        (metric::USER, seconds(usage.user_us)),
        (metric::SYSTEM, seconds(usage.system_us)),
        (metric::CPU, seconds(usage.user_us + usage.system_us)),
        (metric::PEAK, peak_kib as f64),
        (metric::FAULTS_MINOR, usage.faults_minor as f64),
        (metric::FAULTS_MAJOR, usage.faults_major as f64),
        (metric::SWITCHES_VOLUNTARY, usage.switches_voluntary as f64),
        (metric::SWITCHES_INVOLUNTARY, usage.switches_involuntary as f64),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

impl Process {
    /// What it took, if it ended well and in time.
    fn finish(
        &mut self,
        in_time: bool,
        limit: Duration,
        ignores_status: bool,
    ) -> Result<Usage, RunError> {
        if !in_time {
            self.launched.kill();
            return Err(RunError::Failed(late("it", limit)));
        }
        let usage = self.launched.usage()?;
        match bad_end(self.launched.program, usage.wait_status) {
            None => Ok(usage),
            Some(_) if ignores_status && libc::WIFEXITED(usage.wait_status) => Ok(usage),
            Some(how) => Err(RunError::Failed(format!("{how}{}", self.last_words()))),
        }
    }

    /// The failure of a server that was not asked to end.
    fn server_ended(&mut self, when: &str) -> Result<RunError> {
        let usage = self.launched.usage()?;
        let how = bad_end(self.launched.program, usage.wait_status);
        let how = how.unwrap_or_else(|| "ended".into());
        Ok(RunError::Failed(format!("the server {how} {when}{}", self.last_words())))
    }

    fn printed(&self) -> String {
        text_of(&self.output) + "\n" + &text_of(&self.errors)
    }

    /// The last line that it printed, if any, to explain a failure.
    fn last_words(&self) -> String {
        let line = last_line(&[text_of(&self.errors), text_of(&self.output)]);
        line.map(|line| format!(" ({line})")).unwrap_or_default()
    }
}

fn late(who: &str, limit: Duration) -> String {
    format!("hangs: {who} had not ended after {} s", limit.as_secs_f64().round())
}

/// Asks the server to end, and waits for it.
fn stop(process: &mut Process, watch: &mut Watch) -> Result<Usage, RunError> {
    process.launched.send(Signal::SIGTERM);
    let deadline = Instant::now() + SERVER_STOP_LIMIT;
    while process.launched.is_running() {
        pause(Some(watch))?;
        if Instant::now() >= deadline {
            return Err(RunError::Failed("the server did not end after SIGTERM".into()));
        }
    }
    let usage = process.launched.usage()?;
    let is_stopped = libc::WIFSIGNALED(usage.wait_status)
        && libc::WTERMSIG(usage.wait_status) == Signal::SIGTERM as i32;
    match bad_end(process.launched.program, usage.wait_status) {
        Some(how) if !is_stopped => {
            Err(RunError::Failed(format!("the server {how} when stopped{}", process.last_words())))
        }
        _ => Ok(usage),
    }
}

/// Waits for the end; false if it did not come in time.
fn wait(launched: &mut Launched, mut watch: Option<&mut Watch>) -> Result<bool> {
    while launched.is_running() {
        if launched.is_late() {
            return Ok(false);
        }
        pause(watch.as_deref_mut())?;
    }
    Ok(true)
}

/// Sleeps until the next sample is due, but not long: the program may end.
fn pause(watch: Option<&mut Watch>) -> Result<()> {
    const PAUSE_MAX: Duration = Duration::from_millis(5);
    if is_interrupted() {
        bail!("interrupted");
    }
    let due = watch.map_or(PAUSE_MAX, Watch::look);
    std::thread::sleep(due.min(PAUSE_MAX));
    Ok(())
}

/// The last line that says anything, of the first text that has one.
fn last_line(texts: &[String]) -> Option<String> {
    const SHOWN_CHARS: usize = 160;
    let last = texts.iter().find_map(|text| text.lines().rfind(|line| !line.trim().is_empty()));
    last.map(|line| line.trim().chars().take(SHOWN_CHARS).collect())
}

/// All that was printed into a file so far.
fn text_of(mut file: &File) -> String {
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes));
    if read.is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
