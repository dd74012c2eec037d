//! Looks at processes when they end, whatever ends them, while their memory is still there: each is
//! traced (ptrace(2)) and stops before it gives its memory up. Beside that, only signals stop it,
//! and are handed on at once. Who may not be traced is not looked at.

use nix::errno::Errno;
use nix::libc::{self, c_int, c_long};
use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub struct LastLook<'a> {
    look: &'a mut dyn FnMut(Pid),
    met: BTreeMap<i32, Met>,
}

enum Met {
    /// Who executes another program soon may be about to gain privileges, which the kernel gives to
    /// nobody who is traced.
    New {
        since: Instant,
        image: PathBuf,
    },
    Traced,
    NotTraced,
}

const SETTLED_AFTER: Duration = Duration::from_millis(100);
/// For all to stop that are to be left alone.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(1);
/// How the C library declares what ptrace is asked for.
#[cfg(target_env = "musl")]
type Request = c_int;
#[cfg(not(target_env = "musl"))]
type Request = libc::c_uint;

/// Nix has no name for it.
const PTRACE_LISTEN: Request = 0x4208;

impl<'a> LastLook<'a> {
    pub fn new(look: &'a mut dyn FnMut(Pid)) -> LastLook<'a> {
        LastLook { look, met: BTreeMap::new() }
    }

    /// Of one that gains no privileges.
    pub fn trace(&mut self, pid: Pid) {
        let traced = ptrace::seize(pid, Options::PTRACE_O_TRACEEXIT);
        let met = if traced.is_ok() { Met::Traced } else { Met::NotTraced };
        self.met.insert(pid.as_raw(), met);
    }

    pub fn trace_when_settled(&mut self, pids: &[i32]) {
        self.met.retain(|pid, met| matches!(met, Met::Traced) || pids.contains(pid));
        for &pid in pids {
            let image = || std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
            let is_settled = match self.met.get_mut(&pid) {
                Some(Met::Traced | Met::NotTraced) => false,
                Some(Met::New { since, image: before }) => {
                    let present = image();
                    if *before != present {
                        (*since, *before) = (Instant::now(), present);
                    }
                    since.elapsed() >= SETTLED_AFTER
                }
                None => {
                    self.met.insert(pid, Met::New { since: Instant::now(), image: image() });
                    false
                }
            };
            if is_settled {
                self.trace(Pid::from_raw(pid));
            }
        }
    }

    /// Lets all go on that have stopped but for the program, whose status is asked for elsewhere.
    pub fn attend_others(&mut self, program: Pid) {
        for pid in self.traced().into_iter().filter(|pid| *pid != program) {
            loop {
                match status_of(pid) {
                    Ok(Some(status)) if self.go_on(pid, status) => {}
                    Ok(None) => break,
                    // It has ended, or is nobody's to trace any longer.
                    _ => {
                        self.met.remove(&pid.as_raw());
                        break;
                    }
                }
            }
        }
    }

    fn traced(&self) -> Vec<Pid> {
        let traced = self.met.iter().filter(|(_, met)| matches!(met, Met::Traced));
        traced.map(|(pid, _)| Pid::from_raw(*pid)).collect()
    }

    /// Whether it had stopped, and goes on.
    pub fn go_on(&mut self, pid: Pid, status: c_int) -> bool {
        if !libc::WIFSTOPPED(status) {
            return false;
        }
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            0 => resume(pid, libc::PTRACE_CONT, signal),
            libc::PTRACE_EVENT_EXIT => {
                (self.look)(pid);
                resume(pid, libc::PTRACE_CONT, 0);
            }
            // It is stopped until somebody continues it.
            libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => resume(pid, PTRACE_LISTEN, 0),
            _ => resume(pid, libc::PTRACE_CONT, 0),
        }
        true
    }

    /// They go on without being traced.
    pub fn leave(mut self) {
        let start = Instant::now();
        let mut traced = self.traced();
        for pid in &traced {
            // It may have ended.
            let _ = ptrace::interrupt(*pid);
        }
        while !traced.is_empty() && start.elapsed() < PATIENCE {
            traced.retain(|pid| !self.is_left(*pid));
            std::thread::sleep(PAUSE);
        }
    }

    fn is_left(&mut self, pid: Pid) -> bool {
        match status_of(pid) {
            // It may end by the signal.
            Ok(Some(status)) if libc::WIFSTOPPED(status) && status >> 16 == 0 => {
                resume(pid, libc::PTRACE_CONT, libc::WSTOPSIG(status));
                false
            }
            Ok(Some(status)) if libc::WIFSTOPPED(status) => {
                if status >> 16 == libc::PTRACE_EVENT_EXIT {
                    (self.look)(pid);
                }
                resume(pid, libc::PTRACE_DETACH, 0);
                true
            }
            Ok(None) => false,
            _ => true,
        }
    }
}

/// What has become of it, `None` if it runs.
pub fn status_of(pid: Pid) -> nix::Result<Option<c_int>> {
    let mut status = 0;
    // SAFETY: the call fills in the status.
    let found =
        unsafe { libc::waitpid(pid.as_raw(), &raw mut status, libc::WNOHANG | libc::__WALL) };
    Errno::result(found).map(|found| (found != 0).then_some(status))
}

/// A process that has been killed meanwhile is not there to go on.
#[allow(clippy::cast_possible_wrap, reason = "the C libraries differ in the sign of requests")]
fn resume(pid: Pid, request: Request, signal: c_int) {
    // SAFETY: the requests read and write no memory of this process.
    unsafe {
        let nowhere = std::ptr::null_mut::<libc::c_void>();
        libc::ptrace(request, pid.as_raw(), nowhere, c_long::from(signal));
    }
}
