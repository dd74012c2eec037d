//! Runs a program as a child: signals, the terminal and the exit status are as if it were in the
//! place of this command, which meanwhile watches it.

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, pthread_sigmask, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A program that has ended.
pub struct Ended {
    pub program: Pid,
    pub status: WaitStatus,
    pub seconds: f64,
    /// The largest resident memory of any one process.
    pub peak_kib: u64,
    /// What processes were called, for whoever notes that while they run.
    pub names: BTreeMap<i32, String>,
}

/// Starts it by a function that comes back only where it could not, with the status to end with;
/// and waits for it. Meanwhile it is looked at, again after as long as that says.
pub fn run(become_it: impl FnOnce() -> u8, look: &mut dyn FnMut(Pid) -> Duration) -> Result<Ended> {
    let mut old = SigSet::empty();
    pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut old))
        .context("cannot block signals")?;
    let start = Instant::now();
    // SAFETY: there is one thread only.
    let program = match unsafe { fork() }.context("cannot fork")? {
        ForkResult::Child => {
            // It failed only if the mask were no mask.
            let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&old), None);
            let status = become_it();
            // SAFETY: ends this process; what the parent does at its end is not to be done twice.
            unsafe { libc::_exit(i32::from(status)) }
        }
        ForkResult::Parent { child } => child,
    };
    let status = loop {
        let pause = look(program);
        match waitpid(program, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => {}
            Err(Errno::EINTR) => continue,
            outcome => break outcome.context("cannot wait for the program")?,
        }
        forward(program, pause);
    };
    Ok(Ended {
        program,
        status,
        seconds: start.elapsed().as_secs_f64(),
        peak_kib: peak(),
        names: BTreeMap::new(),
    })
}

/// Waits for a moment, and hands on a signal that has come in meanwhile.
fn forward(program: Pid, pause: Duration) {
    let pause = libc::timespec { tv_sec: 0, tv_nsec: i64::from(pause.subsec_nanos()) };
    // SAFETY: all zero is a valid siginfo, and the call fills it in.
    let (number, sent_by_somebody) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let all = SigSet::all();
        let number = libc::sigtimedwait(all.as_ref(), &raw mut info, &raw const pause);
        (number, info.si_code <= 0)
    };
    // What the terminal or the kernel sends, the program gets itself.
    let Ok(signal) = Signal::try_from(number) else { return };
    match signal {
        Signal::SIGCHLD => {}
        Signal::SIGTSTP | Signal::SIGTTIN | Signal::SIGTTOU => {
            // The shell waits for this command to stop.
            let _ = raise(Signal::SIGSTOP);
        }
        _ if sent_by_somebody => {
            let _ = kill(program, signal);
        }
        _ => {}
    }
}

/// Of the largest of the processes that were waited for.
fn peak() -> u64 {
    // SAFETY: all zero is a valid rusage, and the call fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    u64::try_from(usage.ru_maxrss).unwrap_or(0)
}

/// Ends as the program has ended.
pub fn end_like(status: WaitStatus) -> ExitCode {
    match status {
        WaitStatus::Exited(_, code) => ExitCode::from(code.cast_unsigned().to_le_bytes()[0]),
        WaitStatus::Signaled(_, signal, _) => {
            die_by(signal);
            ExitCode::from(128_u8.wrapping_add(signal as u8))
        }
        _ => ExitCode::FAILURE,
    }
}

fn die_by(signal: Signal) {
    use nix::sys::resource::{Resource, setrlimit};
    use nix::sys::signal::{SaFlags, SigAction, SigHandler, sigaction};
    // Its core is the program's, not one of ours.
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    let action = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the disposition runs no handler.
    let _ = unsafe { sigaction(signal, &action) };
    let _ = raise(signal);
    let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
}
