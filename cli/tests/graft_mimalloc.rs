//! `loam graft` of a C library into which mimalloc has been put, as newer SDKs of Swift's have it.

use crate::common::libc::{MUSL, copy_of, graft, link, run, symbols, text};
use crate::common::{Workshop, loam};
use predicates::prelude::*;
use predicates::str::contains;
use std::path::{Path, PathBuf};

/// The members of musl that the SDK's script takes out.
const CUT: [&str; 12] = [
    "aligned_alloc.lo",
    "calloc.lo",
    "donate.lo",
    "free.lo",
    "libc_calloc.lo",
    "lite_malloc.lo",
    "malloc.lo",
    "malloc_usable_size.lo",
    "memalign.lo",
    "posix_memalign.lo",
    "realloc.lo",
    "reallocarray.lo",
];

/// Stands in for mimalloc's object: an arena that is never given back, under its names.
const OBJECT: &str = r#"
#include <stddef.h>
#include <string.h>
static char arena[64 << 20];
static size_t used;
void *mi_malloc(size_t size) {
  size_t at = __atomic_fetch_add(&used, (size + 31) & ~(size_t)15, __ATOMIC_RELAXED);
  *(size_t *)(arena + at) = size;
  return arena + at + 16;
}
void *_mi_heap_main = arena;
void *malloc(size_t size) { return mi_malloc(size); }
void free(void *block) { (void)block; }
void cfree(void *block) { (void)block; }
void *calloc(size_t count, size_t size) { return mi_malloc(count * size); }
void *realloc(void *block, size_t size) {
  void *grown = mi_malloc(size);
  return block ? memcpy(grown, block, size) : grown;
}
void *aligned_alloc(size_t alignment, size_t size) { return mi_malloc(size + alignment); }
void *memalign(size_t alignment, size_t size) { return mi_malloc(size + alignment); }
size_t malloc_usable_size(void *block) { return ((size_t *)block)[-2]; }
"#;

/// musl with the object in the place of its malloc, and what else the object is to define.
fn libc_with(workshop: &Workshop, more: &str) -> PathBuf {
    let libc = copy_of(workshop, MUSL, "sdk");
    let cut: Vec<&str> = [&["d", text(&libc)][..], &CUT, &CUT].concat();
    run("ar", &cut);
    // Two of its members are called free.lo.
    run("ar", &["d", text(&libc), "free.lo"]);
    let (source, object) = (workshop.path("mimalloc.c"), workshop.path("mimalloc.o"));
    std::fs::write(&source, format!("{OBJECT}{more}")).unwrap();
    run("cc", &["-c", "-O1", "-w", "-fno-builtin", text(&source), "-o", text(&object)]);
    run("ar", &["r", text(&libc), text(&object)]);
    libc
}

fn content(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[test]
fn mimalloc_in_a_c_library_gives_way_to_loam() {
    let workshop = Workshop::new();
    let libc = libc_with(&workshop, "");
    let before = content(&libc);
    graft(&workshop)
        .arg(&libc)
        .assert()
        .success()
        .stdout(contains("musl, x86_64: grafted"))
        .stdout(contains("replace  mimalloc, which had been put into it"))
        .stdout(contains("mimalloc.o: "));
    let program = link(&workshop, "musl-gcc", libc.parent().unwrap(), &["-static"]);
    assert_eq!(run(text(&program), &[]), "ok\n");
    assert!(symbols(&program).iter().all(|name| !name.contains("mi_")), "mimalloc is gone");
    let proven = contains("every malloc function in it is loam's").and(contains("NOT").not());
    loam().arg("verify").arg(&program).assert().success().stdout(proven);
    graft(&workshop).arg("--undo").arg(&libc).assert().success();
    assert!(content(&libc) == before);
}

#[test]
fn what_was_put_in_with_it_and_is_the_c_librarys_is_refused() {
    let workshop = Workshop::new();
    let libc = libc_with(&workshop, "char *strdup(const char *text) { return (char *)text; }");
    run("ar", &["d", text(&libc), "strdup.lo"]);
    let before = content(&libc);
    let refused = graft(&workshop).arg(&libc).assert().code(2);
    refused.stderr(contains("mimalloc has been put into it, and strdup with it"));
    assert!(content(&libc) == before);
}
