"""The static command for one processor: Rust for musl, linked by Zig, with libloam.so inside, for
programs of 32 bits, too. For tests also one of glibc, which takes a sixth of the time."""
import os
import shlex
import shutil
import sys

from dist import ROOT, Failure
from releasing.process import output_of

PYTHON_PACKAGES = os.path.join(ROOT, "build", "python")
WRAPPER = """#!/bin/sh
# Rust names its targets otherwise than Zig.
for word; do
  shift
  case $word in --target=*) ;; *) set -- "$@" "$word" ;; esac
done
exec {zig} {arguments} "$@"
"""

# As cli/build.rs has them.
TOOLS = [
    ("recorder.so", ["record/recorder.c", "record/unwind.c"], [
        "-shared", "-fPIC", "-ftls-model=initial-exec", "-fvisibility=hidden", "-fno-plt",
        "-fno-builtin-malloc", "-fexceptions", "-fno-stack-protector", "-fno-lto", "-nostdlib",
        "-Wl,-z,now", "-Wl,-z,nodelete", "-Wl,-z,noexecstack", "-Wl,--hash-style=gnu",
        "-Wl,--as-needed", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections",
        "-DNDEBUG", "-DLM_SHARED=1", f"-I{ROOT}/src", f"-I{ROOT}/include",
        f"-ffile-prefix-map={ROOT}=."]),
    ("replayer", ["bench/replay_run/replayer.c"], [
        "-pthread", "-fno-builtin", f"-ffile-prefix-map={ROOT}=."]),
]


def zig():
    """Zig's command, as a shell takes it."""
    if shutil.which("zig"):
        return "zig"
    command = ["env", f"PYTHONPATH={PYTHON_PACKAGES}", sys.executable, "-m", "ziglang"]
    try:
        output_of(*command, "version")
    except Failure as failure:
        raise Failure("no Zig to link the command with: pip install --target build/python "
                      "ziglang==0.15.2") from failure
    return shlex.join(command)


def wrapper(path, arguments):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(WRAPPER.format(zig=zig(), arguments=arguments))
    os.chmod(path, 0o755)
    return path


def rust_for(target):
    """The compiler, and cargo's arguments: the standard library is installed for the target, or
    built from the compiler's own sources (Debian: rustc-web, rust-web-src)."""
    for rustc in filter(shutil.which, ("rustc", "/usr/bin/rustc")):
        if os.path.isdir(output_of(rustc, "--print", "target-libdir", "--target", target).strip()):
            return rustc, []
        sources = output_of(rustc, "--print", "sysroot").strip() + "/lib/rustlib/src/rust/library"
        if os.path.exists(sources + "/Cargo.lock"):
            return rustc, ["-Zbuild-std=std,panic_abort"]
    raise Failure(f"Rust has no standard library for {target}: rustup target add {target}; or the "
                  "sources of one (Debian: rustc-web rust-web-src)")


def remapped():
    """Flags that keep this machine's folders out of the command."""
    cargo_home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
    return [f"--remap-path-prefix={ROOT}=.", f"--remap-path-prefix={cargo_home}=/cargo"]


def tests_folder():
    """Where cargo works for the tests."""
    return os.path.join(ROOT, os.environ.get("CARGO_TARGET_DIR", "target"))


def compile_tools(processor, build):
    """The folder of what the command carries to record and replay programs. These are linked with
    other C libraries than the command's, so that their own compiler makes them."""
    folder = f"{build}/tools-{processor.name}"
    os.makedirs(folder, exist_ok=True)
    for name, sources, flags in TOOLS:
        output_of(processor.c_compiler(), "-std=gnu11", "-O2", *flags,
                  *(f"{ROOT}/cli/src/{source}" for source in sources),
                  "-o", f"{folder}/{name}", "-lgcc", what=f"{name} for {processor.name}")
    return folder


def compile_command(processor, libraries, build, soon):
    """The path of the command. `libraries`: what it carries, by the names that cli/build.rs has for
    them. `soon`: for tests, with which C library."""
    carried = {**libraries, "LOAM_EMBED_TOOLS": compile_tools(processor, build)}
    if soon == "glibc":
        return compile_from_tests_crates(processor, build, carried)
    return compile_for_musl(processor, build, carried, soon is not None)


def compile_from_tests_crates(processor, build, carried):
    """With the crates that the tests have compiled already: only the command itself is compiled, as
    another one than theirs, which carries nothing."""
    if not processor.is_this_machine:
        raise Failure(f"a release for {processor.name} is not linked with this machine's glibc")
    output_of("cargo", "rustc", "--locked", "--package", "loam", "--bin", "loam", "--profile",
              "tests", "--target-dir", build + "/cargo",
              "--config", 'profile.tests.package.loam.codegen-units=4',
              "--", "-Ctarget-feature=+crt-static", "-Cstrip=symbols",
              environment={"CARGO_BUILD_BUILD_DIR": tests_folder(), **carried},
              what=f"the command for {processor.name}")
    return build + "/cargo/tests/loam"


def compile_for_musl(processor, build, carried, is_soon):
    """Cargo's folder serves all processors."""
    profile, folder = ("tests", tests_folder()) if is_soon else ("release", build + "/cargo")
    target = processor.rust_target
    rustc, arguments = rust_for(target)
    zig_arguments = f"cc -target {processor.zig_target}"
    if is_soon:
        zig_arguments += " -fno-sanitize=undefined" # which Zig adds without optimisation
        if arguments: # the standard library without what names functions in traces
            arguments = [*arguments, "-Zbuild-std-features="]
    compiler = wrapper(f"{build}/zig/cc-{processor.name}", zig_arguments)
    archiver = wrapper(f"{build}/zig/ar", "ar")
    name = target.replace("-", "_")
    flags = ["-Clink-self-contained=no", "-Ctarget-feature=+crt-static", *remapped()]
    if is_soon:
        flags.append("-Clink-arg=-s")
    output_of("cargo", "build", "--locked", "--package", "loam", "--profile", profile,
              "--target", target, "--target-dir", folder, *arguments, environment={
                  "CARGO_PROFILE_TESTS_PANIC": "abort", "RUSTC": rustc,
                  **({"RUSTC_BOOTSTRAP": "1"} if arguments else {}), **carried,
                  "CC_" + name: compiler, "AR_" + name: archiver,
                  f"CARGO_TARGET_{name.upper()}_LINKER": compiler,
                  # Encoded, since paths may have blanks; and for the target alone, as one is named.
                  "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
              }, what=f"the command for {processor.name}")
    return f"{folder}/{target}/{profile}/loam"
