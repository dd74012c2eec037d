//! Follows a traced program, its threads and the children it forks to their ends.

use crate::process::modules::Process;
use crate::process::trace::Stopped;
use crate::verify::count::breakpoints::Breakpoints;
use crate::verify::count::callers::{Caller, Callers};
use crate::verify::count::doors::{self, Door};
use crate::verify::report::{CallRow, CallerPart, RunReport};
use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, AddressType, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::{BTreeMap, HashMap, HashSet};

struct Watch {
    program: Pid,
    breakpoints: Breakpoints,
    doors: HashMap<u64, Door>,
    callers: Callers,
    /// By the door's address and the caller.
    counts: HashMap<(u64, usize), u64>,
    /// Of each thread, the C++ runtime's operator that it has called last.
    operators: HashMap<Pid, Call>,
    /// Threads that have shown their first stop, which the kernel makes.
    begun: HashSet<Pid>,
    report: RunReport,
}

/// A function that begins.
#[derive(Clone, Copy)]
struct Call {
    function: u64,
    stack: u64,
    from: u64,
}

impl Call {
    /// An operator that ends in a jump to another function leaves the stack as it was.
    fn hands_on_to(&self, next: &Call) -> bool {
        self.function != next.function && self.stack == next.stack && self.from == next.from
    }
}

pub fn run(mut stopped: Stopped) -> Result<RunReport> {
    let process = Process::open(stopped.pid())?;
    let architecture = process.program()?.image.architecture;
    if architecture.machine != object::elf::EM_X86_64 || !architecture.is_64 {
        bail!("calls are counted in 64-bit x86 programs only, and this is {architecture}");
    }
    if process.thread_count()? > 1 {
        bail!("it has started threads before main: their calls cannot be counted");
    }
    stopped.take_breakpoint_back()?;
    let mut watch = Watch {
        program: Pid::from_raw(stopped.pid()),
        breakpoints: Breakpoints::default(),
        doors: HashMap::new(),
        callers: Callers::new(Process::open(stopped.pid())?),
        counts: HashMap::new(),
        operators: HashMap::new(),
        begun: HashSet::from([Pid::from_raw(stopped.pid())]),
        report: RunReport::default(),
    };
    for module in &process.modules {
        let doors = doors::of(&process, module);
        let addresses: Vec<u64> = doors.keys().copied().collect();
        watch.breakpoints.set(&stopped, &process, module, &addresses)?;
        watch.doors.extend(doors);
    }
    if watch.doors.is_empty() {
        bail!("it is stripped: its allocation functions have no names, and cannot be counted");
    }
    watch.follow(stopped)?;
    Ok(watch.finish())
}

impl Watch {
    fn follow(&mut self, stopped: Stopped) -> Result<()> {
        let options = Options::PTRACE_O_EXITKILL
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK;
        ptrace::setoptions(self.program, options).context("cannot follow its threads")?;
        resume(stopped.release(), None)?;
        loop {
            match waitpid(None, Some(WaitPidFlag::__WALL)) {
                Err(Errno::ECHILD) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(cause) => return Err(cause).context("cannot wait for it"),
                Ok(status) => self.handle(status)?,
            }
        }
    }

    fn handle(&mut self, status: WaitStatus) -> Result<()> {
        match status {
            WaitStatus::Exited(pid, code) if pid == self.program => {
                self.report.status = Some(code);
                Ok(())
            }
            WaitStatus::Signaled(pid, signal, _) if pid == self.program => {
                self.report.signal = Some(signal.as_str());
                Ok(())
            }
            WaitStatus::PtraceEvent(pid, _, event) => self.handle_event(pid, event),
            WaitStatus::Stopped(pid, Signal::SIGTRAP) => self.handle_trap(pid),
            WaitStatus::Stopped(pid, Signal::SIGSTOP) if self.begun.insert(pid) => {
                resume(pid, None)
            }
            WaitStatus::Stopped(pid, signal) => {
                // A stop of the whole process shows itself once more, without a signal to deliver.
                let is_group_stop = ptrace::getsiginfo(pid) == Err(Errno::EINVAL);
                resume(pid, (!is_group_stop).then_some(signal))
            }
            _ => Ok(()),
        }
    }

    fn handle_event(&mut self, pid: Pid, event: i32) -> Result<()> {
        match event {
            // Another program has taken the place of this one, with nothing of ours in it.
            libc::PTRACE_EVENT_EXEC => {
                self.report.executed += 1;
                return tolerate_end(ptrace::detach(pid, None));
            }
            libc::PTRACE_EVENT_CLONE => self.report.threads += 1,
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => self.report.children += 1,
            _ => {}
        }
        resume(pid, None)
    }

    fn handle_trap(&mut self, pid: Pid) -> Result<()> {
        let mut registers = match ptrace::getregs(pid) {
            Err(Errno::ESRCH) => return Ok(()),
            other => other.context("cannot read its registers")?,
        };
        let Some((function, copy)) = self.breakpoints.hit(registers.rip) else {
            return resume(pid, Some(Signal::SIGTRAP));
        };
        self.count(pid, function, &registers)?;
        registers.rip = copy;
        tolerate_end(ptrace::setregs(pid, registers))?;
        resume(pid, None)
    }

    fn count(&mut self, pid: Pid, function: u64, at: &libc::user_regs_struct) -> Result<()> {
        let from = match ptrace::read(pid, at.rsp as AddressType) {
            Err(Errno::ESRCH) => return Ok(()),
            other => other.context("cannot read its stack")?.cast_unsigned(),
        };
        let Some(door) = self.doors.get(&function) else { return Ok(()) };
        let call = Call { function, stack: at.rsp, from };
        let last = match door.loam {
            None => self.operators.insert(pid, call),
            Some(_) => self.operators.remove(&pid),
        };
        if door.loam != Some(false) && last.is_some_and(|last| last.hands_on_to(&call)) {
            return Ok(());
        }
        let caller = self.callers.of(pid, at, from)?;
        *self.counts.entry((function, caller)).or_default() += 1;
        Ok(())
    }

    fn finish(mut self) -> RunReport {
        let mut rows = BTreeMap::new();
        for ((function, caller), count) in &self.counts {
            let Some(door) = self.doors.get(function) else { continue };
            let caller = self.callers.get(*caller);
            // What a function of the family asks another one for was counted when it was called.
            if caller.part == CallerPart::EntryPoint && door.loam != Some(false) {
                continue;
            }
            rows.insert((caller.clone(), door.entry.shown, *function), *count);
        }
        let row = |((caller, _, function), count): ((Caller, &str, u64), u64)| {
            let door = self.doors.get(&function)?;
            Some(CallRow {
                name: door.entry.shown,
                symbol: door.entry.symbol,
                target_module: door.module.clone(),
                loam: door.loam,
                caller: caller.part,
                module: caller.module,
                function: caller.function,
                count,
            })
        };
        self.report.calls = rows.into_iter().filter_map(row).collect();
        self.report
    }
}

fn resume(pid: Pid, signal: Option<Signal>) -> Result<()> {
    tolerate_end(ptrace::cont(pid, signal))
}

/// A thread may be killed at any time; its end is reported later.
fn tolerate_end(outcome: nix::Result<()>) -> Result<()> {
    match outcome {
        Err(Errno::ESRCH) | Ok(()) => Ok(()),
        Err(cause) => Err(cause).context("cannot continue it"),
    }
}
