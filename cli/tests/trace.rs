//! `loam trace`: recordings of other tools are read, what they add up to is right, and what is no
//! recording is refused in one line.

use crate::common::{Workshop, loam};
use predicates::str::{contains, diff, is_match};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Two threads: a temporary, a block that the other thread frees, a resize, an aligned block, and
/// one that nobody frees.
const ANDROID: &str = "\
10: malloc 0xb000 20
10: free 0xb000
10: calloc 0xb000 10 30
20: free 0xb000
20: memalign 0xc000 64 1000
20: realloc 0xd000 0xc000 3000
20: realloc 0xe000 0x0 70
20: thread_done 0x0
10: free 0xd000
10: free 0xf000
10: free 0x0
";

const GLIBC: &str = "\
= Start
@ ./a program:(main+0x1a)[0x4011d0] + 0x55d0c0 0x64
@ ./a program:[0x4011e0] < 0x55d0c0
@ ./a program:[0x4011e0] > 0x55d140 0xc8
@ ./a program:[0x4011f0] - 0x55d140
@ ./a program:[0x4011f0] + 0x55d140 0x8
= End
";

fn file(workshop: &Workshop, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = workshop.path(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn import(file: &Path, output: &Path) -> assert_cmd::assert::Assert {
    loam().args(["trace", "import"]).arg(file).arg("--output").arg(output).assert()
}

fn imported(workshop: &Workshop, text: &str) -> PathBuf {
    let (file, output) = (file(workshop, "text", text), workshop.path("trace"));
    import(&file, &output).success().stdout("").stderr("");
    output
}

fn figures(trace: &Path) -> Value {
    let output = loam().args(["trace", "stats", "--json"]).arg(trace).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The folder's files.
fn files(workshop: &Workshop) -> Vec<String> {
    let entries = std::fs::read_dir(workshop.path("")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn androids_text_adds_up() {
    let workshop = Workshop::new();
    let trace = imported(&workshop, ANDROID);
    let said = figures(&trace);
    let summary = &said["summary"];
    assert_eq!(summary["objects"], 4);
    assert_eq!(summary["threads"], 2);
    assert_eq!(summary["taken_bytes"], 20 + 300 + 3000 + 70);
    assert_eq!(summary["peak_live_bytes"], 3070);
    assert_eq!((&summary["live_blocks"], &summary["live_bytes"]), (&1.into(), &70.into()));
    assert_eq!(summary["foreign"], 1, "0xf000 was never taken");
    assert_eq!(said["bound_bytes"], 3070);
    assert_eq!((&said["temporaries"], &said["gives"]), (&1.into(), &3.into()));
    assert_eq!(said["gives_by_others"], 2);
    assert_eq!(said["calls"]["memalign"], 1);
    assert_eq!(said["calls"]["realloc"], 2);
    let never = said["lifetimes"].as_array().unwrap().last().unwrap();
    assert_eq!((&never["up_to_us"], &never["bytes"]), (&Value::Null, &70.into()));
    assert_eq!(files(&workshop), ["text", "trace"]);
}

#[test]
fn times_are_kept_where_there_are_some() {
    let workshop = Workshop::new();
    let text = "1: malloc 0x10 5 9000000 9000100\n1: free 0x10 9500000 9500100\n";
    let said = figures(&imported(&workshop, text));
    assert_eq!(said["header"]["has_times"], true);
    assert_eq!(said["summary"]["time_us"], 500);
    let row = said["lifetimes"].as_array().unwrap().iter().find(|row| row["blocks"] == 1);
    assert_eq!(row.unwrap()["up_to_us"], 1000);
}

#[test]
fn glibcs_text_adds_up() {
    let workshop = Workshop::new();
    let trace = imported(&workshop, GLIBC);
    let said = figures(&trace);
    assert_eq!(said["summary"]["peak_live_bytes"], 200);
    assert_eq!(said["summary"]["live_bytes"], 8);
    assert_eq!((&said["resizes"], &said["gives"]), (&1.into(), &1.into()));
    let text = loam().args(["trace", "stats"]).arg(&trace).assert().success();
    text.stdout(is_match(r"\n  live at the peak +200 B  as asked for\n").unwrap())
        .stdout(
            is_match(r"\n  up to +blocks +bytes +at the peak\n  8.00 B +1 +8.00 B +0\n").unwrap(),
        )
        .stdout(is_match(r"\n  freed after +blocks +bytes\n  up to 10.0 µs +1 +200 B\n").unwrap());
}

#[test]
fn what_is_damaged_is_refused_and_leaves_no_file() {
    let workshop = Workshop::new();
    let output = workshop.path("trace");
    for (text, says) in [
        ("hello\n", "neither Android's memory_replay nor glibc's mtrace"),
        ("", "neither Android's"),
        ("1: malloc 0x10 5\n1: malloc 0x20\n", "damaged: line 2: a number is missing"),
        ("1: malloc 0x10 5\n1: mallocate 0x20 1\n", "line 2: \"mallocate\" is no function"),
        ("1: malloc 0x10 5\nx: free 0x10\n", "line 2: \"x\" is no thread"),
        ("1: memalign 0x10 3 8\n", "line 1: 3 is no alignment"),
        ("1: calloc 0x10 4294967296 4294967296\n", "line 1: a size beyond all memory"),
        ("= Start\n@ x > 0x10 0x10\n", "line 2: a block's new place without its old one"),
        ("= Start\n@ x + 0xzz 0x10\n", "line 2: \"0xzz\" is no address"),
    ] {
        let text = file(&workshop, "text", text);
        let refused = import(&text, &output).code(2).stdout("");
        refused.stderr(is_match("^loam: [^\n]+\n$").unwrap()).stderr(contains(says));
        assert_eq!(files(&workshop), ["text"]);
    }
}

/// A recording that says of itself that it is of another version.
fn of_version(workshop: &Workshop, version: u32) -> PathBuf {
    const LABEL_BYTES: usize = 16;
    let bytes = std::fs::read(imported(workshop, ANDROID)).unwrap();
    let length = u32::from_le_bytes(bytes[12..LABEL_BYTES].try_into().unwrap()) as usize;
    let (header, rest) = bytes[LABEL_BYTES..].split_at(length);
    let header = String::from_utf8(zstd::bulk::decompress(header, 1 << 16).unwrap()).unwrap();
    let other = header.replace("\"version\":2", &format!("\"version\":{version}"));
    assert!(other != header || version == 2, "{header}");
    let frame = zstd::bulk::compress(other.as_bytes(), 3).unwrap();
    let length = u32::try_from(frame.len()).unwrap().to_le_bytes();
    let all = [&bytes[..12], &length, &frame, rest].concat();
    file(workshop, "other.trace", all)
}

#[test]
fn a_recording_of_a_later_version_is_refused_in_one_line_by_whoever_reads_it() {
    let workshop = Workshop::new();
    let trace = of_version(&workshop, 3);
    let trace = trace.to_str().unwrap();
    let output = workshop.path("output");
    let output = output.to_str().unwrap();
    let line = format!("loam: {trace} is a recording of version 3, which this loam cannot read\n");
    let before = files(&workshop);
    for words in [
        &["trace", "stats", trace][..],
        &["trace", "recover", trace, "--output", output],
        &["plot", trace, "--html", output],
        &["replay", trace, "--with", "glibc"],
    ] {
        loam().args(words).assert().code(2).stdout("").stderr(diff(line.clone()));
        assert_eq!(files(&workshop), before, "{words:?}");
    }
}

#[test]
fn a_full_disk_is_said() {
    let workshop = Workshop::new();
    let text = file(&workshop, "text", ANDROID);
    import(&text, Path::new("/dev/full"))
        .code(2)
        .stderr("loam: cannot write /dev/full: no space left on device\n");
    let missing = workshop.path("nowhere/trace");
    import(&text, &missing).code(2).stderr(contains("nowhere/trace: no such file or directory"));
}

#[test]
fn of_a_recording_that_is_cut_off_whole_sections_are_saved() {
    let workshop = Workshop::new();
    let lines =
        (0..100_000).map(|at| format!("1: malloc {:#x} {}\n", 4096 + at * 16, at * 7919 % 5003));
    let trace = imported(&workshop, &lines.collect::<String>());
    let whole = std::fs::read(&trace).unwrap();
    let cut = file(&workshop, "cut", &whole[..whole.len() * 9 / 10]);
    let refused = loam().args(["trace", "stats"]).arg(&cut).assert().code(2).stdout("");
    refused.stderr(is_match("^loam: .*cut is cut off: 'loam trace recover'[^\n]*\n$").unwrap());
    let saved = workshop.path("saved");
    let recover = |from: &Path| {
        loam().args(["trace", "recover"]).arg(from).arg("--output").arg(&saved).assert()
    };
    let says = concat!(
        r"^loam: 65.5 k events[^\n]* saved of [^\n]*/cut \([0-9.]+ KiB of [0-9.]+ KiB\): ",
        r"it is whole up to byte \d+\n$"
    );
    recover(&cut).success().stdout("").stderr(is_match(says).unwrap());
    assert_eq!(figures(&saved)["summary"]["events"], 65_536);
    recover(&trace).success().stderr(contains("all of them: it was not cut off\n"));
    std::fs::remove_file(&saved).unwrap();
    recover(&workshop.path("text")).code(2).stderr(contains("is not a recording"));
    assert_eq!(files(&workshop), ["cut", "text", "trace"]);
}

#[test]
fn zstd_reads_a_recording_too() {
    let workshop = Workshop::new();
    let trace = imported(&workshop, GLIBC);
    let file = std::fs::File::open(trace).unwrap();
    let all = zstd::decode_all(file).unwrap();
    let text = String::from_utf8_lossy(&all);
    assert!(text.contains("\"format\":\"loam trace\"") && text.contains("\"foreign\":0"), "{text}");
}

/// `make traces` where only Python is installed.
#[test]
fn of_ten_programs_those_that_are_missing_are_named_and_others_are_in_the_table() {
    let workshop = Workshop::new();
    let tools = workshop.path("tools");
    std::fs::create_dir(&tools).unwrap();
    for tool in ["mkdir", "mktemp", "rm", "tail"] {
        std::os::unix::fs::symlink(Path::new("/bin").join(tool), tools.join(tool)).unwrap();
    }
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts");
    let (command, folder) = (env!("CARGO_BIN_EXE_loam"), workshop.path("traces"));
    let mut record = std::process::Command::new("/bin/sh");
    record.arg(scripts.join("traces.sh")).args([Path::new(command), &folder]);
    let recorded = record.env("PATH", &tools).env("ROWS", "1000").output().unwrap();
    let said = String::from_utf8(recorded.stdout).unwrap();
    assert!(recorded.status.success(), "{said}");
    for name in ["perl", "sqlite", "lua", "git", "gs", "gcc", "redis"] {
        assert_eq!(said.matches(&format!("traces: no {name}: ")).count(), 1, "{said}");
    }
    let document = file(&workshop, "document", "a\n<!-- traces_table.py -->\n<!-- end -->\nb\n");
    let mut table = std::process::Command::new(scripts.join("traces_table.py"));
    table.args([Path::new(command), &folder, &document]);
    assert!(table.status().unwrap().success());
    let text = std::fs::read_to_string(&document).unwrap();
    let row = r"(?s)^a\n<!-- .*\n\| python \| [0-9.]+ k \| [0-2]\.\d\d \| .*\n<!-- end -->\nb\n$";
    assert!(regex::Regex::new(row).unwrap().is_match(&text), "{text}");
}
