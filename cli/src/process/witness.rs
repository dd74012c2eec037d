//! Whether a signal was sent to this command alone, or to all processes of its group, or of its
//! service, and so to the program as well. A process that does nothing gets what all get, and says
//! so.

use anyhow::{Context, Result};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, pipe2, read, write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

pub struct Witness {
    pid: Pid,
    told: OwnedFd,
    /// Signals that nobody has asked for.
    got: Vec<u8>,
}

/// What is sent to many comes to all of them within this.
const PATIENCE: Duration = Duration::from_millis(20);

impl Witness {
    /// All signals are blocked, and there is one thread.
    pub fn start() -> Result<Witness> {
        let (told, tells) = pipe2(OFlag::O_CLOEXEC).context("cannot make a pipe")?;
        fcntl(&told, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).context("cannot read a pipe")?;
        // SAFETY: there is one thread only.
        match unsafe { fork() }.context("cannot fork")? {
            ForkResult::Child => watch(&tells),
            ForkResult::Parent { child } => Ok(Witness { pid: child, told, got: Vec::new() }),
        }
    }

    /// Whether it has got the signal, too.
    pub fn has_got(&mut self, signal: Signal) -> bool {
        let start = Instant::now();
        while let Some(rest) = PATIENCE.checked_sub(start.elapsed()) {
            let mut bytes = [0; 64];
            if let Ok(count) = read(&self.told, &mut bytes) {
                self.got.extend(&bytes[..count]);
            }
            let before = self.got.len();
            self.got.retain(|one| *one != signal as u8);
            if self.got.len() != before {
                return true;
            }
            let timeout = PollTimeout::try_from(rest).unwrap_or(PollTimeout::ZERO);
            // If it fails, there is nothing to be read either.
            let _ = poll(&mut [PollFd::new(self.told.as_fd(), PollFlags::POLLIN)], timeout);
        }
        false
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let _ = kill(self.pid, Signal::SIGKILL);
        let _ = waitpid(self.pid, None);
    }
}

fn watch(tells: &OwnedFd) -> ! {
    // It ends with this command, in whatever way that does.
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
    let all = SigSet::all();
    loop {
        // SAFETY: the set is one, and what is not asked for may be null.
        let number = unsafe { libc::sigwaitinfo(all.as_ref(), std::ptr::null_mut()) };
        if let Ok(number) = u8::try_from(number) {
            // Nobody reads any longer when this command has ended.
            let _ = write(tells, &[number]);
        }
    }
}
