//! What the tests of graft share: C libraries, loam's objects, and programs linked with them.

use super::{Workshop, fixture, loam};
use assert_cmd::Command;
use std::path::{Path, PathBuf};

pub const MUSL: &str = "/usr/lib/x86_64-linux-musl/libc.a";
pub const GLIBC: &str = "/usr/lib/x86_64-linux-gnu/libc.a";

/// The folder with loam's objects: that of 'make objects' or of the tests of static programs, or
/// one with the object for this machine.
pub fn objects(workshop: &Workshop) -> PathBuf {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../build/lib");
    let built = [library.join("graft"), library.join("../tests/tests/graft")];
    if let Some(built) = built.iter().find(|built| are_all(built)) {
        return built.canonicalize().unwrap();
    }
    let folder = workshop.path("objects");
    if !folder.exists() {
        std::fs::create_dir(&folder).unwrap();
        let object = library.join("loam.o");
        std::fs::copy(&object, folder.join("loam-x86_64.o"))
            .unwrap_or_else(|cause| panic!("{}: {cause}; run 'make lib'", object.display()));
    }
    folder
}

/// Whether these are the objects of 'make objects', as a release has them.
pub fn are_all(objects: &Path) -> bool {
    objects.join("loam-aarch64.o").exists()
}

/// `loam graft`, with loam's objects.
pub fn graft(workshop: &Workshop) -> Command {
    let mut command = loam();
    command.env("LOAM_OBJECTS", objects(workshop)).arg("graft");
    command
}

/// A copy of a C library, called libc.a in a folder of its own.
pub fn copy_of(workshop: &Workshop, libc: &str, folder: &str) -> PathBuf {
    let folder = workshop.path(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let copy = folder.join("libc.a");
    // With its times, which std::fs::copy leaves out.
    run("cp", &["-p", libc, text(&copy)]);
    copy
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs a tool that must succeed, and gives what it prints.
pub fn run(tool: &str, arguments: &[&str]) -> String {
    let output = std::process::Command::new(tool).args(arguments).output();
    let output = output.unwrap_or_else(|cause| panic!("{tool}: {cause}"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool} {arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Links a fixture with the C library in a folder.
pub fn link(workshop: &Workshop, compiler: &str, folder: &Path, flags: &[&str]) -> PathBuf {
    let program = workshop.path(&format!("program{}", flags.concat().replace('/', "_")));
    let source = fixture("libc_callers.c");
    let search = format!("-L{}", folder.display());
    let mut all = vec!["-O1", "-w", &search, text(&source), "-o", text(&program)];
    all.extend(flags);
    run(compiler, &all);
    program
}

/// Links another fixture statically with the C library in a folder, into that folder.
pub fn link_with(compiler: &[&str], source: &str, folder: &Path) -> PathBuf {
    let program = folder.join(source).with_extension("program");
    let source = fixture(source);
    let search = format!("-L{}", folder.display());
    let flags = ["-O1", "-w", "-static", &search, text(&source), "-o", text(&program)];
    run(compiler[0], &[&compiler[1..], &flags].concat());
    program
}

/// The program's own functions, by name.
pub fn symbols(program: &Path) -> Vec<String> {
    let listing = run("nm", &[text(program)]);
    listing.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect()
}
