//! `loam plot` and `loam explain --html`: a page stands for itself, shows a planted pin as that, and
//! what a recording has over time.

use crate::common::heaps::{Linked, Running, places};
use crate::common::{Background, Workshop, fixture, loam};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use predicates::str::{contains, diff, is_match};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn between<'page>(page: &'page str, begin: &str, end: &str) -> &'page str {
    let (_, rest) = page.split_once(begin).expect(begin);
    rest.split_once(end).expect(end).0
}

/// What the page's script reads: what is known of the cells, and how full each is.
fn map(page: &str) -> (Value, Vec<u8>) {
    let info = between(page, "id=\"map-info\">", "</script>");
    let info: Value = serde_json::from_str(info).expect("JSON");
    let packed = STANDARD.decode(between(page, "id=\"map-cells\">", "</script>")).expect("letters");
    let mut cells = Vec::new();
    ZlibDecoder::new(&packed[..]).read_to_end(&mut cells).expect("deflated bytes");
    let count = info["cell_count"].as_u64().expect("a count") as usize;
    assert_eq!(cells.len(), 3 * count);
    cells.truncate(count);
    (info, cells)
}

fn plotted(target: &str, page: &Path) -> String {
    loam().args(["plot", target, "--html"]).arg(page).assert().success().stdout("").stderr("");
    std::fs::read_to_string(page).expect("the page")
}

fn check_pinned(page: &str) {
    let answer = between(page, "<p class=\"answer\">", "</p>");
    assert!(answer.contains(" is free beside blocks, on the pages that these pin: "), "{answer}");
    let (info, cells) = map(page);
    assert_eq!(info["page_bytes"], 4096);
    let pinned = cells.iter().filter(|fullness| (1..=10).contains(*fullness)).count();
    assert!(pinned > 10_000, "{pinned} of {}", cells.len());
    for outside in ["http:", "https:", " src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn the_pages_of_a_planted_pin_stand_out() {
    let running = Running::of(Linked::Dynamic, "pin");
    let workshop = Workshop::new();
    let page = plotted(&running.pid(), &workshop.path("heap.html"));
    check_pinned(&page);
    assert!(page.contains(&format!("<h1>process {} (heaps-0): ", running.pid())));
}

#[test]
fn a_leak_is_full_pages_and_what_is_kept_is_free_ones() {
    let workshop = Workshop::new();
    for (what, fullness) in [("leak", 91..=100), ("retain", 101..=104)] {
        let running = Running::of(Linked::Dynamic, what);
        let (_, cells) = map(&plotted(&running.pid(), &workshop.path("heap.html")));
        let count = cells.iter().filter(|one| fullness.contains(*one)).count();
        assert!(count * 10 > cells.len() * 9, "{what}: {count} of {}", cells.len());
    }
}

#[test]
fn with_a_profile_the_line_that_pins_is_the_answer() {
    let workshop = Workshop::new();
    let mut command = Command::new(places());
    // Nothing goes back by itself.
    let options = "purge_delay_ms=never,profile=on,profile_bytes=1024";
    let command = command.arg("pin").env("LOAM_OPTIONS", options).stdout(Stdio::piped());
    let mut process = Background(command.spawn().expect("a process"));
    let output = process.0.stdout.take().expect("its output");
    let mut lines = BufReader::new(output).lines();
    assert_eq!(lines.nth(1).expect("two lines").expect("text"), "done");

    let text = std::fs::read_to_string(fixture("places.c")).expect("the fixture");
    let line = text.lines().position(|line| line.ends_with("// pinned")).expect("the comment") + 1;
    let page = plotted(&process.pid(), &workshop.path("heap.html"));
    let answer = between(&page, "<p class=\"answer\">", "</p>");
    let says = format!("blocks from pin (fixtures&#x2f;places.c:{line}) stand on their pages.");
    assert!(answer.ends_with(&says), "{answer}");
    let first = between(&page, "<ol class=\"pins\">", "</li>");
    assert!(first.contains(&format!("places.c:{line}</code>")), "{first}");
}

#[test]
fn explain_writes_the_same_page_beside_its_text() {
    let running = Running::of(Linked::Dynamic, "pin");
    let workshop = Workshop::new();
    let page = workshop.path("heap.html");
    loam()
        .args(["explain", &running.pid(), "--html"])
        .arg(&page)
        .assert()
        .success()
        .stdout(contains(" is free beside blocks"));
    check_pinned(&std::fs::read_to_string(page).expect("the page"));
}

#[test]
fn a_core_is_drawn_as_well() {
    let running = Running::of(Linked::Dynamic, "pin");
    let workshop = Workshop::new();
    let Some(core) = workshop.core_of(&running.pid()) else { return };
    check_pinned(&plotted(core.to_str().unwrap(), &workshop.path("heap.html")));
}

#[test]
fn what_cannot_be_drawn_is_one_line_and_leaves_no_file() {
    let workshop = Workshop::new();
    let page = workshop.path("page.html");
    for (target, why) in [
        ("4194305", "there is no process 4194305"),
        ("/bin/true", "/bin/true is no core file of a 64-bit program"),
        ("/etc/passwd", "/etc/passwd is not a recording: no section begins there"),
        ("/nowhere/core", "cannot read /nowhere/core: no such file or directory"),
    ] {
        let line = format!("loam: {why}\n");
        let refused = loam().args(["plot", target, "--html"]).arg(&page).assert().code(2);
        refused.stdout("").stderr(diff(line));
        assert!(!page.exists());
    }
    loam()
        .args(["plot", "1"])
        .assert()
        .code(2)
        .stderr(is_match("^loam: .*--html[^\n]*\n$").unwrap());
}

#[test]
fn a_page_that_cannot_be_written_is_one_line_and_leaves_no_file() {
    let running = Running::of(Linked::Dynamic, "");
    let workshop = Workshop::new();
    let nowhere = workshop.path("nowhere/page.html");
    let line = format!("loam: cannot write {}: no such file or directory\n", nowhere.display());
    loam()
        .args(["plot", &running.pid(), "--html"])
        .arg(&nowhere)
        .assert()
        .code(2)
        .stdout("")
        .stderr(diff(line));
    let folder = nowhere.parent().and_then(Path::parent).unwrap();
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
}

/// A recording of 1,000 blocks, of which each twentieth stays.
fn recording(workshop: &Workshop, name: &str) -> PathBuf {
    let address = |block: u64| 0xb000_0000 + block * 112;
    let take = |block| format!("1: malloc {:#x} 100 {block}000 {block}010\n", address(block));
    let give = |block| format!("1: free {:#x} {}000 {}010\n", address(block), 2000 + block, 2000);
    let takes: String = (1000..2000).map(take).collect();
    let gives: String = (1000..2000).filter(|block| block % 20 != 0).map(give).collect();
    let (text, trace) = (workshop.path("text"), workshop.path(name));
    std::fs::write(&text, takes + &gives).unwrap();
    loam().args(["trace", "import"]).arg(text).arg("--output").arg(&trace).assert().success();
    trace
}

/// What is drawn of the recording with this number.
fn data(page: &str, number: usize) -> Value {
    let text = between(page, &format!("id=\"data-{number}\">"), "</script>");
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn a_recording_is_drawn_over_time_alone_and_beside_another() {
    let workshop = Workshop::new();
    let trace = recording(&workshop, "one.trace");
    let page = plotted(trace.to_str().unwrap(), &workshop.path("one.html"));
    let data_of_one = data(&page, 0);
    let live: Vec<u64> = serde_json::from_value(data_of_one["live_bytes"].clone()).unwrap();
    assert_eq!(live.len(), data_of_one["columns"].as_u64().unwrap() as usize);
    assert_eq!(live.iter().max(), Some(&100_000));
    // Of the last moment the most.
    assert!((5_000..=5_300).contains(live.last().unwrap()), "{:?}", live.last());
    let pinned = data_of_one["pinned_bytes"].as_array().unwrap();
    assert!(pinned.last().unwrap().as_u64().unwrap() > 100_000, "each page has one left");
    assert!(between(&page, "<p class=\"answer\">", "</p>").contains("of them free."));
    assert!(page.contains("The recording has no addresses"));

    let both = workshop.path("both.html");
    let command = |other: &Path| {
        let mut command = loam();
        command.arg("plot").arg(&trace).arg(other).arg("--html").arg(&both);
        command
    };
    command(&recording(&workshop, "two.trace")).assert().success();
    let page = std::fs::read_to_string(&both).unwrap();
    assert_eq!(data(&page, 0), data(&page, 1));
    for name in ["one.trace", "two.trace"] {
        let path = workshop.path(name).display().to_string().replace('/', "&#x2f;");
        assert_eq!(page.matches(&format!("<h2>{path}</h2>")).count(), 1, "{name}");
    }
    std::fs::remove_file(&both).unwrap();
    let refused = command(Path::new("/bin/true")).assert().code(2).stdout("");
    refused.stderr(is_match("^loam: /bin/true is not a recording[^\n]*\n$").unwrap());
    assert!(!both.exists());
}

#[test]
fn what_is_not_pinned_is_a_line_where_the_recording_has_addresses() {
    let workshop = Workshop::new();
    let program = workshop.compile("survivors.c", &[]);
    let trace = workshop.path("trace");
    // The last figure of a program that has rested for so many milliseconds.
    let last_unpinned = |flags: &[&str], rest_ms: &str| {
        let mut command = loam();
        command.arg("record").args(flags).arg("--output").arg(&trace).arg("--").arg(&program);
        command.arg(rest_ms).assert().success();
        let page = plotted(trace.to_str().unwrap(), &workshop.path("page.html"));
        let unpinned = data(&page, 0)["unpinned_bytes"].as_array().cloned();
        assert_eq!(page.contains("<dt>not pinned at the end</dt>"), unpinned.is_some());
        unpinned.map(|all| all.iter().rev().find_map(Value::as_u64).expect("a figure"))
    };
    assert_eq!(last_unpinned(&[], "0"), None);
    // The C library's malloc keeps the pages between the sessions: those of 8 MB of requests. Where
    // the machine is busy it takes a longer rest until they are looked at.
    let mut tries = ["50", "1000", "5000"].iter().map(|ms| last_unpinned(&["--addresses"], ms));
    let is_kept = |last: Option<u64>| (3_000_000..9_000_000).contains(&last.expect("it is known"));
    assert!(tries.any(is_kept));
}

#[test]
fn a_recording_that_is_cut_off_or_damaged_is_one_line() {
    let workshop = Workshop::new();
    let trace = recording(&workshop, "one.trace");
    let bytes = std::fs::read(&trace).unwrap();
    let page = workshop.path("page.html");
    let mut damaged = bytes.clone();
    // Within the events, behind the first section.
    damaged[bytes.len() / 2] ^= 0xff;
    for (bytes, says) in [(&bytes[..bytes.len() / 2], "is cut off"), (&damaged, "is damaged")] {
        std::fs::write(&trace, bytes).unwrap();
        let refused = loam().arg("plot").arg(&trace).arg("--html").arg(&page).assert().code(2);
        let line = format!("^loam: .*one.trace {says}[^\n]*\n$");
        refused.stdout("").stderr(is_match(line).unwrap());
        assert!(!page.exists());
    }
}
