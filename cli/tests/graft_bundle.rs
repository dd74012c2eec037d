//! `loam graft` of a bundle in the layout of a Swift SDK, for two architectures: grafted,
//! unpacked, linked against, run, verified, and undone.

use crate::common::libc::{MUSL, graft, link_with, run, text};
use crate::common::{Workshop, loam};
use predicates::prelude::*;
use predicates::str::contains;
use std::path::{Path, PathBuf};

/// Of the package libc6-dev-arm64-cross.
const AARCH64_LIBC: &str = "/usr/aarch64-linux-gnu/lib/libc.a";

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// linux.artifactbundle: its description, a toolset, and a sysroot for each architecture.
fn bundle(workshop: &Workshop) -> PathBuf {
    let bundle = workshop.path("linux.artifactbundle");
    let info = r#"{"schemaVersion": "1.0", "artifacts": {"linux": {"type": "swiftSDK",
        "version": "0.0.1", "variants": [{"path": "linux/sdk"}]}}}"#;
    write(&bundle.join("info.json"), info);
    let sdk = bundle.join("linux/sdk");
    let triples = r#"{"schemaVersion": "4.0", "targetTriples": {
        "x86_64-swift-linux-musl": {"sdkRootPath": "x86_64", "toolsetPaths": ["toolset.json"]},
        "aarch64-swift-linux-gnu": {"sdkRootPath": "aarch64", "toolsetPaths": ["toolset.json"]}}}"#;
    write(&sdk.join("swift-sdk.json"), triples);
    write(&sdk.join("toolset.json"), r#"{"schemaVersion": "1.0", "linker": {"path": "ld.lld"}}"#);
    for (architecture, libc) in [("x86_64", MUSL), ("aarch64", AARCH64_LIBC)] {
        let folder = sdk.join(architecture).join("usr/lib");
        std::fs::create_dir_all(&folder).unwrap();
        run("cp", &["-p", libc, text(&folder)]);
        std::os::unix::fs::symlink("lib", sdk.join(architecture).join("usr/lib64")).unwrap();
    }
    bundle
}

/// Links a threaded program statically and runs it, in an emulator where it must be.
fn link_and_run(compiler: &[&str], emulator: &[&str], source: &str, folder: &Path) -> PathBuf {
    let program = link_with(compiler, source, folder);
    let command = [emulator, &[text(&program)]].concat();
    assert_eq!(run(command[0], &command[1..]), "ok\n", "{compiler:?}");
    program
}

#[test]
fn a_bundle_serves_programs_of_two_architectures() {
    let workshop = Workshop::new();
    let bundle = bundle(&workshop);
    let packed = workshop.path("linux.artifactbundle.tar.gz");
    let root = bundle.parent().unwrap();
    run("tar", &["-C", text(root), "-czf", text(&packed), "linux.artifactbundle"]);
    graft(&workshop)
        .arg(&packed)
        .assert()
        .success()
        .stdout(contains("x86_64/usr/lib/libc.a: musl, x86_64: grafted"))
        .stdout(contains("aarch64/usr/lib/libc.a: glibc, aarch64: grafted"));

    let installed = workshop.path("installed");
    std::fs::create_dir(&installed).unwrap();
    let output = workshop.path("linux-loam.artifactbundle.tar.gz");
    run("tar", &["--no-same-owner", "-xf", text(&output), "-C", text(&installed)]);
    let sdk = installed.join("linux.artifactbundle/linux/sdk");
    let (x86_64, aarch64) = (sdk.join("x86_64/usr/lib"), sdk.join("aarch64/usr/lib"));
    let programs = [
        link_and_run(&["musl-gcc"], &[], "libc_callers.c", &x86_64),
        link_and_run(&["aarch64-linux-gnu-gcc"], &["qemu-aarch64"], "libc_callers.c", &aarch64),
        link_and_run(&["aarch64-linux-gnu-g++"], &["qemu-aarch64"], "threads.cc", &aarch64),
    ];
    for program in &programs {
        loam()
            .arg("verify")
            .arg(program)
            .assert()
            .success()
            .stdout(contains("every malloc function in it is loam's").and(contains("NOT").not()));
        std::fs::remove_file(program).unwrap();
    }
    graft(&workshop).arg("--undo").arg(&installed).assert().success();
    let unpacked = installed.join("linux.artifactbundle");
    run("diff", &["--recursive", "--no-dereference", text(&unpacked), text(&bundle)]);
}
