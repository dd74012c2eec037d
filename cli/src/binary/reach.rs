//! Can a preloaded library serve this program? Decided from the file, before the start.

use crate::binary::elf::Image;
use crate::binary::library::Library;
use nix::sys::prctl;
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{Gid, Uid, getegid, geteuid, getgid, getuid};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a preload cannot reach a program, and what to do instead.
#[derive(Debug, Error)]
pub enum Obstacle {
    #[error(
        "{} is for {program_architecture}, {} for {library_architecture}: build libloam.so for \
         {program_architecture} and name it with --library", .program.display(), .library.display()
    )]
    OtherArchitecture {
        program: PathBuf,
        program_architecture: String,
        library: PathBuf,
        library_architecture: String,
    },
    #[error("{} is a shared library, not a program", .0.display())]
    Library(PathBuf),
    #[error(
        "{} is statically linked: there is no loader in it that could preload a library; link it \
         again with loam.o, or with libloam.a before the C library", .0.display()
    )]
    Static(PathBuf),
    #[error(
        "{} is loaded by {}, the loader of another C library than {} needs ({needed}): use a \
         libloam.so built for that C library, or link the program with libloam.a",
        .program.display(), .interpreter.display(), .library.display()
    )]
    OtherLibc { program: PathBuf, interpreter: PathBuf, library: PathBuf, needed: String },
    #[error(
        "{} is {how}: the system ignores LD_PRELOAD where a program gains privileges; run it as a \
         user that has them already, or link it with libloam.a", .program.display()
    )]
    Privileged { program: PathBuf, how: String },
    #[error(
        "{} is built with {sanitizer}, which finds errors with a malloc of its own and must keep \
         it: use a build without -fsanitize", .program.display()
    )]
    Sanitizer { program: PathBuf, sanitizer: &'static str },
    #[error(
        "{} brings its own malloc, which comes before any preloaded library: build it without \
         that allocator, or link it with loam.o in its place", .0.display()
    )]
    OwnMalloc(PathBuf),
}

/// The first obstacle between a preload and the program, most fundamental first.
pub fn obstacle(program: &Path, image: &Image, library: &Library) -> Option<Obstacle> {
    let Some(library) = library.of_program(image) else {
        return Some(Obstacle::OtherArchitecture {
            program: program.into(),
            program_architecture: image.architecture.to_string(),
            library: library.path.clone(),
            library_architecture: library.image.architecture.to_string(),
        });
    };
    if image.is_library {
        return Some(Obstacle::Library(program.into()));
    }
    let Some(interpreter) = &image.interpreter else {
        return Some(Obstacle::Static(program.into()));
    };
    if let Some(needed) = other_libc(interpreter, &library.image.needed) {
        return Some(Obstacle::OtherLibc {
            program: program.into(),
            interpreter: interpreter.clone(),
            library: library.path.clone(),
            needed,
        });
    }
    if let Some(how) = privileges_gained(program) {
        return Some(Obstacle::Privileged { program: program.into(), how });
    }
    if let Some(sanitizer) = image.sanitizer() {
        return Some(Obstacle::Sanitizer { program: program.into(), sanitizer });
    }
    defines_malloc(image).then(|| Obstacle::OwnMalloc(program.into()))
}

/// Whether the executable itself holds malloc, visible to others or not. Loam's own is no
/// obstacle.
pub fn defines_malloc(image: &Image) -> bool {
    let defines = |name| image.export(name).is_some() || image.has_internal(name);
    !image.is_loam() && (defines("malloc") || defines("free"))
}

/// What the library needs that this loader's C library does not have.
fn other_libc(interpreter: &Path, needed: &[String]) -> Option<String> {
    let loader = interpreter.file_name()?.to_string_lossy();
    let is_musl = loader.starts_with("ld-musl");
    let foreign = |name: &&String| {
        let for_musl = *name == "libc.so" || name.starts_with("libc.musl");
        let for_glibc = *name == "libc.so.6";
        if is_musl { for_glibc } else { for_musl }
    };
    needed.iter().find(foreign).cloned()
}

/// How a program gains privileges over us when started, if it does (AT_SECURE in getauxval(3)).
pub fn privileges_gained(program: &Path) -> Option<String> {
    let metadata = program.metadata().ok()?;
    let mounted_nosuid =
        || statvfs(program).is_ok_and(|mount| mount.flags().contains(FsFlags::ST_NOSUID));
    if prctl::get_no_new_privs().unwrap_or(false) || mounted_nosuid() {
        return None;
    }
    if let Some(how) = identity_gained(&metadata) {
        return Some(how);
    }
    let has_capabilities = xattr::get(program, "security.capability").ok().flatten().is_some();
    (has_capabilities && !getuid().is_root()).then(|| "given capabilities (setcap(8))".to_owned())
}

fn identity_gained(metadata: &Metadata) -> Option<String> {
    const SET_UID: u32 = 0o4000;
    // Without the group's execute bit, set-group-ID stands for mandatory locking.
    const SET_GID: u32 = 0o2010;
    let mode = metadata.mode();
    let (mut uid, mut gid) = (geteuid(), getegid());
    if mode & SET_UID == SET_UID {
        uid = Uid::from_raw(metadata.uid());
    }
    if mode & SET_GID == SET_GID {
        gid = Gid::from_raw(metadata.gid());
    }
    if uid != getuid() {
        Some(format!("set-user-ID (to user {uid})"))
    } else if gid != getgid() {
        Some(format!("set-group-ID (to group {gid})"))
    } else {
        None
    }
}
