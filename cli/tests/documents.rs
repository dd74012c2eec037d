//! The examples in the documents: what stands below a command is what it prints, but for numbers
//! and the places of files.

use crate::common::libc::{are_all, objects};
use crate::common::{Workshop, library, loam};
use regex::Regex;
use std::path::{Path, PathBuf};

/// A command of an example, and what stands below it.
struct Example {
    words: Vec<String>,
    output: String,
}

fn examples(document: &str) -> Vec<Example> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(document);
    let page = std::fs::read_to_string(path).unwrap();
    let mut examples: Vec<Example> = Vec::new();
    let mut is_within = false;
    for line in page.lines() {
        if let Some(command) = line.strip_prefix("    $ loam ") {
            let words = shlex::split(command).unwrap();
            examples.push(Example { words, output: String::new() });
            is_within = true;
        } else if let (true, Some(more)) = (is_within, line.strip_prefix("    ")) {
            examples.last_mut().unwrap().output += &format!("{more}\n");
        } else {
            is_within = false;
        }
    }
    examples
}

/// The results that the documents show, as `make report` takes them.
fn newest_results() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/results");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.to_string_lossy().contains("-full")).max().expect("results")
}

#[test]
fn the_samples_are_what_the_commands_print() {
    let workshop = Workshop::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/samples.py");
    let objects = objects(&workshop);
    let output = std::process::Command::new(script)
        .arg(assert_cmd::cargo::cargo_bin!("loam"))
        .arg(newest_results())
        .arg("--check")
        .args((!are_all(&objects)).then_some("--any-object"))
        .arg("--objects")
        .arg(objects)
        .env("LOAM_LIBRARY", library())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn readme_and_the_page_of_all_figures_are_of_the_newest_results() {
    let workshop = Workshop::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::create_dir(workshop.path("docs")).unwrap();
    std::fs::create_dir(workshop.path("bench")).unwrap();
    for name in ["README.md", "bench/suite.toml"] {
        std::fs::copy(root.join(name), workshop.path(name)).unwrap();
    }
    let mut report = loam();
    report.args(["bench", "report"]).arg(newest_results()).arg("--update-docs");
    report.arg(workshop.path(".")).assert().success();
    for name in ["README.md", "docs/benchmarks.md", "docs/benchmarks/means.svg"] {
        let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
        assert!(read(workshop.path(name)) == read(root.join(name)), "{name}: run `make report`");
    }
}

/// Without numbers, breaks of lines and the library's place.
fn shape(text: &str, library: &Path) -> String {
    let text = text.replace(library.to_str().unwrap(), "/usr/lib/libloam.so");
    let text = Regex::new(r"\b\d+\b").unwrap().replace_all(&text, "N");
    // One and several are told apart by words.
    let text = text.replace("modules", "module").replace("references", "reference");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn verify_prints_what_the_document_shows() {
    let library = library().canonicalize().unwrap();
    // Programs that everybody has; the others are made up.
    const PROGRAMS: [&str; 3] = ["true", "nice", "timeout"];
    let mut checked = 0;
    for example in examples("command.md") {
        let is_here = |word: &String| PROGRAMS.contains(&word.as_str());
        if example.words[0] != "verify" || !example.words.iter().any(is_here) {
            continue;
        }
        let output = loam().args(&example.words).output().unwrap().stdout;
        let printed = shape(&String::from_utf8(output).unwrap(), &library);
        assert_eq!(printed, shape(&example.output, &library), "{:?}", example.words);
        checked += 1;
    }
    assert_eq!(checked, PROGRAMS.len());
}
