//! `loam record`: what a program takes and frees is in the file, in an order that can be, whatever
//! becomes of the program.

use crate::common::{Workshop, fixture, folder, loam};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, is_match};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The fixture, compiled once.
fn program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let path = folder().join("records");
        let mut compiler = std::process::Command::new("c++");
        compiler.args(["-O1", "-std=c++17", "-pthread", "-fno-builtin", "-fno-omit-frame-pointer"]);
        compiler.arg(fixture("records.cc")).arg("-o").arg(&path);
        assert!(compiler.status().expect("a compiler").success());
        path
    })
}

fn record(trace: &Path, flags: &[&str], word: &str) -> assert_cmd::assert::Assert {
    let mut command = loam();
    command.arg("record").args(flags).arg("--output").arg(trace);
    command.arg("--").arg(program()).arg(word).assert()
}

fn figures(trace: &Path) -> Value {
    let output = loam().args(["trace", "stats", "--json"]).arg(trace).output().unwrap();
    serde_json::from_slice(&output.stdout).expect("figures")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// What main does before it does as it is told.
fn has_everything(said: &Value) {
    let (calls, summary) = (&said["calls"], &said["summary"]);
    assert!(number(&said["gives_by_others"]) >= 1000, "{said}");
    assert_eq!(number(&calls["realloc"]), 1000);
    assert_eq!(number(&said["resizes"]), 1000);
    for entry in ["aligned_alloc", "posix_memalign", "memalign"] {
        assert_eq!(number(&calls[entry]), 1, "{entry}");
    }
    assert!(number(&calls["operator new"]) >= 2, "{calls}");
    assert!(number(&calls["malloc"]) >= 1101, "{calls}");
    assert_eq!(summary["foreign"], 0);
    let (live, bound) = (number(&summary["peak_live_bytes"]), number(&said["bound_bytes"]));
    assert!(live >= 64 << 20, "{live}");
    assert!((16 << 20..24 << 20).contains(&bound), "a quarter is touched: {bound}");
}

#[test]
fn every_call_is_recorded_and_the_status_is_the_programs() {
    let workshop = Workshop::new();
    let trace = workshop.path("trace");
    record(&trace, &[], "status").code(7).stdout("").stderr(
        is_match(r"^loam: [0-9.]+ k? ?events in .*/trace \([0-9.]+ KiB, [0-9.]+ bytes each\)\n$")
            .unwrap(),
    );
    let said = figures(&trace);
    has_everything(&said);
    assert_eq!(said["summary"]["ended"], "status 7");
    assert_eq!(said["summary"]["threads"], 3);
    assert_eq!(said["header"]["has_addresses"], false);
    let size = number(&said["file_bytes"]) as f64;
    assert!(size <= 3.0 * number(&said["summary"]["events"]) as f64, "at most 3 bytes an event");
}

#[test]
fn a_program_that_is_killed_leaves_a_whole_recording() {
    let workshop = Workshop::new();
    let trace = workshop.path("trace");
    record(&trace, &[], "kill").stderr(contains("events in"));
    let said = figures(&trace);
    has_everything(&said);
    assert_eq!(said["summary"]["ended"], "SIGKILL");
    assert!(number(&said["summary"]["live_blocks"]) >= 200_000);
}

#[test]
fn the_child_of_a_fork_is_not_in_it_and_that_is_said() {
    let workshop = Workshop::new();
    let trace = workshop.path("trace");
    let recorded = record(&trace, &[], "fork").code(7);
    recorded.stderr(contains("; a process that it started is not in it (see --children)\n"));
    let said = figures(&trace);
    has_everything(&said);
    assert!(number(&said["summary"]["live_blocks"]) < 1000, "the child takes 5000");
}

/// Records the program with its children, of which there is one, and gives the figures of that.
fn child(word: &str) -> Value {
    let workshop = Workshop::new();
    let trace = workshop.path("trace");
    let recorded = record(&trace, &["--children"], word).code(7);
    recorded.stderr(
        is_match(r"^loam: [^\n]+ each\)\nloam: a process that it started: [^\n]+ each\)\n$")
            .unwrap(),
    );
    has_everything(&figures(&trace));
    let files = std::fs::read_dir(workshop.path("")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| *path != trace).collect();
    let [file] = &files[..] else { panic!("one of the child: {files:?}") };
    let said = figures(file);
    let number = file.extension().unwrap().to_str().unwrap();
    assert_eq!(said["header"]["pid"].to_string(), number);
    assert!(said["header"]["program"].as_str().unwrap().ends_with("/records"), "{said}");
    said
}

#[test]
fn the_child_of_a_fork_has_a_recording_of_its_own() {
    let said = child("fork");
    assert_eq!(said["summary"]["live_blocks"], 5000);
    assert_eq!(said["summary"]["live_bytes"], 5000 * 4321);
}

#[test]
fn a_program_that_is_started_has_a_recording_of_its_own() {
    let said = child("start");
    has_everything(&said);
    assert_eq!(said["header"]["arguments"][1], "status");
}

#[test]
fn a_program_that_becomes_another_one_is_recorded_as_that() {
    let workshop = Workshop::new();
    let trace = workshop.path("trace");
    record(&trace, &[], "exec").code(7);
    has_everything(&figures(&trace));
}

#[test]
fn addresses_and_stacks_are_there_where_they_are_asked_for() {
    let workshop = Workshop::new();
    let trace = workshop.path("trace");
    record(&trace, &["--addresses", "--stacks"], "status").code(7);
    let said = figures(&trace);
    has_everything(&said);
    assert_eq!(said["header"]["has_addresses"], true);
    assert!(number(&said["stack_nodes"]) > 10 && number(&said["modules"]) > 2, "{said}");
}

#[test]
fn what_cannot_be_recorded_is_refused_in_one_line_and_leaves_no_file() {
    let workshop = Workshop::new();
    let trace = workshop.path("trace");
    let fixed = workshop.compile("own_malloc.c", &[]);
    let missing = workshop.path("nowhere/trace");
    let refused = |output: &Path, words: &[&Path], status: i32, says: &str| {
        let mut command = loam();
        command.args(["record", "--output"]).arg(output).arg("--").args(words);
        let refused = command.assert().code(status).stdout("");
        refused.stderr(is_match("^loam: [^\n]+\n$").unwrap().and(contains(says)));
    };
    refused(&trace, &[&fixed], 125, "cannot be recorded: ");
    refused(&trace, &[Path::new("no-such-program")], 127, "not found in PATH");
    let full = Path::new("/dev/full");
    refused(full, &[program(), Path::new("status")], 2, "no space left on device");
    refused(&missing, &[program(), Path::new("status")], 2, "no such file or directory");
    let left: Vec<_> = std::fs::read_dir(workshop.path("")).unwrap().collect();
    assert_eq!(left.len(), 1, "only the program: {left:?}");
}
