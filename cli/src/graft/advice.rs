//! How each build system gets what was grafted.

use crate::binary::arch::Arch;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

#[derive(Debug, Serialize)]
pub struct Advice {
    pub build_system: &'static str,
    pub text: String,
}

impl Advice {
    pub fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "  {:<8} {}", self.build_system, self.text)
    }
}

fn advice(build_system: &'static str, text: String) -> Advice {
    Advice { build_system, text }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    shlex::try_quote(&text).map_or_else(|_| text.to_string(), |quoted| quoted.into_owned())
}

/// The Rust target that links a C library statically.
fn rust_target(arch: Arch, libc: &str) -> &'static str {
    match (arch, libc == "glibc") {
        (Arch::X86_64, true) => "x86_64-unknown-linux-gnu",
        (Arch::X86_64, false) => "x86_64-unknown-linux-musl",
        (Arch::Aarch64, true) => "aarch64-unknown-linux-gnu",
        (Arch::Aarch64, false) => "aarch64-unknown-linux-musl",
        (Arch::Riscv64, true) => "riscv64gc-unknown-linux-gnu",
        (Arch::Riscv64, false) => "riscv64gc-unknown-linux-musl",
        (Arch::Armhf, true) => "armv7-unknown-linux-gnueabihf",
        (Arch::Armhf, false) => "armv7-unknown-linux-musleabihf",
        (Arch::I386, true) => "i686-unknown-linux-gnu",
        (Arch::I386, false) => "i686-unknown-linux-musl",
    }
}

/// For a grafted archive in `folder`.
pub fn for_archive(folder: &Path, arch: Arch, libc: &str) -> Vec<Advice> {
    let folder = quoted(folder);
    let compiler = if libc == "musl" { "musl-gcc" } else { "cc" };
    let target = rust_target(arch, libc);
    vec![
        advice("cc", format!("{compiler} -static -L{folder} program.c")),
        advice("CMake", format!("cmake -DCMAKE_EXE_LINKER_FLAGS='-static -L{folder}' ...")),
        advice(
            "cargo",
            format!(
                "RUSTFLAGS='-C target-feature=+crt-static -L native={folder}' \
                 cargo build --target {target}"
            ),
        ),
        advice("Bazel", format!("bazel build --linkopt=-static --linkopt=-L{folder} ...")),
        advice("SwiftPM", "graft the Swift SDK's bundle instead: loam graft BUNDLE".into()),
        advice("Zig", "Zig builds its own C library: loam graft --object".into()),
    ]
}

/// For a folder whose C libraries are grafted.
pub fn for_folder(folder: &Path) -> Vec<Advice> {
    let folder = quoted(folder);
    vec![
        advice("cc", format!("cc -static --sysroot={folder} program.c, if it is a sysroot")),
        advice("CMake", format!("cmake -DCMAKE_SYSROOT={folder} ..., if it is a sysroot")),
        advice("cargo", "nothing to do, if it is a Rust toolchain's folder".into()),
        advice("Bazel", format!("builtin_sysroot = \"{folder}\" in the toolchain")),
        advice(
            "SwiftPM",
            "nothing to do, if it is an installed SDK; build with --swift-sdk".into(),
        ),
        advice("Zig", "Zig builds its own C library: loam graft --object".into()),
    ]
}

/// For a packed folder with grafted C libraries.
pub fn for_packed(output: &Path) -> Vec<Advice> {
    let name = output.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let output = quoted(output);
    if name.contains(".artifactbundle") {
        let install = format!(
            "swift sdk install {output} && swift build --swift-sdk TRIPLE --static-swift-stdlib \
             (remove an SDK of the same name first: swift sdk remove)"
        );
        return vec![advice("SwiftPM", install)];
    }
    let tool = if name.ends_with(".zip") { "unzip" } else { "tar -xf" };
    let unpack = format!("{tool} {output}, and point the compiler there: --sysroot=FOLDER");
    vec![advice("cc", unpack)]
}

/// For loam's object by itself.
pub fn for_object(object: &Path, arch: Arch) -> Vec<Advice> {
    let object = quoted(object);
    let zig_arch = match arch {
        Arch::Armhf => "arm",
        Arch::I386 => "x86",
        other => other.name(),
    };
    let zig_abi = if arch == Arch::Armhf { "musleabihf" } else { "musl" };
    let target = rust_target(arch, "musl");
    vec![
        advice("cc", format!("cc -static {object} program.c")),
        advice("CMake", format!("target_link_options(program BEFORE PRIVATE {object})")),
        advice(
            "cargo",
            format!(
                "ar rcs libloam-first.a {object} && RUSTFLAGS=\"-L native=$PWD \
                 -l static:+whole-archive=loam-first\" cargo build --target {target}"
            ),
        ),
        advice("Bazel", format!("bazel build --linkopt=-static --linkopt={object} ...")),
        advice(
            "SwiftPM",
            format!("swift build --static-swift-stdlib -Xlinker {object} --swift-sdk TRIPLE"),
        ),
        advice("Zig", format!("zig cc -target {zig_arch}-linux-{zig_abi} {object} program.c")),
    ]
}
