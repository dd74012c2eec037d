//! `loam bench suite`: rows of a small suite of the test's own, and what becomes of bad ones.

use crate::common::{Workshop, loam};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::path::PathBuf;

const ROWS: &str = r#"
[[row]]
name = "plain"
group = "first"
title = "a program"
about = "What it shows."
command = "{programs}/sometimes {dir}"
quick = "{programs}/sometimes {dir}"
metrics = [{ name = "rate", pattern = "([0-9.,]+) items/s", unit = "/s", better = "higher" }]
judged = ["rate", "peak"]
bump = true

[[row]]
name = "prepared"
group = "second"
title = "needs data"
about = "What it shows."
command = "test -e {data}/made"
prepare = "makes"
rounds = 2

[[row]]
name = "unprepared"
group = "second"
title = "its preparation fails"
about = "What it shows."
command = "true"
prepare = "fails"

[[row]]
name = "missing"
group = "second"
title = "needs a program"
about = "What it shows."
command = "true"
needs = ["/no/such/program"]
packages = ["a-package"]
"#;

/// A checkout with this suite; gives its bench folder.
fn checkout(workshop: &Workshop, rows: &str) -> PathBuf {
    let bench = workshop.path("bench");
    std::fs::create_dir_all(workshop.path("build/bench")).expect("a folder");
    std::fs::create_dir_all(&bench).expect("a folder");
    let program = workshop.compile("sometimes.c", &["-DSTEADY"]);
    std::fs::copy(program, workshop.path("build/bench/sometimes")).expect("a program");
    std::fs::create_dir_all(bench.join("prepare")).expect("a folder");
    std::fs::write(bench.join("suite.toml"), rows).expect("a file");
    let made = "#!/bin/sh\nmkdir -p \"$1\" && touch \"$1/made\" && echo x >> \"$1.count\"\n";
    workshop.executable_file("bench/prepare/makes.sh", made);
    let failed = "#!/bin/sh\necho one\necho the network is down >&2\nexit 1\n";
    workshop.executable_file("bench/prepare/fails.sh", failed);
    std::fs::write(workshop.path("Makefile"), "programs:\n\t@touch built\n").expect("a file");
    bench
}

fn suite(workshop: &Workshop, arguments: &[&str]) -> Value {
    let bench = checkout(workshop, ROWS);
    let json = workshop.path("results.json");
    loam()
        .args(["bench", "suite", "--runs", "2", "--with", "loam,glibc", "--suite"])
        .arg(bench)
        .arg("--json")
        .arg(&json)
        .args(arguments)
        .assert()
        .success();
    serde_json::from_str(&std::fs::read_to_string(json).expect("results")).expect("JSON")
}

fn row<'a>(results: &'a Value, name: &str) -> &'a Value {
    let rows = results["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["name"] == name).expect("a row")
}

#[test]
fn rows_are_measured_or_say_why_not() {
    let workshop = Workshop::new();
    let results = suite(&workshop, &[]);
    assert!(workshop.path("built").exists(), "the programs are built first");
    let plain = row(&results, "plain");
    assert_eq!(plain["command"], "{programs}/sometimes {dir}");
    assert_eq!(plain["cells"][1]["runs"][1]["values"]["rate"], 1234.5);
    assert_eq!(plain["metrics"]["rate"]["unit"], "/s");
    let prepared = row(&results, "prepared");
    assert_eq!(prepared["skipped"], Value::Null);
    assert!(
        prepared["cells"].as_array().expect("cells").iter().all(|cell| cell["problem"].is_null())
    );
    let reason = |name: &str| row(&results, name)["skipped"].as_str().unwrap_or("none").to_owned();
    assert_eq!(reason("unprepared"), "its preparation failed: the network is down");
    assert_eq!(reason("missing"), "needs /no/such/program: apt-get install a-package");
}

#[test]
fn a_preparation_is_made_once() {
    let workshop = Workshop::new();
    suite(&workshop, &["prepared"]);
    suite(&workshop, &["second"]);
    let count = std::fs::read_to_string(workshop.path("build/bench-data/makes.count"));
    assert_eq!(count.expect("a count"), "x\n");
}

#[test]
fn the_quick_suite_has_the_rows_with_a_quick_form() {
    let workshop = Workshop::new();
    let results = suite(&workshop, &["--quick"]);
    assert_eq!(results["rows"].as_array().expect("rows").len(), 1);
}

#[test]
fn the_memory_over_time_of_one_run_is_kept() {
    let workshop = Workshop::new();
    let results = suite(&workshop, &["plain"]);
    for cell in row(&results, "plain")["cells"].as_array().expect("cells") {
        let runs = cell["runs"].as_array().expect("runs");
        assert_eq!(runs.iter().filter(|run| !run["resident"].is_null()).count(), 1);
    }
}

#[test]
fn a_mistyped_row_gets_a_suggestion() {
    let workshop = Workshop::new();
    let bench = checkout(&workshop, ROWS);
    let named = |name: &str, said: &str| {
        let mut suite = loam();
        suite.args(["bench", "suite", "--suite"]).arg(&bench).arg(name);
        suite.assert().code(2).stderr(format!("loam: no row {name}{said}\n"));
    };
    named("plian", "; did you mean 'plain'?");
    named("secnd", "; did you mean 'second'?");
    named("another", ": there are plain, prepared, unprepared, missing");
}

#[test]
fn a_suite_can_be_measured_in_parts() {
    let workshop = Workshop::new();
    let [first, second, whole] = ["1.json", "2.json", "whole.json"].map(|name| workshop.path(name));
    suite(&workshop, &["plain"]);
    std::fs::copy(workshop.path("results.json"), &first).expect("a copy");
    suite(&workshop, &["second"]);
    std::fs::copy(workshop.path("results.json"), &second).expect("a copy");
    let page = workshop.path("page.html");
    let merge = |files: [&PathBuf; 2]| {
        let mut report = loam();
        report.args(["bench", "report", "--merge"]).arg(&whole).arg("--html").arg(&page);
        report.args(files);
        report
    };
    merge([&first, &second])
        .assert()
        .success()
        .stdout(contains("suite plain").or(contains(" plain\n")).and(contains(" second\n")));
    let text = std::fs::read_to_string(&whole).expect("results");
    let merged: Value = serde_json::from_str(&text).expect("JSON");
    let names: Vec<_> =
        merged["rows"].as_array().expect("rows").iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["plain", "prepared", "unprepared", "missing"]);
    assert_eq!(merged["parts"].as_array().expect("parts").len(), 2);
    assert!(page.exists());
    let other = std::fs::read_to_string(&second)
        .expect("results")
        .replace("\"processor\":\"", "\"processor\":\"Other ");
    std::fs::write(&second, other).expect("a file");
    std::fs::remove_file(&whole).expect("a file");
    merge([&first, &second]).assert().code(2).stderr(
        predicate::str::is_match(r"^loam: cannot merge [^\n]+: another processor: Other [^\n]+\n$")
            .expect("valid"),
    );
    assert!(!whole.exists());
}

#[test]
fn a_suite_with_a_mistake_is_one_line() {
    let refused = |rows: &str, text: &str| {
        let workshop = Workshop::new();
        let bench = checkout(&workshop, rows);
        loam().args(["bench", "suite", "--suite"]).arg(bench).assert().code(2).stderr(
            contains(text).and(predicate::str::is_match(r"^loam: [^\n]+\n$").expect("valid")),
        );
    };
    refused("[[row]]\nname = ", "suite.toml");
    refused(&ROWS.replace("title", "titel"), "unknown field `titel`");
    refused(&ROWS.replace("\"missing\"", "\"plain\""), "two rows are called plain");
    refused(&ROWS.replace("([0-9.,]+)", "([0-9"), "row plain: not a regular expression");
}
