//! What the command reads from files of others may be cut short or damaged in any way: the readers
//! of ELF, PE and core files and of static archives say so, and neither panic nor run away. Each
//! file is cut at many places, and changed in many ways by a generator with a fixed seed;
//! `fuzz/run.sh archive` does as much for longer.

// The command's own files; it uses more of them than this does.
#![allow(dead_code)]

mod common;

#[path = "../src/binary"]
mod binary {
    pub mod callers;
    pub mod elf;
    pub mod entry_points;
    pub mod pe;
}

#[path = "../src/heap"]
mod heap {
    pub mod core;
    pub mod core_notes;
    pub mod source;
}

#[path = "../src/graft"]
mod graft {
    pub mod archive;
    pub mod plan;
    pub mod rewrite;
    pub mod survey;
}

#[path = "common/regraft.rs"]
mod regraft;

use common::Workshop;
use graft::archive;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Values that sizes, counts and offsets are mistaken with.
const VALUES: [u64; 9] =
    [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX];

fn damage(bytes: &mut Vec<u8>, random: &mut ChaCha8Rng) {
    let mut at = random.random_range(0..bytes.len());
    if random.random() {
        at &= !7; // where a field of a header is
    }
    let end = bytes.len().min(at + [1, 2, 4, 8][random.random_range(0..4)]);
    match random.random_range(0..5) {
        0 => bytes[at] ^= 1 << random.random_range(0..8),
        1 => bytes[at..end].copy_from_slice(
            &VALUES[random.random_range(0..VALUES.len())].to_le_bytes()[..end - at],
        ),
        2 => bytes[at..end].fill(random.random()),
        3 => {
            let from = random.random_range(0..bytes.len());
            let length = (bytes.len() - from.max(at)).min(64);
            bytes.copy_within(from..from + length, at);
        }
        _ => bytes.truncate(at.max(1)),
    }
}

/// Calls `read` with the file cut at many places, and with `count` damaged ones. Half of the damage
/// is done to its first bytes, where the headers are.
fn with_damaged(original: &[u8], count: u64, mut read: impl FnMut(&[u8])) {
    let step = (original.len() / 150).max(1);
    for length in (0..original.len().min(200)).chain((0..original.len()).step_by(step)) {
        read(&original[..length]);
    }
    for seed in 0..count {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut bytes = original.to_vec();
        let rest = if seed % 2 == 0 { bytes.split_off(bytes.len().min(1024)) } else { Vec::new() };
        for _ in 0..random.random_range(1..6) {
            damage(&mut bytes, &mut random);
        }
        bytes.extend(rest);
        read(&bytes);
    }
}

/// The same through a file.
fn with_damaged_file(original: &Path, count: u64, mut read: impl FnMut(&Path)) {
    let shop = Workshop::new();
    let path = shop.path("damaged");
    let bytes = std::fs::read(original).expect("the file");
    with_damaged(&bytes, count, |damaged| {
        std::fs::write(&path, damaged).expect("a written file");
        read(&path);
    });
}

fn read_elf(path: &Path) {
    let Ok(Some(image)) = binary::elf::Image::read(path) else { return };
    image.is_loam();
    image.sanitizer();
    image.has_internal("malloc");
    image.symbol_at(0x1000);
}

#[test]
fn a_damaged_program_is_refused_or_read() {
    let shop = Workshop::new();
    let dynamic = shop.compile("allocates.c", &["-s"]);
    with_damaged_file(&dynamic, 800, read_elf);
}

#[test]
fn a_damaged_program_of_32_bit_is_refused_or_read() {
    let path = corpus().join("bits32.a");
    let bytes = std::fs::read(path).expect("the archive");
    let members = archive::read(&bytes).expect("a whole archive");
    let shop = Workshop::new();
    let object = shop.executable_file("object.o", members[0].data);
    with_damaged_file(&object, 500, read_elf);
}

#[test]
fn calls_in_a_damaged_program_are_looked_for() {
    let shop = Workshop::new();
    let program = shop.compile("allocates.c", &[]);
    let targets = (0..100).map(|i| 0x1000 + i * 16).collect();
    with_damaged_file(&program, 200, |path| drop(binary::callers::of(path, &targets)));
}

#[test]
fn a_damaged_file_for_windows_is_refused_or_read() {
    let shop = Workshop::new();
    let program = shop.path("program.exe");
    let status = Command::new("x86_64-w64-mingw32-gcc-posix")
        .args(["-s", "-O1", "-o"])
        .args([&program, &common::fixture("windows_allocates.c")])
        .status()
        .expect("MinGW's compiler");
    assert!(status.success());
    with_damaged_file(&program, 800, |path| drop(binary::pe::Image::read(path)));
}

/// A core file as small as one can be: two segments and the notes of a process.
fn small_core() -> Vec<u8> {
    let (mut bytes, header, entry) = (vec![0; 0x1000], 64, 56);
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    bytes[6] = 1;
    let mut put = |at: usize, value: u64, size: usize| {
        bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    };
    put(16, 4, 2); // a core
    put(18, 62, 2); // of x86-64
    put(20, 1, 4);
    put(32, header, 8);
    put(52, header, 2);
    put(54, entry, 2);
    put(56, 2, 2);
    for (at, kind, offset, address, size) in
        [(64, 4, 0x100, 0, 0x200), (120, 1, 0x400, 0x55_0000_0000, 0xc00)]
    {
        put(at, kind, 4);
        put(at + 8, offset, 8);
        put(at + 16, address, 8);
        put(at + 32, size, 8);
        put(at + 40, size, 8);
    }
    // NT_FILE: one file, one page at the segment's address; then NT_PRSTATUS.
    put(0x100, 5, 4);
    put(0x104, 48, 4);
    put(0x108, 0x4649_4c45, 4);
    put(0x10c, u64::from(u32::from_le_bytes(*b"CORE")), 8);
    put(0x114, 1, 8);
    put(0x11c, 0x1000, 8);
    put(0x124, 0x55_0000_0000, 8);
    put(0x12c, 0x55_0000_1000, 8);
    put(0x13c, u64::from_le_bytes(*b"/bin/sh\0"), 8);
    put(0x144, 5, 4);
    put(0x148, 0x80, 4);
    put(0x14c, 1, 4);
    put(0x150, u64::from(u32::from_le_bytes(*b"CORE")), 8);
    bytes
}

#[test]
fn a_damaged_core_is_refused_or_read() {
    let shop = Workshop::new();
    let core = shop.executable_file("core", small_core());
    with_damaged_file(&core, 3000, |path| {
        if let Ok(core) = heap::core::Core::open(path) {
            let mut bytes = [0; 64];
            drop(heap::source::Source::read(&core, 0x55_0000_0100, &mut bytes));
        }
    });
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/archive")
}

#[test]
fn damaged_archives_are_refused_or_grafted() {
    for entry in std::fs::read_dir(corpus()).expect("the archives") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("an archive");
        with_damaged(&bytes, 400, regraft::check);
    }
}
