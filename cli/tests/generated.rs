//! Help, man pages and completions, which derive from one definition.

use crate::common::{Workshop, loam};
use predicates::str::contains;

const VERBS: [&str; 13] = [
    "run",
    "verify",
    "explain",
    "plot",
    "stats",
    "top",
    "exporter",
    "record",
    "replay",
    "trace",
    "graft",
    "man",
    "completions",
];

#[test]
fn help_names_every_verb_and_gives_examples() {
    let mut assert = loam().arg("--help").assert().success().stdout(contains("Examples:"));
    for verb in VERBS {
        assert = assert.stdout(contains(verb));
    }
    for verb in [
        "run", "verify", "explain", "plot", "stats", "top", "exporter", "record", "replay",
        "trace", "graft",
    ] {
        loam()
            .args([verb, "--help"])
            .assert()
            .success()
            .stdout(contains("Examples:"))
            .stdout(contains("Exit status:"));
    }
}

#[test]
fn the_version_is_the_librarys() {
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../include/loam/loam.h");
    let header = std::fs::read_to_string(header).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(header.contains(&format!("#define LOAM_VERSION \"{version}\"")));
    loam().arg("--version").assert().success().stdout(format!("loam {version}\n"));
}

#[test]
fn there_is_a_man_page_for_the_command_and_each_verb() {
    let workshop = Workshop::new();
    let folder = workshop.path("share/man/man1");
    loam().arg("man").arg(&folder).assert().success();
    let main = std::fs::read_to_string(folder.join("loam.1")).unwrap();
    let bench = std::fs::read_to_string(folder.join("loam-bench.1")).unwrap();
    for flag in ["warmup", "ignore\\-failure", "export\\-csv", "export\\-markdown"] {
        assert!(bench.contains(&format!("\\-\\-{flag}")), "{flag} in {bench}");
    }
    for verb in VERBS {
        let page = std::fs::read_to_string(folder.join(format!("loam-{verb}.1"))).unwrap();
        assert!(page.starts_with(".ie") && page.contains(".TH"), "{page}");
        assert!(main.contains(&format!("loam\\-{verb}(1)")), "{verb} in {main}");
    }
}

#[test]
fn there_are_completions_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let mut assert = loam().args(["completions", shell]).assert().success();
        for verb in VERBS {
            assert = assert.stdout(contains(verb));
        }
        assert.stdout(contains("stats"));
    }
}
