//! `loam prof` of a process that runs: the planted leak, retention and pin are each named as that,
//! with file and line, the columns are those of `loam explain`, and it works without preparation.

use crate::common::heaps::places;
use crate::common::{Background, Workshop, fixture, json, loam};
use flate2::read::GzDecoder;
use predicates::str::{contains, diff};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

/// The number of the fixture's line with that comment.
fn line(comment: &str) -> u64 {
    let text = std::fs::read_to_string(fixture("places.c")).expect("the fixture");
    let at = text.lines().position(|line| line.ends_with(&format!("// {comment}")));
    at.expect("the comment") as u64 + 1
}

struct Running {
    child: Background,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// It has said that it begins.
    fn start(program: &Path, words: &[&str], options: &str) -> Running {
        let mut command = Command::new(program);
        let command = command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Nothing goes back by itself.
        let options = format!("purge_delay_ms=never{options}");
        let mut child = command.env("LOAM_OPTIONS", options).spawn().expect("a process");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let mut running = Running { child: Background(child), output };
        running.says("begins");
        running
    }

    /// It has a profile of close samples, and has done what it is told.
    fn profiled(what: &str) -> Running {
        let mut running = Running::start(&places(), &[what], ",profile=on,profile_bytes=1024");
        running.says("done");
        running
    }

    fn says(&mut self, expected: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("its line");
        assert_eq!(line.trim_end(), expected);
    }

    fn pid(&self) -> String {
        self.child.pid()
    }
}

const COLUMNS: [&str; 3] = ["live", "freed", "pinned"];

/// The first place is the planted one, the columns are those of `explain`, and add up to them.
fn check(target: &str, by: &str, comment: &str) -> Value {
    let report = json(&["prof", "--json", "--by", by, target]);
    let place = &report["places"][0];
    assert!(place["file"].as_str().unwrap_or_default().ends_with("/places.c"), "{report:#}");
    assert_eq!(place["line"], line(comment), "{report:#}");
    let bytes = |value: &Value| value["bytes"].as_i64().unwrap();
    let held = |name| report["held"][format!("{name}_bytes")].as_i64().unwrap();
    let most = bytes(&place[by]) as f64 / held(by) as f64;
    // Of some 280 samples a standard deviation is 6 %, and chance is within eight of them.
    assert!((0.5..1.5).contains(&most), "most of it is its: {report:#}");
    for name in COLUMNS {
        let places: i64 =
            report["places"].as_array().unwrap().iter().map(|place| bytes(&place[name])).sum();
        let rest = report["not_sampled"][format!("{name}_bytes")].as_i64().unwrap();
        let beyond = report["sampled_beyond"][format!("{name}_bytes")].as_i64().unwrap();
        assert!(rest >= 0 && beyond >= 0 && (rest == 0 || beyond == 0), "{report:#}");
        let difference = held(name) - rest + beyond - places;
        // Each place is rounded by itself.
        assert!(difference.abs() <= 100, "{name}: {difference} {report:#}");
    }
    let explained = json(&["explain", "--json", target]);
    let all = explained["blocks"].as_object().unwrap().values();
    assert_eq!(held("live"), all.map(bytes).sum::<i64>());
    let parts = ["idle", "cached", "depot", "dirty"];
    let part = |name: &str| explained["loam"][format!("{name}_bytes")].as_i64().unwrap();
    assert_eq!(held("freed"), parts.into_iter().map(part).sum::<i64>());
    assert_eq!(held("pinned"), explained["pinned_bytes"].as_i64().unwrap());
    assert!(report["profile_bytes"].as_i64().unwrap() > 0);
    assert_eq!(report["profile_bytes"], explained["loam"]["profile_bytes"]);
    report
}

#[test]
fn a_planted_leak_is_what_is_live() {
    check(&Running::profiled("leak").pid(), "live", "leak");
}

#[test]
fn a_process_is_compared_with_what_it_was_by_a_file() {
    let workshop = Workshop::new();
    let (saved, packed) = (workshop.path("before.profile"), workshop.path("packed"));
    let running = Running::profiled("leak");
    let words = [saved.to_str().unwrap(), "--pprof", packed.to_str().unwrap()];
    loam().args(["prof", &running.pid(), "--save"]).args(words).assert().success();
    let wanted = format!("  leak  fixtures/places.c:{}\n", line("leak"));
    loam().arg("prof").arg(&saved).assert().success().stdout(contains(wanted));
    let nothing = "0 B live, 0 B taken since the earlier profile";
    let since = ["prof", &running.pid(), "--since", saved.to_str().unwrap()];
    loam().args(since).assert().success().stdout(contains(nothing));
    let mut bytes = Vec::new();
    let packed = std::fs::File::open(packed).expect("the profile");
    GzDecoder::new(packed).read_to_end(&mut bytes).expect("it is gzip");
    let text = String::from_utf8_lossy(&bytes);
    assert!(["freed_space", "pinned_objects"].iter().all(|kind| text.contains(kind)));
}

#[test]
fn a_planted_retention_is_what_was_freed_there() {
    let report = check(&Running::profiled("retain").pid(), "freed", "freed");
    assert_eq!(report["places"][0]["live"]["bytes"], 0);
}

#[test]
fn a_planted_pin_is_the_line_of_the_survivors_with_their_age() {
    let running = Running::profiled("pin");
    std::thread::sleep(Duration::from_millis(100));
    let report = check(&running.pid(), "pinned", "pinned");
    let age_ms = report["places"][0]["pinned_age_ms"].as_u64().unwrap();
    assert!((100..60_000).contains(&age_ms), "{age_ms}");
    loam()
        .args(["prof", "--by", "pinned", &running.pid()])
        .assert()
        .success()
        .stdout(contains(format!("  pin  fixtures/places.c:{}\n", line("pinned"))))
        .stdout(contains("  not sampled\n"))
        .stdout(contains("  in all, as 'loam explain' says\n"));
}

#[test]
fn a_core_says_the_same() {
    let workshop = Workshop::new();
    let running = Running::profiled("pin");
    let Some(core) = workshop.core_of(&running.pid()) else { return };
    let report = check(core.to_str().unwrap(), "pinned", "pinned");
    assert_eq!(report["places"][0]["pinned_age_ms"], Value::Null);
}

#[test]
fn a_process_without_any_option_takes_a_profile_from_outside_and_stops() {
    let mut running = Running::start(&places(), &["pin", "wait"], "");
    let pid = running.pid();
    let none = format!("loam: process {pid} (places) has no profile: ");
    loam().args(["prof", &pid]).assert().code(2).stdout("").stderr(contains(none));
    let says = |text: &str| diff(format!("process {pid} (places): {text}\n"));
    let taken = "a profile is taken, of a sample each 1.00 KiB";
    let order = ["prof", "--every", "1024", "--start", &pid];
    loam().args(order).assert().success().stdout(says(taken));
    let stop = ["prof", "--stop", &pid];
    loam().args(stop).assert().success().stdout(says("no profile is taken any longer"));
    // What was sampled until then stays to be looked at.
    loam().args(["prof", &pid]).assert().success();
    loam().args(order).assert().success().stdout(says(taken));
    running.child.0.stdin.take().unwrap().write_all(b"\n").expect("a line");
    running.says("done");
    check(&pid, "pinned", "pinned");
    let waits = "it will obey once it allocates, which it does not do just now";
    loam().args(stop).assert().success().stdout(says(waits));
}

#[test]
fn of_what_is_not_there_neither_profile_nor_order_is_one_line() {
    for words in [&["prof"][..], &["prof", "--start"]] {
        let line = "loam: there is no process 4194305\n";
        loam().args(words).arg("4194305").assert().code(2).stdout("").stderr(line);
    }
}

#[test]
fn a_privileged_process_is_told_nothing() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("not tested: it takes root to make a program somebody else's");
        return;
    }
    let workshop = Workshop::new();
    let copy = workshop.path("places");
    std::fs::copy(places(), &copy).unwrap();
    chown(&copy, Some(65534), None).unwrap();
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o4755)).unwrap();
    let running = Running::start(&copy, &["pin", "wait"], "");
    let pid = running.pid();
    let line =
        format!("loam: process {pid} (places) is privileged: nobody else says what it does\n");
    loam().args(["prof", "--start", &pid]).assert().code(2).stdout("").stderr(diff(line));
}
