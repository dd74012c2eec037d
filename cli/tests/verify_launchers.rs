//! `loam verify` on programs that start others: what is run in the end is verified, or the first
//! line says that it was not.

use crate::common::{Workshop, loam};
use predicates::prelude::*;
use predicates::str::{contains, is_match};

fn path(path: &std::path::Path) -> &str {
    path.to_str().unwrap()
}

/// Verified in the end is the program that only the launcher knows.
fn assert_followed(words: &[&str], program: &str) {
    let mut command = loam();
    let assert = command.args(["verify", "--preloaded"]).args(words).assert().success();
    let first = format!("^[^\n]*/{program} .with loam preloaded.: all of it is loam's");
    assert.stdout(is_match(first).unwrap().and(contains("this is about that program")));
}

fn assert_not_followed(words: &[&str], why: &str) {
    let assert = loam().arg("verify").args(words).assert().code(1);
    assert.stdout(is_match(format!("^[^\n]* .as it is.: NOT verified: [^\n]*{why}")).unwrap());
}

#[test]
fn programs_that_become_another_are_followed() {
    let workshop = Workshop::new();
    let program = workshop.compile("allocates.c", &[]);
    let program = path(&program);
    assert_followed(&["env", "A=1", program], "allocates");
    assert_followed(&["nice", "nohup", program, "word"], "allocates");
    assert_followed(&["--", "sh", "-c", &format!("exec {program}")], "allocates");
}

#[test]
fn wrappers_and_shims_are_followed_through_each_other() {
    let workshop = Workshop::new();
    let program = workshop.compile("allocates.c", &[]);
    let inner = format!("#!/bin/sh\nset -e\nif true; then\n  exec {} \"$@\"\nfi\n", path(&program));
    let inner = workshop.executable_file("inner", inner);
    let shim = format!("#!/usr/bin/env bash\nA=$(date)\nexec {} \"$@\"\n", path(&inner));
    let shim = workshop.executable_file("shim", shim);
    assert_followed(&[path(&shim), "word"], "allocates");
    assert_followed(&["env", path(&shim)], "allocates");
}

#[test]
fn tools_of_a_rust_toolchain_are_followed_through_rustup() {
    let workshop = Workshop::new();
    let program = workshop.compile("allocates.c", &[]);
    // A stand-in: a program of the name that becomes another one.
    let rustup = workshop.path("rustup");
    std::fs::copy("/usr/bin/env", &rustup).unwrap();
    let proxy = workshop.path("cargo");
    std::fs::hard_link(&rustup, &proxy).unwrap();
    assert_followed(&[path(&proxy), path(&program)], "allocates");
}

#[test]
fn what_a_launcher_takes_away_is_seen() {
    let workshop = Workshop::new();
    let program = workshop.compile("allocates.c", &[]);
    let assert =
        loam().args(["verify", "--preloaded", "--", "env", "-i"]).arg(&program).assert().code(1);
    assert.stdout(contains("/allocates (with loam preloaded): NOT on loam: loam is not loaded"));
}

#[test]
fn a_static_program_behind_a_launcher_is_judged_as_one() {
    let workshop = Workshop::new();
    let program = workshop.compile("allocates.c", &["-static"]);
    let assert = loam().args(["verify", "env"]).arg(&program).assert().code(1);
    assert.stdout(contains("/allocates (as it is): NOT on loam: static executable"));
}

#[test]
fn what_is_not_followed_is_said_in_the_first_line() {
    let workshop = Workshop::new();
    assert_not_followed(&["timeout", "5", "true"], "as its children");
    let mark = workshop.path("mark");
    let script = format!("#!/bin/sh\ntouch {}\n", path(&mark));
    let script = workshop.executable_file("script", script);
    assert_not_followed(&[path(&script)], "this is a script");
    assert!(!mark.exists(), "a script that becomes nothing is not run");
    let never = workshop.executable_file("never", "#!/bin/sh\nif false; then exec true; fi\n");
    assert_not_followed(&[path(&never)], "ended without executing another program .status 0");
    let hidden = workshop.executable_file("hidden", "#!/bin/sh\nexec timeout 5 true\n");
    assert_not_followed(&[path(&hidden)], "what it runs in the end was not looked at");
}

#[test]
fn calls_are_counted_in_the_program_behind_a_launcher() {
    let workshop = Workshop::new();
    let program = workshop.compile("allocates.c", &[]);
    let words = ["verify", "--preloaded", "--run", "--json", "env"];
    let output = loam().args(words).arg(&program).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["run"]["status"], 3);
    let calls = report["run"]["calls"].as_array().unwrap();
    assert!(calls.iter().any(|call| call["caller"] == "program"), "{calls:?}");
}

#[test]
fn a_program_that_imports_dlopen_is_warned_about() {
    let workshop = Workshop::new();
    let program = workshop.compile("opens.c", &[]);
    let warned = contains("note: opens imports dlopen: modules opened later are not seen here");
    let mut command = loam();
    command.args(["verify", "--preloaded"]).arg(&program).assert().success().stdout(warned);
    let other = workshop.compile("allocates.c", &[]);
    loam().args(["verify", "--preloaded"]).arg(&other).assert().stdout(contains("dlopen").not());
}
