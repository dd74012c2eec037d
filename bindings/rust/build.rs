//! Compiles the allocator: in loam's repository from its sources, in the packaged crate from the
//! one file that it carries.

use std::path::Path;

fn main() {
    let manifest_dir = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let package = Path::new(&manifest_dir);
    let repository = package.join("../..");
    let in_repository =
        repository.join("src/loam.c").exists() && repository.join("include/loam/loam.h").exists();

    let mut build = cc::Build::new();
    if in_repository {
        build.file(repository.join("src/loam.c"));
        build.include(repository.join("src")).include(repository.join("include"));
        println!("cargo:rerun-if-changed={}", repository.join("src").display());
        println!("cargo:rerun-if-changed={}", repository.join("include").display());
    } else {
        build.file(package.join("vendor/loam.c"));
        println!("cargo:rerun-if-changed=vendor");
    }
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_OVERRIDE").is_some() {
        // A linker takes from the whole archive what defines malloc even if nothing else is used.
        build.link_lib_modifier("+whole-archive");
    } else {
        build.define("LOAM_NO_OVERRIDE", None);
    }
    build
        .std("gnu11")
        .opt_level(2) // an allocator without optimisation slows down every debug build
        .define("NDEBUG", None)
        .flag_if_supported("-fvisibility=hidden")
        .flag_if_supported("-fno-builtin-malloc")
        .flag_if_supported("-fexceptions")
        .flag_if_supported("-fno-stack-protector")
        .flag_if_supported("-fno-lto")
        .compile("loam");
}
