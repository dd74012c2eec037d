//! `loam verify`: what is proven, and what is detected.

use crate::common::{Background, Workshop, library, loam, loam_process, real_library, standin};
use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Runs verify with --json and gives the status and the report: of what would be, or of a process.
fn report(target: impl AsRef<std::ffi::OsStr>) -> (i32, Value) {
    report_by(loam().args(["verify", "--preloaded"]).arg(target))
}

/// Of what is.
fn report_as_it_is(target: impl AsRef<std::ffi::OsStr>) -> (i32, Value) {
    report_by(loam().arg("verify").arg(target))
}

fn report_by(command: &mut assert_cmd::Command) -> (i32, Value) {
    let output = command.arg("--json").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let parsed = serde_json::from_str(&text);
    let report: Value = parsed.unwrap_or_else(|cause| {
        panic!("{cause}: {text}{}", String::from_utf8_lossy(&output.stderr))
    });
    let status = output.status.code().unwrap();
    assert_eq!(report["loam"], status == 0, "status and report agree: {text}");
    assert_eq!(report["schema"], 1);
    (status, report)
}

fn entry_point<'a>(report: &'a Value, name: &str) -> &'a Value {
    let rows = report["entry_points"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name} in {report}"))
}

fn finding<'a>(report: &'a Value, kind: &str) -> &'a Value {
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["kind"] == kind);
    found.unwrap_or_else(|| panic!("{kind} in {findings:?}"))
}

fn ends_with(value: &Value, end: &str) -> bool {
    value.as_str().is_some_and(|text| text.ends_with(end))
}

/// A program that opens a library in some mode, and waits.
fn opening(workshop: &Workshop, mode: &str) -> Command {
    let program = workshop.compile("opens.c", &[]);
    let plugin = workshop.compile("plugin.c", &["-shared", "-fPIC", "-Wl,-z,lazy"]);
    let mut command = Command::new(program);
    command.arg(mode).arg(plugin);
    command
}

/// The same, run by loam and waiting. The flag is kept where it is to be seen.
fn opened(workshop: &Workshop, mode: &str) -> Background {
    let command = opening(workshop, mode);
    let mut run = loam_process();
    run.args(["run", "--option", "deepbind=keep", "--"])
        .arg(command.get_program())
        .args(command.get_args());
    Background::start(&mut run)
}

#[test]
fn a_program_is_proven() {
    let (status, report) = report("true");
    assert_eq!(status, 0, "{report}");
    let library = library().canonicalize().unwrap();
    let library = library.to_str().unwrap();
    assert_eq!(report["library"], library);
    for name in ["malloc", "free", "calloc", "realloc", "aligned_alloc", "posix_memalign"] {
        assert_eq!(entry_point(&report, name)["loam"], true, "{name}");
        assert_eq!(entry_point(&report, name)["module"], library, "{name}");
    }
    let strdup = entry_point(&report, "strdup's allocation");
    assert_eq!(strdup["loam"], true);
    assert_eq!(strdup["module"], library);
}

#[test]
fn a_program_is_proven_in_one_line() {
    loam()
        .args(["verify", "--preloaded", "true"])
        .assert()
        .success()
        .stdout(contains("(with loam preloaded): all of it is loam's").and(contains("NOT").not()))
        .stderr("");
}

#[test]
fn all_lists_every_module() {
    loam()
        .args(["verify", "--preloaded", "--all", "true"])
        .assert()
        .success()
        .stdout(contains("(the program)").and(contains("libc.so.6")).and(contains("strdup")));
}

#[test]
fn every_operator_new_of_a_cxx_program_is_proven() {
    let workshop = Workshop::new();
    for flags in [&[][..], &["-static-libstdc++"], &["-no-pie"], &["-Wl,-z,lazy"]] {
        let (status, report) = report(workshop.compile("cxx.cc", flags));
        assert_eq!(status, 0, "{flags:?}: {report}");
    }
    let (_, report) = report(workshop.compile("cxx.cc", &[]));
    assert_eq!(entry_point(&report, "operator new")["loam"], true);
    let modules = report["modules"].as_array().unwrap();
    let program = modules.iter().find(|module| module["role"] == "program").unwrap();
    let references = program["references"].as_array().unwrap();
    assert!(references.iter().any(|reference| reference["name"] == "operator new (aligned)"));
}

#[test]
fn the_program_gets_its_arguments_and_does_not_come_to_main() {
    let workshop = Workshop::new();
    let mark = workshop.path("mark");
    let script = format!("touch {}", mark.display());
    let preloaded = |words: &[&str]| loam().args(["verify", "--preloaded"]).args(words).assert();
    preloaded(&["sh", "--", "-c", &script]).success();
    preloaded(&["--", "sh", "-c", &script]).success();
    assert!(!mark.exists());
}

#[test]
fn a_script_is_judged_by_its_interpreter() {
    let workshop = Workshop::new();
    let script = workshop.executable_file("script", "#!/usr/bin/env -S awk -f\n");
    let (status, report) = report(&script);
    assert_eq!(status, 0);
    assert_eq!(finding(&report, "script")["is_failure"], false);
}

#[test]
fn a_running_process_is_proven() {
    let workshop = Workshop::new();
    let process = opened(&workshop, "plain");
    let (status, report) = report(process.pid());
    assert_eq!(status, 0, "{report}");
    assert_eq!(report["pid"], process.0.id());
    let modules = report["modules"].as_array().unwrap();
    let plugin = modules.iter().find(|module| ends_with(&module["path"], "/plugin")).unwrap();
    assert_eq!(plugin["result"], "loam");
    assert_eq!(plugin["references"][0]["binding"], "lazy");
}

#[test]
fn a_process_without_loam_is_told_whose_malloc_it_has() {
    let workshop = Workshop::new();
    let process = Background::start(&mut opening(&workshop, "plain"));
    let (status, report) = report(process.pid());
    assert_eq!(status, 1);
    assert_eq!(report["library"], Value::Null);
    let found = finding(&report, "not-loaded");
    assert!(ends_with(&found["module"], "libc.so.6"), "{found}");
    assert_eq!(entry_point(&report, "malloc")["loam"], false);
}

#[test]
fn rtld_deepbind_is_detected() {
    let workshop = Workshop::new();
    for mode in ["deepbind", "lazy-deepbind"] {
        let process = opened(&workshop, mode);
        let (status, report) = report(process.pid());
        assert_eq!(status, 1, "{mode}: {report}");
        let found = finding(&report, "deepbind");
        assert!(ends_with(&found["module"], "/plugin"));
        assert_eq!(found["entry_points"], serde_json::json!(["free", "malloc"]));
        loam()
            .args(["verify", &process.pid()])
            .assert()
            .code(1)
            .stdout(contains("RTLD_DEEPBIND").and(contains("libc.so.6")));
    }
}

#[test]
fn a_namespace_of_its_own_is_detected() {
    let workshop = Workshop::new();
    let process = opened(&workshop, "namespace");
    let (status, report) = report(process.pid());
    assert_eq!(status, 1);
    finding(&report, "namespace");
}

#[test]
fn a_malloc_inside_the_executable_is_detected() {
    let workshop = Workshop::new();
    let program = workshop.compile("own_malloc.c", &[]);
    let (status, report) = report(&program);
    assert_eq!(status, 1);
    let found = finding(&report, "own-malloc");
    assert_eq!(found["module"], program.canonicalize().unwrap().to_str().unwrap());
    assert_eq!(entry_point(&report, "malloc")["module"], found["module"]);
    assert_eq!(entry_point(&report, "strdup's allocation")["loam"], false);
}

#[test]
fn a_program_that_the_option_aside_lists_is_not_on_loam() {
    let workshop = Workshop::new();
    let program = workshop.compile("serves.c", &[]);
    let list = format!("aside=sh:{}", program.display());
    let mut verify = loam();
    verify.args(["verify", "--preloaded", "--library"]).arg(real_library());
    verify.arg(&program).env("LOAM_OPTIONS", list);
    let (status, report) = report_by(&mut verify);
    assert_eq!(report_by(loam().args(["verify", "--preloaded"]).arg(&program)).0, 0);
    assert_eq!(status, 1);
    assert!(finding(&report, "aside")["text"].as_str().unwrap().contains("stepped aside"));
}

#[test]
fn an_operator_new_inside_the_executable_is_detected() {
    let workshop = Workshop::new();
    let (status, report) = report(workshop.compile("own_new.cc", &[]));
    assert_eq!(status, 1);
    finding(&report, "own-malloc");
}

#[test]
fn a_sanitizers_malloc_is_detected() {
    let workshop = Workshop::new();
    let program = workshop.compile("opens.c", &["-fsanitize=address"]);
    let (status, found) = report(&program);
    assert_eq!(status, 1);
    finding(&found, "sanitizer");
    let plugin = workshop.compile("plugin.c", &["-shared", "-fPIC"]);
    let process = Background::start(Command::new(program).arg("plain").arg(plugin));
    let (status, found) = report(process.pid());
    assert_eq!(status, 1);
    assert!(finding(&found, "sanitizer")["text"].as_str().unwrap().contains("AddressSanitizer"));
}

#[test]
fn an_allocator_preloaded_ahead_of_loam_is_named() {
    let workshop = Workshop::new();
    let other = workshop.compile("own_malloc.c", &["-shared", "-fPIC"]);
    let preload = format!("{}:{}", other.display(), library().display());
    let process = Background::start(opening(&workshop, "plain").env("LD_PRELOAD", preload));
    let (status, report) = report(process.pid());
    assert_eq!(status, 1);
    assert!(ends_with(&finding(&report, "ahead-of-loam")["module"], "/own_malloc"));
}

#[test]
fn a_library_that_defines_malloc_behind_loam_is_a_note() {
    let workshop = Workshop::new();
    let other = workshop.compile("own_malloc.c", &["-shared", "-fPIC"]);
    let (status, report) = report(workshop.compile("allocates.c", &[other.to_str().unwrap()]));
    assert_eq!(status, 0, "{report}");
    assert_eq!(finding(&report, "defines-malloc")["is_failure"], false);
}

#[test]
fn a_static_program_is_judged_by_its_symbols() {
    let workshop = Workshop::new();
    let (status, found) = report(workshop.compile("allocates.c", &["-static"]));
    assert_eq!(status, 1);
    assert_eq!(found["linkage"], "static");
    let (status, found) = report(workshop.compile("allocates.c", &["-static", "-s"]));
    assert_eq!(status, 1);
    finding(&found, "stripped");
    let standin = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/standin.c");
    let linked_in = ["-static", standin.to_str().unwrap()];
    let (status, found) = report_as_it_is(workshop.compile("allocates.c", &linked_in));
    assert_eq!(status, 0, "{found}");
    assert_eq!(entry_point(&found, "malloc")["loam"], true);
}

#[test]
fn loam_linked_into_a_dynamic_program_is_proven() {
    let workshop = Workshop::new();
    let standin = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/standin.c");
    let program = workshop.compile("allocates.c", &[standin.to_str().unwrap()]);
    for (status, report) in [report(&program), report_as_it_is(&program)] {
        assert_eq!(status, 0, "{report}");
        assert_eq!(report["library"], report["program"]);
        assert_eq!(report["started"], "as-it-is");
    }
    loam().args(["run", "--"]).arg(program).assert().code(3).stderr("");
}

#[test]
fn a_program_that_a_preload_cannot_reach_is_not_started() {
    let workshop = Workshop::new();
    let loader = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1";
    let program = workshop.compile("allocates.c", &[loader]);
    let mut command = loam();
    command.env("LOAM_LIBRARY", standin()).args(["verify", "--preloaded"]).arg(program);
    let (status, report) = report_by(&mut command);
    assert_eq!(status, 1);
    finding(&report, "unreachable");
}

#[test]
fn what_cannot_be_found_out_is_2_and_one_line() {
    let workshop = Workshop::new();
    let text = workshop.executable_file("text", "no program\n");
    let damaged = workshop.executable_file("damaged", b"\x7fELF\x02\x01\x01garbage");
    let targets = ["no-such-program", "/", "999999999", "0", "99999999999999999999"];
    let targets = targets.map(Path::new).into_iter().chain([&*text, &*damaged]);
    for target in targets {
        loam()
            .arg("verify")
            .arg(target)
            .assert()
            .code(2)
            .stdout("")
            .stderr(starts_with("loam: ").and(predicate::str::is_match(r"^[^\n]+\n$").unwrap()));
    }
    loam().arg("verify").assert().code(2).stderr(starts_with("loam: "));
}

/* ---- What is, and what would be ---- */

#[test]
fn a_program_without_loam_is_not_on_loam_as_it_is() {
    let workshop = Workshop::new();
    let program = workshop.compile("allocates.c", &[]);
    let (status, found) = report_as_it_is(&program);
    assert_eq!(status, 1, "{found}");
    assert_eq!(found["started"], "as-it-is");
    assert_eq!(found["library"], Value::Null);
    finding(&found, "not-loaded");
    let said = contains("(as it is): NOT on loam: loam is not loaded: malloc is that of ");
    let next = contains("; 'loam run' preloads it, and --preloaded verifies that");
    loam().arg("verify").arg(&program).assert().code(1).stdout(said.and(next));
    let (status, found) = report(&program);
    assert_eq!(status, 0, "{found}");
    assert_eq!(found["started"], "preloaded");
}

#[test]
fn what_the_environment_preloads_is_there_as_it_is() {
    let workshop = Workshop::new();
    let program = workshop.compile("allocates.c", &[]);
    let mut command = loam();
    command.env("LD_PRELOAD", library()).arg("verify").arg(&program);
    let (status, found) = report_by(&mut command);
    assert_eq!(status, 0, "{found}");
    assert_eq!(found["started"], "as-it-is");
    assert_eq!(found["library"], library().canonicalize().unwrap().to_str().unwrap());
}

#[test]
fn a_path_in_ld_preload_without_effect_is_named() {
    let workshop = Workshop::new();
    let program = workshop.compile("allocates.c", &[]);
    let text = workshop.executable_file("no-library.so", "text\n");
    let text = text.canonicalize().unwrap();
    for (path, why) in
        [("/nowhere/libloam.so", "does not exist"), (text.to_str().unwrap(), "was not loaded")]
    {
        let said = "NOT on loam: loam is not loaded: malloc is that of ";
        let named = format!("; LD_PRELOAD names {path}, which {why}");
        let mut command = loam();
        let assert = command.env("LD_PRELOAD", path).arg("verify").arg(&program).assert();
        assert.code(1).stdout(contains(said).and(contains(named)));
    }
}

#[test]
fn a_library_to_preload_is_for_preloading() {
    loam()
        .args(["verify", "--library"])
        .arg(library())
        .arg("true")
        .assert()
        .code(2)
        .stderr(starts_with("loam: ").and(contains("--preloaded")));
}
