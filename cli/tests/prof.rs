//! `loam prof`: a planted leak is named with its file and line, what is freed is not, and every
//! format is what others read.

use crate::common::{Workshop, built_once, fixture, loam, own_allocator, sources_with_allocator};
use assert_cmd::Command;
use flate2::read::GzDecoder;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, is_match};
use serde_json::Value;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Compiles the fixture with loam in it.
fn compile(flags: &[&str], path: &Path) {
    let mut compiler = std::process::Command::new("c++");
    compiler.args(["-O1", "-fno-builtin"]).args(flags).arg(own_allocator());
    compiler.arg(fixture("leaks.cc")).arg("-o").arg(path);
    assert!(compiler.status().expect("a compiler").success(), "{compiler:?}");
}

/// The fixture with lines, compiled once.
fn program() -> PathBuf {
    built_once("leaks", &sources_with_allocator("leaks.cc"), |path| compile(&["-g"], path))
}

/// The fixture without lines, on a library that may have them, by its debug files.
#[test]
fn a_program_without_lines_is_named_by_its_function() {
    let workshop = Workshop::new();
    let path = workshop.path("leaks-without-lines");
    compile(&[], &path);
    loam()
        .args(["prof", "--leaks", "--every", "16", "--"])
        .arg(path)
        .assert()
        .success()
        .stderr(is_match(r"KiB +4\d % +500 .* keep_forever<char>").unwrap())
        .stderr(is_match(r"from main\n").unwrap())
        .stderr(contains("  fill(std::vector").or(contains("  std::vector")))
        .stderr(is_match(r"B +\d* % .*__libc_start").unwrap().not());
}

fn objcopy(words: &[&OsStr]) {
    let status = std::process::Command::new("objcopy").args(words).status();
    assert!(status.expect("objcopy").success(), "{words:?}");
}

/// By the name in the file alone: it has no build id.
#[test]
fn lines_that_were_stripped_off_are_found_by_the_files_own_word() {
    let workshop = Workshop::new();
    let (path, debug) = (workshop.path("stripped"), workshop.path("stripped.debug"));
    compile(&["-g", "-Wl,--build-id=none"], &path);
    objcopy(&["--only-keep-debug".as_ref(), path.as_ref(), debug.as_ref()]);
    let link = format!("--add-gnu-debuglink={}", debug.display());
    objcopy(&["--strip-debug".as_ref(), link.as_ref(), path.as_ref()]);

    let leaks = || {
        let command = ["prof", "--leaks", "--every", "16", "--"];
        loam().args(command).arg(&path).assert().success()
    };
    leaks().stderr(contains(line("leak")));
    std::fs::create_dir(workshop.path(".debug")).expect("a folder");
    let beside = workshop.path(".debug/stripped.debug");
    std::fs::rename(&debug, &beside).expect("a moved file");
    leaks().stderr(contains(line("leak")));
    let mut other = std::fs::read(&beside).expect("the symbols");
    other.push(0);
    std::fs::write(&beside, other).expect("a file that is another one");
    leaks().stderr(contains(line("leak")).not().and(contains("keep_forever<char>")));
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

fn data(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).expect("the data")).expect("it is JSON")
}

/// By https://www.speedscope.app/file-format-schema.json.
#[test]
fn speedscope_gets_what_its_schema_wants() {
    let workshop = Workshop::new();
    let (file, written) = (profile(&workshop), workshop.path("speedscope.json"));
    loam()
        .args(["prof", "--by", "taken", "--speedscope"])
        .args([&written, &file])
        .assert()
        .success();
    let data = data(&written);
    assert_eq!(data["$schema"], "https://www.speedscope.app/file-format-schema.json");
    let frames = data["shared"]["frames"].as_array().expect("frames");
    let profiles = data["profiles"].as_array().expect("profiles");
    let names: Vec<&str> = profiles.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["live", "peak", "taken"]);
    assert_eq!(data["activeProfileIndex"], 2);
    for profile in profiles {
        assert_eq!((&profile["type"], &profile["unit"]), (&"sampled".into(), &"bytes".into()));
        let samples = profile["samples"].as_array().expect("samples");
        let weights = profile["weights"].as_array().expect("weights");
        assert_eq!(samples.len(), weights.len());
        let sum: u64 = weights.iter().filter_map(Value::as_u64).sum();
        assert_eq!((&profile["startValue"], &profile["endValue"]), (&0.into(), &sum.into()));
        let stacks = samples.iter().flat_map(|stack| stack.as_array().expect("a stack"));
        assert!(stacks.filter_map(Value::as_u64).all(|frame| frame < frames.len() as u64));
    }
    let at = samples_at(&profiles[0], 504_000);
    let named: Vec<&str> =
        at.iter().map(|frame| frames[*frame]["name"].as_str().expect("a name")).collect();
    let main = named.iter().position(|name| *name == "main").expect("main");
    assert!(named[main + 1].contains("keep_forever<char>"), "the outermost first: {named:?}");
    assert!(frames.iter().all(|frame| frame["name"].is_string()));
    assert!(frames.iter().any(|frame| frame["file"].is_string() && frame["line"].is_u64()));
}

/// The frames of the stack with that weight.
fn samples_at(profile: &Value, weight: u64) -> Vec<usize> {
    let weights = profile["weights"].as_array().expect("weights");
    let index = weights.iter().position(|one| *one == weight).expect("the weight");
    let stack = profile["samples"][index].as_array().expect("a stack");
    stack.iter().filter_map(|frame| usize::try_from(frame.as_u64()?).ok()).collect()
}

/// By Valgrind's dhat/dh_main.c: all that is mandatory where lifetimes are recorded.
#[test]
fn dhats_viewer_gets_all_that_it_wants() {
    let workshop = Workshop::new();
    let (file, written) = (profile(&workshop), workshop.path("dhat.json"));
    loam().args(["prof", "--dhat"]).args([&written, &file]).assert().success();
    let data = data(&written);
    assert_eq!((&data["dhatFileVersion"], &data["bklt"]), (&2.into(), &true.into()));
    for text in ["mode", "verb", "tu", "Mtu", "cmd"] {
        assert!(data[text].is_string(), "{text}");
    }
    for number in ["pid", "te", "tg", "tuth"] {
        assert!(data[number].is_u64(), "{number}");
    }
    assert_eq!(data["bkacc"], false);
    let table = data["ftbl"].as_array().expect("frames");
    assert_eq!(table[0], "[root]");
    let points = data["pps"].as_array().expect("points");
    for point in points {
        let number = |name: &str| point[name].as_u64().expect(name);
        for (all, most, peak, end) in [("tb", "mb", "gb", "eb"), ("tbk", "mbk", "gbk", "ebk")] {
            assert!(number(all) >= number(most), "{point}");
            assert!(number(most) >= number(peak).max(number(end)), "{point}");
        }
        assert_eq!(number("tl"), 0);
        let frames = point["fs"].as_array().expect("a stack").iter().filter_map(Value::as_u64);
        assert!(frames.clone().count() > 0 && frames.clone().all(|at| at < table.len() as u64));
    }
    let leak = points.iter().find(|point| point["eb"] == 504_000).expect("the leak");
    let innermost = table[leak["fs"][0].as_u64().expect("a frame") as usize].as_str().unwrap();
    let wanted = format!(r"^0x[0-9a-f]+: .*keep_forever<char>.* \(.*{}\)$", line("leak"));
    assert!(regex::Regex::new(&wanted).unwrap().is_match(innermost), "{innermost}");
}

#[test]
fn pages_are_known_of_no_file() {
    let workshop = Workshop::new();
    let says = "loam: --by pinned: pages are known of a process that runs and of a core, not of a \
                file or a difference\n";
    loam()
        .args(["prof", "--by", "pinned"])
        .arg(profile(&workshop))
        .assert()
        .code(2)
        .stdout("")
        .stderr(says);
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
    let changed = text.replacen("\nsample_bytes ", "\nsample_bytes 9", 1);
    std::fs::write(&cut, changed).expect("a file");
    let refused = loam().arg("prof").arg(&cut).assert().code(2).stdout("");
    refused.stderr(is_match("^loam: .*cut is damaged: line \\d+ has checksum [^\n]*\n$").unwrap());
}

#[test]
fn files_are_written_whole_or_not_at_all() {
    let workshop = Workshop::new();
    let (file, out) = (profile(&workshop), workshop.path("out"));
    let flags = ["--pprof", "--flamegraph", "--save", "--folded", "--speedscope", "--dhat"];
    for (at, flag) in flags.iter().enumerate() {
        let other = flags[(at + 1) % flags.len()];
        let mut command = loam();
        command.args(["prof", flag, "/dev/full", other]).arg(&out).arg(&file);
        let refused = command.assert().code(2).stdout("");
        refused.stderr("loam: cannot write /dev/full: no space left on device\n");
        assert!(!out.exists(), "{flag}");
        let nowhere = workshop.path("nowhere/out");
        let refused = loam().args(["prof", flag]).arg(&nowhere).arg(&file).assert().code(2);
        refused.stderr(contains("nowhere/out: no such file or directory"));
        assert!(!nowhere.exists());
    }
    let mut command = loam();
    command.args(["prof", "--folded", "/dev/stdout"]).arg(&file);
    command.assert().success().stdout(contains("main;").and(contains("where")));
    std::os::unix::fs::symlink("out", workshop.path("link")).expect("a link");
    loam().args(["prof", "--folded"]).arg(workshop.path("link")).arg(&file).assert().success();
    assert!(out.exists() && workshop.path("link").is_symlink(), "what the link leads to");
}

#[test]
fn a_program_that_is_not_there_is_not_found() {
    loam().args(["prof", "--", "no-such-program"]).assert().code(127);
}

#[test]
fn a_program_without_loam_has_no_profile() {
    let says = contains("loam: the program has left no profile");
    loam().args(["prof", "--", "sh", "-c", "kill -9 $$"]).assert().code(2).stderr(says);
}
