//! `loam graft` of a folder packed as .zip, and what it says of files that it does not look into.

use crate::common::libc::{MUSL, copy_of, graft, link, run, text};
use crate::common::{Workshop, loam, loam_process};
use predicates::prelude::*;
use predicates::str::contains;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// A bundle: texts, a program, a link, a C library, each stored or compressed.
fn bundle(workshop: &Workshop) -> PathBuf {
    let path = workshop.path("sdk.artifactbundle.zip");
    let mut zip = ZipWriter::new(File::create(&path).unwrap());
    let packed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    zip.add_directory("sdk", packed).unwrap();
    let mut add = |name: &str, options: SimpleFileOptions, data: &[u8]| {
        zip.start_file(name, options).unwrap();
        zip.write_all(data).unwrap();
    };
    add("sdk/info.json", packed, b"{}\n");
    add("sdk/script", stored.unix_permissions(0o755), b"#!/bin/sh\n");
    add("sdk/usr/lib/libc.a", packed.unix_permissions(0o640), &std::fs::read(MUSL).unwrap());
    zip.add_symlink("sdk/usr/lib64", "lib", packed).unwrap();
    zip.finish().unwrap();
    path
}

/// Name, mode, method and bytes of each entry.
fn entries(path: &Path) -> Vec<(String, Option<u32>, CompressionMethod, Vec<u8>)> {
    let mut zip = ZipArchive::new(File::open(path).unwrap()).unwrap();
    let count = zip.len();
    let entry = |at| {
        let mut entry = zip.by_index(at).unwrap();
        let mut data = Vec::new();
        entry.read_to_end(&mut data).unwrap();
        let name = entry.name().unwrap().into_owned();
        (name, entry.unix_mode(), entry.compression(), data)
    };
    (0..count).map(entry).collect()
}

#[test]
fn a_zip_is_packed_again_with_all_that_was_in_it() {
    let workshop = Workshop::new();
    let packed = bundle(&workshop);
    let before = std::fs::read(&packed).unwrap();
    let output = workshop.path("sdk-loam.artifactbundle.zip");
    graft(&workshop)
        .arg(&packed)
        .assert()
        .success()
        .stdout(contains("sdk/usr/lib/libc.a: musl, x86_64: grafted"))
        .stdout(contains(format!("wrote {}\n", output.display())));
    assert!(std::fs::read(&packed).unwrap() == before, "the original is as it was");
    let (old, new) = (entries(&packed), entries(&output));
    let is_changed = |(name, ..): &(String, _, _, _)| name.contains("libc.a");
    let without =
        |all: &[_]| all.iter().filter(|one| !is_changed(one)).cloned().collect::<Vec<_>>();
    assert!(without(&old) == without(&new));
    let named = |end: &str| new.iter().find(|(name, ..)| name.ends_with(end)).unwrap();
    let (original, grafted) = (named("libc.a.loam-original"), named("libc.a"));
    assert!(original.3 == std::fs::read(MUSL).unwrap());
    assert_eq!((grafted.1, grafted.2), (original.1, CompressionMethod::Deflated));
    // Other programs can read it, and programs link with what is in it.
    run("python3", &["-m", "zipfile", "-t", text(&output)]);
    let unpacked = workshop.path("unpacked");
    run("python3", &["-m", "zipfile", "-e", text(&output), text(&unpacked)]);
    let program = link(&workshop, "musl-gcc", &unpacked.join("sdk/usr/lib"), &["-static"]);
    assert_eq!(run(text(&program), &[]), "ok\n");
    loam().arg("verify").arg(&program).assert().success();
}

#[test]
fn a_dry_run_writes_no_zip_and_a_damaged_one_is_refused() {
    let workshop = Workshop::new();
    let packed = bundle(&workshop);
    let output = workshop.path("sdk-loam.artifactbundle.zip");
    let dry = graft(&workshop).arg("--dry-run").arg(&packed).assert().success();
    dry.stdout(contains("would be grafted"));
    let whole = std::fs::read(&packed).unwrap();
    std::fs::write(&packed, &whole[..whole.len() / 2]).unwrap();
    let refused = graft(&workshop).arg(&packed).assert().code(2);
    refused.stderr(contains("damaged").and(contains(text(&packed))));
    assert!(!output.exists());
}

#[test]
fn a_zip_with_a_path_out_of_it_is_refused() {
    let workshop = Workshop::new();
    let path = workshop.path("sdk.zip");
    let mut zip = ZipWriter::new(File::create(&path).unwrap());
    zip.start_file("../libc.a", SimpleFileOptions::default()).unwrap();
    zip.write_all(&std::fs::read(MUSL).unwrap()).unwrap();
    zip.finish().unwrap();
    let refused = graft(&workshop).arg(&path).assert().code(2);
    refused.stderr(contains("leads out of the folder"));
    assert!(!workshop.path("sdk-loam.zip").exists());
}

/// A folder with a C library, and files that may hold others.
fn folder_with_riddles(workshop: &Workshop) -> PathBuf {
    let folder = workshop.path("sdk");
    copy_of(workshop, MUSL, "sdk/lib");
    std::fs::write(folder.join("thin.a"), b"!<thin>\nand more").unwrap();
    std::fs::write(folder.join("damaged.a"), b"!<arch>\nno member's header").unwrap();
    std::fs::write(folder.join("inner.tar.gz"), b"\x1f\x8b and more").unwrap();
    folder
}

#[test]
fn what_cannot_be_looked_into_is_named() {
    let workshop = Workshop::new();
    let folder = folder_with_riddles(&workshop);
    let packed = workshop.path("sdk.tar");
    run("tar", &["-C", text(folder.parent().unwrap()), "-cf", text(&packed), "sdk"]);
    for target in [&packed, &folder] {
        graft(&workshop)
            .arg(target)
            .assert()
            .success()
            .stdout(contains("sdk/thin.a: a thin archive").and(contains("not read: ")))
            .stdout(contains("sdk/damaged.a: truncated or damaged"))
            .stdout(contains("sdk/inner.tar.gz: a packed folder of its own"));
    }
    std::fs::remove_dir_all(folder.join("lib")).unwrap();
    let none = graft(&workshop).arg(&folder).assert().code(2);
    none.stderr(contains("no C library's archive").and(contains("sdk/thin.a: a thin archive")));
}

#[test]
fn objects_that_are_missing_are_named_before_anything_is_done() {
    let workshop = Workshop::new();
    copy_of(&workshop, MUSL, "sdk");
    let objects = workshop.path("none");
    std::fs::create_dir(&objects).unwrap();
    let sdk = workshop.path("sdk");
    let arguments = ["graft", "--objects", text(&objects), text(&sdk)];
    let named = contains("loam has no object for x86_64").and(contains("make objects"));
    loam().args(arguments).assert().code(2).stderr(named.and(contains("note").not()));
    // On a terminal, where somebody would wait in vain.
    let command = loam_process();
    let words = [&[command.get_program().to_str().unwrap()], &arguments[..]].concat();
    let command = shlex::try_join(words).unwrap();
    let said = std::process::Command::new("script").args(["-qec", &command, "/dev/null"]).output();
    let said = String::from_utf8_lossy(&said.unwrap().stdout).into_owned();
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("loam: note: no object for x86_64, aarch64, "), "{said}");
    assert!(lines.len() > 1 && lines[1].contains("no object for x86_64"), "{said}");
}
