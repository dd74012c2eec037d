//! A signal that comes to `loam prof`, `record` or `run --stats` and to the program: it gets it
//! once, ends as it wants, and what was wanted of it is there, whatever ends it.

use crate::common::sources_with_allocator;
use crate::common::{Workshop, built_once, fixture, loam, loam_process, own_allocator};
use predicates::str::contains;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::time::Duration;

/// The fixture with loam in it, compiled once.
fn on_loam() -> PathBuf {
    built_once("signals", &sources_with_allocator("signals.c"), |path| {
        let mut compiler = std::process::Command::new("cc");
        compiler.args(["-g", "-O1", "-fno-builtin"]).arg(own_allocator());
        compiler.arg(fixture("signals.c")).arg("-o").arg(path);
        assert!(compiler.status().expect("a compiler").success(), "{compiler:?}");
    })
}

/// This command with a program, in a process group of its own, as a shell starts it.
struct Job {
    child: Child,
    output: BufReader<ChildStdout>,
}

struct Ended {
    status: ExitStatus,
    output: String,
    said: String,
}

impl Job {
    /// The program has said that it is ready.
    fn start(verb: &[&str], program: &PathBuf, what: &str) -> Job {
        let mut command = loam_process();
        command.args(verb).arg("--").arg(program).arg(what).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a process");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let mut job = Job { child, output };
        let mut line = String::new();
        job.output.read_line(&mut line).expect("its line");
        assert_eq!(line, "ready\n");
        job
    }

    /// To the command alone, or to its group.
    fn send(&self, signal: &str, to: To) {
        let pid = self.child.id();
        let target = if to == To::Group { format!("-{pid}") } else { pid.to_string() };
        let mut kill = std::process::Command::new("kill");
        kill.args([&format!("-{signal}"), "--", &target]);
        assert!(kill.status().expect("kill").success());
    }

    fn end(mut self) -> Ended {
        let (mut output, mut said) = (String::new(), String::new());
        self.output.read_to_string(&mut output).expect("its output");
        let mut error = self.child.stderr.take().expect("its messages");
        error.read_to_string(&mut said).expect("its messages");
        Ended { status: self.child.wait().expect("its status"), output, said }
    }
}

#[derive(PartialEq, Clone, Copy, Debug)]
enum To {
    Command,
    Group,
}

const BOTH: [To; 2] = [To::Command, To::Group];
const SETTLED: Duration = Duration::from_millis(400);

/// The verbs, and what says that their work was done.
fn verbs(workshop: &Workshop) -> [(Vec<String>, &'static str, PathBuf); 3] {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let plain = workshop.compile("signals.c", &[]);
    let trace = workshop.path("trace");
    [
        (words(&["prof"]), " MiB live", on_loam()),
        (words(&["run", "--stats"]), "4.00 MiB", on_loam()),
        (words(&["record", "--output", trace.to_str().unwrap()]), "events in", plain),
    ]
}

fn start(verb: &[String], program: &PathBuf, what: &str) -> Job {
    let words: Vec<&str> = verb.iter().map(String::as_str).collect();
    Job::start(&words, program, what)
}

#[test]
fn a_program_that_dies_of_a_signal_leaves_its_report_and_the_command_dies_alike() {
    let workshop = Workshop::new();
    for (verb, expected, program) in verbs(&workshop) {
        for (signal, number) in [("TERM", 15), ("HUP", 1), ("QUIT", 3), ("INT", 2)] {
            for to in BOTH {
                let job = start(&verb, &program, "dies");
                job.send(signal, to);
                let Ended { status, said, .. } = job.end();
                assert_eq!(status.signal(), Some(number), "{verb:?} {signal} {to:?}: {said}");
                assert!(said.contains(expected), "{verb:?} {signal} {to:?}: {said}");
            }
        }
    }
    loam().args(["trace", "stats"]).arg(workshop.path("trace")).assert().success();
}

#[test]
fn a_program_that_handles_a_signal_gets_it_once_and_ends_as_it_wants() {
    let workshop = Workshop::new();
    for (verb, expected, program) in verbs(&workshop) {
        for to in BOTH {
            let job = start(&verb, &program, "handles");
            // Its wait for input is interrupted.
            job.send("TERM", to);
            let Ended { status, output, said } = job.end();
            assert_eq!(output, "got 1\n", "{verb:?} {to:?}");
            assert_eq!(status.code(), Some(7), "{verb:?} {to:?}: {said}");
            assert!(said.contains(expected), "{verb:?} {to:?}: {said}");
        }
    }
}

#[test]
fn a_program_that_ignores_a_signal_goes_on() {
    let workshop = Workshop::new();
    for (verb, expected, program) in verbs(&workshop) {
        for to in BOTH {
            let mut job = start(&verb, &program, "ignores");
            job.send("TERM", to);
            std::thread::sleep(Duration::from_millis(100));
            assert!(job.child.try_wait().expect("a status").is_none(), "{verb:?} {to:?}");
            drop(job.child.stdin.take());
            let Ended { status, said, .. } = job.end();
            assert_eq!(status.code(), Some(5), "{verb:?} {to:?}: {said}");
            assert!(said.contains(expected), "{verb:?} {to:?}: {said}");
        }
    }
}

#[test]
fn what_the_program_has_started_is_in_the_report_too() {
    let workshop = Workshop::new();
    let folder = workshop.path("profiles");
    let job = Job::start(&["prof", "--keep", folder.to_str().unwrap()], &on_loam(), "starts");
    std::thread::sleep(SETTLED);
    job.send("TERM", To::Group);
    let Ended { status, said, .. } = job.end();
    assert_eq!(status.signal(), Some(15), "{said}");
    assert!(said.contains("12.0 MiB live") && said.contains("Of 2 processes"), "{said}");
    assert_eq!(std::fs::read_dir(&folder).expect("profiles").count(), 2);

    let job = Job::start(&["run", "--stats"], &on_loam(), "starts");
    std::thread::sleep(SETTLED);
    job.send("TERM", To::Group);
    let said = job.end().said;
    assert!(said.contains("and 1 process that it started"), "{said}");
    assert!(said.contains("12.0 MiB"), "{said}");
}

#[test]
fn a_program_that_ends_without_a_word_has_a_profile_and_statistics() {
    for (what, status) in [("leaves", Some(3)), ("crashes", None)] {
        for (verb, expected) in [("prof", " MiB live"), ("run", "4.00 MiB")] {
            let mut command = loam();
            command.arg(verb).args((verb == "run").then_some("--stats")).arg("--");
            let said = command.arg(on_loam()).arg(what).assert().stderr(contains(expected));
            assert_eq!(said.get_output().status.code(), status, "{verb} {what}");
        }
    }
}

#[test]
fn a_stopped_job_stops_and_goes_on() {
    let job = Job::start(&["prof"], &on_loam(), "handles");
    let state = |pid: u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        text.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    job.send("TSTP", To::Group);
    let until = |wanted: &dyn Fn(Option<char>) -> bool| {
        (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            wanted(state(job.child.id()))
        })
    };
    assert!(until(&|state| state == Some('T')), "the command stops");
    let program = program_of(job.child.id());
    assert!(matches!(state(program), Some('T' | 't')), "the program stops");
    job.send("CONT", To::Group);
    assert!(until(&|state| state != Some('T')), "the command goes on");
    job.send("TERM", To::Group);
    assert_eq!(job.end().output, "got 1\n");
}

/// The child of that command that is not its witness.
fn program_of(command: u32) -> u32 {
    let path = format!("/proc/{command}/task/{command}/children");
    let children = std::fs::read_to_string(path).expect("children");
    let name = |pid: &&str| std::fs::read_to_string(format!("/proc/{pid}/comm")).ok();
    let program = children.split_whitespace().find(|pid| name(pid).as_deref() == Some("signals\n"));
    program.expect("the program").parse().expect("a number")
}
