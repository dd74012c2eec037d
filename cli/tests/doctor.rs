//! `loam doctor`: what was planted is the first thing that it names, with its line and what to do, and
//! where there is nothing to say it says so.

use crate::common::heaps::places;
use crate::common::{Background, fixture, loam, real_library};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, is_match};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

fn line(comment: &str) -> u64 {
    let text = std::fs::read_to_string(fixture("places.c")).expect("the fixture");
    let at = text.lines().position(|line| line.ends_with(&format!("// {comment}")));
    at.expect("the comment") as u64 + 1
}

/// Running, and it has said that much.
fn started(command: &mut Command, expected: &[&str]) -> Background {
    let mut child = command.stdout(Stdio::piped()).stdin(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().expect("its output"));
    let process = Background(child);
    let said: Vec<String> =
        output.lines().take(expected.len()).map(|line| line.expect("a line")).collect();
    assert_eq!(said, expected);
    process
}

/// It has done what the word says, and waits.
fn planted(word: &str, options: &str) -> Background {
    let mut command = Command::new(places());
    started(command.arg(word).env("LOAM_OPTIONS", options), &["begins", "done"])
}

const PROFILED: &str = "profile=on,profile_bytes=4096,purge_delay_ms=never";

fn first(process: &Background) -> Value {
    let output = loam().args(["doctor", "--json", &process.pid()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!((&report["name"], report["pid"].to_string()), (&"places".into(), process.pid()));
    report["findings"][0].clone()
}

fn is_near(finding: &Value, bytes: f64) -> bool {
    (finding["bytes"].as_f64().unwrap() / bytes - 1.0).abs() < 0.2
}

#[test]
fn a_leak_is_named_by_its_line() {
    let finding = first(&planted("leak", PROFILED));
    assert_eq!(
        (&finding["kind"], &finding["place"]["line"]),
        (&"live".into(), &line("leak").into())
    );
    assert!(is_near(&finding, 200_000.0 * 96.0), "{finding:#}");
    assert!(finding["samples"].as_u64().unwrap() > 1000, "{finding:#}");
}

/// One of 64 blocks of 96 bytes stays, so that each stands on a page of its own, some on two.
#[test]
fn survivors_are_named_by_their_line_for_what_is_free_beside_them() {
    let process = planted("pin", "profile=on,profile_bytes=1024,purge_delay_ms=500");
    loam().args(["doctor", &process.pid()]).assert().success().stdout(
        contains("free beside blocks").and(contains(format!("places.c:{}\n", line("pinned")))),
    );
}

#[test]
fn what_goes_back_by_itself_is_told_and_why_it_does_not() {
    let finding = first(&planted("retain", "purge_delay_ms=never"));
    assert_eq!(finding["kind"], "given_back");
    assert!(is_near(&finding, 200.0 * 150_000.0), "{finding:#}");
    assert!(finding["do"].as_str().unwrap().contains("purge_delay_ms=never is set"), "{finding:#}");
}

#[test]
fn without_a_profile_the_command_that_takes_one_can_be_copied() {
    let process = planted("leak", "");
    let pid = process.pid();
    let command = is_match(format!(r"loam\s+prof\s+--start\s+{pid}")).unwrap();
    // The first blocks of a process are guarded, and so of another size.
    let sizes = is_match(r"(199\d\d\d|200000)\s+of\s+96\s+bytes").unwrap();
    loam().args(["doctor", &pid]).assert().success().stdout(command.and(sizes));
}

#[test]
fn where_there_is_nothing_to_say_that_is_said() {
    let process = planted("nothing", "");
    let text = contains("Nothing to say: ").and(contains("\n1. ").not());
    loam().args(["doctor", &process.pid()]).assert().success().stdout(text);
}

/// Objects that it maps the memory of itself are no malloc's, and are told how to become that.
#[test]
fn python_is_told_how_its_objects_are_seen() {
    let script = "x = [str(i) for i in range(400000)]; print('done', flush=True); input()";
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", script]).env("LD_PRELOAD", real_library());
    let process = started(&mut command, &["done"]);
    let advice = is_match(r"start\s+it\s+with\s+PYTHONMALLOC=malloc").unwrap();
    loam().args(["doctor", &process.pid()]).assert().success().stdout(advice);
}

#[test]
fn a_process_without_loam_is_told_what_it_has() {
    let process = started(Command::new("sleep").arg("100"), &[]);
    std::thread::sleep(std::time::Duration::from_millis(200));
    let says = contains("is not on loam").and(contains("loam run -- "));
    loam().args(["doctor", &process.pid()]).assert().code(2).stdout("").stderr(says);
}
