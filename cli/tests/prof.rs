//! `loam prof`: a planted leak is named with its file and line, what is freed is not, and every
//! format is what others read.

mod common;

use assert_cmd::Command;
use common::{Workshop, fixture, loam};
use flate2::read::GzDecoder;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, is_match};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn checkout(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn run(compiler: &str, arguments: &[&str], source: &Path, output: &Path) {
    let mut command = std::process::Command::new(compiler);
    let command = command.args(arguments).arg(source).arg("-o").arg(output);
    assert!(command.status().expect("a compiler").success(), "{compiler} {arguments:?}");
}

/// The fixture with loam in it, compiled once.
fn program() -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (object, path) = (folder.join("loam-for-prof.o"), folder.join("leaks"));
    BUILT.get_or_init(|| {
        let include = format!("-I{}", checkout("include").display());
        let source = format!("-I{}", checkout("src").display());
        let flags = ["-O1", "-w", "-std=gnu11", "-fno-builtin", "-fexceptions", "-c"];
        let flags: Vec<&str> = flags.into_iter().chain([include.as_str(), &source]).collect();
        run("cc", &flags, &checkout("src/loam.c"), &object);
        let object = object.display().to_string();
        run("c++", &["-O1", "-g", "-fno-builtin", &object], &fixture("leaks.cc"), &path);
    });
    path
}

/// The number of the fixture's line with that comment.
fn line(comment: &str) -> String {
    let text = std::fs::read_to_string(fixture("leaks.cc")).expect("the fixture");
    let at = text.lines().position(|line| line.ends_with(&format!("// {comment}")));
    format!("leaks.cc:{}", at.expect("the comment") + 1)
}

fn prof(arguments: &[&str]) -> Command {
    let mut command = loam();
    command.arg("prof").args(arguments).arg("--").arg(program());
    command
}

/// A profile of every block, in a file.
fn profile(workshop: &Workshop) -> PathBuf {
    let folder = workshop.path("kept");
    prof(&["--every", "16", "--keep", folder.to_str().unwrap()]).assert().success();
    let files: Vec<_> = std::fs::read_dir(folder).expect("the folder").collect();
    assert_eq!(files.len(), 1);
    files[0].as_ref().expect("a file").path()
}

#[test]
fn a_leak_is_named_with_its_file_and_line() {
    prof(&["--leaks", "--every", "16"])
        .arg("x")
        .assert()
        .code(3) // the program's own
        .stderr(contains("were never freed"))
        .stderr(
            is_match(format!(r"KiB +4\d % +500 .* keep_forever<char>.*{}", line("leak"))).unwrap(),
        )
        .stderr(is_match(r"from main +.*leaks.cc:\d+").unwrap())
        .stderr(contains(line("vector")))
        .stderr(contains(line("churn")).not());
}

#[test]
fn what_is_taken_and_freed_is_no_leak_but_taken() {
    prof(&["--by", "taken", "--every", "16"]).assert().success().stderr(
        is_match(format!(r"MiB +7\d % +1000 .* take_and_free.*{}", line("churn"))).unwrap(),
    );
}

#[test]
fn a_file_is_read_as_often_as_one_likes() {
    let workshop = Workshop::new();
    let file = profile(&workshop);
    let (folded, picture) = (workshop.path("folded"), workshop.path("picture.svg"));
    loam()
        .args(["prof", "--top", "1", "--folded"])
        .args([&folded, Path::new("--flamegraph"), &picture, &file])
        .assert()
        .success()
        .stdout(contains(line("leak")).and(contains("more places")));
    let folded = std::fs::read_to_string(folded).expect("the stacks");
    let leak = folded.lines().find(|line| line.contains("main;char* keep_forever<char>"));
    assert!(leak.expect("the leak").ends_with(" 504000"), "{folded}");
    assert!(!folded.contains("lm_"), "no function of loam's: {folded}");
    assert!(std::fs::read_to_string(picture).expect("the picture").contains("<svg"));
}

#[test]
fn pprof_gets_names_lines_and_figures() {
    let workshop = Workshop::new();
    let (file, packed) = (profile(&workshop), workshop.path("heap.pb.gz"));
    loam().args(["prof", "--pprof"]).args([&packed, &file]).assert().success();
    let mut bytes = Vec::new();
    let packed = std::fs::File::open(packed).expect("the profile");
    GzDecoder::new(packed).read_to_end(&mut bytes).expect("it is gzip");
    let text = String::from_utf8_lossy(&bytes);
    for expected in ["inuse_space", "keep_forever<char>", "leaks.cc", "take_and_free()"] {
        assert!(text.contains(expected), "{expected}");
    }
}

#[test]
fn a_difference_of_a_profile_and_itself_is_nothing() {
    let workshop = Workshop::new();
    let file = profile(&workshop);
    loam()
        .args(["prof", "--since"])
        .args([&file, &file])
        .assert()
        .success()
        .stdout(contains("0 B live, 0 B taken since").and(contains("No sample is of that")));
}

#[test]
fn what_is_no_profile_is_refused_in_one_line() {
    let workshop = Workshop::new();
    let (other, cut) = (workshop.path("other"), workshop.path("cut"));
    std::fs::write(&other, "hello\n").expect("a file");
    let text = std::fs::read_to_string(profile(&workshop)).expect("a profile");
    std::fs::write(&cut, &text[..text.len() / 2]).expect("a file");
    for (file, says) in [(&other, "is not a profile"), (&cut, "is cut off")] {
        let refused = loam().arg("prof").arg(file).assert().code(2).stdout("");
        refused.stderr(is_match(format!("^loam: .*{says}[^\n]*\n$")).unwrap());
    }
    let damaged = text.replace("\nsite 1 ", "\nsite x y ");
    std::fs::write(&cut, damaged).expect("a file");
    loam().arg("prof").arg(&cut).assert().code(2).stderr(contains("damaged: line "));
}

#[test]
fn a_program_that_is_not_there_is_not_found() {
    loam().args(["prof", "--", "no-such-program"]).assert().code(127);
}

#[test]
fn a_program_that_was_killed_has_written_none() {
    let says = contains("loam: the program has written no profile");
    loam().args(["prof", "--", "sh", "-c", "kill -9 $$"]).assert().code(2).stderr(says);
}
