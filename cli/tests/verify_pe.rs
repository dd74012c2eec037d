//! `loam verify` on programs for Windows: what their imports say.

use crate::common::{Workshop, allocator, fixture, loam};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const CC: &str = "x86_64-w64-mingw32-gcc-posix";

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|cause| panic!("{command:?}: {cause}"));
    assert!(status.success(), "{command:?}");
}

/// The allocator for Windows, compiled once.
fn loam_object() -> PathBuf {
    allocator("loam-windows.o", CC, &["-DNDEBUG"])
}

/// Links a fixture; `parts` come before it, as loam's object must.
fn link(output: &Path, source: &str, parts: &[&Path], flags: &[&str]) {
    let compiler = if source.ends_with(".cc") { "x86_64-w64-mingw32-g++-posix" } else { CC };
    run(Command::new(compiler)
        .args(["-O0", "-fno-builtin"])
        .args(parts)
        .arg(fixture(source))
        .args(flags)
        .arg("-o")
        .arg(output));
}

fn report(program: &Path) -> (i32, Value) {
    let output = loam().arg("verify").arg(program).arg("--json").output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|cause| {
        panic!("{cause}: {}", String::from_utf8_lossy(&output.stderr));
    });
    let status = output.status.code().unwrap();
    assert_eq!(report["loam"], status == 0, "status and report agree: {report}");
    (status, report)
}

fn names_of_failures(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .filter(|finding| finding["is_failure"] == true)
        .flat_map(|finding| finding["entry_points"].as_array().unwrap())
        .map(|name| name.as_str().unwrap())
        .collect()
}

#[test]
fn a_program_with_loam_inside_is_proven_also_stripped_and_collected() {
    let workshop = Workshop::new();
    let program = workshop.path("program.exe");
    let stripped = ["-s", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"];
    for flags in [&[][..], &["-static"], &stripped] {
        link(&program, "windows_allocates.c", &[&loam_object()], flags);
        let (status, report) = report(&program);
        assert_eq!(status, 0, "{flags:?}: {report}");
        assert_eq!(report["library"], report["program"]);
        assert_eq!(report["modules"][0]["role"], "program");
        assert_eq!(report["modules"][0]["references"], Value::Array(Vec::new()));
    }
    loam()
        .arg("verify")
        .arg(&program)
        .assert()
        .success()
        .stdout(contains("program for Windows: it holds loam 0.").and(contains("(fast)")));
}

#[test]
fn a_program_without_loam_is_not() {
    let workshop = Workshop::new();
    let program = workshop.path("program.exe");
    link(&program, "windows_allocates.c", &[], &["-s"]);
    let (status, report) = report(&program);
    assert_eq!(status, 1);
    assert_eq!(
        report["verdict"],
        "program for Windows: it does not hold loam; its malloc is msvcrt.dll's: start it by \
         loam-run.exe, or link it with loam-redirect.lib, or of MinGW with loam.o, first"
    );
    assert_eq!(report["library"], Value::Null);
    let names = names_of_failures(&report);
    for name in ["malloc", "free", "_strdup"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let references = report["modules"][0]["references"].as_array().unwrap();
    let malloc = references.iter().find(|reference| reference["name"] == "malloc").unwrap();
    assert_eq!(malloc["target_module"], "msvcrt.dll");
    assert_eq!(malloc["loam"], false);
}

#[test]
fn a_library_beside_the_program_is_followed_and_one_elsewhere_is_not() {
    let workshop = Workshop::new();
    let program = workshop.path("program.exe");
    let library = workshop.path("Plugin.dll");
    link(&library, "windows_plugin.c", &[], &["-shared"]);
    link(&program, "windows_uses_plugin.c", &[&loam_object()], &[library.to_str().unwrap()]);
    let (status, found) = report(&program);
    assert_eq!(status, 1, "{found}");
    let verdict = found["verdict"].as_str().unwrap();
    let expected = format!(
        "{}: calloc, free, malloc, realloc: imported from msvcrt.dll, which has a heap of its own",
        library.display()
    );
    assert_eq!(verdict, expected);
    assert_eq!(found["modules"][1]["role"], "library");
    assert_eq!(found["modules"][1]["result"], "other");
    std::fs::remove_file(&library).unwrap();
    assert_eq!(report(&program).0, 0);
}

#[test]
fn a_program_whose_first_import_is_the_redirect_is_proven() {
    let workshop = Workshop::new();
    let program = workshop.path("program.exe");
    let library = workshop.path("loam-redirect.dll");
    let implib = format!("-Wl,--out-implib,{}", workshop.path("redirect.a").display());
    link(&library, "windows_plugin.c", &[&loam_object()], &["-shared", &implib]);
    // MinGW's linker sorts imports by the names of files: this one comes before all with a slash.
    run(Command::new(CC)
        .current_dir(library.parent().unwrap())
        .args(["-fno-builtin", fixture("windows_uses_plugin.c").to_str().unwrap()])
        .args(["./redirect.a", "-o", "program.exe"]));
    let (status, found) = report(&program);
    assert_eq!(status, 0, "{found}");
    assert_eq!(found["library"], library.to_str().unwrap());
    let verdict = found["verdict"].as_str().unwrap();
    assert!(verdict.contains("loam-redirect.dll, its first import, has loam 0."), "{verdict}");
    let references = found["modules"][0]["references"].as_array().unwrap();
    assert!(references.iter().all(|reference| reference["loam"] == true), "{references:?}");
    std::fs::remove_file(&library).unwrap();
    let note = "loam-redirect.dll is not beside the program, which does not start without it";
    loam().arg("verify").arg(&program).assert().success().stdout(contains(note));
}

#[test]
fn operators_of_a_cxx_library_are_told() {
    let workshop = Workshop::new();
    let program = workshop.path("program.exe");
    link(&program, "cxx.cc", &[&loam_object()], &["-std=c++17"]);
    let (status, found) = report(&program);
    assert_eq!(status, 1, "{found}");
    assert!(names_of_failures(&found).contains(&"operator new (aligned)"), "{found}");
    link(&program, "cxx.cc", &[&loam_object()], &["-std=c++17", "-static"]);
    let (status, found) = report(&program);
    assert_eq!(status, 0, "{found}");
}

#[test]
fn what_the_c_runtime_gives_is_a_note() {
    let workshop = Workshop::new();
    let program = workshop.path("program.exe");
    link(&program, "windows_allocates.c", &[&loam_object()], &["-DWIDE"]);
    loam().arg("verify").arg(&program).assert().success().stdout(contains(
        "_getcwd, _wcsdup: the C runtime allocates what these give; loam's free hands it back",
    ));
}

#[test]
fn a_damaged_file_is_one_line() {
    let workshop = Workshop::new();
    let program = workshop.path("program.exe");
    link(&program, "windows_allocates.c", &[&loam_object()], &["-s"]);
    let whole = std::fs::read(&program).unwrap();
    let path = workshop.path("cut.exe");
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let start = format!("loam: {}: damaged PE file: ", path.display());
    loam().arg("verify").arg(&path).assert().code(2).stdout("").stderr(
        predicates::str::starts_with(start)
            .and(predicate::function(|text: &str| text.lines().count() == 1)),
    );
}
