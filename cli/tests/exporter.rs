//! `loam exporter`: what it says of processes, of which ones, and what it does with requests that are
//! odd, slow, long or many.

use crate::common::exporter::{Exporter, FREE, ask, figure};
use crate::common::heaps::{self, Linked, Running, program};
use crate::common::{Background, Public, json, loam, loam_process};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use predicates::str::diff;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const STATES: [(&str, &str); 8] = [
    ("live", "live_bytes"),
    ("beside", "beside_bytes"),
    ("idle", "idle_bytes"),
    ("cached", "cached_bytes"),
    ("depot", "depot_bytes"),
    ("dirty", "dirty_bytes"),
    ("unused", "unused_bytes"),
    ("profile", "profile_bytes"),
];

fn has(metrics: &str, pid: &str) -> bool {
    figure(metrics, "loam_memory_resident_bytes", &[("pid", pid)]).is_some()
}

/// With all processes: on a machine with other work those that wait come with the next scrapes.
fn complete(exporter: &Exporter) -> String {
    let begun = Instant::now();
    loop {
        let metrics = exporter.metrics();
        let waiting = figure(&metrics, "loam_exporter_processes", &[("state", "waiting")]);
        if waiting == Some(0.0) || begun.elapsed() > Duration::from_secs(60) {
            return metrics;
        }
    }
}

#[test]
fn metrics_are_what_explain_says() {
    let running = Running::of(Linked::Dynamic, "pin");
    let pid = running.pid();
    let exporter = Exporter::start(&[]);
    let metrics = exporter.metrics();
    let report = json(&["explain", "--json", &pid]);
    let name = report["name"].as_str().unwrap();
    let of = |metric: &str, more: &[(&str, &str)]| {
        let labels = [&[("pid", pid.as_str()), ("process", name)], more].concat();
        figure(&metrics, metric, &labels).unwrap_or_else(|| panic!("{metric} of {metrics}"))
    };
    let bytes = |value: &serde_json::Value| value.as_u64().expect("bytes") as f64;
    for (state, field) in STATES {
        let usage = of("loam_memory_usage_bytes", &[("state", state)]);
        assert_eq!(usage, bytes(&report["loam"][field]), "{state}");
    }
    // Without the pages of the table of tags that are no region's.
    let metadata = of("loam_memory_usage_bytes", &[("state", "metadata")]);
    let difference = bytes(&report["loam"]["metadata_bytes"]) - metadata;
    assert!((0.0..65536.0).contains(&difference), "{difference}");
    assert_eq!(of("loam_memory_pinned_bytes", &[]), bytes(&report["pinned_bytes"]));
    assert_eq!(of("loam_live_blocks", &[]), running.used_count as f64);
    let resident = of("loam_memory_resident_bytes", &[]);
    assert_eq!(resident, bytes(&report["resident_bytes"]));
    let all = ["metadata", "file", "other"].into_iter().chain(STATES.map(|one| one.0));
    let sum: f64 = all.map(|state| of("loam_memory_usage_bytes", &[("state", state)])).sum();
    assert!((sum - resident).abs() < resident * 0.02, "{sum} of {resident}");
    let took = of("loam_exporter_read_duration_seconds", &[]);
    let scrape = figure(&metrics, "loam_exporter_scrape_duration_seconds", &[]).unwrap();
    assert!(0.0 < took && took < scrape, "{took} of {scrape}");
}

#[test]
fn processes_on_glibc_are_there_if_asked_for() {
    let mut python = Command::new("python3");
    python.args(["-c", "x = [bytes(100) for _ in range(200000)]; print(flush=True); input()"]);
    let running = Background::start(python.env("PYTHONMALLOC", "malloc").stdin(Stdio::piped()));
    let pid = running.pid();
    assert!(!has(&Exporter::start(&[]).metrics(), &pid));
    let exporter = Exporter::start(&["--glibc", "1h"]);
    let metrics = complete(&exporter);
    let live = figure(&metrics, "loam_memory_usage_bytes", &[("pid", &pid), ("state", "live")]);
    let live = live.unwrap_or_else(|| panic!("{pid} in {metrics}"));
    assert!((200_000.0 * 140.0..200_000.0 * 250.0).contains(&live), "{live}");
    let info = [("pid", pid.as_str()), ("allocator", "glibc")];
    assert_eq!(figure(&metrics, "loam_process_allocator_info", &info), Some(1.0));
    let read_at = |metrics: &str| {
        figure(metrics, "loam_exporter_read_timestamp_seconds", &[("pid", &pid)]).unwrap()
    };
    assert_eq!(read_at(&exporter.metrics()), read_at(&metrics));
    let page = exporter.get(&format!("/heap?pid={pid}"));
    assert!(page.status == 200 && page.text().contains("glibc"), "{}", page.headers);
    let profile = exporter.get(&format!("/debug/pprof/heap?pid={pid}"));
    assert_eq!(profile.status, 404);
}

#[test]
fn the_format_is_the_one_that_is_asked_for() {
    let _running = Running::of(Linked::Dynamic, "");
    let exporter = Exporter::start(&[]);
    let plain = exporter.get("/metrics");
    assert!(
        plain.headers.contains("\r\ncontent-type: text/plain; version=0.0.4;"),
        "{}",
        plain.headers
    );
    let accept = "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n";
    let open = exporter.ask("GET", "/metrics", accept);
    let kind = "\r\ncontent-type: application/openmetrics-text; version=1.0.0;";
    assert!(open.headers.contains(kind), "{}", open.headers);
    let text = open.text();
    assert!(text.ends_with("\n# EOF\n") && !plain.text().contains("# EOF"), "{text}");
    assert!(text.contains("\n# UNIT loam_memory_usage_bytes bytes\n"), "{text}");
    let line =
        r#"^(# (HELP|TYPE|UNIT) loam_\w+ .+|loam_\w+(\{(\w+="[^"]*",?)+\})? [0-9.e+-]+|# EOF)$"#;
    let line = regex::Regex::new(line).unwrap();
    text.lines().for_each(|one| assert!(line.is_match(one), "{one}"));
    let head = exporter.ask("HEAD", "/metrics", "");
    assert!(head.status == 200 && head.body.is_empty(), "{}", head.headers);
}

#[test]
fn a_process_is_read_no_more_often_than_asked_for() {
    let running = Running::of(Linked::Dynamic, "leak");
    let pid = running.pid();
    let at = |metrics: &str| {
        figure(metrics, "loam_exporter_read_timestamp_seconds", &[("pid", &pid)]).unwrap()
    };
    let rarely = Exporter::start(&["--every", "1h"]);
    let first = at(&rarely.metrics());
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(at(&rarely.metrics()), first);
    // However often one asks, the process rests for nine times as long as it is read.
    let often = Exporter::start(&["--every", "1ms"]);
    let mut reads: Vec<(f64, f64)> = Vec::new();
    while reads.len() < 5 {
        let metrics = often.metrics();
        if reads.last().is_none_or(|(last, _)| *last != at(&metrics)) {
            let took = "loam_exporter_read_duration_seconds";
            reads.push((at(&metrics), figure(&metrics, took, &[("pid", &pid)]).unwrap()));
        }
    }
    for two in reads.windows(2) {
        let [(first, took), (second, next_took)] = two else { unreachable!() };
        assert!(second - next_took - first > 8.9 * took, "{reads:?}");
    }
}

#[test]
fn two_hundred_processes_are_in_one_scrape_and_those_that_end_leave_it() {
    let exporter = Exporter::start(&["--every", "100ms"]);
    let program = program(Linked::Dynamic);
    let mut all: Vec<Background> =
        (0..200).map(|_| Background::start(&mut Command::new(&program))).collect();
    let begun = Instant::now();
    exporter.metrics();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let metrics = complete(&exporter);
    for one in &all {
        assert!(has(&metrics, &one.pid()), "{} is missing in {metrics}", one.pid());
    }
    // Some end while others are read.
    let ending: Vec<Background> = all.drain(..100).collect();
    let ended: Vec<String> = ending.iter().map(Background::pid).collect();
    let thread = std::thread::spawn(move || {
        for one in ending {
            drop(one);
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    while !thread.is_finished() {
        exporter.metrics();
        assert_eq!(exporter.get("/").status, 200);
    }
    thread.join().unwrap();
    let metrics = exporter.metrics();
    assert!(ended.iter().all(|pid| !has(&metrics, pid)), "{metrics}");
    assert!(all.iter().all(|one| has(&metrics, &one.pid())), "{metrics}");
}

#[test]
fn of_a_process_that_ends_while_it_is_asked_for_there_is_a_line() {
    let exporter = Exporter::start(&[]);
    for _ in 0..20 {
        let running = Running::of(Linked::Dynamic, "");
        let path = format!("/heap?pid={}", running.pid());
        let thread = std::thread::spawn(move || drop(running));
        let answer = exporter.get(&path);
        thread.join().unwrap();
        assert!([200, 404].contains(&answer.status), "{}", answer.text());
    }
}

#[test]
fn the_page_of_all_leads_to_that_of_each() {
    let running = Running::of(Linked::Dynamic, "pin");
    let exporter = Exporter::start(&[]);
    let list = exporter.get("/").text();
    let link = format!("<a href=\"/heap?pid={}\">", running.pid());
    assert!(list.contains(&link), "{list}");
    let heap = exporter.get(&format!("/heap?pid={}", running.pid()));
    assert!(heap.status == 200 && heap.headers.contains("content-type: text/html;"));
    let heap = heap.text();
    assert!(heap.contains("<h2>Page by page</h2>") && heap.contains(&running.pid()), "{heap}");
}

#[test]
fn what_there_is_not_is_one_line() {
    let running = Running::of(Linked::Dynamic, "");
    let mut other = Background(Command::new("sleep").arg("100").spawn().unwrap());
    let exporter = Exporter::start(&[]);
    let heap = |pid: &str| format!("/debug/pprof/heap?pid={pid}");
    for (path, status, why) in [
        ("/nowhere".to_owned(), 404, "there are /, /metrics, "),
        (
            heap("4194305"),
            404,
            "there is no process 4194305 of this user's; / lists those that are read\n",
        ),
        (heap(&other.pid()), 404, "(sleep) is not on loam\n"),
        (format!("/heap?pid={}", other.pid()), 404, "(sleep) is not on loam\n"),
        (heap(&running.pid()), 404, "has no profile: have one taken with 'loam prof --start "),
        ("/debug/pprof/allocs".to_owned(), 400, "which process? ?pid=NUMBER; / lists them\n"),
        (heap("x"), 400, "pid= takes the number of a process\n"),
        (heap(&format!("{}&seconds=5", running.pid())), 400, "seconds=: "),
        ("/debug/pprof/profile".to_owned(), 404, "there are /, /metrics, "),
    ] {
        let answer = exporter.get(&path);
        let text = answer.text();
        assert_eq!(answer.status, status, "{path}: {text}");
        assert!(text.contains(why) && text.lines().count() == 1, "{path}: {text}");
    }
    other.0.kill().unwrap();
}

#[test]
fn nothing_is_written_and_other_sites_names_are_not_taken() {
    let exporter = Exporter::start(&[]);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"] {
        let answer = exporter.ask(method, "/metrics", "Content-Length: 3\r\n\r\nabc");
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.headers.contains("\r\nallow: get, head"), "{}", answer.headers);
    }
    let rebound = ask(&exporter.address, "GET / HTTP/1.1\r\nHost: rebound.example\r\n\r\n");
    assert_eq!(rebound.status, 421);
    assert_eq!(ask(&exporter.address, "GET / HTTP/1.0\r\n\r\n").status, 200);
    assert_eq!(ask(&exporter.address, "no request\r\n\r\n").status, 400);
}

#[test]
fn what_is_too_long_is_refused_and_others_are_answered() {
    let exporter = Exporter::start(&[]);
    let long = "x".repeat(100_000);
    let answer = exporter.get(&format!("/{long}"));
    assert!([414, 431].contains(&answer.status), "{}", answer.headers);
    let answer = exporter.ask("GET", "/metrics", &format!("X-Long: {long}\r\n"));
    assert_eq!(answer.status, 431, "{}", answer.headers);
    let many: String = (0..1000).map(|number| format!("X-{number}: 1\r\n")).collect();
    assert_eq!(exporter.ask("GET", "/metrics", &many).status, 431);
    assert_eq!(exporter.get("/metrics").status, 200);
}

#[test]
fn slow_clients_are_not_waited_for_however_many() {
    let exporter = Exporter::start(&[]);
    let mut slow = exporter.connect();
    slow.write_all(b"GET /metrics HTTP/1.1\r\nHo").unwrap();
    let begun = Instant::now();
    assert_eq!(exporter.get("/metrics").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    // More than are answered at once, which say nothing.
    let silent: Vec<_> = (0..40).map(|_| exporter.connect()).collect();
    assert_eq!(exporter.get("/metrics").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    // The first one was told so, or it was closed.
    let mut rest = Vec::new();
    let _ = slow.read_to_end(&mut rest);
    assert!(!rest.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&rest));
    drop(silent);
}

#[test]
fn where_it_cannot_listen_is_one_line() {
    let exporter = Exporter::start(&[]);
    let in_use = format!("loam: cannot listen on {}: address already in use\n", exporter.address);
    let words = ["exporter", "--listen", &exporter.address];
    loam().args(words).assert().code(2).stdout("").stderr(diff(in_use));
    let elsewhere = "loam: cannot listen on 203.0.113.1:9464: cannot assign requested address\n";
    let words = ["exporter", "--listen", "203.0.113.1:9464"];
    loam().args(words).assert().code(2).stdout("").stderr(diff(elsewhere));
    for wrong in ["", "9464", "127.0.0.1", "127.0.0.1:99999", "localhost:9464"] {
        let line = format!(
            "loam: invalid value '{wrong}' for '--listen <ADDRESS:PORT>': write a number of a machine \
             and a port, as 127.0.0.1:9464; try --help\n"
        );
        loam().args(["exporter", "--listen", wrong]).assert().code(2).stdout("").stderr(diff(line));
    }
    let never = "loam: --every=0s: it takes a duration above 0\n";
    loam().args(["exporter", "--every", "0s"]).assert().code(2).stdout("").stderr(diff(never));
}

#[test]
fn a_signal_ends_it_at_once_and_its_port_is_free_again() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut exporter = Exporter::start(&[]);
        // One that has not asked yet does not keep it.
        let _silent = exporter.connect();
        exporter.metrics();
        let pid = Pid::from_raw(exporter.child.0.id().cast_signed());
        let begun = Instant::now();
        kill(pid, signal).unwrap();
        let status = exporter.child.0.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{signal}");
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        let words = ["exporter", "--listen", &exporter.address];
        let mut again = loam_process().args(words).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        assert!(again.try_wait().unwrap().is_none(), "its port is free again");
        again.kill().unwrap();
        again.wait().unwrap();
    }
}

#[test]
fn of_other_users_processes_nothing_is_said() {
    const NOBODY: u32 = 65534;
    if !nix::unistd::geteuid().is_root() {
        eprintln!("not tested: it takes root to start processes of another user");
        return;
    }
    let public = Public::new();
    let copy = public.path("heaps");
    std::fs::copy(program(Linked::Dynamic), &copy).unwrap();
    let own = Running::of(Linked::Dynamic, "");
    let others = Running::start(Command::new(&copy).uid(NOBODY).gid(NOBODY));
    let nobodys = Exporter::of(
        Command::new(public.command()).args(["exporter", "--listen", FREE]).uid(NOBODY).gid(NOBODY),
    );
    for (exporter, seen, hidden) in
        [(Exporter::start(&[]), &own, &others), (nobodys, &others, &own)]
    {
        let metrics = exporter.metrics();
        assert!(has(&metrics, &seen.pid()) && !has(&metrics, &hidden.pid()), "{metrics}");
        assert!(!exporter.get("/").text().contains(&format!("pid={}\"", hidden.pid())));
        let answer = exporter.get(&format!("/heap?pid={}", hidden.pid()));
        assert!(answer.status == 404 && answer.text().starts_with("there is no process "));
    }
}

/// Rounds of the fixture for a second of the processor, in some time.
fn rounds(going: &mut Background, output: &mut impl BufRead) -> f64 {
    std::thread::sleep(Duration::from_millis(700));
    going.0.stdin.as_mut().expect("its input").write_all(b"\n").expect("a line");
    let mut line = String::new();
    output.read_line(&mut line).expect("its line");
    let numbers: Vec<f64> =
        line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    numbers[0] / numbers[1] * 1e9
}

#[test]
fn a_process_that_is_read_all_the_time_takes_no_more_of_the_processor_for_its_work() {
    let program = heaps::goes_on();
    let mut going =
        Command::new(program).arg("64").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut output = BufReader::new(going.as_mut().unwrap().stdout.take().expect("its output"));
    let mut going = Background(going.unwrap());
    let mut line = String::new();
    output.read_line(&mut line).expect("its line");
    let going_pid = going.pid();
    rounds(&mut going, &mut output);
    let mut parts = Vec::new();
    for _ in 0..5 {
        let alone = rounds(&mut going, &mut output);
        let exporter = Exporter::start(&["--every", "1ms"]);
        let is_over = AtomicBool::new(false);
        let read = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    assert!(has(&exporter.metrics(), &going_pid));
                }
            });
            let read = rounds(&mut going, &mut output);
            is_over.store(true, Ordering::Relaxed);
            read
        });
        parts.push(read / alone);
    }
    parts.sort_by(f64::total_cmp);
    // The median, beside whatever else the machine does.
    assert!(parts[2] > 0.8, "{parts:?}");
}
