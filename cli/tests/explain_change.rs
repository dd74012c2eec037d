//! `loam explain --compare` and `--watch`: what grows is named, by kind and size.

use crate::common::heaps::Server;
use crate::common::{Workshop, loam};
use predicates::str::{contains, diff};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;

fn report_of(server: &Server) -> Vec<u8> {
    let pid = server.pid().to_string();
    loam().args(["explain", "--json", &pid]).output().unwrap().stdout
}

#[test]
fn what_has_grown_is_first_by_kind_and_by_size() {
    let mut server = Server::start();
    let workshop = Workshop::new();
    let earlier = workshop.path("earlier.json");
    std::fs::write(&earlier, report_of(&server)).unwrap();
    server.grow();
    let pid = server.pid().to_string();
    let compare = ["explain", "--compare", earlier.to_str().unwrap(), &pid];
    let output = loam().args(compare).arg("--json").output().unwrap();
    let change: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |of: &Value, name: &str| of[name].as_i64().unwrap();
    // 40,000 blocks of 300 bytes, which take 304.
    let (part, size) = (&change["parts"][0], &change["sizes"][0]);
    assert_eq!(part["name"], "live: blocks that the program has");
    assert_eq!(number(size, "block_bytes"), 304);
    assert!((39_900..=40_000).contains(&number(size, "live_count")), "{change:#}");
    let live = 40_000 * 304;
    for figure in
        [number(part, "change_bytes"), number(size, "live_bytes"), number(&change, "change_bytes")]
    {
        assert!((figure - live).abs() * 20 < live, "{figure}: {change:#}");
    }
    loam()
        .args(compare)
        .assert()
        .success()
        .stdout(contains(" more than earlier\n"))
        .stdout(contains("'live: blocks that the program has' grew most, by 11."))
        .stdout(contains("blocks of 304 bytes grew most"));
    // The other way round, of another one.
    let other = Server::start();
    let other_earlier = workshop.path("other.json");
    std::fs::write(&other_earlier, report_of(&server)).unwrap();
    let compare =
        ["explain", "--compare", other_earlier.to_str().unwrap(), &other.pid().to_string()];
    loam().args(compare).assert().success().stdout(contains(" less than earlier\n")).stdout(
        contains(format!("The earlier report is of another process: process {pid} (workers).")),
    );
}

#[test]
fn what_is_no_report_or_an_older_one_is_one_line() {
    let server = Server::start();
    let workshop = Workshop::new();
    let earlier = workshop.path("earlier.json");
    let shown = earlier.display();
    let no_report = format!("{shown} is no report of 'loam explain --json'");
    let older = format!(
        "{shown} is a report of schema 1, and --compare takes one of schema 2: 'loam explain \
         --json' of this version writes it"
    );
    for (text, why) in [
        ("nothing", &no_report),
        ("{\"schema\": 2}", &no_report),
        ("[1]", &no_report),
        ("{\"schema\": 1, \"loam\": {}, \"sizes\": []}", &older),
    ] {
        std::fs::write(&earlier, text).unwrap();
        let line = format!("loam: {why}\n");
        let mut command = loam();
        command.args(["explain", "--compare"]).arg(&earlier).arg(server.pid().to_string());
        command.assert().code(2).stdout("").stderr(diff(line));
    }
}

/// The lines of a watch that is begun, with what is done meanwhile.
fn watched(server: &mut Server, meanwhile: impl FnOnce(&mut Server, u32)) -> String {
    let mut command: Command = crate::common::loam_process();
    let command = command.args(["explain", "--watch=200ms", &server.pid().to_string()]);
    let watching = command.stdout(Stdio::piped()).spawn().expect("a process");
    std::thread::sleep(Duration::from_millis(1500));
    meanwhile(server, watching.id());
    let output = watching.wait_with_output().expect("its end");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn check(text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[2].contains("in memory       live     beside"), "{text}");
    assert!(lines[3].starts_with("       0 s "), "{text}");
    assert!(
        lines.iter().filter(|line| line.contains(" MiB") && line.contains("s ")).count() > 3,
        "{text}"
    );
    assert!(text.contains("blocks of 304 bytes grew most"), "{text}");
}

#[test]
fn a_watch_goes_on_until_it_is_interrupted() {
    let mut server = Server::start();
    let text = watched(&mut server, |server, watching| {
        server.grow();
        std::thread::sleep(Duration::from_millis(1500));
        let watching = nix::unistd::Pid::from_raw(watching.cast_signed());
        nix::sys::signal::kill(watching, nix::sys::signal::Signal::SIGINT).expect("a signal");
    });
    check(&text);
    assert!(!text.contains("  it has ended\n"), "{text}");
}

#[test]
fn a_watch_ends_with_the_process() {
    let mut server = Server::start();
    let text = watched(&mut server, |server, _| {
        server.grow();
        std::thread::sleep(Duration::from_millis(1500));
        server.end();
    });
    check(&text);
    assert!(text.contains("\n  it has ended\n"), "{text}");
    loam().args(["explain", "--watch=0s", "1"]).assert().code(2).stdout("");
}
