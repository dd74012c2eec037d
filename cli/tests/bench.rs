//! `loam bench`: what is measured, what is reported as failed, and what is refused.

use crate::common::{Workshop, loam, loam_process};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs a measurement; gives the exit status and the results.
fn measure(workshop: &Workshop, arguments: &[&str]) -> (i32, Value) {
    let json = workshop.path("results.json");
    let output =
        loam().args(["bench", "--json"]).arg(&json).args(arguments).output().expect("it runs");
    let text = std::fs::read_to_string(&json)
        .unwrap_or_else(|_| panic!("results; {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().expect("a status"), serde_json::from_str(&text).expect("JSON"))
}

fn cell<'a>(results: &'a Value, allocator: &str) -> &'a Value {
    let cells = results["rows"][0]["cells"].as_array().expect("cells");
    cells.iter().find(|cell| cell["allocator"] == allocator).expect("a cell")
}

fn problem<'a>(results: &'a Value, allocator: &str) -> &'a str {
    cell(results, allocator)["problem"].as_str().unwrap_or("none")
}

fn run_count(results: &Value, allocator: &str) -> usize {
    cell(results, allocator)["runs"].as_array().expect("runs").len()
}

/// Of all runs: a busy machine makes some of them longer.
fn least(results: &Value, allocator: &str, metric: &str) -> f64 {
    let runs = cell(results, allocator)["runs"].as_array().expect("runs");
    let values = runs.iter().map(|run| run["values"][metric].as_f64().expect("a number"));
    values.fold(f64::INFINITY, f64::min)
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn each_round_runs_every_allocator_once() {
    let workshop = Workshop::new();
    let program = workshop.compile("sometimes.c", &["-DSTEADY"]);
    let arguments = ["--runs", "4", "--with", "loam,glibc", "--", shown(&program), "{dir}"];
    let (status, results) = measure(&workshop, &arguments);
    assert_eq!(status, 0);
    for name in ["loam", "glibc"] {
        let cell = cell(&results, name);
        assert_eq!(cell["effect"], "full", "{name}");
        let rounds: Vec<u64> = cell["runs"]
            .as_array()
            .expect("runs")
            .iter()
            .map(|run| run["round"].as_u64().expect("a round"))
            .collect();
        assert_eq!(rounds, [0, 1, 2, 3], "{name}");
        let values = &cell["runs"][0]["values"];
        for metric in ["wall", "peak", "minor faults"] {
            assert!(values[metric].as_f64().expect("a number") > 0.0, "{name}: {metric}");
        }
    }
    assert!(results["machine"]["processor_count"].as_u64().expect("a number") > 0);
}

#[test]
fn a_run_takes_as_long_as_it_takes_and_no_starter_counts() {
    let workshop = Workshop::new();
    let arguments = ["--runs", "3", "--with", "glibc", "--", "sleep", "0.1"];
    let (_, results) = measure(&workshop, &arguments);
    let wall_s = least(&results, "glibc", "wall");
    assert!((0.1..2.0).contains(&wall_s), "{wall_s}");
    let peak_kib = least(&results, "glibc", "peak");
    // What starts a program is this command, and counts until it has done so.
    assert!((100.0..8192.0).contains(&peak_kib), "{peak_kib}");
}

#[test]
fn an_allocator_that_crashes_hangs_or_is_none_is_reported_as_that() {
    let workshop = Workshop::new();
    let library = |source: &str| {
        let path = workshop.compile(source, &["-shared", "-fPIC"]);
        let name = source.trim_end_matches(".c");
        format!("{name}={}", shown(&path))
    };
    let (crashes, hangs) = (library("crashes.c"), library("hangs.c"));
    let none = format!("none={}", shown(&workshop.executable_file("none.so", "no library")));
    let program = workshop.compile("sometimes.c", &["-DSTEADY"]);
    let arguments = [
        "--runs",
        "3",
        "--timeout",
        "3s",
        "--with",
        "glibc,crashes,hangs,none,gone",
        "--allocator",
        &crashes,
        "--allocator",
        &hangs,
        "--allocator",
        &none,
        "--allocator",
        "gone=/does/not/exist.so",
        "--",
        shown(&program),
        "{dir}",
    ];
    let (status, results) = measure(&workshop, &arguments);
    // The baseline went well.
    assert_eq!(status, 0);
    assert!(problem(&results, "crashes").starts_with("2 of 2 runs: killed by SIG"));
    assert_eq!(problem(&results, "hangs"), "2 of 2 runs: hangs: it had not ended after 3 s");
    assert!(problem(&results, "none").starts_with("cannot be preloaded: "));
    assert!(problem(&results, "gone").starts_with("cannot find /does/not/exist.so: "));
    for name in ["none", "gone"] {
        assert_eq!(run_count(&results, name), 0, "{name}");
    }
    assert_eq!(run_count(&results, "crashes"), 2, "two failures are enough");
    assert_eq!(run_count(&results, "glibc"), 3);
}

#[test]
fn a_program_that_crashes_now_and_then_has_no_fast_result() {
    let workshop = Workshop::new();
    let program = workshop.compile("sometimes.c", &[]);
    let folder = workshop.path("");
    let command = ["--", shown(&program), shown(&folder)];
    let (status, results) =
        measure(&workshop, &[&["--runs", "4", "--with", "glibc"][..], &command].concat());
    assert_eq!(status, 1);
    assert!(problem(&results, "glibc").starts_with("1 of 4 runs: killed by SIGABRT"));
}

#[test]
fn figures_come_from_the_output() {
    let workshop = Workshop::new();
    let program = workshop.compile("sometimes.c", &["-DSTEADY"]);
    let base = ["--runs", "2", "--with", "glibc", "--rate"];
    let command = ["--", shown(&program), "{dir}"];
    let named = [&base[..], &["(?<items>[0-9.,]+) items/s"], &command].concat();
    let (_, results) = measure(&workshop, &named);
    assert_eq!(cell(&results, "glibc")["runs"][0]["values"]["items"], 1234.5);
    assert_eq!(results["rows"][0]["metrics"]["items"]["better"], "higher");
    assert_eq!(results["rows"][0]["judged"][0], "items");
    let missing = [&base[..], &["([0-9]+) bananas"], &command].concat();
    let (status, results) = measure(&workshop, &missing);
    assert_eq!(status, 1);
    assert_eq!(problem(&results, "glibc"), "no match for ([0-9]+) bananas in what it printed");
}

#[test]
fn what_keeps_its_own_malloc_is_said_of_the_systems_allocator() {
    let workshop = Workshop::new();
    let program = workshop.compile("sometimes.c", &["-static", "-DSTEADY"]);
    let arguments = ["--runs", "1", "--with", "glibc", "--", shown(&program), "{dir}"];
    let (status, results) = measure(&workshop, &arguments);
    assert_eq!(status, 0);
    let partial = cell(&results, "glibc")["effect"]["partial"][0].as_str().expect("a text");
    assert!(partial.ends_with("uses a malloc of its own"), "{partial}");
}

#[test]
fn processes_that_run_without_the_allocator_are_named() {
    let workshop = Workshop::new();
    let sleeper = workshop.compile("sleeps.c", &["-static"]);
    let script = format!("{} ; true", shown(&sleeper));
    let arguments = ["--runs", "1", "--with", "loam,glibc", "--", "sh", "-c", &script];
    let (_, results) = measure(&workshop, &arguments);
    let partial = cell(&results, "loam")["effect"]["partial"][0].as_str().expect("a text");
    assert!(partial.contains("sleeps ran without it (1 of 1 processes)"), "{partial}");
}

#[test]
fn a_server_is_started_loaded_and_stopped() {
    let workshop = Workshop::new();
    let server = format!("{} {{dir}}/ready", shown(&workshop.compile("serves.c", &[])));
    let arguments = [
        "--runs",
        "2",
        "--with",
        "loam,glibc",
        "--server",
        &server,
        "--ready",
        "test -e {dir}/ready",
        "--client",
        "sh -c 'sleep 0.1; echo 7 items/s'",
        "--rate",
        "([0-9]+) items/s",
    ];
    let (status, results) = measure(&workshop, &arguments);
    assert_eq!(status, 0);
    for name in ["loam", "glibc"] {
        let values = &cell(&results, name)["runs"][0]["values"];
        assert_eq!(values["figure"], 7.0);
        let wall_s = least(&results, name, "wall");
        assert!((0.1..2.0).contains(&wall_s), "the client's: {wall_s}");
        let peak_kib = values["peak"].as_f64().expect("a number");
        assert!((20480.0..40960.0).contains(&peak_kib), "the server's: {peak_kib}");
    }
}

#[test]
fn a_server_that_ends_under_load_has_failed() {
    let workshop = Workshop::new();
    let server = format!("{} {{dir}}/ready early", shown(&workshop.compile("serves.c", &[])));
    let arguments = ["--runs", "1", "--with", "glibc", "--server", &server, "--client", "sleep 60"];
    let start = Instant::now();
    let (status, results) = measure(&workshop, &arguments);
    assert_eq!(status, 1);
    assert_eq!(problem(&results, "glibc"), "the server ended with status 4 under load");
    assert!(start.elapsed() < Duration::from_secs(40), "the client is not waited for");
}

#[test]
fn setup_runs_before_each_run_and_its_failure_ends_the_measurement() {
    let workshop = Workshop::new();
    let script = "test -e {dir}/made";
    let setup = ["--runs", "2", "--with", "glibc", "--setup", "touch {dir}/made", "--"];
    let (status, _) = measure(&workshop, &[&setup[..], &["sh", "-c", script]].concat());
    assert_eq!(status, 0);
    loam()
        .args(["bench", "--with", "glibc", "--setup", "sh -c 'echo no disk >&2; exit 3'"])
        .args(["--", "true"])
        .assert()
        .code(2)
        .stderr("loam: true under glibc: setup ended with status 3 (no disk)\n");
}

#[test]
fn an_interrupted_measurement_keeps_what_it_has_and_leaves_nothing_running() {
    let workshop = Workshop::new();
    let (json, count) = (workshop.path("results.json"), workshop.path("count"));
    // The fifth run goes on for ever.
    let mark = format!("1000.{}", std::process::id());
    let count_path = shown(&count);
    let is_early = format!("[ $(wc -l < {count_path}) -lt 5 ]");
    let script = format!("echo >> {count_path}; {is_early} || {{ sleep {mark}; true; }}");
    let mut child = loam_process()
        .args(["bench", "--runs", "1000", "--with", "glibc", "--json"])
        .arg(&json)
        .args(["--", "sh", "-c", &script])
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    let runs = || std::fs::read_to_string(&count).map_or(0, |text| text.lines().count());
    while runs() < 5 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("a signal");
    let status = child.wait().expect("it ends");
    assert_eq!((status.code(), status.signal()), (Some(130), None));
    let text = std::fs::read_to_string(&json).expect("results");
    let results: Value = serde_json::from_str(&text).expect("JSON");
    assert!((2..1000).contains(&run_count(&results, "glibc")));
    let is_left = || {
        let name = format!("sleep {mark}");
        let found = std::process::Command::new("pgrep").args(["-fx", &name]).output();
        !found.expect("pgrep").stdout.is_empty()
    };
    // What was killed may take a moment to end.
    let was_left = (0..500).all(|_| {
        std::thread::sleep(Duration::from_millis(20));
        is_left()
    });
    assert!(!was_left, "a program was left running");
}

#[test]
fn bad_input_is_one_line_and_status_2() {
    let refused = |arguments: &[&str], text: &str| {
        loam().arg("bench").args(arguments).assert().code(2).stdout("").stderr(
            contains(text).and(predicate::str::is_match(r"^loam: [^\n]+\n$").expect("valid")),
        );
    };
    refused(&["--with", "loam,nonsense", "--", "true"], "no allocator nonsense: there are loam, ");
    refused(&["--with", "glibc", "--", "./no-such-program"], "cannot run ./no-such-program");
    refused(&["--runs", "0", "--", "true"], "--runs");
    refused(&["--runs", "3", "--time", "1s", "--", "true"], "cannot be used with");
    refused(&["--time", "soon", "--", "true"], "--time");
    refused(&["--allocator", "x", "--", "true"], "write NAME=PATH");
    refused(&["--metric", "(", "--", "true"], "not a regular expression: (");
    refused(&["--metric", "x", "--", "true"], "the expression needs one group");
    refused(&["--setup", "touch 'x", "--", "true"], "a quote without its other one");
    refused(&["--input", "/no/such/file", "--", "true"], "/no/such/file");
    refused(&["--json", "/no/such/folder/x", "--", "true"], "cannot write to /no/such/folder");
    refused(
        &["--with", "loam,glibc", "--allocator", "mine=/no/such.so", "--", "true"],
        "--allocator mine=/no/such.so: mine takes no part: name it in --with, too",
    );
    refused(&["--server", "true"], "--client");
    refused(&["--client", "true", "--", "true"], "--client");
    refused(&[], "COMMAND");
    refused(&["true"], "true");
    refused(&["suite", "no-such-row"], "no row no-such-row: there are ");
    refused(&["suite", "--suite", "/no/such/folder"], "/no/such/folder");
}

#[test]
fn results_may_go_to_standard_output() {
    let words = ["bench", "--runs", "1", "--with", "glibc", "--json", "-", "--", "true"];
    let output = loam().args(words).output().expect("it runs");
    let results: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    assert_eq!(run_count(&results, "glibc"), 1);
    assert!(!Path::new("-").exists());
}

#[test]
fn the_allocators_there_are_can_be_listed() {
    loam()
        .args(["bench", "--list", "--allocator", "mine=/does/not/exist.so"])
        .assert()
        .success()
        .stdout(contains("loam ").and(contains("glibc ")).and(contains("mine ")));
}

/// What a measurement of the command prints, and its status.
fn printed(arguments: &[&str]) -> (String, Option<i32>) {
    let output = loam().arg("bench").args(arguments).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    (text + &String::from_utf8_lossy(&output.stderr), output.status.code())
}

#[test]
fn the_last_sentence_answers_the_question() {
    let workshop = Workshop::new();
    let program = workshop.compile("sometimes.c", &["-DSTEADY"]);
    let with = ["--runs", "3", "--with", "loam,glibc", "--"];
    let (text, _) = printed(&[&with[..], &[shown(&program), "{dir}"]].concat());
    let last = text.trim_end().rsplit("\n\n").next().expect("a sentence");
    assert!(text.lines().all(|line| line.chars().count() <= 80 || line.contains('/')), "{text}");
    assert!(last.contains("faste") && last.contains("peak") && last.ends_with('.'), "{text}");
    let (text, status) = printed(&[&with[..], &["false"]].concat());
    assert_eq!(status, Some(1));
    assert!(text.trim_end().ends_with("No answer: the runs under glibc, to compare with, failed."));
    assert_eq!(text.matches("ended with status 1").count(), 1, "once: {text}");
}

#[test]
fn short_runs_are_asked_for_more() {
    let workshop = Workshop::new();
    let (_, mut results) = measure(&workshop, &["--runs", "3", "--with", "glibc", "--", "true"]);
    let json = workshop.path("changed.json");
    let mut notes_of = |wall_s: f64| {
        for run in results["rows"][0]["cells"][0]["runs"].as_array_mut().expect("runs") {
            run["values"]["wall"] = wall_s.into();
        }
        std::fs::write(&json, results.to_string()).unwrap();
        printed(&["report", shown(&json)]).0
    };
    let text = notes_of(0.004);
    assert!(text.contains("below 5 ms most of it is the start of a process"), "{text}");
    assert!(text.contains("--runs 30"), "{text}");
    assert!(!notes_of(0.006).contains("below 5 ms"));
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_line() {
    let workshop = Workshop::new();
    let refused = |program: &Path, part: &str| {
        let (text, status) = printed(&["--", shown(program)]);
        assert_eq!(status, Some(2), "{text}");
        assert!(text.contains(part) && text.lines().count() == 1, "{text}");
    };
    refused(&workshop.compile("allocates.c", &["-static"]), "statically linked");
    refused(&workshop.compile("allocates.c", &["-fsanitize=address"]), "AddressSanitizer");
    refused(&workshop.compile("own_malloc.c", &[]), "a malloc of its own");
    refused(&workshop.compile("plugin.c", &["-shared", "-fPIC"]), "a shared library");
    refused(&workshop.executable_file("a.exe", b"MZ and more"), "a program for Windows");
    // Settings of the system's own malloc can be compared on each of them.
    let program = workshop.compile("allocates.c", &["-static"]);
    let arguments = ["--ignore-failure", "--runs", "1", "--with", "glibc", "--", shown(&program)];
    let (status, _) = measure(&workshop, &arguments);
    assert_eq!(status, 0);
}

#[test]
fn a_status_can_be_ignored_and_a_signal_cannot() {
    let workshop = Workshop::new();
    let with = ["--ignore-failure", "--runs", "2", "--with", "glibc", "--", "sh", "-c"];
    let (status, results) = measure(&workshop, &[&with[..], &["exit 3"]].concat());
    assert_eq!((status, problem(&results, "glibc")), (0, "none"));
    let (status, results) = measure(&workshop, &[&with[..], &["kill -SEGV $$"]].concat());
    assert_eq!(status, 1);
    assert!(problem(&results, "glibc").contains("killed by SIGSEGV"));
}

#[test]
fn warm_up_rounds_are_made_and_not_counted() {
    let workshop = Workshop::new();
    let log = workshop.path("log");
    let script = format!("echo >> {}", shown(&log));
    let arguments = ["--runs", "2", "--with", "loam,glibc", "--warmup", "3", "--"];
    let (_, results) = measure(&workshop, &[&arguments[..], &["sh", "-c", &script]].concat());
    assert_eq!((run_count(&results, "glibc"), run_count(&results, "loam")), (2, 2));
    let runs = std::fs::read_to_string(&log).expect("a log").lines().count();
    assert_eq!(runs, 1 + 2 * (3 + 2), "the first of all, then rounds of two");
}

#[test]
fn figures_are_exported_as_csv_and_markdown_at_once_and_later() {
    let workshop = Workshop::new();
    let files = ["a.csv", "a.md", "b.csv", "b.md"].map(|name| workshop.path(name));
    let [csv, markdown, csv_again, markdown_again] = files.each_ref().map(|path| shown(path));
    let exports = ["--export-csv", csv, "--export-markdown", markdown];
    let command = ["--runs", "3", "--with", "loam,glibc", "--", "true"];
    measure(&workshop, &[&exports[..], &command].concat());
    let json = workshop.path("results.json");
    let again = ["--export-csv", csv_again, "--export-markdown", markdown_again];
    loam().args(["bench", "report"]).arg(&json).args(again).assert().success();
    let text = |path: &str| std::fs::read_to_string(path).expect("a file");
    assert_eq!((text(csv), text(markdown)), (text(csv_again), text(markdown_again)));
    assert!(text(csv).contains("\ntrue,wall,s,loam,3,"), "{}", text(csv));
    assert!(text(markdown).contains("| loam |"), "{}", text(markdown));
}
