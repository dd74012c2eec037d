//! `loam explain` and `loam stats`: the sum is what the kernel says, each planted fault is named as
//! what it is, and bad input is one line.

use crate::common::heaps::{Linked, Running, program};
use crate::common::{Public, Workshop, loam};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, diff};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::process::Command;

fn explained(target: &str) -> Value {
    let output = loam().args(["explain", "--json", target]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn sum(object: &Value) -> u64 {
    object.as_object().unwrap().values().map(|bytes| bytes.as_u64().unwrap()).sum()
}

/// All parts add up to what the kernel counts.
fn check_sum(report: &Value) {
    let resident = report["resident_bytes"].as_u64().unwrap();
    let unexplained = report["unexplained_bytes"].as_i64().unwrap();
    let parts = sum(&report["loam"]) + sum(&report["others"]);
    assert_eq!(parts.cast_signed() + unexplained, resident.cast_signed());
    assert!(unexplained.unsigned_abs() * 50 <= resident, "{unexplained} of {resident}");
}

/// The blocks that the process has counted itself.
fn check_blocks(report: &Value, running: &Running) {
    let kinds = report["blocks"].as_object().unwrap().values();
    let (count, bytes) = kinds.fold((0, 0), |(count, bytes), kind| {
        (count + kind["count"].as_u64().unwrap(), bytes + kind["bytes"].as_u64().unwrap())
    });
    assert_eq!((count, bytes), (running.used_count, running.used_bytes));
}

/// What caches and centrals have adds up to the whole.
fn check_heaps(report: &Value) {
    let heaps = report["heaps"].as_array().unwrap();
    for part in ["beside_bytes", "idle_bytes", "cached_bytes", "depot_bytes"] {
        let all = heaps.iter().map(|heap| heap["loam"][part].as_u64().unwrap());
        assert_eq!(all.sum::<u64>(), report["loam"][part].as_u64().unwrap(), "{part}: {report:#}");
    }
}

fn check(running: &Running, first_advice: &str) -> Value {
    let report = explained(&running.pid());
    check_sum(&report);
    check_heaps(&report);
    check_blocks(&report, running);
    let advice = report["advice"][0].as_str().unwrap();
    assert!(advice.contains(first_advice), "{report:#}");
    report
}

#[test]
fn a_planted_leak_is_live() {
    let running = Running::of(Linked::Dynamic, "leak");
    let report = check(&running, " is live: the program has it");
    assert_eq!(report["sizes"][0]["block_bytes"], 112);
    // But for the guarded ones, which are the library's own memory.
    assert!(report["sizes"][0]["live_count"].as_u64().unwrap() >= 399_000);
}

#[test]
fn a_planted_pin_names_its_size_and_how_many_blocks_keep_how_much() {
    let running = Running::of(Linked::Dynamic, "pin");
    let report = check(&running, " is free beside blocks, on the pages that these pin: ");
    let advice = report["advice"][0].as_str().unwrap();
    assert!(advice.contains(" blocks of 112 bytes keep "), "{advice}");
    let live = report["sizes"][0]["live_count"].as_u64().unwrap();
    assert!((12_300..=12_500).contains(&live), "but for guarded ones: {live}");
}

#[test]
fn a_planted_retention_would_come_back_by_a_trim() {
    let running = Running::of(Linked::Dynamic, "retain");
    check(&running, " would come back by a trim: ");
}

#[test]
fn threads_have_caches_with_their_names_and_spans_are_of_centrals() {
    let running = Running::of(Linked::Dynamic, "threads");
    let report = check(&running, " is live");
    let heaps = report["heaps"].as_array().unwrap();
    let (caches, centrals): (Vec<_>, Vec<_>) =
        heaps.iter().partition(|heap| heap["thread_id"].is_u64());
    let name = |heap: &Value| heap["name"].as_str().unwrap().to_owned();
    // The first thread's cache need not have anything: its few blocks are guarded.
    assert!((4..=5).contains(&caches.len()), "{report:#}");
    for cache in caches {
        assert!(name(cache).starts_with("heaps-0 ("), "{report:#}");
        let part = |name: &str| cache["loam"][name].as_u64().unwrap();
        let kept = part("cached_bytes") + part("beside_bytes");
        assert!(kept != 0 && cache["resident_bytes"] == kept, "{report:#}");
    }
    assert!(!centrals.is_empty() && centrals.iter().all(|one| name(one).starts_with("central ")));
    let live = centrals.iter().map(|one| one["loam"]["live_bytes"].as_u64().unwrap());
    assert_eq!(live.sum::<u64>(), report["blocks"]["small"]["bytes"].as_u64().unwrap());
    assert_eq!(report["blocks"]["huge"]["count"], 1);
    assert!(report["others"]["stack_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn static_programs_without_symbols_are_read_as_well() {
    for linked in [Linked::StaticMusl, Linked::StaticGlibc] {
        let running = Running::of(linked, "leak");
        check(&running, " is live");
    }
}

#[test]
fn a_core_says_the_same_and_a_damaged_one_is_one_line() {
    let workshop = Workshop::new();
    let crashes = workshop.path("crashes");
    std::fs::hard_link(program(Linked::Dynamic), &crashes).unwrap();
    let running = Running::start(Command::new(&crashes).arg("pin"));
    let Some(core) = workshop.core_of(&running.pid()) else { return };
    let report = explained(core.to_str().unwrap());
    check_blocks(&report, &running);
    assert!(report["advice"][0].as_str().unwrap().contains(" is free beside blocks"), "{report:#}");

    let refused = |why: &str| {
        let line = format!("loam: cannot read {}: {why}\n", core.display());
        loam().arg("explain").arg(&core).assert().code(2).stdout("").stderr(diff(line));
    };
    std::fs::remove_file(&crashes).unwrap();
    std::fs::copy("/bin/true", &crashes).unwrap();
    refused(&format!("{} is not the build that ran", crashes.display()));
    let length = std::fs::metadata(&core).unwrap().len();
    let file = std::fs::OpenOptions::new().write(true).open(&core).unwrap();
    file.set_len(length / 2).unwrap();
    refused("it is cut short");
}

/// What the kernel counts of pages that a process has written to.
fn written_bytes(pid: &str) -> u64 {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap();
    let kib = maps.lines().filter_map(|line| line.strip_prefix("Anonymous:"));
    kib.map(|kib| kib.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024).sum()
}

#[test]
fn a_core_adds_up_to_what_the_process_had_written() {
    let workshop = Workshop::new();
    let running = Running::of(Linked::Dynamic, "threads");
    let (live, written) = (explained(&running.pid()), written_bytes(&running.pid()));
    let Some(core) = workshop.core_of(&running.pid()) else { return };
    let report = explained(core.to_str().unwrap());
    check_sum(&report);
    let resident = report["resident_bytes"].as_u64().unwrap();
    assert!(resident.abs_diff(written) * 50 <= written, "{resident}, not {written}: {report:#}");
    for part in ["libc_heap_bytes", "stack_bytes", "mapping_bytes"] {
        let of = |report: &Value| report["others"][part].as_u64().unwrap();
        assert!(of(&report).abs_diff(of(&live)) <= 128 << 10, "{part}: {report:#}, not {live:#}");
    }
    assert!(report["others"]["libc_heap_bytes"].as_u64().unwrap() >= 3 << 20, "{report:#}");
    assert!(report["others"]["mapping_bytes"].as_u64().unwrap() >= 3 << 20, "{report:#}");
    assert!(report["others"]["file_bytes"].as_u64() < live["others"]["file_bytes"].as_u64());
    assert!(report["left_out_bytes"].as_u64().unwrap() > 1 << 20, "{report:#}");
    loam()
        .arg("explain")
        .arg(&core)
        .assert()
        .success()
        .stdout(contains("  the C library's own heap ").and(contains("  not in the core: ")));
}

/// The kernel leaves out what was not in memory, and only that.
#[test]
fn a_core_of_the_kernels_has_pages_of_zeros_as_well() {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.contains(['|', '/']) {
        eprintln!("not tested: the kernel puts cores elsewhere");
        return;
    }
    let workshop = Workshop::new();
    let folder = workshop.path("crash");
    std::fs::create_dir(&folder).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -c unlimited && exec \"$0\" zeros"]).arg(program(Linked::Dynamic));
    let mut running = Running::start(shell.current_dir(&folder));
    let written = written_bytes(&running.pid());
    assert!(written > 40 << 20);
    running.abort();
    let core = std::fs::read_dir(&folder).unwrap().next().expect("a core").unwrap().path();
    let report = explained(core.to_str().unwrap());
    check_sum(&report);
    let resident = report["resident_bytes"].as_u64().unwrap();
    assert!(resident.abs_diff(written) * 50 <= written, "{resident}, not {written}: {report:#}");
}

fn refuses(target: &str, why: &str) {
    for verb in ["explain", "stats"] {
        let line = format!("loam: {why}\n");
        loam().args([verb, target]).assert().code(2).stdout("").stderr(diff(line));
    }
}

#[test]
fn what_cannot_be_read_is_one_line() {
    let mut other = Command::new("sleep").arg("100").spawn().unwrap();
    let pid = other.id().to_string();
    other.kill().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    refuses(&pid, &format!("there is no process {pid}"));
    other.wait().unwrap();
    refuses("4194305", "there is no process 4194305");
    refuses("/etc/passwd", "/etc/passwd is no core file of a 64-bit program");
    refuses("/nowhere/core", "cannot read /nowhere/core: no such file or directory");
}

#[test]
fn who_may_not_read_it_is_told_the_way() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("not tested: it takes root to become somebody else");
        return;
    }
    let running = Running::of(Linked::Dynamic, "");
    let public = Public::new();
    let mut command = Command::new(public.command());
    let output = command.args(["explain", &running.pid()]).uid(65534).gid(65534).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("kernel.yama.ptrace_scope") && said.lines().count() == 1, "{said}");
}

#[test]
fn the_text_says_what_the_data_do() {
    let running = Running::of(Linked::Dynamic, "pin");
    loam()
        .args(["explain", &running.pid()])
        .assert()
        .success()
        .stdout(contains(format!("process {} (heaps-0): ", running.pid())))
        .stdout(contains("  free beside them, on the same pages"))
        .stdout(contains("  unexplained"))
        .stdout(contains("\n  112 bytes "))
        .stdout(contains(" is free beside blocks, on the pages that these pin: "));
}

#[test]
fn stats_have_jemallocs_names() {
    let running = Running::of(Linked::Dynamic, "leak");
    let output = loam().args(["stats", "--json", &running.pid()]).output().unwrap();
    let stats: Value = serde_json::from_slice(&output.stdout).unwrap();
    let figure = |name: &str| stats[name].as_u64().unwrap();
    assert_eq!(figure("allocated"), running.used_bytes);
    assert!(figure("allocated") <= figure("active") && figure("active") <= figure("mapped"));
    assert!(figure("resident") < figure("process_resident"));
    assert_eq!(figure("retained"), figure("mapped") - figure("resident"));
    let prometheus = loam().args(["stats", "--prometheus", &running.pid()]).output().unwrap();
    let prometheus = String::from_utf8(prometheus.stdout).unwrap();
    let name = stats["name"].as_str().unwrap();
    let process = format!("pid=\"{}\",process=\"{name}\"", running.pid());
    let allocated = format!("\nloam_allocated_bytes{{{process}}} {}\n", running.used_bytes);
    assert!(prometheus.contains(&allocated), "{prometheus}");
    let line = regex::Regex::new(r#"^(# (HELP|TYPE) loam_.*|loam_\w+(\{.*"\})? \d+)$"#).unwrap();
    for one in prometheus.lines() {
        assert!(line.is_match(one), "{one}");
    }
    loam().args(["stats", &running.pid()]).assert().success().stdout(contains("  allocated  "));
}
