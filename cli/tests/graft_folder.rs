//! `loam graft` of folders and packed folders.

use crate::common::Workshop;
use crate::common::libc::{GLIBC, MUSL, copy_of, graft, link, run, text};
use predicates::prelude::*;
use predicates::str::contains;
use std::path::{Path, PathBuf};

/// A folder like an SDK's: a C library, a link to it, other files.
fn sdk(workshop: &Workshop) -> PathBuf {
    let folder = workshop.path("sdk");
    copy_of(workshop, MUSL, "sdk/musl/lib");
    std::os::unix::fs::symlink("libc.a", folder.join("musl/lib/libc.link")).unwrap();
    std::fs::write(folder.join("info.json"), "{}\n").unwrap();
    std::fs::copy("/usr/lib/x86_64-linux-musl/libm.a", folder.join("musl/lib/libm.a")).unwrap();
    let long = folder.join("a-folder-with-a-long-name/".repeat(6));
    std::fs::create_dir_all(&long).unwrap();
    std::fs::write(long.join("a-file"), "text").unwrap();
    let script = folder.join("script");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    run("chmod", &["2755", text(&script)]);
    run("find", &[text(&folder), "-exec", "touch", "-h", "-d", "2020-02-02 02:02:02", "{}", "+"]);
    folder
}

/// What tar says of each entry: mode, owner, size, time, name, link.
fn listing(packed: &Path) -> Vec<String> {
    let listing = run("tar", &["--full-time", "--numeric-owner", "-tvf", text(packed)]);
    listing.lines().map(str::to_owned).collect()
}

/// The same without the C library and its original.
fn without_libc(packed: &Path) -> Vec<String> {
    let names = ["libc.a", ".loam-original"];
    let is_libc = |line: &String| names.iter().any(|name| line.ends_with(name));
    listing(packed).into_iter().filter(|line| !is_libc(line)).collect()
}

fn assert_same(one: &Path, other: &Path) {
    run("diff", &["--recursive", "--no-dereference", text(one), text(other)]);
}

#[test]
fn every_libc_of_a_folder_is_grafted_and_undone() {
    let workshop = Workshop::new();
    let folder = sdk(&workshop);
    // By its content, whatever its name.
    let other = copy_of(&workshop, GLIBC, "sdk/glibc/lib");
    std::fs::rename(&other, other.with_file_name("libstandard.a")).unwrap();
    let copy = workshop.path("copy");
    run("cp", &["-a", text(&folder), text(&copy)]);
    graft(&workshop)
        .arg(&folder)
        .assert()
        .success()
        .stdout(contains("glibc/lib/libstandard.a: glibc, x86_64: grafted"))
        .stdout(contains("musl/lib/libc.a: musl, x86_64: grafted"))
        .stdout(contains("libm.a").not().and(contains("libc.link").not()));
    let program = link(&workshop, "musl-gcc", &folder.join("musl/lib"), &["-static"]);
    assert_eq!(run(text(&program), &[]), "ok\n");
    graft(&workshop).arg("--undo").arg(&folder).assert().success();
    assert_same(&folder, &copy);
}

#[test]
fn a_packed_folder_is_packed_again_with_all_that_was_in_it() {
    let workshop = Workshop::new();
    let folder = sdk(&workshop);
    let ways = [
        ("tar", "-b20", "--format=pax"),
        ("tar.gz", "-z", "--format=gnu"),
        ("tar.xz", "-J", "--format=gnu"),
        ("tar.zst", "--zstd", "--format=pax"),
    ];
    for (suffix, flag, format) in ways {
        let packed = workshop.path(&format!("sdk.artifactbundle.{suffix}"));
        let root = text(folder.parent().unwrap()).to_owned();
        let owner = ["--owner=1234", "--group=4321"];
        let arguments = [format, owner[0], owner[1], flag, "-C", &root, "-cf", text(&packed)];
        run("tar", &[&arguments[..], &["sdk"]].concat());
        let before = std::fs::read(&packed).unwrap();
        let output = workshop.path(&format!("sdk-loam.artifactbundle.{suffix}"));
        graft(&workshop)
            .arg(&packed)
            .assert()
            .success()
            .stdout(contains(format!("wrote {}\n", output.display())))
            .stdout(contains(format!("swift sdk install {}", output.display())));
        assert!(std::fs::read(&packed).unwrap() == before, "the original is as it was");
        assert_eq!(without_libc(&output), without_libc(&packed), "{suffix}");
        let libc = listing(&output).into_iter().find(|line| line.ends_with("lib/libc.a"));
        let libc = libc.unwrap();
        assert!(libc.contains("1234/4321") && libc.contains("2020-02-02 02:02:02"), "{libc}");
        let unpacked = workshop.path("unpacked");
        std::fs::create_dir_all(&unpacked).unwrap();
        run("tar", &["--no-same-owner", "-xf", text(&output), "-C", text(&unpacked)]);
        graft(&workshop).arg("--undo").arg(&unpacked).assert().success();
        assert_same(&unpacked.join("sdk"), &folder);
        std::fs::remove_dir_all(&unpacked).unwrap();
    }
}

#[test]
fn a_packed_folder_needs_no_second_graft() {
    let workshop = Workshop::new();
    copy_of(&workshop, MUSL, "sdk");
    let root = workshop.path("");
    let (packed, once, twice) =
        (workshop.path("sdk.tar"), workshop.path("sdk-loam.tar"), workshop.path("twice.tar"));
    run("tar", &["-C", text(&root), "-cf", text(&packed), "sdk"]);
    graft(&workshop).arg(&packed).assert().success();
    graft(&workshop)
        .args([text(&once), "--output", text(&twice)])
        .assert()
        .success()
        .stdout(contains("already grafted"));
    assert_eq!(listing(&once), listing(&twice));
}

#[test]
fn only_the_architectures_asked_for_are_grafted() {
    let workshop = Workshop::new();
    let folder = workshop.path("sdk");
    copy_of(&workshop, MUSL, "sdk");
    graft(&workshop)
        .args(["--arch", "aarch64,riscv64", text(&folder)])
        .assert()
        .success()
        .stdout(contains("skipped"));
    assert!(std::fs::read(folder.join("libc.a")).unwrap() == std::fs::read(MUSL).unwrap());
}
