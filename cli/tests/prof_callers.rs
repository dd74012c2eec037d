//! `loam prof` blames the callers of functions that only pass on, leaves out what is loam's whatever
//! way it came in, and says of each figure how far off it may be.

use crate::common::{Workshop, allocator, built_once, fixture, loam, sources_with_allocator};
use flate2::read::GzDecoder;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, is_match};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What each of the fixture's lines keeps: 1,000 blocks of so many bytes.
const KEPT: [(&str, &str, i64); 6] = [
    ("second_leak", "second", 304),
    ("fifth_leak", "fifth", 400),
    ("third_leak", "third", 208),
    ("fourth_leak", "fourth", 160),
    ("first_leak", "first", 96),
    ("zeros", "", 512),
];

fn line(comment: &str) -> u64 {
    let text = std::fs::read_to_string(fixture("wrappers.c")).expect("the fixture");
    let at = text.lines().position(|line| line.ends_with(&format!("// {comment}")));
    at.expect("the comment") as u64 + 1
}

fn compile(allocator: &Path, flags: &[&str], path: &Path) {
    compile_other("wrappers.c", allocator, flags, path);
}

fn compile_other(source: &str, allocator: &Path, flags: &[&str], path: &Path) {
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-O1", "-fno-builtin"]).args(flags).arg(fixture(source));
    compiler.arg(allocator).arg("-o").arg(path);
    let output = compiler.output().expect("a compiler");
    assert!(output.status.success(), "{compiler:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The fixture with lines, and loam in it.
fn program() -> PathBuf {
    built_once("wrappers", &sources_with_allocator("wrappers.c"), |path| {
        compile(&allocator("loam.o", "cc", &[]), &["-g"], path);
    })
}

/// The program's report on standard error, which is JSON.
fn report(program: &Path, words: &[&str]) -> Value {
    let command = ["prof", "--json", "--every", "16"];
    let output = loam().args(command).args(words).arg("--").arg(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stderr).expect("it is JSON")
}

fn live(place: &Value) -> i64 {
    place["live"]["bytes"].as_i64().unwrap()
}

fn places(report: &Value) -> Vec<&Value> {
    report["places"].as_array().unwrap().iter().filter(|place| live(place) > 10_000).collect()
}

/// Nearly each block is a sample: what chance leaves is far below this.
fn is_near(bytes: i64, expected: i64) -> bool {
    (bytes - expected).abs() * 100 < expected
}

#[test]
fn each_caller_of_a_wrapper_is_a_place_of_its_own_and_the_sums_are_exact() {
    let report = report(&program(), &[]);
    for (function, comment, size) in KEPT {
        let is_it = |place: &&&Value| place["function"] == function;
        let found = places(&report);
        let place = found.iter().find(is_it).unwrap_or_else(|| panic!("{function}: {report:#}"));
        assert!(is_near(live(place), 1000 * size), "{place:#}");
        if !comment.is_empty() {
            assert_eq!(place["line"], line(comment), "{place:#}");
        }
    }
    let all: i64 = report["places"].as_array().unwrap().iter().map(live).sum();
    assert_eq!(all, live(&report), "the places are all that there is");
}

#[test]
fn without_lines_functions_are_blamed() {
    let workshop = Workshop::new();
    let path = workshop.path("without-lines");
    compile(&allocator("loam.o", "cc", &[]), &[], &path);
    let report = report(&path, &[]);
    let names: Vec<&str> =
        places(&report).iter().filter_map(|place| place["function"].as_str()).collect();
    assert_eq!(
        names,
        ["zeros", "fifth_leak", "second_leak", "third_leak", "fourth_leak", "first_leak"]
    );
}

#[test]
fn text_says_through_what_and_from_where() {
    let wanted = format!(
        "second_leak  fixtures/wrappers.c:{}\n +through xmalloc +fixtures/wrappers.c:\\d+\n +from main",
        line("second")
    );
    loam()
        .args(["prof", "--leaks", "--every", "16", "--"])
        .arg(program())
        .assert()
        .success()
        .stderr(is_match(wanted).unwrap());
}

#[test]
fn whatever_a_place_is_the_sum_is_the_same() {
    for words in [["--by", "function"], ["--by", "stack"], ["--by", "live,line"], ["--frames", "2"]]
    {
        let report = report(&program(), &words);
        let all: i64 = report["places"].as_array().unwrap().iter().map(live).sum();
        assert_eq!(all, live(&report), "{words:?}");
        assert!(places(&report).len() >= KEPT.len(), "{words:?}");
    }
    let by_stack = report(&program(), &["--by", "stack"]);
    let has_main = |place: &&Value| {
        place["callers"].as_array().unwrap().iter().any(|caller| caller["function"] == "main")
    };
    assert!(places(&by_stack).iter().all(has_main), "{by_stack:#}");
}

#[test]
fn a_tree_has_what_each_caller_has() {
    let report = report(&program(), &["--tree"]);
    for place in places(&report) {
        let callers = place["tree"].as_array().unwrap();
        let bytes: i64 = callers.iter().map(|caller| caller["bytes"].as_i64().unwrap()).sum();
        assert_eq!(bytes, live(place), "{place:#}");
    }
    let two_figures = ["prof", "--by", "live", "--by", "peak", "--"];
    let says = "loam: --by: there can be only one figure\n";
    loam().args(two_figures).arg(program()).assert().code(2).stderr(says);
}

#[test]
fn pprof_is_told_what_to_see_through_and_the_picture_what_it_shows() {
    let workshop = Workshop::new();
    let (packed, picture) = (workshop.path("heap.pb.gz"), workshop.path("heap.svg"));
    loam()
        .args(["prof", "--every", "16", "--pprof"])
        .args([&packed, Path::new("--flamegraph"), &picture, Path::new("--"), &program()])
        .assert()
        .success();
    let mut bytes = Vec::new();
    let packed = std::fs::File::open(packed).expect("the profile");
    GzDecoder::new(packed).read_to_end(&mut bytes).expect("it is gzip");
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("grab|text_of|xmalloc"), "{text}");
    let picture = std::fs::read_to_string(picture).expect("the picture");
    for expected in ["live bytes by stack", " blocks, from ", "second_leak"] {
        assert!(picture.contains(expected), "{expected}");
    }
}

/// The names of all functions in the stacks of main.
fn functions(program: &Path) -> BTreeMap<String, ()> {
    let workshop = Workshop::new();
    let folded = workshop.path("folded");
    let command = ["prof", "--every", "16", "--folded"];
    loam().args(command).args([&folded, Path::new("--"), program]).assert().success();
    let text = std::fs::read_to_string(folded).expect("the stacks");
    let stacks = text.lines().filter_map(|line| line.rsplit_once(' '));
    let of_main = stacks.filter(|(stack, _)| stack.contains(";main;"));
    of_main.flat_map(|(stack, _)| stack.split(';').map(|name| (name.to_owned(), ()))).collect()
}

/// With lines of loam's and without, optimized or not, at link time, and without a dynamic linker.
#[test]
fn nothing_of_loams_is_in_a_stack_whatever_way_it_came_in() {
    let workshop = Workshop::new();
    let ways: [(&str, &[&str], &[&str]); 6] = [
        ("loam-lines.o", &["-g", "-O2"], &["-g"]),
        ("loam-plain.o", &["-g0", "-O2"], &["-g", "-O2"]),
        ("loam-slow.o", &["-g", "-O0"], &["-O0"]),
        ("loam-link.o", &["-g", "-O2", "-flto"], &["-g", "-O2", "-flto"]),
        ("loam-link-plain.o", &["-O2", "-flto"], &["-O2", "-flto"]),
        ("loam-static.o", &["-g", "-O2"], &["-g", "-static", "-Wl,--eh-frame-hdr"]),
    ];
    for (name, of_loam, of_program) in ways {
        let path = workshop.path(name).with_extension("program");
        compile(&allocator(name, "cc", of_loam), of_program, &path);
        let known = [
            "first_leak",
            "second_leak",
            "third_leak",
            "fourth_leak",
            "fifth_leak",
            "only_caller",
            "uses",
            "xmalloc",
            "grab",
            "text_of",
            "zeros",
            "main",
            "checked",
            "keep",
        ];
        check_functions(name, &path, |function| known.contains(&function));
        let path = workshop.path(name).with_extension("entry-points");
        compile_other("entry_points.c", &allocator(name, "cc", of_loam), of_program, &path);
        let is_programs =
            |name: &str| name.ends_with("_call") || ["main", "aligned"].contains(&name);
        check_functions(name, &path, is_programs);
    }
}

/// The C library's and its loader's may be there, too.
fn check_functions(way: &str, path: &Path, is_programs: impl Fn(&str) -> bool) {
    let found = functions(path);
    assert!(found.keys().any(|function| is_programs(function)), "{way}: {found:?}");
    for function in found.into_keys() {
        let is_the_systems = function.starts_with('_') || function.contains("+0x");
        assert!(is_the_systems || is_programs(&function), "{way}: {function}");
    }
}

/// The truth is between the bounds in 95 of 100 cases: of 24, that it is so in fewer than 18 has a
/// chance of less than 1 in 10,000.
#[test]
fn bounds_hold_as_often_as_they_say() {
    let truth: i64 = KEPT.iter().map(|(_, _, size)| 1000 * size).sum();
    let mut held = 0;
    for _ in 0..24 {
        let command = ["prof", "--json", "--every", "16384", "--"];
        let output = loam().args(command).arg(program()).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stderr).expect("it is JSON");
        let bound = |name: &str| report["live"][name].as_i64().unwrap();
        assert!(bound("low_bytes") < bound("bytes") && bound("bytes") < bound("high_bytes"));
        held += i32::from(bound("low_bytes") <= truth && truth <= bound("high_bytes"));
    }
    assert!(held >= 18, "{held} of 24");
}

#[test]
fn few_samples_are_no_part_of_a_whole() {
    let output = loam()
        .args(["prof", "--by", "taken", "--every", "400000", "--"])
        .arg(program())
        .assert()
        .success()
        .stderr(contains("Estimated from a sample each 391 KiB"));
    let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    let rows = text.lines().filter(|line| line.contains("wrappers.c") && !line.contains("  from "));
    for row in rows.filter(|row| !row.contains("through")) {
        let words: Vec<&str> = row.split_whitespace().collect();
        let at = words.iter().position(|word| word.contains("wrappers.c")).unwrap();
        let samples: u64 = words[at - 2].parse().unwrap_or_else(|_| panic!("{row}"));
        assert_eq!(row.contains('%'), samples > 2, "{row}");
    }
    let exact = ["prof", "--leaks", "--every", "16", "--"];
    let says = contains("exact to 1 %").and(is_match(r"B to \d").unwrap().not());
    loam().args(exact).arg(program()).assert().success().stderr(says);
}
