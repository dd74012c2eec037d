//! Compiles the allocator: in loam's repository from its sources, in the packaged crate from the
//! one file that it carries. Refuses what cannot work, with the reason and the way out.

use std::path::Path;

/// Where loam has been run: CARGO_CFG_TARGET_OS and CARGO_CFG_TARGET_ARCH.
const PLATFORMS: [(&str, &str); 7] = [
    ("linux", "x86_64"),
    ("linux", "aarch64"),
    ("linux", "riscv64"),
    ("linux", "arm"),
    ("linux", "x86"),
    ("windows", "x86_64"), // both under wine
    ("windows", "x86"),
];

/// Permits others.
const TRY: &str = "LOAM_ALLOW_OTHER_PLATFORMS";

/// Sanitizers that bring a malloc of their own, or see every call of it.
const SANITIZERS: [&str; 6] = ["address", "hwaddress", "leak", "memory", "thread", "scudo"];

fn main() {
    let mut build = cc::Build::new();
    if let Some(refusal) = platform_refusal().or_else(|| sanitizer_refusal(&build)) {
        println!("cargo::error={refusal}");
        std::process::exit(1);
    }
    let manifest_dir = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let package = Path::new(&manifest_dir);
    let repository = package.join("../..");
    let in_repository =
        repository.join("src/loam.c").exists() && repository.join("include/loam/loam.h").exists();

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
    if is_override() {
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

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn is_override() -> bool {
    std::env::var_os("CARGO_FEATURE_OVERRIDE").is_some()
}

fn platform_refusal() -> Option<String> {
    println!("cargo:rerun-if-env-changed={TRY}");
    let (system, processor) = (variable("CARGO_CFG_TARGET_OS"), variable("CARGO_CFG_TARGET_ARCH"));
    let has_microsoft_runtime = variable("CARGO_CFG_TARGET_ENV") == "msvc";
    let is_known = PLATFORMS.contains(&(&system, &processor)) && !has_microsoft_runtime;
    if is_known || variable(TRY) == "1" {
        return None;
    }
    let runtime = if has_microsoft_runtime { " and Microsoft's C runtime" } else { "" };
    Some(format!(
        "loam was never run on {system} on {processor}{runtime}. Leave loam-malloc out there; \
         or set {TRY}=1 to try."
    ))
}

/// Flags of rustc's and of the C compiler's.
fn sanitizer_refusal(build: &cc::Build) -> Option<String> {
    if !is_override() {
        return None;
    }
    let mut flags: Vec<String> =
        variable("CARGO_ENCODED_RUSTFLAGS").split('\x1f').map(String::from).collect();
    let compiler = build.try_get_compiler().ok()?; // what is wrong with it, the build will say
    flags.extend(compiler.args().iter().map(|flag| flag.to_string_lossy().into_owned()));
    flags.iter().find_map(|flag| {
        let (name, values) = flag.split_once('=')?;
        if !["-Zsanitizer", "sanitizer", "-fsanitize"].contains(&name) {
            return None;
        }
        let sanitizer = values.split(',').find(|value| SANITIZERS.contains(value))?;
        Some(format!(
            "it is built with {flag}, and the {sanitizer} sanitizer needs malloc for itself. \
             Leave out the feature override in builds with it."
        ))
    })
}
