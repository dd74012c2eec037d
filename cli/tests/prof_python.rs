//! `loam prof` of programs in Python: lines of the program are named, by the versions of Python
//! that are here, and what is no such interpreter is left alone.

use crate::common::{
    Background, Workshop, built_once, fixture, loam, own_allocator, real_library,
    sources_with_allocator,
};
use flate2::read::GzDecoder;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// That of the system, and 3.8 to 3.13 where pyenv has them.
fn pythons() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let versions = std::fs::read_dir(home.join(".pyenv/versions"));
    let folders = versions.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let is_known = |folder: &PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let minor = name.strip_prefix("3.").and_then(|rest| rest.split('.').next()?.parse().ok());
        minor.is_some_and(|minor: u32| (8..=13).contains(&minor))
    };
    let installed = folders.filter(is_known).map(|folder| folder.join("bin/python3"));
    let mut all: Vec<PathBuf> = installed.filter(|path| path.exists()).collect();
    all.push(PathBuf::from("/usr/bin/python3"));
    all
}

/// The number of the fixture's line with that comment.
fn line(comment: &str) -> u64 {
    let text = std::fs::read_to_string(fixture("service.py")).expect("the fixture");
    let at = text.lines().position(|line| line.ends_with(&format!("  # {comment}")));
    at.expect("the comment") as u64 + 1
}

/// The program with a profile of nearly every block.
fn profiled(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.arg(fixture("service.py")).stdin(Stdio::piped());
    command.env("PYTHONMALLOC", "malloc").env("LD_PRELOAD", real_library());
    command.env("LOAM_OPTIONS", "profile=on,profile_bytes=16,profile_file=/dev/null");
    command
}

fn json(words: &[&str]) -> Value {
    let output = loam().args(["prof", "--json"]).args(words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What is said of the line with that comment.
fn place<'report>(report: &'report Value, comment: &str) -> &'report Value {
    let is_it = |place: &&Value| {
        place["line"] == line(comment)
            && place["file"].as_str().is_some_and(|file| file.ends_with("/service.py"))
    };
    let places = report["places"].as_array().expect("places");
    places.iter().find(is_it).unwrap_or_else(|| panic!("{comment}: {report:#}"))
}

/// Each line has what the fixture takes there, and its function's name.
fn check(report: &Value, figure: &str) {
    let lines = [
        ("leak", "leak", 400, 4000),
        ("generator", "pages", 100, 1500),
        ("recursion", "descend", 1, 100_000),
        ("name", "größe_日本", 1, 90_000),
        ("thread", "work", 1, 80_000),
        ("key", "called_by_c", 3, 20_000),
    ];
    for (comment, function, count, bytes) in lines {
        let place = place(report, comment);
        assert_eq!(place["function"], function, "{report:#}");
        let found = place[figure]["bytes"].as_i64().unwrap() as f64;
        let wanted = f64::from(count * bytes);
        // Blocks are up to an eighth longer, objects have heads, and the list grows.
        assert!(found >= wanted && found < 1.35 * wanted + 50_000.0, "{comment}: {found}");
    }
    let method = place(report, "method")["function"].as_str().unwrap().to_owned();
    assert!(method.ends_with("fill"), "{method}");
    assert!(place(report, "comprehension")[figure]["bytes"].as_i64().unwrap() >= 120_000);
    // What an installation imports at its start may be more.
    let is_programs =
        |place: &&Value| place["file"].as_str().is_some_and(|file| file.ends_with("/service.py"));
    let first = report["places"].as_array().unwrap().iter().find(is_programs).unwrap();
    assert_eq!((&first["function"], &first["line"]), (&"leak".into(), &line("leak").into()));
    let callers = first["callers"].as_array().unwrap();
    let callers: Vec<(&str, u64)> = callers
        .iter()
        .map(|one| (one["function"].as_str().unwrap(), one["line"].as_u64().unwrap_or(0)))
        .collect();
    assert_eq!(callers[0], ("serve", line("serve")));
    assert!(callers[1].0 == "main" && callers[2].0 == "<module>", "{callers:?}");
    assert!(callers.iter().all(|(name, _)| !name.starts_with("_PyEval")), "{callers:?}");
}

/// Runs it with the command, which reports with these words.
fn run(python: &Path, program: &Path, words: &[&str]) -> String {
    let mut command = loam();
    command.args(["prof", "--every", "16", "--by", "peak", "--library"]).arg(real_library());
    let output = command.args(words).arg("--").arg(python).arg(program).output().expect("output");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{python:?}: {said}");
    said
}

#[test]
fn a_command_in_each_python_is_named_by_its_lines() {
    let workshop = Workshop::new();
    for python in pythons() {
        let folded = workshop.path("folded");
        let words = ["--json", "--folded", folded.to_str().unwrap()];
        let said = run(&python, &fixture("service.py"), &words);
        let report: Value = serde_json::from_str(said.trim())
            .unwrap_or_else(|cause| panic!("{python:?}: {cause}: {said}"));
        check(&report, "peak");
        let stacks = std::fs::read_to_string(&folded).expect("the stacks");
        // Both callers of the helper, a call from C, and all of a recursion.
        for wanted in ["main;load_index;helper;", "main;load_users;helper;", "main;called_by_c;"] {
            assert!(stacks.contains(wanted), "{python:?}: {wanted}\n{stacks}");
        }
        let deepest = "descend;".repeat(60);
        assert!(stacks.contains(&deepest), "{python:?}: {stacks}");
    }
}

#[test]
fn a_process_in_each_python_is_named_by_its_lines_also_by_what_was_saved_of_it() {
    let workshop = Workshop::new();
    for python in pythons() {
        let process = Background::start(profiled(&python).arg("wait"));
        let saved = workshop.path("saved.profile");
        let saved = saved.to_str().unwrap();
        check(&json(&["--save", saved, &process.pid()]), "live");
        check(&json(&[saved]), "live");
    }
}

#[test]
fn a_process_of_python_is_compared_with_what_it_was() {
    let workshop = Workshop::new();
    let process = Background::start(profiled(Path::new("/usr/bin/python3")).arg("wait"));
    let saved = workshop.path("saved.profile");
    let text = format!("  leak  fixtures/service.py:{}\n", line("leak"));
    let save = ["prof", &process.pid(), "--save", saved.to_str().unwrap()];
    loam().args(save).assert().success().stdout(contains(text));
    let since = json(&["--since", saved.to_str().unwrap(), &process.pid()]);
    assert_eq!(since["live"]["bytes"], 0);
    assert_eq!(place(&since, "leak")["live"]["bytes"], 0);
}

#[test]
fn a_core_is_named_by_lines() {
    let workshop = Workshop::new();
    let process = Background::start(profiled(Path::new("/usr/bin/python3")).arg("wait"));
    let Some(core) = workshop.core_of(&process.pid()) else { return };
    check(&json(&[core.to_str().unwrap()]), "live");
}

#[test]
fn a_profile_that_is_ordered_and_written_is_named_by_lines() {
    let workshop = Workshop::new();
    let mut command = profiled(Path::new("/usr/bin/python3"));
    command.env_remove("LOAM_OPTIONS").current_dir(workshop.path(""));
    let mut process = Background::start(command.arg("order"));
    let pid = process.pid();
    loam().args(["prof", "--every", "16", "--start", &pid]).assert().success();
    process.0.stdin.as_mut().expect("its input").write_all(b"\n").expect("a line");
    let is_done = |report: &Value| report["live"]["bytes"].as_i64().unwrap_or(0) > 2_800_000;
    let mut report = Value::Null;
    for _ in 0..600 {
        let output = loam().args(["prof", "--json", &pid]).output().unwrap();
        report = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if is_done(&report) {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(is_done(&report), "{report:#}");
    assert_eq!(report["places"][0]["line"], line("leak"));
}

/// What each format says of the line that leaks most.
#[test]
fn every_format_has_the_lines() {
    let workshop = Workshop::new();
    let process = Background::start(profiled(Path::new("/usr/bin/python3")).arg("wait"));
    let paths = ["pprof", "speedscope", "dhat", "svg"].map(|name| workshop.path(name));
    let [packed, speedscope, dhat, picture] = &paths;
    loam()
        .args(["prof", "--pprof"])
        .args([packed.as_path(), Path::new("--speedscope"), speedscope])
        .args([Path::new("--dhat"), dhat, Path::new("--flamegraph"), picture])
        .arg(process.pid())
        .assert()
        .success();
    let mut bytes = Vec::new();
    let packed = std::fs::File::open(packed).expect("the profile");
    GzDecoder::new(packed).read_to_end(&mut bytes).expect("it is gzip");
    let packed = String::from_utf8_lossy(&bytes);
    for name in ["leak", "größe_日本", "service.py"] {
        assert!(packed.contains(name), "{name}");
    }
    let read = |path: &Path| std::fs::read_to_string(path).expect("a file");
    let data: Value = serde_json::from_str(&read(speedscope)).expect("it is JSON");
    let frames = data["shared"]["frames"].as_array().expect("frames");
    let is_leak = |frame: &&Value| frame["name"] == "leak" && frame["line"] == line("leak");
    assert!(frames.iter().any(|frame| is_leak(&frame)), "{frames:?}");
    let frame = format!(": leak ({}:{})", fixture("service.py").display(), line("leak"));
    assert!(read(dhat).contains(&frame), "{frame}");
    assert!(read(picture).contains("größe_日本"));
}

/// Threads, generators, coroutines, code that is made and given up, destructors, exceptions, a child
/// of fork: with a sample at nearly every block it does what it does without.
#[test]
fn a_busy_program_goes_on_as_without() {
    for python in pythons() {
        let output = |command: &mut Command| {
            command.env("PYTHONMALLOC", "malloc").env("PYTHONWARNINGS", "ignore");
            let output = command.arg(fixture("busy.py")).output().expect("output");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{python:?}: {:?}: {error}", output.status);
            String::from_utf8(output.stdout).expect("text")
        };
        let plain = output(&mut Command::new(&python));
        let mut command = Command::new(&python);
        let options = "profile=on,profile_bytes=16,profile_file=/dev/null";
        command.env("LD_PRELOAD", real_library()).env("LOAM_OPTIONS", options);
        assert_eq!(output(&mut command), plain, "{python:?}");
    }
}

/// A program that has the names of an interpreter.
fn odd(workshop: &Workshop, version: &str, free_threaded: &str) -> PathBuf {
    let path = workshop.path(&format!("odd-{version}-{free_threaded}"));
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-O1", "-w", "-fno-builtin", "-rdynamic", "-pthread"]);
    compiler.arg(format!("-DVERSION={version}")).arg(format!("-DFREE_THREADED={free_threaded}"));
    compiler.arg(own_allocator()).arg(fixture("odd_python.c")).arg("-o").arg(&path);
    assert!(compiler.status().expect("a compiler").success(), "{compiler:?}");
    path
}

#[test]
fn what_is_no_interpreter_of_a_known_version_has_a_profile_of_its_functions() {
    let workshop = Workshop::new();
    let text = std::fs::read_to_string(fixture("odd_python.c")).expect("the fixture");
    let at = text.lines().position(|line| line.ends_with("// kept")).expect("the comment") + 1;
    let known = ["0x030b00f0", "0x030c00f0", "0x030d00f0"].map(|version| (version, "0"));
    let unknown = [("0x030e00f0", "0"), ("0x050b00f0", "0"), ("0x030d00f0", "1"), ("0", "0")];
    for (version, free_threaded) in known.into_iter().chain(unknown) {
        let program = odd(&workshop, version, free_threaded);
        loam()
            .args(["prof", "--every", "16", "--"])
            .arg(&program)
            .assert()
            .success()
            .stdout("done\n")
            .stderr(contains(format!("keep  fixtures/odd_python.c:{at}\n")))
            .stderr(contains("Python").not());
    }
}

/// Of the process that the report is about.
fn remove_map(report: &str) {
    let pid = report.split_once('(').and_then(|(_, rest)| rest.split_once("): "));
    let (pid, _) = pid.unwrap_or_else(|| panic!("{report}"));
    std::fs::remove_file(format!("/tmp/perf-{pid}.map")).expect("its map");
}

/// That makes code while it runs.
fn makes_code() -> PathBuf {
    built_once("makes_code", &sources_with_allocator("makes_code.c"), |path| {
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-w", "-fno-builtin", "-fno-omit-frame-pointer", "-pthread"]);
        compiler.arg(own_allocator()).arg(fixture("makes_code.c")).arg("-o").arg(path);
        assert!(compiler.status().expect("a compiler").success(), "{compiler:?}");
    })
}

#[test]
#[cfg(target_arch = "x86_64")]
fn code_that_is_made_while_a_program_runs_is_named_by_its_map() {
    let workshop = Workshop::new();
    let folded = workshop.path("folded");
    let command = |seconds: &str| {
        let mut command = loam();
        command.args(["prof", "--every", "16", "--folded"]).arg(&folded).arg("--");
        let output = command.arg(makes_code()).arg(seconds).output().expect("output");
        remove_map(&String::from_utf8_lossy(&output.stderr));
        std::fs::read_to_string(&folded).expect("the stacks")
    };
    assert!(command("0").contains("main;made while running;take"));
    // Of an earlier process of that number.
    assert!(!command("100").contains("made while running"));

    let mut program = Command::new(makes_code());
    program.args(["0", "wait"]).stdin(Stdio::piped());
    program.env("LOAM_OPTIONS", "profile=on,profile_bytes=16,profile_file=/dev/null");
    let process = Background::start(&mut program);
    let saved = workshop.path("saved.profile");
    loam().args(["prof", &process.pid(), "--save"]).arg(&saved).assert().success();
    let map = format!("/tmp/perf-{}.map", process.pid());
    std::fs::remove_file(map).expect("its map");
    loam().arg("prof").arg(&saved).arg("--folded").arg(&folded).assert().success();
    let stacks = std::fs::read_to_string(&folded).expect("the stacks");
    assert!(stacks.contains("main;made while running;take"), "{stacks}");
}

#[test]
fn functions_of_node_are_named_with_their_files() {
    if Command::new("node").arg("--version").output().is_err() {
        eprintln!("not tested: there is no node");
        return;
    }
    let workshop = Workshop::new();
    let mut command = loam();
    command.args(["prof", "--every", "4096", "--by", "peak", "--library"]).arg(real_library());
    command.args(["--", "node", "--perf-basic-prof", "--interpreted-frames-native-stack"]);
    command.arg(fixture("service.js")).current_dir(workshop.path(""));
    let output = command.output().expect("output");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    remove_map(&said);
    let first: Vec<&str> =
        said.lines().skip_while(|line| !line.ends_with("where")).skip(1).take(2).collect();
    assert!(first[0].ends_with("leak  fixtures/service.js:3"), "{said}");
    assert!(first[1].ends_with("from handle  fixtures/service.js:7"), "{said}");
}
