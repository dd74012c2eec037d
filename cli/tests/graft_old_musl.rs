//! `loam graft` of musl before 1.2.1, whose malloc stood in other members: an archive of their
//! shapes, made from the installed musl.

use crate::common::libc::{MUSL, copy_of, graft, link, run, text};
use crate::common::{Workshop, built_once, fixture, loam};
use predicates::str::contains;
use std::path::{Path, PathBuf};

/// The members that the installed musl has for malloc. Two have the name free.lo, two realloc.lo.
const NEW_MEMBERS: [&str; 15] = [
    "calloc.lo",
    "free.lo",
    "free.lo",
    "libc_calloc.lo",
    "lite_malloc.lo",
    "aligned_alloc.lo",
    "donate.lo",
    "malloc.lo",
    "malloc_usable_size.lo",
    "realloc.lo",
    "realloc.lo",
    "memalign.lo",
    "posix_memalign.lo",
    "reallocarray.lo",
    "replaced.lo",
];
const OLD_MEMBERS: [&str; 8] = [
    "malloc",
    "calloc",
    "expand_heap",
    "lite_malloc",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "malloc_usable_size",
];

/// An archive whose malloc has the old members, and whose other members call it by its public
/// names, as they did.
fn old_musl(workshop: &Workshop, shape: &str) -> PathBuf {
    let without_malloc = built_once("libc-without-malloc.a", &[PathBuf::from(MUSL)], |path| {
        run("cp", &["-p", MUSL, text(path)]);
        run("ar", &[&["d", text(path)], &NEW_MEMBERS[..]].concat());
        let renames = ["malloc", "calloc", "free", "realloc"]
            .map(|name| format!("--redefine-sym=__libc_{name}={name}"));
        let renames: Vec<&str> = renames.iter().map(String::as_str).collect();
        run("objcopy", &[&renames[..], &[text(path)]].concat());
    });
    let libc = copy_of(workshop, text(&without_malloc), "old");
    let objects = OLD_MEMBERS.map(|member| {
        let object = workshop.path(&format!("{member}.lo"));
        let source = fixture("old_musl_malloc.c");
        let is_member = format!("-DIS_{member}");
        let flags = ["-O1", "-w", "-fno-builtin", "-c", shape, &is_member];
        run("musl-gcc", &[&flags[..], &[text(&source), "-o", text(&object)]].concat());
        object
    });
    let objects: Vec<&str> = objects.iter().map(|object| text(object)).collect();
    run("ar", &[&["r", text(&libc)], &objects[..]].concat());
    libc
}

fn assert_grafts(shape: &str, changes: &[&str]) {
    let workshop = Workshop::new();
    let libc = old_musl(&workshop, shape);
    let mut assertion = graft(&workshop).arg(&libc).assert().success();
    for change in changes {
        assertion = assertion.stdout(contains(format!("  {change}\n")));
    }
    let folder = libc.parent().unwrap();
    assert_runs_on_loam(&link(&workshop, "musl-gcc", folder, &["-static"]));
}

fn assert_runs_on_loam(program: &Path) {
    assert_eq!(run(text(program), &[]), "ok\n");
    let all = contains("every malloc function in it is loam's");
    loam().arg("verify").arg(program).assert().success().stdout(all);
    let names = run("nm", &[text(program)]);
    assert!(!names.contains("__bin_chunk") && !names.contains("__expand_heap"), "{names}");
}

#[test]
fn from_1_1_20_to_1_2_0() {
    let changes = [
        "malloc.lo: __malloc_donate, __malloc_replaced, calloc, free, malloc, realloc",
        "aligned_alloc.lo: aligned_alloc",
        "posix_memalign.lo: posix_memalign",
        "malloc_usable_size.lo: malloc_usable_size",
    ];
    assert_grafts("-DHAS_MALLOC0=0", &changes);
}

#[test]
fn before_1_1_20_with_another_name_for_zeroed_memory() {
    let changes = [
        "malloc.lo: __malloc_donate, __malloc_replaced, free, malloc, realloc",
        "calloc.lo: calloc",
    ];
    assert_grafts("-DHAS_MALLOC0=1", &changes);
}
