#!/usr/bin/env python3
"""A Rust developer takes both published crates: loam-malloc as the program's malloc, and what the
crate of the command compiles in from the C file that it carries."""
import os
import shutil

from support import ROOT, expect, expect_on_loam, line_of, released, run, walk, write

MANIFEST = """[package]
name = "{name}"
version = "0.1.0"
edition = "2024"
[{kind}]
{dependency}
[workspace]
"""
PROGRAM = """#[global_allocator]
static GLOBAL: loam_malloc::Loam = loam_malloc::Loam;
fn keep(size: usize) {
    Box::leak(vec![7_u8; size].into_boxed_slice()); // leak
}
fn main() {
    (0..1000).for_each(|_| keep(1000));
    println!("{}", vec![7; 1000].len());
}
"""
# What the command carries, with as little as possible around it.
CARRIER = """fn main() {
    std::fs::write("libloam.so", include_bytes!(concat!(env!("OUT_DIR"), "/libloam.so"))).unwrap();
}
"""


def cargo(folder, *arguments):
    """With what is installed and fetched already; both projects share what they compile. The
    allocator is compiled soon."""
    kept = {name: os.environ[name] for name in ("CARGO_HOME", "RUSTUP_HOME", "HOME")
            if name in os.environ}
    return run("cargo", *arguments, "--offline", "--quiet", folder=folder, path=os.environ["PATH"],
               environment={
        **kept, "CARGO_TARGET_DIR": os.path.dirname(folder) + "/target", "CFLAGS": "-O0"})


def crate(release, name, folder):
    run("tar", "-xf", released(release, name + "-[0-9]*.crate"), folder=folder)
    return released(folder, name + "-[0-9]*")


def project(folder, name, program, **manifest):
    os.makedirs(f"{folder}/{name}/src")
    for path, text in (("Cargo.toml", MANIFEST.format(name=name, **manifest)),
                       ("src/main.rs", program)):
        write(f"{folder}/{name}/{path}", text)
    shutil.copy(os.path.join(ROOT, "Cargo.lock"), f"{folder}/{name}") # versions that are there
    return f"{folder}/{name}"


def main(release, folder):
    os.mkdir(folder + "/installed")
    run("tar", "-xf", released(release, "loam-*-ARCH-linux.tar.gz"), "-C", folder + "/installed",
        "--strip-components=1")
    command = folder + "/installed/bin/loam"
    malloc = crate(release, "loam-malloc", folder)
    place = project(folder, "first", PROGRAM, kind="dependencies",
                    dependency=f'loam-malloc = {{ path = "{malloc}", features = ["override"] }}')
    said = cargo(place, "run")
    expect(said == "1000\n", said)
    said = run(command, "verify", folder + "/target/debug/first")
    expect("all of it is loam's" in said, said)
    said = run(command, "prof", "--leaks", "--", folder + "/target/debug/first")
    rows = [row for row in said.splitlines() if "%" in row]
    leak = f"first::keep  src/main.rs:{line_of(PROGRAM, '// leak')}"
    expect(rows and rows[0].endswith(leak), said)

    published = crate(release, "loam", folder)
    place = project(folder, "carrier", CARRIER, kind="build-dependencies", dependency='cc = "1"')
    shutil.copy(published + "/build.rs", place)
    for sources in ("vendor", "src/record", "src/bench"): # what the script compiles
        shutil.copytree(f"{published}/{sources}", f"{place}/{sources}")
    cargo(place, "run")
    expect_on_loam(run(command, "verify", "--preloaded", "--library", place + "/libloam.so", "true"),
                   place + "/libloam.so")


if __name__ == "__main__":
    walk(main)
