//! `loam verify --run`: calls counted by entry point and caller, dynamic and static.

use crate::common::libc::{MUSL, copy_of, graft, run, text};
use crate::common::{Workshop, fixture, loam, real_library};
use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Runs the program and gives the status and the report.
fn report(program: &Path, arguments: &[&str]) -> (i32, Value) {
    report_of(loam(), program, arguments)
}

fn report_of(mut command: Command, program: &Path, arguments: &[&str]) -> (i32, Value) {
    command
        .args(["verify", "--preloaded", "--run", "--json"])
        .arg(program)
        .arg("--")
        .args(arguments);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let parsed = serde_json::from_str(&text);
    let report: Value = parsed.unwrap_or_else(|cause| {
        panic!("{cause}: {text}{}", String::from_utf8_lossy(&output.stderr))
    });
    let status = output.status.code().unwrap();
    let own = report["run"]["status"].as_i64().map_or(0, |status| status as i32);
    assert_eq!(status, if report["loam"] == true { own } else { 1 }, "{text}");
    (status, report)
}

/// How often an entry point was called by a function, or by all of a part of the process.
fn count(report: &Value, name: &str, caller: &str, function: Option<&str>) -> u64 {
    let calls = report["run"]["calls"].as_array().unwrap();
    let is_meant = |row: &&Value| {
        row["name"] == name
            && row["caller"] == caller
            && function.is_none_or(|function| row["function"] == function)
    };
    calls.iter().filter(is_meant).map(|row| row["count"].as_u64().unwrap()).sum()
}

/// The functions of the C library that allocated.
fn assert_libc_called(report: &Value, functions: &[&str]) {
    let calls = report["run"]["calls"].as_array().unwrap();
    for function in functions {
        let is_meant = |row: &&Value| row["caller"] == "libc" && row["function"] == *function;
        let allocates = |row: &Value| row["name"] != "free";
        let found = calls.iter().filter(is_meant).any(allocates);
        assert!(found, "{function} in {}", serde_json::to_string_pretty(calls).unwrap());
    }
}

/// Those that musl and glibc share, by names that can be found in both.
const LIBC_FUNCTIONS: [&str; 4] = ["strdup", "open_memstream", "getaddrinfo", "dlerror"];

fn assert_counted(report: &Value) {
    assert_eq!(report["run"]["status"], 3);
    assert_eq!(report["run"]["threads"], 4);
    assert_eq!(report["run"]["children"], 1);
    assert_eq!(count(report, "malloc", "program", Some("work")), 4000);
    assert_eq!(count(report, "free", "program", Some("work")), 4000);
    assert_eq!(count(report, "calloc", "program", Some("in_child")), 10);
    assert_eq!(count(report, "malloc", "libc", Some("strdup")), 7);
    assert_libc_called(report, &LIBC_FUNCTIONS);
}

/// Links the program with a C library that was grafted, or as it is.
fn static_program(workshop: &Workshop, is_grafted: bool, flags: &[&str]) -> PathBuf {
    let libc = copy_of(workshop, MUSL, if is_grafted { "grafted" } else { "plain" });
    if is_grafted {
        graft(workshop).arg(&libc).assert().success();
    }
    let program = libc.with_file_name("program");
    let search = format!("-L{}", libc.parent().unwrap().display());
    let source = fixture("counted.c");
    let fixed = ["-O0", "-w", "-fno-builtin", "-static", &search, text(&source)];
    run("musl-gcc", &[&fixed, flags, &["-o", text(&program)]].concat());
    program
}

#[test]
fn calls_of_threads_children_and_the_c_library_are_counted() {
    let workshop = Workshop::new();
    let (status, report) = report(&workshop.compile("counted.c", &[]), &[]);
    assert_eq!(status, 3, "the program's own: {report}");
    assert_counted(&report);
    assert_libc_called(&report, &["getline"]);
    assert!(report["run"]["calls"].as_array().unwrap().iter().all(|row| row["loam"] == true));
}

#[test]
fn calls_of_a_grafted_program_are_counted() {
    let workshop = Workshop::new();
    let (status, report) = report(&static_program(&workshop, true, &[]), &[]);
    assert_eq!(status, 3, "{report}");
    assert_counted(&report);
    assert_libc_called(&report, &["fdopen", "getline", "setenv", "duplocale"]);
}

#[test]
fn calls_of_a_static_program_that_is_not_on_loam_are_counted() {
    let workshop = Workshop::new();
    let (status, report) = report(&static_program(&workshop, false, &[]), &[]);
    assert_eq!(status, 1, "{report}");
    assert_counted(&report);
    assert!(report["run"]["calls"].as_array().unwrap().iter().any(|row| row["loam"] == false));
}

#[test]
fn a_stripped_static_program_cannot_be_counted() {
    let workshop = Workshop::new();
    let program = static_program(&workshop, true, &["-s"]);
    let one_line = contains("stripped").and(predicate::str::is_match(r"^[^\n]+\n$").unwrap());
    loam().args(["verify", "--run"]).arg(program).assert().code(2).stdout("").stderr(one_line);
}

#[test]
fn operators_are_counted_once() {
    let workshop = Workshop::new();
    let flags: [&[&str]; 2] = [&[], &["-static-libstdc++"]];
    for flags in flags {
        let (status, report) = report(&workshop.compile("threads.cc", flags), &[]);
        assert_eq!(status, 0, "{report}");
        let all = |name: &str| {
            count(&report, name, "program", None) + count(&report, name, "library", None)
        };
        let deletes = all("operator delete") + all("operator delete (sized)");
        assert_eq!(all("operator new"), deletes, "{report}");
        assert!(all("operator new") > 4 * 100 * 2);
        assert!(all("malloc") < 100 && all("free") < 100, "{report}");
    }
}

#[test]
fn calls_past_loam_are_a_failure() {
    let workshop = Workshop::new();
    let plugin = workshop.compile("plugin.c", &["-shared", "-fPIC"]);
    let program = workshop.compile("counted.c", &[]);
    let mut command = loam();
    command.env("LOAM_OPTIONS", "deepbind=keep");
    let (status, report) = report_of(command, &program, &[text(&plugin)]);
    assert_eq!(status, 1, "{report}");
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["kind"] == "past-loam").unwrap();
    assert!(found["text"].as_str().unwrap().contains("libc.so.6"), "{found}");
}

#[test]
fn calls_by_a_handle_of_the_c_library_are_counted_where_they_go() {
    let workshop = Workshop::new();
    let program = workshop.compile("handle.c", &[]);
    for (option, expected) in [("libc_handle=libc", 1), ("libc_handle=loam", 0)] {
        let mut command = loam();
        command.env("LOAM_LIBRARY", real_library()).env("LOAM_OPTIONS", option);
        let (status, report) = report_of(command, &program, &[]);
        assert_eq!(status, expected, "{report}");
        assert_eq!(count(&report, "free", "program", None), 100, "{report}");
        let is_past = |finding: &Value| finding["kind"] == "past-loam";
        assert_eq!(report["findings"].as_array().unwrap().iter().any(is_past), expected == 1);
    }
}

#[test]
fn the_report_stands_alone_on_standard_output() {
    let workshop = Workshop::new();
    loam()
        .args(["verify", "--preloaded", "--run"])
        .arg(workshop.compile("counted.c", &[]))
        .assert()
        .code(3)
        .stdout(contains("ended with status 3").and(contains("strdup")))
        .stderr("the program's output\n");
}

#[test]
fn what_the_program_executes_is_said_not_to_be_followed() {
    let workshop = Workshop::new();
    let (status, report) = report(&workshop.compile("counted.c", &[]), &["exec"]);
    assert_eq!(status, 0, "{report}");
    assert_eq!(report["run"]["executed"], 1);
}

#[test]
fn a_signal_that_ends_the_program_is_passed_on_as_by_a_shell() {
    let words = ["verify", "--preloaded", "--run", "--", "sh", "-c", "kill -9 $$"];
    loam().args(words).assert().code(128 + 9).stdout(contains("ended by SIGKILL"));
}

#[test]
fn a_running_process_is_not_run() {
    loam()
        .args(["verify", "--run", "1"])
        .assert()
        .code(2)
        .stderr(starts_with("loam: --run starts a program; process 1 runs already"));
}
