//! Starts a program and stops it at its entry point: all libraries it starts with are loaded,
//! bound and initialised by then, and main has not begun.

use crate::elf::Architecture;
use crate::launch::Target;
use crate::process::Process;
use anyhow::{Context, Result, anyhow, bail};
use nix::sys::ptrace::{self, AddressType, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use object::elf;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// A started program that has not come to main. It is killed when this goes out of scope.
pub struct Stopped {
    child: Child,
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // It may have ended by itself: then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Stopped {
    /// Starts the program with variables added to its environment. It reads nothing and its
    /// output is dropped, but for standard error, where the loader complains.
    pub fn start(target: &Target, environment: &[(&str, OsString)]) -> Result<Stopped> {
        let mut command = Command::new(&target.path);
        command.args(&target.argv[1..]).arg0(&target.argv[0]);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let trace_me = || ptrace::traceme().map_err(std::io::Error::from);
        // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
        unsafe { command.pre_exec(trace_me) };
        let shown = target.path.display();
        let child = command.spawn().with_context(|| format!("cannot start {shown} traced"))?;
        let stopped = Stopped { child };
        stopped.continue_to_entry().with_context(|| shown.to_string())?;
        Ok(stopped)
    }

    pub fn pid(&self) -> i32 {
        self.traced().as_raw()
    }

    fn traced(&self) -> Pid {
        // Process numbers are positive and fit: the kernel's pid_t is what Child holds.
        Pid::from_raw(self.child.id().cast_signed())
    }

    fn continue_to_entry(&self) -> Result<()> {
        self.wait_for_exec()?;
        ptrace::setoptions(self.traced(), Options::PTRACE_O_EXITKILL | Options::PTRACE_O_TRACEEXEC)
            .context("cannot trace it")?;
        self.set_breakpoint()?;
        let mut signal = None;
        loop {
            ptrace::cont(self.traced(), signal.take()).context("cannot continue it")?;
            match waitpid(self.traced(), None).context("cannot wait for it")? {
                WaitStatus::Stopped(_, Signal::SIGTRAP) => return Ok(()),
                // A library's constructor started the program anew.
                WaitStatus::PtraceEvent(..) => self.set_breakpoint()?,
                WaitStatus::Stopped(_, other) => signal = Some(other),
                ended => return Err(ended_early(ended)),
            }
        }
    }

    fn wait_for_exec(&self) -> Result<()> {
        match waitpid(self.traced(), None).context("cannot wait for it")? {
            WaitStatus::Stopped(_, Signal::SIGTRAP) => Ok(()),
            other => Err(ended_early(other)),
        }
    }

    /// Puts a trap at the program's entry point. It is never taken back: the program goes no
    /// further.
    fn set_breakpoint(&self) -> Result<()> {
        let process = Process::open(self.pid())?;
        let program = process.program()?;
        let entry = program.image.entry_address.wrapping_add(program.bias);
        let trap = trap_instruction(program.image.architecture)?;
        let word_bytes = size_of::<nix::libc::c_long>() as u64;
        let aligned = entry - entry % word_bytes;
        let at = aligned as AddressType;
        let offset = (entry - aligned) as usize;
        let word = ptrace::read(self.traced(), at).context("cannot read its entry point")?;
        let mut bytes = word.to_ne_bytes();
        let Some(place) = bytes.get_mut(offset..offset + trap.len()) else {
            bail!("its entry point {entry:#x} is not aligned");
        };
        place.copy_from_slice(trap);
        ptrace::write(self.traced(), at, nix::libc::c_long::from_ne_bytes(bytes))
            .context("cannot set a breakpoint at its entry point")
    }
}

fn ended_early(status: WaitStatus) -> anyhow::Error {
    match status {
        WaitStatus::Exited(_, code) => anyhow!("ended before main, with status {code}"),
        WaitStatus::Signaled(_, signal, _) => anyhow!("ended before main, by signal {signal}"),
        other => anyhow!("stopped before main in an unexpected way: {other:?}"),
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
