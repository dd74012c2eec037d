//! `loam replay`: what an allocator does on a recording is what it does in the program.

use crate::common::{Workshop, fixture, loam};
use predicates::str::{contains, is_match};
use serde_json::Value;
use std::path::Path;

/// Replays on glibc alone, and gives what was measured.
fn replay(workshop: &Workshop, trace: &Path, runs: &str) -> Value {
    measured(workshop, &["replay", trace.to_str().unwrap()], runs, &[])
}

fn measured(workshop: &Workshop, verb: &[&str], runs: &str, command: &[&Path]) -> Value {
    let json = workshop.path("json");
    let mut bench = loam();
    bench.args(verb).args(["--with", "glibc", "--runs", runs, "--json"]).arg(&json);
    if !command.is_empty() {
        bench.arg("--").args(command);
    }
    bench.assert().success();
    let text = std::fs::read_to_string(json).expect("figures");
    serde_json::from_str(&text).expect("JSON")
}

fn peak_kib(measured: &Value) -> f64 {
    measured["rows"][0]["cells"][0]["runs"][0]["values"]["peak"].as_f64().expect("a peak")
}

#[test]
fn the_peak_is_that_of_the_programs_own_run() {
    let workshop = Workshop::new();
    let program = workshop.compile("fills.c", &["-O1"]);
    let trace = workshop.path("trace");
    loam()
        .args(["record", "--output"])
        .args([&trace, Path::new("--"), &program])
        .assert()
        .success();
    let own = peak_kib(&measured(&workshop, &["bench"], "1", &[&program]));
    let replayed = peak_kib(&replay(&workshop, &trace, "1"));
    assert!((replayed / own - 1.0).abs() < 0.05, "{replayed} KiB instead of {own}");
}

#[test]
fn what_the_program_has_in_memory_of_files_is_in_the_peak() {
    let workshop = Workshop::new();
    let program = workshop.compile("reads.c", &["-O1"]);
    let (trace, file) = (workshop.path("trace"), workshop.path("file"));
    std::fs::write(&file, vec![0; 24 << 20]).unwrap();
    let command: [&Path; 2] = [&program, &file];
    let recorded = loam().args(["record", "--output"]).arg(&trace).arg("--").args(command).assert();
    recorded.success();
    let own = peak_kib(&measured(&workshop, &["bench"], "1", &command));
    let replayed = peak_kib(&replay(&workshop, &trace, "1"));
    assert!(own > 24.0 * 1024.0 && (replayed / own - 1.0).abs() < 0.05, "{replayed}, not {own}");
}

#[test]
fn what_the_program_maps_itself_and_what_it_writes_to_its_data_is_in_the_peak() {
    let workshop = Workshop::new();
    let program = workshop.compile("maps.c", &["-O1"]);
    let trace = workshop.path("trace");
    let recorded = loam().args(["record", "--output"]).arg(&trace).arg("--").arg(&program).assert();
    recorded.success();
    let own = peak_kib(&measured(&workshop, &["bench"], "1", &[&program]));
    let replayed = peak_kib(&replay(&workshop, &trace, "1"));
    assert!(own > 48.0 * 1024.0 && (replayed / own - 1.0).abs() < 0.05, "{replayed}, not {own}");
}

#[test]
fn blocks_pass_between_threads_in_the_recorded_order() {
    let workshop = Workshop::new();
    // Every block of each thread is resized by the next one and freed by the one after that.
    let mut text = String::new();
    for block in 0..5_000_u64 {
        let (place, thread) = (0x1000 + 32 * block, block % 3);
        text += &format!("{thread}: malloc {place:#x} {}\n", 1 + block % 500);
        text += &format!("{}: realloc {place:#x} {place:#x} {}\n", (thread + 1) % 3, block % 3000);
        if let Some(old) = block.checked_sub(100) {
            text += &format!("{}: free {:#x}\n", (old + 2) % 3, 0x1000 + 32 * old);
        }
    }
    // And many threads come and go.
    for thread in 10..100 {
        text += &format!("{thread}: malloc 0x10 100\n{thread}: free 0x10\n");
        text += &format!("{thread}: memalign 0x20 64 99\n{thread}: thread_done 0x0\n");
        text += "1: free 0x20\n";
    }
    let (file, trace) = (workshop.path("text"), workshop.path("trace"));
    std::fs::write(&file, text).unwrap();
    loam().args(["trace", "import"]).arg(&file).arg("--output").arg(&trace).assert().success();
    let measured = replay(&workshop, &trace, "3");
    let row = &measured["rows"][0];
    assert_eq!(row["cells"][0]["problem"], Value::Null, "{row}");
    assert_eq!(row["cells"][0]["runs"].as_array().unwrap().len(), 3);
    assert_eq!(row["name"], "trace");
    assert!(row["command"].as_str().unwrap().starts_with("loam replay "), "{row}");
}

#[test]
fn a_recording_without_a_call_takes_nothing() {
    let workshop = Workshop::new();
    let (file, trace) = (workshop.path("text"), workshop.path("trace"));
    std::fs::write(&file, "1: free 0x10\n").unwrap();
    loam().args(["trace", "import"]).arg(&file).arg("--output").arg(&trace).assert().success();
    assert!(peak_kib(&replay(&workshop, &trace, "1")) < 8192.0);
}

#[test]
fn what_is_no_recording_is_refused_in_one_line() {
    let workshop = Workshop::new();
    let source = fixture("fills.c");
    let cut = workshop.path("cut");
    std::fs::write(&cut, "1: malloc 0x10 10\n").unwrap();
    let trace = workshop.path("trace");
    loam().args(["trace", "import"]).arg(&cut).arg("--output").arg(&trace).assert().success();
    let whole = std::fs::read(&trace).unwrap();
    std::fs::write(&cut, &whole[..whole.len() - 5]).unwrap();
    for (file, says) in [(&source, "is not a recording"), (&cut, "is cut off")] {
        let refused = loam().args(["replay", "--with", "glibc"]).arg(file).assert().code(2);
        refused.stdout("").stderr(is_match("^loam: [^\n]+\n$").unwrap()).stderr(contains(says));
    }
}
