//! Profiles of static programs: with the index of their tables they have stacks.

use crate::common::libc::{objects, run, text};
use crate::common::{Workshop, loam};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use std::process::Command;

const SOURCE: &str = "#include <stdlib.h>\n\
    char *volatile kept;\n\
    __attribute__((noinline)) static void keep(void) { kept = malloc(1000); *kept = 1; }\n\
    __attribute__((noinline)) static void work(void) { for (int i = 0; i < 9999; i++) keep(); }\n\
    int main(void) { work(); return 0; }\n";

/// As docs/tasks/static-binary.md says it.
fn check(compiler: &str) {
    if Command::new(compiler).arg("--version").output().is_err() {
        eprintln!("not tested: no {compiler}");
        return;
    }
    let workshop = Workshop::new();
    let source = workshop.path("program.c");
    std::fs::write(&source, SOURCE).unwrap();
    let object = objects(&workshop).join("loam-x86_64.o");
    let program = workshop.path("program");
    let profile = workshop.path("profile");
    let flags = ["-g", "-O1", "-fno-optimize-sibling-calls", "-static", "-Wl,--eh-frame-hdr"];
    let files = [text(&object), text(&source), "-o", text(&program)];
    run(compiler, &[&flags[..], &files].concat());
    let options = format!("profile=on,profile_bytes=512,profile_file={}", profile.display());
    let status = Command::new(&program).env("LOAM_OPTIONS", options).status().unwrap();
    assert!(status.success());
    let printed = contains("keep  ").and(contains("program.c:3\n")).and(contains("from work  "));
    loam().arg("prof").arg(&profile).assert().success().stdout(printed);
}

#[test]
fn programs_of_musls_have_stacks_by_the_index_of_their_tables() {
    check("musl-gcc");
}

#[test]
fn programs_of_glibcs_have_stacks_by_the_index_of_their_tables() {
    check("gcc");
}
