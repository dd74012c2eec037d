//! Programs whose heaps are in a state that can be told.

use super::{allocator, built_once, checkout, fixture, own_allocator, sources_with_allocator};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// How a program has loam in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Linked {
    Dynamic,
    /// With musl, and no symbols.
    StaticMusl,
    StaticGlibc,
}

fn build(linked: Linked, source: &str, path: &Path) {
    let (compiler, flags): (&str, &[&str]) = match linked {
        Linked::Dynamic => ("cc", &["-g"]),
        Linked::StaticMusl => ("musl-gcc", &["-static", "-s"]),
        Linked::StaticGlibc => ("cc", &["-static", "-s"]),
    };
    let object = match linked {
        Linked::StaticMusl => allocator("loam-musl.o", compiler, &[]),
        Linked::Dynamic | Linked::StaticGlibc => own_allocator(),
    };
    let status = Command::new(compiler)
        .args(["-O1", "-w", "-std=gnu11", "-fno-builtin", "-pthread", "-I"])
        .args([checkout("include"), object, fixture(source)])
        .args(flags)
        .arg("-o")
        .arg(path)
        .status();
    assert!(status.expect("a compiler").success(), "{compiler} {flags:?}");
}

/// A program of the fixture, compiled once.
pub fn program(linked: Linked) -> PathBuf {
    let name = format!("heaps-{}", linked as usize);
    let sources = sources_with_allocator("heaps.c");
    built_once(&name, &sources, |path| build(linked, "heaps.c", path))
}

/// Plants what its first word says in lines that comments name; compiled once.
pub fn places() -> PathBuf {
    let sources = sources_with_allocator("places.c");
    built_once("places", &sources, |path| build(Linked::Dynamic, "places.c", path))
}

/// Keeps some blocks of a size; compiled once.
pub fn keeps() -> PathBuf {
    let sources = sources_with_allocator("keeps.c");
    built_once("keeps", &sources, |path| build(Linked::Dynamic, "keeps.c", path))
}

/// Takes and frees, and says what that costs it; compiled once.
pub fn goes_on() -> PathBuf {
    let sources = sources_with_allocator("goes_on.c");
    built_once("goes_on", &sources, |path| build(Linked::Dynamic, "goes_on.c", path))
}

/// A server with two workers and a child that has become another program; in a group of its own.
pub struct Server {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Server {
    pub fn start() -> Server {
        let sources = sources_with_allocator("workers.c");
        let program =
            built_once("workers", &sources, |path| build(Linked::Dynamic, "workers.c", path));
        let mut command = Command::new(program);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().expect("a process");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let mut server = Server { child, output };
        server.says("ready");
        server
    }

    fn says(&mut self, expected: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("its line");
        assert_eq!(line.trim_end(), expected);
    }

    pub fn grow(&mut self) {
        self.child.stdin.as_mut().expect("its input").write_all(b"\n").expect("a line");
        self.says("grown");
    }

    /// With all of its group.
    pub fn end(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().expect("its end");
    }

    pub fn pid(&self) -> u64 {
        self.child.id().into()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

pub struct Running {
    child: Child,
    /// By its own count.
    pub used_count: u64,
    pub used_bytes: u64,
}

impl Running {
    pub fn start(command: &mut Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a started process");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("its line");
        let mut numbers = line.split_whitespace().map(|word| word.parse().expect("a number"));
        let (used_count, used_bytes) = (numbers.next().expect("a count"), numbers.next().unwrap());
        Running { child, used_count, used_bytes }
    }

    pub fn of(linked: Linked, what: &str) -> Running {
        // Nothing goes back by itself.
        let mut command = Command::new(program(linked));
        Running::start(command.arg(what).env("LOAM_OPTIONS", "purge_delay_ms=never"))
    }

    pub fn abort(&mut self) {
        let pid = nix::unistd::Pid::from_raw(self.child.id().cast_signed());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGABRT).expect("a signal");
        self.child.wait().expect("its end");
    }

    pub fn pid(&self) -> String {
        self.child.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
