//! `loam explain --tree` and `--cgroup`: a line for each process, with what the kernel and loam say.

use crate::common::heaps::Server;
use crate::common::{Workshop, loam};
use predicates::str::{contains, diff};
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    let output = loam().args(arguments).arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("{name} of {of:#}"))
}

fn rollup(pid: u64, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("sums");
    let line = text.lines().find(|line| line.starts_with(&format!("{name}:"))).expect("a line");
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn check(report: &Value, server: &Server) {
    let processes = report["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 4, "{report:#}");
    let of = |name: &str| processes.iter().filter(|one| one["name"] == name).collect::<Vec<_>>();
    let (servers, sleeps) = (of("workers"), of("sleep"));
    assert_eq!((servers.len(), sleeps.len()), (3, 1), "{report:#}");
    assert_eq!(sleeps[0]["allocator"], "glibc");
    assert!(number(sleeps[0], "live_bytes") > 0, "{report:#}");
    for one in &servers {
        let pid = number(one, "pid");
        assert_eq!(one["allocator"], "loam");
        assert!(number(one, "live_bytes") >= 80_000 * 100, "{one:#}");
        for (name, sum) in [("Pss", "pss_bytes"), ("Private_Dirty", "private_bytes")] {
            let (kernels, ours) = (rollup(pid, name), number(one, sum));
            assert!(
                ours.abs_diff(kernels) * 20 <= kernels + (1 << 20),
                "{name} {kernels}: {one:#}"
            );
        }
        // A quarter of it is its own.
        let private = number(one, "private_bytes");
        assert!(pid == server.pid() || private > 80_000 * 112 / 4, "{one:#}");
        assert!(number(one, "shared_bytes") > 80_000 * 112 / 2, "{one:#}");
    }
    let sum: u64 = processes.iter().map(|one| number(one, "pss_bytes")).sum();
    assert_eq!(number(report, "pss_bytes"), sum);
}

#[test]
fn a_tree_has_the_server_its_workers_and_what_they_have_become() {
    let server = Server::start();
    let pid = server.pid().to_string();
    let report = json(&["explain", "--tree", &pid]);
    check(&report, &server);
    assert_eq!((number(&report, "pid"), &report["name"]), (server.pid(), &"workers".into()));
    let output = loam().args(["explain", "--tree", &pid]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with(&format!("process {pid} (workers) and 3 others: ")), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80 || line.starts_with("cgroup ")),
        "{text}"
    );
    assert!(text.contains("\n  sleep ") && text.contains("\n  in all "), "{text}");
}

#[test]
fn a_cgroup_has_its_limit_and_counts_what_has_ended() {
    let server = Server::start();
    let report = json(&["explain", "--tree", &server.pid().to_string()]);
    let pids = report["processes"].as_array().unwrap().iter().map(|one| number(one, "pid"));
    let workshop = Workshop::new();
    let write = |name: &str, text: &str| std::fs::write(workshop.path(name), text).unwrap();
    // One that has ended is between them.
    let lines: String = pids.map(|pid| format!("{pid}\n")).collect();
    write("cgroup.procs", &(lines + "4194305\n"));
    write("memory.current", "100000000\n");
    write("memory.max", "400000000\n");
    let folder = workshop.path("cgroup.procs").parent().unwrap().display().to_string();
    let report = json(&["explain", "--cgroup", &folder]);
    check(&report, &server);
    assert_eq!((&report["pid"], number(&report, "ended_count")), (&Value::Null, 1));
    assert_eq!(number(&report["cgroup"], "limit_bytes"), 400_000_000);
    loam()
        .args(["explain", "--cgroup", &folder])
        .assert()
        .success()
        .stdout(contains("4 processes: "))
        .stdout(contains("\n  limit: 381 MiB, of which 95.4 MiB are used, 25 %\n"))
        .stdout(contains("\nLeft out: 1 process that had ended, or had no memory.\n"));
}

#[test]
fn what_is_no_process_or_group_is_one_line() {
    for (words, why) in [
        (["--tree", "4194305"], "there is no process 4194305"),
        (["--cgroup", "4194305"], "there is no process 4194305"),
        (["--tree", "core"], "--tree takes the number of a process"),
        (["--cgroup", "/nowhere"], "/nowhere is no cgroup: it has no cgroup.procs"),
    ] {
        let line = format!("loam: {why}\n");
        loam().arg("explain").args(words).assert().code(2).stdout("").stderr(diff(line));
    }
}
