//! What the command carries in itself: a libloam.so, where the command is to work alone. A release
//! names the library in LOAM_EMBED_LIBRARY, and in LOAM_EMBED_TWIN the one for programs of 32 bits;
//! the packaged crate compiles the one C file that it brings. In loam's repository the library lies
//! beside the command, which carries none. What records programs, and what replays that, is compiled
//! for the machine's own C library; a release, whose command is linked with another one, names the
//! folder with both in LOAM_EMBED_TOOLS.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const NAMED: &str = "LOAM_EMBED_LIBRARY";
const TWIN_NAMED: &str = "LOAM_EMBED_TWIN";

/// As CMakeLists.txt has them: what a library to preload is compiled and linked with.
const FLAGS: [&str; 16] = [
    "-shared",
    "-fPIC",
    "-ftls-model=initial-exec",
    "-fvisibility=hidden",
    "-fno-semantic-interposition",
    "-fno-plt",
    "-fno-builtin-malloc",
    "-fexceptions",
    "-fno-stack-protector",
    "-fno-lto",
    "-nostdlib",
    "-Wl,-z,now",
    "-Wl,-z,nodelete",
    "-Wl,-z,noexecstack",
    "-Wl,--hash-style=gnu",
    "-Wl,--as-needed",
];

const TOOLS_NAMED: &str = "LOAM_EMBED_TOOLS";
struct Tool {
    name: &'static str,
    sources: &'static [&'static str],
    /// What it is compiled and linked with.
    flags: &'static [&'static [&'static str]],
}

const TOOLS: [Tool; 2] = [
    Tool {
        name: "recorder.so",
        sources: &["src/record/recorder.c", "src/record/unwind.c"],
        flags: &[&FLAGS, &["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]],
    },
    Tool {
        name: "replayer",
        sources: &["src/bench/replay_run/replayer.c"],
        flags: &[&["-pthread", "-fno-builtin"]],
    },
];
/// Of what the recorder has from the allocator.
const ALLOCATORS_PARTS: [&str; 2] = ["../src/base", "../src/os"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/record");
    println!("cargo::rerun-if-env-changed={TOOLS_NAMED}");
    println!("cargo::rerun-if-env-changed={NAMED}");
    println!("cargo::rerun-if-env-changed={TWIN_NAMED}");
    let folder = |name| PathBuf::from(std::env::var_os(name).expect("cargo sets it"));
    let carried = folder("OUT_DIR").join("libloam.so");
    let package = folder("CARGO_MANIFEST_DIR");
    let is_in_repository = package.join("../src/loam.c").exists();
    let vendored = package.join("vendor");
    let source = vendored.join("loam.c");
    let outcome = match named(NAMED) {
        Some(path) => copy(&path, &carried),
        None if !is_in_repository && source.exists() => compile(&[source], &carried, &FLAGS, &[]),
        None => leave_empty(&carried),
    };
    stop_unless(outcome, "libloam.so");
    let twin = folder("OUT_DIR").join("libloam-32.so");
    let outcome = match named(TWIN_NAMED) {
        Some(path) => copy(&path, &twin),
        None => leave_empty(&twin),
    };
    stop_unless(outcome, "libloam-32.so");
    let folders = if is_in_repository {
        for part in ALLOCATORS_PARTS {
            println!("cargo::rerun-if-changed={part}");
        }
        vec![package.join("../src"), package.join("../include")]
    } else {
        vec![vendored]
    };
    for Tool { name, sources, flags } in TOOLS {
        let carried = folder("OUT_DIR").join(name);
        let outcome = match named(TOOLS_NAMED) {
            Some(path) => copy(&path.join(name), &carried),
            None => {
                let sources: Vec<_> = sources.iter().map(|source| package.join(source)).collect();
                compile(&sources, &carried, &flags.concat(), &folders)
            }
        };
        stop_unless(outcome, name);
    }
}

fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn leave_empty(carried: &Path) -> Result<(), String> {
    std::fs::write(carried, "").map_err(|error| about(carried, &error))
}

fn stop_unless(outcome: Result<(), String>, name: &str) {
    if let Err(text) = outcome {
        println!("cargo::error=cannot put {name} into the command: {text}");
        std::process::exit(1);
    }
}

fn about(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn copy(library: &Path, carried: &Path) -> Result<(), String> {
    println!("cargo::rerun-if-changed={}", library.display());
    let bytes = std::fs::read(library).map_err(|error| about(library, &error))?;
    if !bytes.starts_with(b"\x7fELF") {
        return Err(format!("{} is not compiled for Linux", library.display()));
    }
    std::fs::write(carried, bytes).map_err(|error| about(carried, &error))
}

fn compile(
    sources: &[PathBuf],
    carried: &Path,
    flags: &[&str],
    folders: &[PathBuf],
) -> Result<(), String> {
    for source in sources {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    let mut build = cc::Build::new();
    build.std("gnu11").opt_level(2).debug(false).define("NDEBUG", None).define("LM_SHARED", "1");
    let compiler = build.try_get_compiler().map_err(|error| error.to_string())?;
    let mut command = compiler.to_command();
    command.args(flags).args(folders.iter().map(|folder| format!("-I{}", folder.display())));
    command.args(sources).arg("-o").arg(carried).arg("-lgcc");
    succeed(&mut command)
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Err(error) => Err(format!("{program} cannot be run: {error}")),
        Ok(status) if !status.success() => Err(format!("{program} failed: {status}")),
        Ok(_) => Ok(()),
    }
}
