//! `loam explain` and its like of processes on glibc: what a program knows that it holds is what is
//! found, all adds up to what the kernel counts, a trim gives back what was said, and what does not
//! add up is one line.

use crate::common::{Background, Workshop, built_once, checkout, fixture, loam, real_library};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const SHAPES: [&str; 22] = [
    "small",
    "one-size",
    "middle",
    "mapped",
    "aligned",
    "survivors",
    "scattered",
    "freed",
    "tcache",
    "fastbins",
    "threads",
    "shared-arenas",
    "ended",
    "heaps",
    "grown",
    "untouched",
    "foreign-brk",
    "no-brk",
    "trimmed",
    "large",
    "top-pad",
    "forked",
];

fn program(is_static: bool) -> PathBuf {
    let flags: &[&str] = if is_static { &["-static", "-s"] } else { &[] };
    let name = if is_static { "glibc-heaps-static" } else { "glibc-heaps" };
    built_once(name, &[fixture("glibc_heaps.c")], |path| {
        let mut compiler = Command::new("cc");
        let words = ["-O1", "-w", "-std=gnu11", "-pthread", "-o"];
        let built = compiler.args(words).arg(path).arg(fixture("glibc_heaps.c")).args(flags);
        assert!(built.status().expect("a compiler").success());
    })
}

/// In a group of its own, with which it ends.
struct Held {
    child: Child,
    output: BufReader<ChildStdout>,
    count: u64,
    bytes: u64,
}

impl Held {
    fn start(command: &mut Command) -> Held {
        let command = command.stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().expect("a process");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        output.read_line(&mut line).expect("its line");
        let numbers: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        Held { child, output, count: numbers[0], bytes: numbers[1] }
    }

    fn of(is_static: bool, words: &[&str]) -> Held {
        Held::start(Command::new(program(is_static)).args(words))
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    fn send(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).expect("a signal");
    }

    /// What went back to the system, as the kernel counts.
    fn trim(&mut self) -> u64 {
        let before = resident_bytes(&self.pid());
        self.send(Signal::SIGUSR1);
        let mut line = String::new();
        self.output.read_line(&mut line).expect("its line");
        before.saturating_sub(resident_bytes(&self.pid()))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(-self.child.id().cast_signed()), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

fn resident_bytes(pid: &str) -> u64 {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let line = maps.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn explained(target: &str) -> Value {
    let output = loam().args(["explain", "--json", target]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn sum(object: &Value) -> u64 {
    object.as_object().unwrap().values().map(number).sum()
}

fn check_sum(report: &Value) {
    let resident = number(&report["resident_bytes"]);
    let unexplained = report["unexplained_bytes"].as_i64().unwrap();
    let parts = sum(&report["glibc"]) + sum(&report["others"]);
    assert_eq!(parts.cast_signed() + unexplained, resident.cast_signed(), "{report:#}");
    // The kernel counts what is resident in batches, for each processor.
    let most = (resident / 50).max(256 << 10);
    assert!(unexplained.unsigned_abs() <= most, "{unexplained} of {resident}");
}

fn blocks(report: &Value) -> (u64, u64) {
    let kinds = report["blocks"].as_object().unwrap().values();
    kinds.fold((0, 0), |(count, bytes), kind| {
        (count + number(&kind["count"]), bytes + number(&kind["bytes"]))
    })
}

/// What the C library has of its own is in few blocks, one for each thread among them.
fn check_blocks(report: &Value, held: &Held, shape: &str) {
    const OWN: u64 = 24;
    const OWN_BYTES: u64 = 12_000;
    let (count, bytes) = blocks(report);
    assert!((held.count..=held.count + OWN).contains(&count), "{shape}: {count} {}", held.count);
    let most = held.bytes + OWN_BYTES;
    assert!((held.bytes..=most).contains(&bytes), "{shape}: {bytes} {}", held.bytes);
}

fn check_heaps(report: &Value) {
    let heaps = report["heaps"].as_array().unwrap();
    for part in ["beside_bytes", "idle_bytes", "cached_bytes", "depot_bytes", "dirty_bytes"] {
        let all = heaps.iter().map(|heap| number(&heap["glibc"][part]));
        assert_eq!(all.sum::<u64>(), number(&report["glibc"][part]), "{part}: {report:#}");
    }
}

fn check_trim(report: &Value, held: &mut Held, shape: &str) {
    // What the trim itself brings into memory, of its code and its stack.
    const OWN_BYTES: u64 = 64 << 10;
    let said = number(&report["malloc"]["trim_bytes"]);
    let done = held.trim();
    assert!(said.abs_diff(done) <= done / 50 + OWN_BYTES, "{shape}: said {said}, did {done}");
}

#[test]
fn what_a_program_holds_is_found_in_every_shape() {
    for shape in SHAPES {
        let mut held = Held::of(false, &[shape]);
        let report = explained(&held.pid());
        check_sum(&report);
        check_blocks(&report, &held, shape);
        check_heaps(&report);
        let malloc = &report["malloc"];
        assert_eq!(malloc["mapped_count"], malloc["known_mapped_count"], "{shape}");
        check_trim(&report, &mut held, shape);
    }
}

#[test]
fn static_programs_without_symbols_are_read_as_well() {
    for shape in ["small", "scattered", "threads", "heaps", "no-brk", "foreign-brk", "aligned"] {
        let mut held = Held::of(true, &[shape]);
        let report = explained(&held.pid());
        check_sum(&report);
        check_blocks(&report, &held, shape);
        check_trim(&report, &mut held, shape);
    }
}

#[test]
fn arenas_and_tcaches_are_told_by_thread_and_the_version_by_the_file() {
    let held = Held::of(false, &["threads"]);
    let report = explained(&held.pid());
    let malloc = &report["malloc"];
    assert_eq!(malloc["name"], "glibc");
    assert_eq!(malloc["arena_count"], 9);
    assert!(malloc["version"].as_str().unwrap().starts_with("2."), "{malloc:#}");
    let heaps = report["heaps"].as_array().unwrap();
    let of_threads = heaps.iter().filter(|heap| heap["thread_id"].is_u64());
    assert!(of_threads.count() >= 8, "{heaps:#?}");
    loam().args(["explain", &held.pid()]).assert().success().stdout(
        contains("on glibc 2.")
            .and(contains("arenas and tcaches"))
            .and(contains("MALLOC_ARENA_MAX")),
    );
}

#[test]
fn a_library_that_watches_malloc_is_seen_through() {
    let source = checkout("tests/programs/on_glibc/held.c");
    let library = built_once("held.so", std::slice::from_ref(&source), |path| {
        let mut compiler = Command::new("cc");
        let built = compiler.args(["-O1", "-w", "-shared", "-fPIC", "-pthread", "-o"]).arg(path);
        assert!(built.arg(&source).status().expect("a compiler").success());
    });
    let mut command = Command::new(program(false));
    let held = Held::start(command.arg("scattered").env("LD_PRELOAD", &library));
    let report = explained(&held.pid());
    check_sum(&report);
    check_blocks(&report, &held, "watched");
    let words = format!("Its malloc is that of {}, which hands calls", library.display());
    let advice = report["advice"].as_array().unwrap();
    assert!(advice.iter().any(|one| one.as_str().unwrap().starts_with(&words)), "{advice:#?}");
}

#[test]
fn what_is_said_follows_from_what_there_is() {
    let said = |shape: &str, text: &str| {
        let held = Held::of(false, &[shape]);
        let report = explained(&held.pid());
        let advice = report["advice"].as_array().unwrap();
        let has = |text: &str| advice.iter().any(|one| one.as_str().unwrap().contains(text));
        assert!(has(text), "{shape}: {advice:#?}");
        assert!(has("On loam it would have ") && has("loam run -- "), "{advice:#?}");
    };
    said("small", " is live: the program has it, in 100000 blocks");
    said("freed", " would come back by malloc_trim(0)");
    said("scattered", " is free beside blocks, on the pages that these pin");
    said("threads", " arenas of threads have ");
}

#[test]
fn a_busy_process_is_read_and_one_that_is_stopped_anywhere() {
    let held = Held::of(false, &["busy"]);
    // Until it has grown.
    std::thread::sleep(Duration::from_secs(1));
    for _ in 0..10 {
        check_sum(&explained(&held.pid()));
    }
    for moment in 0..25 {
        std::thread::sleep(Duration::from_millis(moment * 7 % 20));
        held.send(Signal::SIGSTOP);
        let output = loam().args(["explain", "--json", &held.pid()]).output().unwrap();
        held.send(Signal::SIGCONT);
        let said = String::from_utf8(output.stderr).unwrap();
        match output.status.code() {
            Some(0) => check_sum(&serde_json::from_slice(&output.stdout).unwrap()),
            _ => assert!(said.lines().count() == 1 && said.contains("does not add up"), "{said}"),
        }
    }
}

#[test]
fn a_process_that_grows_all_the_time_is_read() {
    let grows = "import time\nkept = []\nprint(flush=True)\n\
                 while len(kept) < 20000: kept.append(bytearray(60000)); time.sleep(0.003)";
    let mut python = Command::new("/usr/bin/python3"); // at a fixed address: its heap is by brk
    let running = Background::start(python.args(["-c", grows]));
    for _ in 0..10 {
        let report = explained(&running.pid());
        check_sum(&report);
        assert!(number(&report["glibc"]["live_bytes"]) > 60000, "{report}");
    }
}

#[test]
fn a_damaged_heap_is_one_line() {
    for how in ["size", "zero", "tcache"] {
        let held = Held::of(false, &["none", how]);
        // Until it waits: what a thread is in the midst of is not taken for damage.
        std::thread::sleep(Duration::from_millis(300));
        let line = starts_with(format!("loam: process {} ", held.pid()))
            .and(contains("add up"))
            .and(predicates::function::function(|text: &str| text.lines().count() == 1));
        loam().args(["explain", &held.pid()]).assert().code(2).stdout("").stderr(line);
    }
}

#[test]
fn a_core_says_the_same() {
    let workshop = Workshop::new();
    for shape in ["scattered", "threads"] {
        let held = Held::of(false, &[shape]);
        let Some(core) = workshop.core_of(&held.pid()) else { return };
        let report = explained(core.to_str().unwrap());
        assert_eq!(blocks(&report), blocks(&explained(&held.pid())), "{shape}");
        assert_eq!(report["malloc"]["name"], "glibc");
    }
}

#[test]
fn pictures_figures_and_comparisons_are_of_glibcs_heap_too() {
    let workshop = Workshop::new();
    let held = Held::of(false, &["scattered"]);
    let (page, picture) = (workshop.path("heap.html"), workshop.path("heap.png"));
    loam().args(["explain", &held.pid(), "--html"]).arg(&page).assert().success();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Arenas and tcaches") && !page.contains("loam prof --start"), "a page");
    loam().args(["plot", &held.pid(), "--png"]).arg(&picture).assert().success();
    assert!(std::fs::read(picture).unwrap().starts_with(b"\x89PNG"));
    let output = loam().args(["stats", "--json", &held.pid()]).output().unwrap();
    let stats: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&stats["allocator"], &stats["allocated"]), (&"glibc".into(), &held.bytes.into()));
    let before = workshop.path("before.json");
    let output = loam().args(["explain", "--json", &held.pid()]).output().unwrap();
    std::fs::write(&before, output.stdout).unwrap();
    let compared = loam().args(["explain", "--compare"]).arg(&before).arg(held.pid()).assert();
    compared.success().stdout(contains("Nothing has grown."));
}

/// What is in memory of a process on loam but for files, when what is free has gone back.
fn kept_on_loam(command: &mut Command) -> u64 {
    let mut child = command
        .env("LD_PRELOAD", real_library())
        .env("LOAM_OPTIONS", "background=on,purge_delay_ms=10")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("a process");
    let mut byte = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut byte).expect("its output");
    std::thread::sleep(Duration::from_millis(500));
    let report = explained(&child.id().to_string());
    let free = ["idle_bytes", "depot_bytes", "dirty_bytes"];
    let free: u64 = free.iter().map(|part| number(&report["loam"][*part])).sum();
    let _ = kill(Pid::from_raw(-child.id().cast_signed()), Signal::SIGKILL);
    let _ = child.wait();
    number(&report["resident_bytes"]) - free - number(&report["others"]["file_bytes"])
}

#[test]
fn what_it_would_be_on_loam_holds_for_ten_programs() {
    let words = "small one-size middle mapped survivors scattered freed threads grown untouched";
    for shape in words.split(' ') {
        let held = Held::of(false, &[shape]);
        let report = explained(&held.pid());
        let (range, files) = (&report["malloc"]["on_loam"], &report["others"]["file_bytes"]);
        let kept = kept_on_loam(Command::new(program(false)).arg(shape)) + number(files);
        let (low, high) = (number(&range["low_bytes"]), number(&range["high_bytes"]));
        assert!((low..=high).contains(&kept), "{shape}: {kept} is not in {low} to {high}");
    }
}

/// As they come with the system; those that there are not are left out.
const PROGRAMS: [(&str, &[&str]); 10] = [
    (
        "/usr/bin/python3",
        &["-c", "a = [str(i) * 9 for i in range(300000)]; print(1, flush=True); input()"],
    ),
    ("/usr/bin/perl", &["-e", "$| = 1; @a = map { $_ x 9 } 1..300000; print 1; <STDIN>"]),
    (
        "/usr/bin/ruby",
        &["-e", "a = (1..300000).map { |i| i.to_s * 9 }; puts 1; $stdout.flush; gets"],
    ),
    (
        "/usr/bin/php",
        &["-r", "for ($i = 0; $i < 300000; $i++) $a[] = str_repeat($i, 9); echo 1; fgets(STDIN);"],
    ),
    (
        "/usr/bin/node",
        &[
            "-e",
            "a = Array.from({length: 300000}, (_, i) => 'x' + i); console.log(1); process.stdin.on('data', () => {})",
        ],
    ),
    (
        "/usr/bin/gs",
        &["-q", "-dNODISPLAY", "-c", "/a 100000 array def (1) print flush (%stdin) (r) file read"],
    ),
    ("/usr/bin/sqlite3", &["-interactive", ":memory:"]),
    ("/usr/bin/bc", &["-i"]),
    ("/bin/bash", &["-c", "for i in {1..100000}; do a[i]=$i; done; echo 1; read x"]),
    (
        "/usr/bin/gawk",
        &["BEGIN { for (i = 0; i < 300000; i++) a[i] = i; print 1; fflush(); getline }"],
    ),
];

#[test]
fn real_programs_add_up() {
    for (path, words) in PROGRAMS.iter().filter(|(path, _)| Path::new(path).exists()) {
        let mut command = Command::new(path);
        let command = command.args(*words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).process_group(0).spawn().expect("a process");
        let mut byte = [0];
        let _ = child.stdout.as_mut().unwrap().read_exact(&mut byte);
        std::thread::sleep(Duration::from_millis(300));
        let start = Instant::now();
        let report = explained(&child.id().to_string());
        eprintln!("{path}: {} bytes live, {:?}", blocks(&report).1, start.elapsed());
        check_sum(&report);
        check_heaps(&report);
        let _ = kill(Pid::from_raw(-child.id().cast_signed()), Signal::SIGKILL);
        let _ = child.wait();
    }
}

#[test]
fn a_process_on_loam_is_loams_still() {
    let mut command = Command::new(program(false));
    let held = Held::start(command.arg("small").env("LD_PRELOAD", real_library()));
    let report = explained(&held.pid());
    assert!(report["loam"].is_object() && report["malloc"].is_null(), "{report:#}");
}
