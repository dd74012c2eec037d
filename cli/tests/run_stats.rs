//! `loam run --stats`: the program's output apart from one summary, and all else as without it.

use crate::common::{Background, Workshop, loam, loam_process};
use predicates::prelude::*;
use predicates::str::contains;
use std::os::unix::process::ExitStatusExt;

/// What a process of loam's says at its end, by a shell that stands in for the library.
const SAYS: &str = r#"fd=${LOAM_OPTIONS##*stats_fd=}
say() {
  printf '{"loam_version": "1", "process_id": %d, "small_used_bytes": %d}\n' $1 $2 >&$fd
}
"#;

fn script(rest: &str) -> String {
    format!("{SAYS}{rest}")
}

/// Bash, as descriptors of more than one digit are not every shell's.
fn run(rest: &str) -> assert_cmd::assert::Assert {
    loam().args(["run", "--stats", "--", "bash", "-c", &script(rest)]).assert()
}

#[test]
fn the_output_is_the_programs_and_the_summary_follows_it() {
    let assert = run("echo out; echo err >&2; say $$ 2097152; say 1 1024; exit 3");
    assert
        .code(3)
        .stdout("out\n")
        .stderr(predicates::str::starts_with("err\n\nloam 1: ended with status 3 after "))
        .stderr(contains("bash (").and(contains("2.00 MiB")))
        .stderr(contains("and 1 process that it started\n  process 1 "));
}

#[test]
fn a_summary_of_many_children_fits_one_screen() {
    let assert = run("for i in {1..300}; do say $((100000 + i)) $i; done; say $$ 1");
    let output = String::from_utf8(assert.success().get_output().stderr.clone()).unwrap();
    assert!(output.contains("and 300 processes that it started"), "{output}");
    assert!(output.lines().count() <= 24, "{output}");
}

#[test]
fn a_signal_that_ends_the_program_ends_the_command() {
    let assert = run("say $$ 1; kill -TERM $$");
    assert_eq!(assert.get_output().status.signal(), Some(15));
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("killed by SIGTERM"), "{said}");
}

#[test]
fn signals_are_handed_on() {
    // Not INT and HUP: who starts the tests may have them ignored, and no shell traps them then.
    for signal in ["TERM", "USR1", "USR2"] {
        let wait = format!("trap 'exit 7' {signal}; echo ready; while :; do sleep 0.05; done");
        let mut command = loam_process();
        command.args(["run", "--stats", "--", "sh", "-c", &wait]);
        let mut process = Background::start(&mut command);
        let sent = std::process::Command::new("kill")
            .args([&format!("-{signal}"), &process.pid()])
            .status()
            .unwrap();
        assert!(sent.success());
        assert_eq!(process.0.wait().unwrap().code(), Some(7), "{signal}");
    }
}

#[test]
fn what_cannot_be_executed_is_one_line() {
    let workshop = Workshop::new();
    let damaged = workshop.executable_file("damaged", b"\x7fELF and no more\0");
    let assert = loam().args(["run", "--stats", "--"]).arg(damaged).assert().code(126);
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(!said.contains("said nothing") && said.contains("cannot run"), "{said}");
}

#[test]
fn a_program_that_keeps_running_in_the_background_is_not_waited_for() {
    let start = std::time::Instant::now();
    run("sleep 20 >/dev/null 2>&1 & say $$ 1").success();
    assert!(start.elapsed().as_secs() < 10);
}
