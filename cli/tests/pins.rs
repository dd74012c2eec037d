//! What blocks pin, of all sizes: `loam explain`, `loam prof` and `loam plot` say what a program
//! counts itself by the addresses of its blocks.

use crate::common::heaps::keeps;
use crate::common::{Background, Workshop, fixture, json, loam};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// What the program counts itself.
#[derive(Clone, Copy)]
struct Truth {
    count: u64,
    pinned_bytes: u64,
    /// What of these is by those of each line.
    lines: [u64; 2],
}

/// Blocks of a size of which each so-many-th stays.
struct Running {
    child: Background,
    truth: Truth,
}

impl Running {
    fn start(size: u64, each: u64, options: &str) -> Running {
        let mut command = Command::new(keeps());
        let words = [size.to_string(), each.to_string()];
        let command = command.args(words).env("LOAM_OPTIONS", options).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a process");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("its line");
        let mut numbers = line.split_whitespace().map(|word| word.parse().expect("a number"));
        let mut next = || numbers.next().expect("four numbers");
        let truth = Truth { count: next(), pinned_bytes: next(), lines: [next(), next()] };
        Running { child: Background(child), truth }
    }

    fn pid(&self) -> String {
        self.child.pid()
    }
}

const SIZES: [u64; 14] = [
    16,
    48,
    112,
    256,
    480,
    1008,
    2048,
    3584,
    5120,
    12 << 10,
    20 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
];

/// From every second one to one in 64 KiB, with one a page between.
fn densities(size: u64) -> Vec<u64> {
    let mut all = vec![2, 4096 / size, (64 << 10) / size];
    all.retain(|each| *each >= 2);
    all.dedup();
    all
}

fn is_near(figure: u64, truth: u64, percent: u64) -> bool {
    figure.abs_diff(truth) * 100 <= truth * percent
}

/// Blocks of the size: how many are live, what they have in memory, and what they pin.
/// Middle and large ones may be of a larger size, and have their pages alone.
fn of_size(report: &Value, size: u64) -> [u64; 3] {
    let figure = |of: &Value, name: &str| of[name].as_u64().unwrap();
    let all = |list: &str| report[list].as_array().unwrap().iter();
    if let Some(small) = all("sizes").find(|one| one["block_bytes"] == size) {
        return ["live_count", "live_bytes", "pinned_bytes"].map(|name| figure(small, name));
    }
    let larger = all("larger_sizes").filter(|one| figure(one, "block_bytes") >= size);
    larger.fold([0; 3], |[count, live, pinned], one| {
        let bytes = figure(one, "live_bytes");
        [count + figure(one, "live_count"), live + bytes, pinned + bytes]
    })
}

/// All bytes of pages that live blocks are on are pinned, and no byte is in two parts.
fn check_explained(report: &Value, truth: Truth, size: u64) {
    let [count, live, pinned] = of_size(report, size);
    let shown = format!("{size} bytes, {} of them: {report:#}", truth.count);
    assert!(count.abs_diff(truth.count) <= 2, "{count}: {shown}");
    assert!(is_near(live, truth.count * size, 2), "{live}: {shown}");
    assert!(is_near(pinned, truth.pinned_bytes, 2), "{pinned}: {shown}");
    let figure = |of: &Value, name: &str| of[name].as_u64().unwrap();
    let (loam, sizes) = (&report["loam"], report["sizes"].as_array().unwrap());
    let beside = figure(loam, "beside_bytes");
    assert_eq!(beside, sizes.iter().map(|one| figure(one, "beside_bytes")).sum::<u64>());
    assert_eq!(figure(report, "pinned_bytes"), figure(loam, "live_bytes") + beside);
    for one in sizes {
        assert_eq!(
            figure(one, "pinned_bytes"),
            figure(one, "live_bytes") + figure(one, "beside_bytes")
        );
    }
}

#[test]
fn explain_says_what_blocks_of_every_size_pin() {
    for size in SIZES {
        for each in densities(size) {
            let running = Running::start(size, each, "");
            check_explained(&json(&["explain", "--json", &running.pid()]), running.truth, size);
        }
    }
}

/// The number of the fixture's line with that comment.
fn line(comment: &str) -> u64 {
    let text = std::fs::read_to_string(fixture("keeps.c")).expect("the fixture");
    let at = text.lines().position(|line| line.ends_with(&format!("// {comment}")));
    at.expect("the comment") as u64 + 1
}

/// Estimates, of the lines that have taken the blocks.
fn check_profile(report: &Value, truth: Truth, size: u64) {
    let places = report["places"].as_array().unwrap();
    let of_line = |comment: &str| {
        let found = places.iter().find(|place| place["line"] == line(comment));
        let found = found.unwrap_or_else(|| panic!("no place of {comment}: {report:#}"));
        ["pinned", "beside", "live"].map(|name| found[name]["bytes"].as_u64().unwrap())
    };
    let lines = ["few", "many"].map(of_line);
    for (found, pinned) in lines.iter().zip(truth.lines) {
        let near = is_near(found[0], pinned, 10);
        assert!(near, "{size} bytes pin {pinned}, not {}: {report:#}", found[0]);
        assert!(is_near(found[1] + found[2], found[0], 1), "{found:?}");
    }
    let sum: u64 = lines.iter().map(|found| found[0]).sum();
    assert!(is_near(sum, truth.pinned_bytes, 10), "{sum}, not {}", truth.pinned_bytes);
    let beside = places.iter().map(|place| place["beside"]["bytes"].as_u64().unwrap());
    assert!(beside.is_sorted_by(|one, next| one >= next), "by what is free beside: {report:#}");
}

#[test]
fn prof_divides_it_among_the_lines_by_samples() {
    // Of the shortest ones a third is no sample: so many stay that chance is small.
    let densities = |size: u64| if size == 16 { vec![256] } else { densities(size) };
    for size in SIZES {
        for each in densities(size) {
            // A sample stands elsewhere: where it would be it is without a profile.
            let truth = Running::start(size, each, "").truth;
            let sampled = Running::start(size, each, "profile=on,profile_bytes=16");
            let explained = json(&["explain", "--json", &sampled.pid()]);
            let [count, ..] = of_size(&explained, size);
            assert!(count.abs_diff(truth.count) <= 2, "{explained:#}");
            let report = json(&["prof", "--json", "--by", "pinned", &sampled.pid()]);
            check_profile(&report, truth, size);
            assert_eq!(report["held"]["pinned_bytes"], explained["pinned_bytes"]);
            assert_eq!(report["profile_bytes"], explained["loam"]["profile_bytes"]);
        }
    }
}

/// The number behind a fact's name.
fn fact(page: &str, name: &str) -> f64 {
    let begin = format!("<dt>{name}</dt><dd>");
    let at = page.find(&begin).expect("the fact") + begin.len();
    let text = page[at..].split('<').next().unwrap();
    let (number, unit) = text.split_once(' ').expect("a unit");
    let unit: f64 = match unit {
        "KiB" => 1024.0,
        "MiB" => 1048576.0,
        _ => panic!("{text}"),
    };
    number.parse::<f64>().expect("a number") * unit
}

#[test]
fn plot_and_advice_say_the_same_in_words() {
    // One a page.
    let running = Running::start(480, 8, "");
    let workshop = Workshop::new();
    let page = workshop.path("heap.html");
    loam().args(["plot", &running.pid(), "--html"]).arg(&page).assert().success();
    let page = std::fs::read_to_string(&page).unwrap();
    let report = json(&["explain", "--json", &running.pid()]);
    let figures = [
        ("pinned: pages that these are on", report["pinned_bytes"].as_f64().unwrap()),
        ("of that free beside them", report["loam"]["beside_bytes"].as_f64().unwrap()),
    ];
    for (name, bytes) in figures {
        let shown = fact(&page, name);
        assert!((shown - bytes).abs() * 200.0 <= bytes, "{name}: {shown}, not {bytes}");
    }
    let [count, _, pinned] = of_size(&report, 480);
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / 1048576.0);
    let beside = pinned - count * 480;
    let says = format!(
        "{count} blocks of 480 bytes keep {} in memory, {} of it free",
        mib(pinned),
        mib(beside)
    );
    let advice = report["advice"].as_array().unwrap();
    assert!(advice.iter().any(|text| text.as_str().unwrap().contains(&says)), "{says}: {report:#}");
}
