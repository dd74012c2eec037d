//! What was mistyped or is not there: one line that says what to do, in one style.

use crate::common::{Workshop, library, loam, loam_process};
use predicates::prelude::*;
use predicates::str::{contains, is_match};

fn one_line() -> impl Predicate<str> {
    is_match(r"^loam: [^\n]+\n$").expect("a pattern")
}

fn complains(words: &[&str], parts: &[&str]) {
    let output = loam().args(words).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(one_line().eval(&said), "{words:?}: {said}");
    assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
    for part in parts {
        assert!(said.contains(part), "{words:?}: {part:?} in {said}");
    }
}

#[test]
fn mistyped_verbs_flags_and_values_get_a_suggestion() {
    for (words, meant) in [
        (&["rnu", "--", "true"][..], "did you mean 'run'?"),
        (&["verfy", "true"], "did you mean 'verify'?"),
        (&["bench", "suit"], "did you mean 'suite'?"),
        (&["run", "--stat", "true"], "did you mean '--stats'?"),
        (&["verify", "--jsn", "true"], "did you mean '--json'?"),
        (&["bench", "--run", "3", "--", "true"], "did you mean '--runs'?"),
        (&["verify", "--rnu", "true"], "did you mean '--run'?"),
        (&["graft", "--dry_run", "x"], "did you mean '--dry-run'?"),
        (&["completions", "bsh"], "did you mean 'bash'?"),
        (&["true", "-x"], "did you mean 'loam run true -x'?"),
    ] {
        complains(words, &[meant]);
    }
}

#[test]
fn words_of_the_program_are_taken_or_the_dashes_are_named() {
    loam().args(["verify", "--preloaded", "sh", "word", "another"]).assert().success();
    complains(&["verify", "sh", "-c", "true"], &["put -- before what is sh's"]);
    complains(&["bench", "true"], &["put -- before the command"]);
    complains(&["bench", "--runs", "2", "true"], &["put -- before the command"]);
}

#[test]
fn what_is_not_there_is_said_in_one_style() {
    let reason = "no such file or directory";
    for words in [
        &["verify", "./nowhere"][..],
        &["verify", "--preloaded", "--library", "/nowhere.so", "true"],
        &["graft", "nowhere"],
        &["bench", "report", "nowhere.json"],
        &["bench", "--input", "nowhere", "--", "true"],
        &["bench", "--json", "/nowhere/a", "--", "true"],
        &["bench", "suite", "--suite", "/nowhere"],
        &["man", "/proc/nowhere"],
    ] {
        complains(words, &[reason]);
        let output = loam().args(words).output().unwrap();
        assert!(!String::from_utf8_lossy(&output.stderr).contains("os error"), "{words:?}");
    }
}

#[test]
fn what_cannot_be_read_or_written_is_said_in_that_style_too() {
    let workshop = Workshop::new();
    let folder = workshop.path("folder");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.to_str().unwrap();
    let reason = format!("cannot read {folder}: is a directory");
    complains(&["verify", "--preloaded", "--library", folder, "true"], &[&reason]);
    complains(&["bench", "report", folder], &[&reason]);
    let results = workshop.path("results.json");
    let json = ["bench", "--runs", "1", "--with", "glibc", "--json", results.to_str().unwrap()];
    loam().args(json).args(["--", "true"]).assert().success();
    let report = ["bench", "report", results.to_str().unwrap(), "--html", "/proc/nowhere/a"];
    let said = String::from_utf8(loam().args(report).output().unwrap().stderr).unwrap();
    assert_eq!(said, "loam: cannot write /proc/nowhere/a: no such file or directory\n");
}

#[test]
fn a_shared_library_is_not_called_a_program() {
    let workshop = Workshop::new();
    let library = workshop.compile("plugin.c", &["-shared", "-fPIC"]);
    let library = library.to_str().unwrap();
    complains(&["verify", library], &["is a shared library, not a program"]);
    let run = loam().args(["run", library]).assert().code(125);
    run.stderr(one_line().and(contains("is a shared library")));
    let own = loam().arg("run").arg(crate::common::library()).assert().code(125);
    own.stderr(one_line().and(contains("is a shared library")));
}

#[test]
fn a_program_for_windows_is_named_as_one() {
    let workshop = Workshop::new();
    let program = workshop.executable_file("program.exe", b"MZ and more\0");
    let plain = workshop.path("plain.exe");
    std::fs::write(&plain, b"MZ and more\0").unwrap();
    for path in [program, plain] {
        let run = loam().args(["run", "--"]).arg(&path).assert().code(126);
        run.stderr(one_line().and(contains("is a program for Windows")));
    }
}

#[test]
fn loam_under_its_own_names_alone_is_told_from_loam() {
    let workshop = Workshop::new();
    for flags in [&[][..], &["-static"]] {
        let program = workshop.compile("global_allocator.c", flags);
        loam().arg("verify").arg(&program).assert().code(1).stdout(
            contains("NOT on loam: it holds loam under loam's own names alone")
                .and(contains("enable the feature 'override'")),
        );
    }
}

/// Runs the command where /proc is empty, if this system lets a user have that.
fn without_proc(words: &str) -> Option<std::process::Output> {
    let command = assert_cmd::cargo::cargo_bin!("loam");
    let script = format!("mount -t tmpfs none /proc && exec '{}' {words}", command.display());
    let unshared = |script: &str| {
        std::process::Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
            .env("LOAM_LIBRARY", library())
            .output()
            .ok()
    };
    if !unshared("mount -t tmpfs none /proc")?.status.success() {
        eprintln!("not tested: no mounts of one's own here");
        return None;
    }
    unshared(&script)
}

#[test]
fn without_proc_programs_run_and_verify_names_the_way_out() {
    let Some(run) = without_proc("run -- echo word") else { return };
    assert_eq!(String::from_utf8_lossy(&run.stdout), "word\n");
    let Some(verify) = without_proc("verify true") else { return };
    let said = String::from_utf8_lossy(&verify.stderr).into_owned();
    assert_eq!(verify.status.code(), Some(2), "{said}");
    assert!(one_line().eval(&said) && said.contains("mount -t proc proc /proc"), "{said}");
}

#[test]
fn without_proc_the_library_beside_the_command_is_found() {
    let mut command = loam_process();
    command.env_remove("LOAM_LIBRARY").args(["run", "true"]);
    let with = String::from_utf8(command.output().unwrap().stderr).unwrap();
    let Some(without) = without_proc("run --library '' true") else { return };
    let without = String::from_utf8(without.stderr).unwrap();
    assert_eq!(with, without);
}
