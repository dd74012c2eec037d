//! Starts a program and stops it at its entry point: all libraries it starts with are loaded,
//! bound and initialised by then, and main has not begun.

use crate::binary::elf::Architecture;
use crate::process::inherited;
use crate::process::launch::Target;
use crate::process::modules;
use crate::process::modules::Process;
use anyhow::{Context, Result, anyhow, bail};
use nix::sys::ptrace::{self, AddressType, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use object::elf;
use std::cell::Cell;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;
use thiserror::Error;

/// A started program that has not come to main. It is killed when this goes out of scope.
pub struct Stopped {
    child: Child,
    entry: Option<Breakpoint>,
    /// Whether a launcher has become the program.
    pub has_followed: bool,
}

/// Says of a program that has been executed with these arguments whether it is a launcher.
pub type IsLauncher = fn(&Path, &[OsString]) -> bool;

/// For programs that are to be looked at whatever they start.
pub fn no_launcher(_: &Path, _: &[OsString]) -> bool {
    false
}

/// A launcher that has become no program: what it would start is not known.
#[derive(Debug, Error)]
pub enum NotFollowed {
    #[error("it ended without executing another program ({0})")]
    Ended(String),
    #[error("it executed no other program within {} s", LAUNCHER_LIMIT.as_secs())]
    Late,
}

/// A launcher that takes longer does more than to launch.
const LAUNCHER_LIMIT: Duration = Duration::from_secs(20);

/// What stood at the entry point before the trap.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // traps are set on x86-64 only
struct Breakpoint {
    address: u64,
    bytes: [u8; TRAP_MAX_BYTES],
}

const TRAP_MAX_BYTES: usize = 4;

/// What a started program reads and writes.
#[derive(Clone, Copy)]
pub enum Streams {
    /// Nothing, but for standard error, where the loader complains.
    Closed,
    /// What this command does; its output goes to standard error.
    Shared,
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // It may have ended by itself: then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Stopped {
    /// Starts the program with variables added to its environment. Launchers run, until they have
    /// become what is none.
    pub fn start(
        target: &Target,
        environment: &[(&str, OsString)],
        streams: Streams,
        is_launcher: IsLauncher,
    ) -> Result<Stopped> {
        let mut command = Command::new(&target.path);
        command.args(&target.argv[1..]).arg0(&target.argv[0]);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        match streams {
            Streams::Closed => {
                command.stdin(Stdio::null()).stdout(Stdio::null());
            }
            Streams::Shared => {
                command.stdout(std::io::stderr());
                inherited::restore_sigpipe().context("cannot restore SIGPIPE")?;
            }
        }
        let trace_me = || ptrace::traceme().map_err(std::io::Error::from);
        // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
        unsafe { command.pre_exec(trace_me) };
        let shown = target.path.display();
        let child = command.spawn().with_context(|| format!("cannot start {shown} traced"))?;
        let mut stopped = Stopped { child, entry: None, has_followed: false };
        stopped.continue_to_entry(is_launcher).with_context(|| shown.to_string())?;
        Ok(stopped)
    }

    pub fn pid(&self) -> i32 {
        self.traced().as_raw()
    }

    fn traced(&self) -> Pid {
        // Process numbers are positive and fit: the kernel's pid_t is what Child holds.
        Pid::from_raw(self.child.id().cast_signed())
    }

    fn continue_to_entry(&mut self, is_launcher: IsLauncher) -> Result<()> {
        self.wait_for_exec()?;
        ptrace::setoptions(self.traced(), Options::PTRACE_O_EXITKILL | Options::PTRACE_O_TRACEEXEC)
            .context("cannot trace it")?;
        self.begin(is_launcher)?;
        // Ends the launcher when it is late; what follows a launcher has no limit.
        let limit = TimeLimit::begin(self.traced(), LAUNCHER_LIMIT);
        let mut signal = None;
        loop {
            if self.entry.is_some() {
                limit.end();
            }
            ptrace::cont(self.traced(), signal.take()).context("cannot continue it")?;
            match waitpid(self.traced(), None).context("cannot wait for it")? {
                WaitStatus::Stopped(_, Signal::SIGTRAP) => return Ok(()),
                // A library's constructor started the program anew.
                WaitStatus::PtraceEvent(..) => self.begin(is_launcher)?,
                WaitStatus::Stopped(_, other) => signal = Some(other),
                _ if self.entry.is_none() && limit.is_over() => bail!(NotFollowed::Late),
                ended if self.entry.is_none() => {
                    bail!(NotFollowed::Ended(how_ended(ended)))
                }
                ended => return Err(ended_early(ended)),
            }
        }
    }

    /// A program has been executed: it is stopped at its entry point, unless it is a launcher.
    fn begin(&mut self, is_launcher: IsLauncher) -> Result<()> {
        let (program, argv) = modules::executed(self.pid())?;
        if !is_launcher(&program, &argv) {
            return self.set_breakpoint();
        }
        (self.entry, self.has_followed) = (None, true);
        Ok(())
    }

    fn wait_for_exec(&self) -> Result<()> {
        match waitpid(self.traced(), None).context("cannot wait for it")? {
            WaitStatus::Stopped(_, Signal::SIGTRAP) => Ok(()),
            other => Err(ended_early(other)),
        }
    }

    /// Puts a trap at the program's entry point.
    fn set_breakpoint(&mut self) -> Result<()> {
        let process = Process::open(self.pid())?;
        let program = process.program()?;
        let address = program.image.entry_address.wrapping_add(program.bias);
        let trap = trap_instruction(program.image.architecture)?;
        let bytes = process.read_bytes(address, TRAP_MAX_BYTES)?;
        let bytes = bytes.try_into().map_err(|_| anyhow!("its entry point cannot be read"))?;
        self.entry = Some(Breakpoint { address, bytes });
        self.write_code(address, trap).context("cannot set a breakpoint at its entry point")
    }

    /// Writes into the program's memory, also where the program itself may not.
    pub fn write_code(&self, address: u64, bytes: &[u8]) -> Result<()> {
        const WORD_BYTES: usize = size_of::<nix::libc::c_long>();
        let mut rest = bytes;
        let mut at = address;
        while !rest.is_empty() {
            let offset = (at % WORD_BYTES as u64) as usize;
            let (now, later) = rest.split_at(rest.len().min(WORD_BYTES - offset));
            let place = (at - offset as u64) as AddressType;
            let word = ptrace::read(self.traced(), place).context("cannot read its code")?;
            let mut word = word.to_ne_bytes();
            word[offset..offset + now.len()].copy_from_slice(now);
            ptrace::write(self.traced(), place, nix::libc::c_long::from_ne_bytes(word))
                .context("cannot write into its code")?;
            at += now.len() as u64;
            rest = later;
        }
        Ok(())
    }

    /// Hands the program over, still stopped. The caller waits for it then.
    #[cfg(target_arch = "x86_64")]
    pub fn release(self) -> Pid {
        let pid = self.traced();
        std::mem::forget(self);
        pid
    }
}

#[cfg(target_arch = "x86_64")]
impl Stopped {
    /// Makes the program ready to begin at its entry point.
    pub fn take_breakpoint_back(&mut self) -> Result<()> {
        let Some(entry) = self.entry.take() else { return Ok(()) };
        self.write_code(entry.address, &entry.bytes)?;
        let mut registers = ptrace::getregs(self.traced()).context("cannot read its registers")?;
        registers.rip = entry.address;
        ptrace::setregs(self.traced(), registers).context("cannot write its registers")
    }

    /// Maps memory for code at free addresses, by a system call that the program makes.
    pub fn map_code(&self, address: u64, bytes: u64) -> Result<()> {
        use nix::libc;
        const SYSCALL: [u8; 2] = [0x0f, 0x05];
        let pid = self.traced();
        let before = ptrace::getregs(pid).context("cannot read its registers")?;
        let code = Process::open(self.pid())?.read_bytes(before.rip, SYSCALL.len())?;
        let mut registers = before;
        registers.rax = libc::SYS_mmap.cast_unsigned();
        registers.rdi = address;
        registers.rsi = bytes;
        registers.rdx = (libc::PROT_READ | libc::PROT_EXEC) as u64;
        let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        registers.r10 = how as u64;
        registers.r8 = u64::MAX;
        registers.r9 = 0;
        self.write_code(before.rip, &SYSCALL)?;
        ptrace::setregs(pid, registers).context("cannot write its registers")?;
        ptrace::step(pid, None).context("cannot step it")?;
        match waitpid(pid, None).context("cannot wait for it")? {
            WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
            other => return Err(ended_early(other)),
        }
        let mapped = ptrace::getregs(pid).context("cannot read its registers")?.rax;
        self.write_code(before.rip, &code)?;
        ptrace::setregs(pid, before).context("cannot write its registers")?;
        if mapped != address {
            bail!("cannot map memory for breakpoints at {address:#x}");
        }
        Ok(())
    }
}

/// Kills a process after a while, unless that is called off.
struct TimeLimit {
    /// Dropped to call it off.
    running: Cell<Option<Sender<()>>>,
    is_over: Arc<AtomicBool>,
}

impl TimeLimit {
    fn begin(process: Pid, limit: Duration) -> TimeLimit {
        let (running, ended) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        std::thread::spawn(move || {
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                over.store(true, Ordering::SeqCst);
                // It may have ended by itself.
                let _ = kill(process, Signal::SIGKILL);
            }
        });
        TimeLimit { running: Cell::new(Some(running)), is_over }
    }

    fn end(&self) {
        self.running.take();
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

fn ended_early(status: WaitStatus) -> anyhow::Error {
    match status {
        WaitStatus::Exited(..) => anyhow!("ended before main, with {}", how_ended(status)),
        WaitStatus::Signaled(..) => anyhow!("ended before main, by {}", how_ended(status)),
        other => anyhow!("stopped before main in an unexpected way: {other:?}"),
    }
}

fn how_ended(status: WaitStatus) -> String {
    match status {
        WaitStatus::Exited(_, code) => format!("status {code}"),
        WaitStatus::Signaled(_, signal, _) => format!("signal {signal}"),
        other => format!("{other:?}"),
    }
}

/// The instruction that stops a traced program, in the byte order of this machine.
fn trap_instruction(architecture: Architecture) -> Result<&'static [u8]> {
    match architecture.machine {
        elf::EM_X86_64 | elf::EM_386 => Ok(&[0xcc]),
        elf::EM_AARCH64 => Ok(&[0x00, 0x00, 0x20, 0xd4]),
        elf::EM_ARM => Ok(&[0xf0, 0x01, 0xf0, 0xe7]),
        elf::EM_RISCV => Ok(&[0x73, 0x00, 0x10, 0x00]),
        elf::EM_S390 => Ok(&[0x00, 0x01]),
        elf::EM_PPC64 if architecture.is_little_endian => Ok(&[0x08, 0x00, 0xe0, 0x7f]),
        elf::EM_PPC64 => Ok(&[0x7f, 0xe0, 0x00, 0x08]),
        _ => bail!("no breakpoints known for {architecture}; start it and give its process number"),
    }
}
