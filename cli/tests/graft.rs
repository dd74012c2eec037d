//! `loam graft` of one C library: what it takes out, that programs run on the result, and back.

use crate::common::libc::{GLIBC, MUSL, copy_of, graft, link, objects, run, symbols, text};
use crate::common::{Workshop, loam};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::path::Path;

fn json(workshop: &Workshop, arguments: &[&str]) -> Value {
    let output = graft(workshop).args(arguments).arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome["schema"], 1);
    outcome
}

/// Runs a linked program and asserts that loam alone serves it.
fn assert_runs_on_loam(program: &Path) {
    assert_eq!(run(text(program), &[]), "ok\n", "{}", program.display());
    let names = symbols(program);
    assert!(names.iter().any(|name| name == "loam_malloc"), "{}", program.display());
    let old = ["_int_malloc", "main_arena", "__malloc_alloc_meta", "__malloc_context"];
    let left = names.iter().find(|name| old.contains(&name.as_str()));
    assert_eq!(left, None, "{}", program.display());
}

#[test]
fn programs_linked_with_a_grafted_musl_run_on_loam() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    graft(&workshop).arg(&libc).assert().success();
    let folder = libc.parent().unwrap();
    for linker in ["bfd", "gold", "lld"] {
        let linker = format!("-fuse-ld={linker}");
        for mode in ["-static", "-static-pie"] {
            // musl-gcc names a loader even to programs that have none, and lld takes its word.
            let loader = "-Wl,--no-dynamic-linker";
            let flags = match linker.ends_with("lld") && mode == "-static" {
                true => vec![mode, &linker, loader],
                false => vec![mode, &linker],
            };
            assert_runs_on_loam(&link(&workshop, "musl-gcc", folder, &flags));
        }
    }
}

#[test]
fn programs_linked_with_a_grafted_glibc_run_on_loam() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, GLIBC, "glibc");
    graft(&workshop).arg(&libc).assert().success();
    let folder = libc.parent().unwrap();
    // gold cannot link programs of glibc with -static-pie.
    let ways = [
        ("bfd", "-static"),
        ("bfd", "-static-pie"),
        ("gold", "-static"),
        ("lld", "-static"),
        ("lld", "-static-pie"),
    ];
    for (linker, mode) in ways {
        let linker = format!("-fuse-ld={linker}");
        assert_runs_on_loam(&link(&workshop, "cc", folder, &[mode, &linker]));
    }
}

#[test]
fn members_are_found_by_what_they_define() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    let outcome = json(&workshop, &[text(&libc)]);
    let archive = &outcome["archives"][0];
    assert_eq!(archive["libc"], "musl");
    assert_eq!(archive["architecture"], "x86_64");
    assert_eq!(archive["done"], "grafted");
    let dropped: Vec<&str> = archive["dropped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member["name"].as_str().unwrap())
        .collect();
    // Two members have this name, and both define what loam does.
    for twice in ["free.lo", "realloc.lo"] {
        assert_eq!(dropped.iter().filter(|name| **name == twice).count(), 2, "{dropped:?}");
    }
    // It defines a name of malloc's weakly, and fork itself strongly.
    assert!(!dropped.contains(&"fork.lo"));
    let left = run("ar", &["t", text(&libc)]);
    assert!(left.starts_with("loam.o\n") && left.contains("\nfork.lo\n"));
    assert!(!left.contains("\nfree.lo\n"));
    let index = run("nm", &["-s", text(&libc)]);
    assert!(index.contains("\nmalloc in loam.o\n") && index.contains("\nfork in fork.lo\n"));
}

#[test]
fn a_program_may_still_bring_its_own_malloc() {
    let workshop = Workshop::new();
    let own = workshop.compile("own_malloc.c", &["-c", "-Dmain=unused"]);
    for (libc, compiler) in [(MUSL, "musl-gcc"), (GLIBC, "cc")] {
        let copy = copy_of(&workshop, libc, compiler);
        graft(&workshop).arg(&copy).assert().success();
        let folder = copy.parent().unwrap();
        // Linking is the test: two strong definitions of malloc would be an error.
        link(&workshop, compiler, folder, &["-static", text(&own)]);
    }
}

#[test]
fn verify_tells_what_is_in_a_static_program() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    graft(&workshop).arg(&libc).assert().success();
    let folder = libc.parent().unwrap();
    let grafted = link(&workshop, "musl-gcc", folder, &["-static"]);
    let verify = |program: &Path| loam().arg("verify").arg(program).assert();
    verify(&grafted).success().stdout(contains("every malloc function in it is loam's"));
    run("strip", &[text(&grafted)]);
    verify(&grafted).success().stdout(contains("holds loam").and(contains("by its note")));
    // Loam's object first, with musl's own malloc behind: as far as the object's names reach.
    let partial = workshop.path("partial.o");
    let object = objects(&workshop).join("loam-x86_64.o");
    let inner = [
        "__libc_malloc",
        "__libc_free",
        "__libc_calloc",
        "__libc_realloc",
        "__libc_malloc_impl",
        "__malloc_donate",
        "__malloc_allzerop",
        "__malloc_atfork",
    ];
    // The object itself refers to these.
    let own = ["__malloc_replaced", "__aligned_alloc_replaced"];
    let inner = inner.map(|name| format!("--strip-symbol={name}"));
    let own = own.map(|name| format!("--localize-symbol={name}"));
    let names: Vec<&str> = inner.iter().chain(&own).map(String::as_str).collect();
    run("objcopy", &[&names[..], &[text(&object), text(&partial)]].concat());
    let beside = link(&workshop, "musl-gcc", Path::new("/"), &["-static", text(&partial)]);
    verify(&beside)
        .code(1)
        .stdout(contains("is left in beside loam").and(contains("__libc_malloc")))
        .stdout(contains("still called by").and(contains("newlocale")));
}

#[test]
fn a_member_that_others_want_more_of_is_split() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    let folder = libc.parent().unwrap();
    let of = |name: &str| text(&folder.join(name)).to_owned();
    // One member with calloc and with what exit wants.
    let parts = ["calloc.lo", "atexit.lo"];
    run("ar", &["x", "--output", text(folder), text(&libc), parts[0], parts[1]]);
    run("ld", &["-r", "-o", &of("merged.lo"), &of(parts[0]), &of(parts[1])]);
    run("ar", &["d", text(&libc), parts[0], parts[1]]);
    run("ar", &["rs", text(&libc), &of("merged.lo")]);
    let outcome = json(&workshop, &[text(&libc)]);
    let split = &outcome["archives"][0]["split"];
    assert_eq!(split[0]["name"], "merged.lo");
    assert_eq!(split[0]["symbols"], serde_json::json!(["__malloc_allzerop", "calloc"]));
    run("ar", &["x", "--output", text(folder), text(&libc), "merged.lo"]);
    let symbols = run("nm", &[&of("merged.lo")]);
    assert!(symbols.contains(" U calloc\n") && symbols.contains(" T atexit\n"), "{symbols}");
    assert_runs_on_loam(&link(&workshop, "musl-gcc", folder, &["-static"]));
}

#[test]
fn a_graft_is_undone_byte_for_byte_and_to_the_second() {
    let workshop = Workshop::new();
    for (libc, name) in [(MUSL, "musl"), (GLIBC, "glibc")] {
        let copy = copy_of(&workshop, libc, name);
        let before = std::fs::metadata(&copy).unwrap();
        graft(&workshop).arg(&copy).assert().success();
        assert!(std::fs::read(&copy).unwrap() != std::fs::read(libc).unwrap());
        graft(&workshop)
            .arg("--undo")
            .arg(&copy)
            .assert()
            .success()
            .stdout(contains("the original is back"));
        assert!(std::fs::read(&copy).unwrap() == std::fs::read(libc).unwrap());
        let after = std::fs::metadata(&copy).unwrap();
        assert_eq!(before.modified().unwrap(), after.modified().unwrap());
        assert_eq!(before.permissions(), after.permissions());
        let folder = std::fs::read_dir(copy.parent().unwrap()).unwrap();
        assert_eq!(folder.count(), 1, "nothing is left beside it");
    }
}

#[test]
fn a_second_graft_changes_nothing() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    graft(&workshop).arg(&libc).assert().success();
    let once = std::fs::read(&libc).unwrap();
    graft(&workshop).arg(&libc).assert().success().stdout(contains("already grafted"));
    assert!(std::fs::read(&libc).unwrap() == once);
    graft(&workshop).arg("--undo").arg(&libc).assert().success();
    assert!(std::fs::read(&libc).unwrap() == std::fs::read(MUSL).unwrap());
}

#[test]
fn a_dry_run_writes_nothing() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    graft(&workshop)
        .arg("--dry-run")
        .arg(&libc)
        .assert()
        .success()
        .stdout(contains("would be grafted").and(contains("calloc.lo: calloc")));
    assert!(std::fs::read(&libc).unwrap() == std::fs::read(MUSL).unwrap());
    assert_eq!(std::fs::read_dir(libc.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn the_result_may_go_elsewhere() {
    let workshop = Workshop::new();
    let output = workshop.path("libc.a");
    graft(&workshop)
        .args([MUSL, "--output", text(&output)])
        .assert()
        .success()
        .stdout(contains(format!("wrote {}\n", output.display())))
        .stdout(contains(format!(
            "musl-gcc -static -L{} program.c",
            output.parent().unwrap().display()
        )));
    assert!(symbols(&output).contains(&"loam_malloc".to_owned()));
}

#[test]
fn the_object_alone_serves_a_program() {
    let workshop = Workshop::new();
    let object = workshop.path("loam.o");
    graft(&workshop)
        .args(["--object", "--arch", "x86_64", "--output", text(&object)])
        .assert()
        .success()
        .stdout(contains(format!("cc       cc -static {} program.c", object.display())));
    let program = link(&workshop, "musl-gcc", Path::new("/"), &["-static", text(&object)]);
    assert_eq!(run(text(&program), &[]), "ok\n");
    assert!(symbols(&program).contains(&"loam_malloc".to_owned()));
}

#[test]
fn build_systems_get_the_objects_full_path() {
    let workshop = Workshop::new();
    let line = format!("--linkopt=-static --linkopt={} ...", text(&workshop.path("loam-x86_64.o")));
    graft(&workshop)
        .args(["--object", "--arch", "x86_64"])
        .current_dir(workshop.path(""))
        .assert()
        .success()
        .stdout(contains(line));
}
