//! Runs a program as a child: signals, the terminal and the exit status are as if it were in the
//! place of this command, which meanwhile watches it.

use crate::binary::reach;
use crate::process::last_look::{self, LastLook};
use crate::process::tree;
use crate::process::witness::Witness;
use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, pthread_sigmask, raise};
use nix::sys::wait::WaitStatus;
use nix::unistd::{ForkResult, Pid, fork, pipe2, read};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const LOOKS_BEFORE_STOP: u32 = 4;

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
    start(become_it, |_| ())?.wait(look, None)
}

/// The same, and the program and what it starts are looked at once more when they end, whatever
/// ends them, while their memory is still there. A program that gains privileges is not.
pub fn run_to_last_look(
    path: &Path,
    become_it: impl FnOnce() -> u8,
    look: &mut dyn FnMut(Pid) -> Duration,
    last_look: &mut dyn FnMut(Pid),
) -> Result<Ended> {
    let mut last_look = LastLook::new(last_look);
    let is_traced = reach::privileges_gained(path).is_none();
    let running = start(become_it, |program| {
        if is_traced {
            last_look.trace(program);
        }
    })?;
    running.wait(look, Some(last_look))
}

struct Running {
    program: Pid,
    start: Instant,
    witness: Witness,
    /// What this command had blocked.
    mask: SigSet,
    /// How the program has ended, when it has.
    status: Option<WaitStatus>,
}

/// The program begins when it is prepared.
fn start(become_it: impl FnOnce() -> u8, prepare: impl FnOnce(Pid)) -> Result<Running> {
    let mut mask = SigSet::empty();
    pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut mask))
        .context("cannot block signals")?;
    let witness = Witness::start()?;
    let (begins, prepares) = pipe2(OFlag::O_CLOEXEC).context("cannot make a pipe")?;
    let start = Instant::now();
    // SAFETY: there is one thread only.
    match unsafe { fork() }.context("cannot fork")? {
        ForkResult::Child => {
            // It failed only if the mask were no mask.
            let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&mask), None);
            drop(prepares);
            // Nothing comes but the end of the file.
            while read(&begins, &mut [0]) == Err(Errno::EINTR) {}
            let status = become_it();
            // SAFETY: ends this process; what the parent does at its end is not to be done twice.
            unsafe { libc::_exit(i32::from(status)) }
        }
        ForkResult::Parent { child } => {
            prepare(child);
            Ok(Running { program: child, start, witness, mask, status: None })
        }
    }
}

impl Running {
    fn wait(
        mut self,
        look: &mut dyn FnMut(Pid) -> Duration,
        mut last_look: Option<LastLook>,
    ) -> Result<Ended> {
        let status = loop {
            let pause = look(self.program);
            self.attend(&mut last_look)?;
            if let Some(status) = self.status {
                break status;
            }
            self.forward(pause, &mut last_look)?;
        };
        if let Some(last_look) = last_look {
            last_look.leave();
        }
        let ended = Ended {
            program: self.program,
            status,
            seconds: self.start.elapsed().as_secs_f64(),
            peak_kib: peak(),
            names: BTreeMap::new(),
        };
        self.take_signals_again();
        Ok(ended)
    }

    fn attend(&mut self, last_look: &mut Option<LastLook>) -> Result<()> {
        if let Some(last_look) = last_look {
            last_look.trace_when_settled(&tree::of(self.program));
            last_look.attend_others(self.program);
        }
        while self.status.is_none() {
            let status = match last_look::status_of(self.program) {
                Ok(Some(status)) => status,
                Ok(None) => return Ok(()),
                Err(Errno::EINTR) => continue,
                Err(cause) => return Err(cause).context("cannot wait for the program"),
            };
            if !last_look.as_mut().is_some_and(|look| look.go_on(self.program, status)) {
                let status = WaitStatus::from_raw(self.program, status);
                self.status = Some(status.context("cannot tell how the program has ended")?);
            }
        }
        Ok(())
    }

    /// Waits for a moment, and hands on a signal that has come in meanwhile.
    fn forward(&mut self, pause: Duration, last_look: &mut Option<LastLook>) -> Result<()> {
        // What the terminal or the kernel sends, the program gets itself.
        let Some((signal, sent_by_somebody)) = await_signal(pause) else { return Ok(()) };
        match signal {
            Signal::SIGCHLD => {}
            Signal::SIGTSTP | Signal::SIGTTIN | Signal::SIGTTOU => {
                // First all that are traced, which only this command can let stop.
                for _ in 0..LOOKS_BEFORE_STOP {
                    std::thread::sleep(Duration::from_millis(5));
                    self.attend(last_look)?;
                }
                // The shell waits for this command to stop.
                let _ = raise(Signal::SIGSTOP);
            }
            _ if sent_by_somebody && !self.witness.has_got(signal) => {
                let _ = kill(self.program, signal);
            }
            _ => {}
        }
        Ok(())
    }

    /// Those that the program has got, too, are done with; the next one ends this command.
    fn take_signals_again(self) {
        while await_signal(Duration::ZERO).is_some() {}
        // It failed only if the mask were no mask.
        let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&self.mask), None);
    }
}

/// The next signal, and whether a process has sent it.
fn await_signal(pause: Duration) -> Option<(Signal, bool)> {
    let pause = libc::timespec { tv_sec: 0, tv_nsec: i64::from(pause.subsec_nanos()) };
    // SAFETY: all zero is a valid siginfo, and the call fills it in.
    let (number, sent_by_somebody) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let all = SigSet::all();
        let number = libc::sigtimedwait(all.as_ref(), &raw mut info, &raw const pause);
        (number, info.si_code <= 0)
    };
    Signal::try_from(number).ok().map(|signal| (signal, sent_by_somebody))
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
