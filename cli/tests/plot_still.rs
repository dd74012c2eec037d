//! `loam plot --svg` and `--png`: the pictures of the page as one file, or one line and no file.

use crate::common::heaps::{Linked, Running};
use crate::common::{Workshop, fixture, loam};
use predicates::str::diff;
use std::path::{Path, PathBuf};

/// Red, green and blue of each point.
fn points(path: &Path) -> (u32, Vec<[u8; 3]>) {
    let file = std::io::BufReader::new(std::fs::File::open(path).expect("the file"));
    let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
    let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut bytes).expect("a whole PNG");
    (info.width, bytes.as_chunks().0.to_vec())
}

/// Of what few blocks keep, as the page has it in light.
const PINNED: [u8; 3] = [0xcc, 0x42, 0x10];
const FULL: [u8; 3] = [0x2f, 0x5e, 0x8e];

fn count(points: &[[u8; 3]], color: [u8; 3]) -> usize {
    points.iter().filter(|point| **point == color).count()
}

/// A recording of a program whose few survivors keep pages.
fn recorded(workshop: &Workshop) -> PathBuf {
    let program = workshop.compile("survivors.c", &["-g", "-fno-omit-frame-pointer"]);
    let trace = workshop.path("trace");
    let mut command = loam();
    command.args(["record", "--stacks", "--output"]).arg(&trace).arg("--").arg(program);
    command.assert().success();
    trace
}

#[test]
fn a_recording_is_one_picture_that_names_who_keeps_pages() {
    let workshop = Workshop::new();
    let trace = recorded(&workshop);
    let (svg, png) = (workshop.path("time.svg"), workshop.path("time.png"));
    let mut command = loam();
    command.arg("plot").arg(&trace).arg("--svg").arg(&svg).arg("--png").arg(&png);
    command.assert().success().stdout("").stderr("");

    let (width, points) = points(&png);
    assert_eq!(width, 1280);
    let (pinned, full) = (count(&points, PINNED), count(&points, FULL));
    assert!(pinned > 20_000 && full > 20_000, "{pinned} and {full} points");
    let text = std::fs::read_to_string(&svg).expect("text");
    let planted = std::fs::read_to_string(fixture("survivors.c")).expect("the fixture");
    let line = planted.lines().position(|line| line.ends_with("// survivors")).unwrap() + 1;
    assert!(
        text.contains(&format!(">open_session (fixtures/survivors.c:{line})</text>")),
        "{text}"
    );
    assert!(text.contains(">How well pages are used, by size. "), "{text}");
    assert!(text.contains(">193 to 208 bytes</text>"), "the sessions' size");
    assert!(text.contains(">Memory over time</text>"), "{text}");
    for heading in ["Sizes of all blocks that were taken", "Lifetimes"] {
        let sum = regex::Regex::new(&format!(r">{heading}: [0-9.]+ \wiB in \d+ blocks</text>"));
        assert!(sum.unwrap().is_match(&text), "{heading}: {text}");
    }
    assert_eq!(text.matches("<image ").count(), 1, "addresses over time");
    assert!(!text.contains("href=\"http"), "nothing from outside");
}

#[test]
fn a_heap_is_one_picture_with_every_page() {
    let running = Running::of(Linked::Dynamic, "pin");
    let workshop = Workshop::new();
    let (svg, png) = (workshop.path("heap.svg"), workshop.path("heap.png"));
    let mut command = loam();
    command.args(["plot", &running.pid(), "--png"]).arg(&png).arg("--svg").arg(&svg);
    command.assert().success().stdout("").stderr("");
    let pinned = count(&points(&png).1, PINNED);
    assert!(pinned > 10_000, "{pinned} points of pages");
    let text = std::fs::read_to_string(svg).expect("text");
    assert!(text.contains(&format!("<title>process {} (heaps-0): ", running.pid())), "{text}");
    assert!(text.contains(">in memory: ") && text.contains(" blocks"), "the sums: {text}");
    for heading in ["Where the memory is", "What keeps pages", "Caches and centrals"] {
        assert!(text.contains(&format!(">{heading}</text>")), "{heading}");
    }
}

#[test]
fn a_full_disk_is_one_line_and_leaves_nothing() {
    let workshop = Workshop::new();
    let trace = recorded(&workshop);
    let out = workshop.path("out");
    for (flag, other) in [("--html", "--svg"), ("--svg", "--html"), ("--png", "--svg")] {
        let mut command = loam();
        command.arg("plot").arg(&trace).args([flag, "/dev/full", other]).arg(&out);
        let refused = command.assert().code(2).stdout("");
        refused.stderr(diff("loam: cannot write /dev/full: no space left on device\n"));
        assert!(!out.exists(), "{flag}");
    }
    assert!(!Path::new("/dev/full").metadata().unwrap().is_file(), "a device stays one");
}

#[test]
fn what_cannot_be_drawn_leaves_no_picture() {
    let workshop = Workshop::new();
    let (svg, png) = (workshop.path("out.svg"), workshop.path("out.png"));
    let mut command = loam();
    command.args(["plot", "/etc/passwd", "--svg"]).arg(&svg).arg("--png").arg(&png);
    let line = "loam: /etc/passwd is not a recording: no section begins there\n";
    command.assert().code(2).stdout("").stderr(diff(line));
    assert!(!svg.exists() && !png.exists());
}
