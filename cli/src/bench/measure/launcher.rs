//! The small process that starts a program and measures it.
//!
//! The kernel counts the memory of whoever forked into the peak of the program that is then
//! executed. So this command starts itself anew for each run, as a process that has done nothing
//! yet, and that one forks. It writes to a pipe: the program's number, and once the program has
//! ended what it took.

use anyhow::{Context, Result, bail};
use nix::libc;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::WaitStatus;
use nix::unistd::{ForkResult, Pid, execve, fork};
use serde::{Deserialize, Serialize};
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The first argument that makes this command the launcher.
pub const LAUNCH: &str = "--launch";
/// Between the variables and the command.
const COMMAND_FOLLOWS: &str = "--";

/// What a program took, as wait4(2) says it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Usage {
    pub wall_ns: u64,
    pub user_us: u64,
    pub system_us: u64,
    /// Of the largest process among the program and those it waited for.
    pub peak_kib: u64,
    pub faults_minor: u64,
    pub faults_major: u64,
    pub switches_voluntary: u64,
    pub switches_involuntary: u64,
    /// As waitpid(2) gives it.
    pub wait_status: i32,
}

/// A program to start.
pub struct Start<'a> {
    pub command: &'a [OsString],
    /// Set for the program alone: the launcher must not run under the allocator.
    pub environment: &'a [(OsString, OsString)],
    pub input: Stdio,
    pub output: File,
    pub errors: File,
}

/// A program that was started. It and all that it started is killed when this goes out of scope.
pub struct Launched {
    launcher: Child,
    report: BufReader<File>,
    pub program: Pid,
    deadline: Instant,
}

impl Launched {
    pub fn start(start: Start, time_limit: Duration) -> Result<Launched> {
        let (ours, theirs) = nix::unistd::pipe().context("cannot make a pipe")?;
        // Ours must not be inherited, or the program would hold the pipe that it is measured by.
        nix::fcntl::fcntl(&ours, nix::fcntl::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))
            .context("cannot set up a pipe")?;
        let itself = crate::binary::itself::path()?;
        let mut command = Command::new(itself);
        command.arg(LAUNCH).arg(theirs.as_raw_fd().to_string());
        for (name, value) in start.environment {
            command.arg([name.as_os_str(), value.as_os_str()].join(OsStr::new("=")));
        }
        command.arg(COMMAND_FOLLOWS).args(start.command).env_remove("LD_PRELOAD");
        command.stdin(start.input).stdout(start.output).stderr(start.errors).process_group(0);
        let launcher = command.spawn().context("cannot start the launcher")?;
        drop(theirs);
        let mut report = BufReader::new(File::from(ours));
        let mut line = String::new();
        let read = report.read_line(&mut line);
        let program = read.ok().and_then(|_| line.trim().parse().ok()).map(Pid::from_raw);
        let mut launched = Launched {
            launcher,
            report,
            program: program.unwrap_or(Pid::from_raw(0)),
            deadline: Instant::now() + time_limit,
        };
        if program.is_none() {
            launched.kill();
            bail!("the launcher failed");
        }
        Ok(launched)
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.launcher.try_wait(), Ok(None))
    }

    pub fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    pub fn send(&self, signal: Signal) {
        // It may have ended: then there is nobody to tell.
        let _ = kill(self.program, signal);
    }

    /// Kills the program and what it started.
    pub fn kill(&mut self) {
        // The group lives on as long as any process of it does.
        let _ = killpg(Pid::from_raw(self.launcher.id().cast_signed()), Signal::SIGKILL);
        let _ = self.launcher.wait();
    }

    /// What the program took. To be called when it is no longer running.
    pub fn usage(&mut self) -> Result<Usage> {
        let mut text = String::new();
        self.report.read_to_string(&mut text).context("cannot read what the launcher wrote")?;
        serde_json::from_str(&text).context("the launcher was killed")
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The launcher's main: `--launch PIPE NAME=VALUE... -- PROGRAM ARGUMENT...`.
pub fn launch(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match try_launch(&mut arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            crate::failure::complain(crate::failure::in_one_line(&cause));
            ExitCode::FAILURE
        }
    }
}

fn try_launch(arguments: &mut dyn Iterator<Item = OsString>) -> Result<()> {
    let number = arguments.next().and_then(|text| text.to_str()?.parse::<RawFd>().ok());
    let number = number.context("no pipe to write to")?;
    // SAFETY: whoever starts the launcher hands it this descriptor, and nobody else holds it here.
    let mut pipe = File::from(unsafe { OwnedFd::from_raw_fd(number) });
    nix::fcntl::fcntl(&pipe, nix::fcntl::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))?;
    let added: Vec<OsString> =
        arguments.take_while(|argument| argument != COMMAND_FOLLOWS).collect();
    let command: Vec<OsString> = arguments.collect();
    let program = Program::new(&command, &added)?;
    die_with_parent();
    let start = Instant::now();
    // SAFETY: there is one thread only.
    match unsafe { fork() }.context("cannot fork")? {
        ForkResult::Child => program.become_it(),
        ForkResult::Parent { child } => {
            writeln!(pipe, "{child}")?;
            let usage = wait_for(child, start)?;
            serde_json::to_writer(&pipe, &usage)?;
            Ok(())
        }
    }
}

/// All that exec needs, made before the fork.
struct Program {
    path: CString,
    argv: Vec<CString>,
    environment: Vec<CString>,
}

impl Program {
    fn new(command: &[OsString], added: &[OsString]) -> Result<Program> {
        let name = command.first().context("no program")?;
        let path = crate::process::launch::find(name).map_err(|failure| failure.cause)?;
        let name_of = |pair: &OsString| {
            pair.as_bytes().split(|&byte| byte == b'=').next().map(<[u8]>::to_vec)
        };
        let replaced: Vec<_> = added.iter().map(name_of).collect();
        let kept = std::env::vars_os()
            .map(|(name, value)| [name, value].join(OsStr::new("=")))
            .filter(|pair| !replaced.contains(&name_of(pair)));
        let environment: Vec<OsString> = kept.chain(added.iter().cloned()).collect();
        Ok(Program {
            path: CString::new(path.as_os_str().as_bytes())?,
            argv: c_strings(command)?,
            environment: c_strings(&environment)?,
        })
    }

    fn become_it(&self) -> ! {
        die_with_parent();
        // A program must not inherit that Rust's runtime ignores SIGPIPE.
        let _ = crate::process::inherited::restore_sigpipe();
        let cause = match execve(&self.path, &self.argv, &self.environment) {
            Err(cause) => cause,
            Ok(never) => match never {},
        };
        crate::failure::complain(format_args!(
            "cannot run {}: {}",
            self.path.to_string_lossy(),
            crate::failure::reason_of_errno(cause)
        ));
        // SAFETY: ends this process; the launcher's own buffers are not to be written twice.
        unsafe { libc::_exit(i32::from(crate::failure::NOT_EXECUTABLE)) }
    }
}

fn c_strings(texts: &[OsString]) -> Result<Vec<CString>> {
    texts.iter().map(|text| Ok(CString::new(text.as_bytes())?)).collect()
}

/// Asks the kernel to kill this process when the one that started it ends.
fn die_with_parent() {
    let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL);
}

fn wait_for(child: Pid, start: Instant) -> Result<Usage> {
    let mut wait_status = 0;
    // SAFETY: all zero is a valid rusage, and wait4 fills in both.
    let (waited, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let waited = loop {
            let waited = libc::wait4(child.as_raw(), &raw mut wait_status, 0, &raw mut usage);
            if waited != -1 || nix::errno::Errno::last() != nix::errno::Errno::EINTR {
                break waited;
            }
        };
        (waited, usage)
    };
    if waited != child.as_raw() {
        bail!("cannot wait for the program: {}", nix::errno::Errno::last().desc());
    }
    let wall_ns = u64::try_from(start.elapsed().as_nanos())?;
    let microseconds = |time: libc::timeval| {
        Ok::<u64, anyhow::Error>(
            u64::try_from(time.tv_sec)? * 1_000_000 + u64::try_from(time.tv_usec)?,
        )
    };
    Ok(Usage {
        wall_ns,
        user_us: microseconds(usage.ru_utime)?,
        system_us: microseconds(usage.ru_stime)?,
        peak_kib: u64::try_from(usage.ru_maxrss)?,
        faults_minor: u64::try_from(usage.ru_minflt)?,
        faults_major: u64::try_from(usage.ru_majflt)?,
        switches_voluntary: u64::try_from(usage.ru_nvcsw)?,
        switches_involuntary: u64::try_from(usage.ru_nivcsw)?,
        wait_status,
    })
}

/// How a program ended, if not well.
pub fn bad_end(child: Pid, wait_status: i32) -> Option<String> {
    match WaitStatus::from_raw(child, wait_status) {
        Ok(WaitStatus::Exited(_, 0)) => None,
        Ok(WaitStatus::Exited(_, code)) => Some(format!("ended with status {code}")),
        Ok(WaitStatus::Signaled(_, signal, _)) => Some(format!("killed by {signal}")),
        _ => Some("ended in an unknown way".into()),
    }
}
