#!/usr/bin/env python3
"""The tests of api, stress, fork, misuse, unit and fuzz on other processors, emulated by qemu-user.

    run.py [--only PATTERN]... [--table PAGE] WORK PLATFORM...

Builds loam and the tests for each PLATFORM (a key of PLATFORMS) in the folder WORK and runs them, one
start of the emulator for each. Names what fails; a test that fails on the C library's malloc as well,
or whose check is of what the emulator does, tells nothing of loam, and is counted apart. --table
writes a row for each platform into PAGE, between the lines that say `architectures`. A platform
whose compiler is missing is named and passed over.
"""
import argparse
import fnmatch
import os
import re
import shutil
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(TESTS)
sys.path.insert(0, os.path.join(TESTS, "misuse"))
import expect # noqa: E402

SKIPPED = 77
# Profiles follow frame pointers there.
M32 = ["-m32", "-fno-omit-frame-pointer", "-idirafter", "/usr/include/x86_64-linux-gnu"]


def cross(prefix, qemu, *flags):
    """Compiler of C, compiler of C++ or nothing, and what runs a program with an environment."""
    cxx = prefix + "-g++" if shutil.which(prefix + "-g++") else None
    return [prefix + "-gcc"], cxx and [cxx], [qemu, "-L", "/usr/" + prefix, *flags]


# Those that run natively have no runner. Pages of another size are the emulator's.
PLATFORMS = {
    "aarch64": cross("aarch64-linux-gnu", "qemu-aarch64"),
    "aarch64-16k": cross("aarch64-linux-gnu", "qemu-aarch64", "-p", "16384"),
    "aarch64-64k": cross("aarch64-linux-gnu", "qemu-aarch64", "-p", "65536"),
    "armhf": cross("arm-linux-gnueabihf", "qemu-arm"),
    "riscv64": cross("riscv64-linux-gnu", "qemu-riscv64"),
    "s390x": cross("s390x-linux-gnu", "qemu-s390x"),
    "ppc64le": cross("powerpc64le-linux-gnu", "qemu-ppc64le"),
    "i386": (["gcc", *M32], None, []),
    "x86_64-musl": (["musl-gcc"], None, []),
}
FOLDERS = ["api", "stress", "fork", "misuse", "unit", "fuzz"]
FLAGS = ["-g", "-O1", "-fno-builtin", "-w", "-D_FILE_OFFSET_BITS=64", f"-I{TESTS}", f"-I{ROOT}/include",
         f"-I{ROOT}/src"]
LINK = ["-Wl,-z,dynamic-undefined-weak", "-pthread", "-ldl", "-lm"]
# Checks of what an emulator adds to or does not show: memory, faults and time of the process, programs
# that it starts, huge pages, control groups, its own threads, pages that move.
EMULATORS = re.compile(r'(resident_bytes|fault_count|seconds_now|refuses\(|!"exec|is_single_threaded)'
                       r'|memory_limit_of_group|lm_large_resize')
# It cannot fork while threads run: some tests of that never end.
EMULATORS_FORK = re.compile(r"^fork\.[^:]*: status None: timeout")
INSIDE = ["-DLM_NO_OVERRIDE=1", "-DLM_FAKE_OS=1", "-DTEST_WITHOUT_LOAM=1"] # of unit and fuzz


def header(source, key, default):
    with open(source, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(f"// {key}: "):
                return line.split(": ", 1)[1].split()
            if not line.startswith("//"):
                break
    return default


class Platform:
    def __init__(self, name, work):
        self.name = name
        self.cc, self.cxx, self.runner = PLATFORMS[name]
        self.is_static = "musl" in name
        self.work = os.path.join(work, name)
        os.makedirs(self.work, exist_ok=True)

    def path(self, name):
        return os.path.join(self.work, name)

    def is_there(self):
        tools = [self.cc[0], *self.runner[:1]]
        return all(shutil.which(tool) for tool in tools)

    def compile(self, output, source, *flags):
        """What the compiler says if it fails, else nothing."""
        is_c = source.endswith(".c")
        command = [*(self.cc if is_c else self.cxx), *(["-std=gnu11"] if is_c else ["-std=c++17"]),
                   *FLAGS, f'-DTEST_BIN="{self.work}"', *flags]
        at = command.index("FIRST") if "FIRST" in command else None
        if at is not None: # loam's object, before the test's
            command[at:at + 1] = [self.path("lib/loam.o")]
        result = subprocess.run([*command, source, "-o", self.path(output), *LINK],
                                capture_output=True, text=True, check=False)
        return "" if result.returncode == 0 else result.stderr

    def run(self, program, arguments, environment, timeout):
        """Status, output and errors; the status is None after the timeout."""
        command, own = [self.path(program), *arguments], dict(os.environ)
        for name in ("LD_PRELOAD", "LOAM_OPTIONS"):
            own.pop(name, None)
        own.update(environment)
        if self.runner: # the emulator itself runs without loam
            preload = own.pop("LD_PRELOAD", "")
            command[0:0] = [*self.runner, *(["-E", f"LD_PRELOAD={preload}"] if preload else [])]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace", env=own, start_new_session=True)
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return None, "", "timeout"
        errors = re.sub(r"^qemu: uncaught target signal .*\n", "", errors, flags=re.M)
        return process.returncode, output, errors


def build_loam(platform):
    """As CMake builds it; what is said if that fails, else nothing."""
    build = platform.path("cmake")
    shutil.rmtree(build, ignore_errors=True)
    environment = {**os.environ, "CC": platform.cc[0], "CFLAGS": " ".join(platform.cc[1:])}
    what = ["loam_relocatable"] if platform.is_static else ["loam_shared", "loam-checking_shared"]
    for command in (["cmake", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
                     "-DCMAKE_C_COMPILER_WORKS=TRUE"],
                    ["cmake", "--build", build, "--target", *what]):
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            return result.stdout + result.stderr
    return ""


def build_modules(platform):
    for folder in ("api", "misuse"):
        modules = os.path.join(TESTS, folder, "modules")
        for file in [] if platform.is_static else sorted(os.listdir(modules)):
            if file.endswith(".c") or platform.cxx:
                platform.compile(os.path.splitext(file)[0] + ".so", os.path.join(modules, file),
                                 "-shared", "-fPIC")


def sources(platform, only):
    for folder in FOLDERS:
        path = os.path.join(ROOT if folder == "fuzz" else TESTS, folder)
        for file in sorted(os.listdir(path)):
            name, ending = os.path.splitext(file)
            chosen = any(fnmatch.fnmatch(f"{folder}.{name}", pattern) for pattern in only)
            if ending not in (".c", ".cpp") or not chosen:
                continue
            if ending == ".c" or platform.cxx:
                yield folder, name, os.path.join(path, file)


def environment_of(platform, source, build):
    """What a test is run with, as ctest runs it."""
    environment = dict(entry.split("=", 1) for entry in header(source, "environment", []))
    environment["LOAM_TEST_BUILD"] = "static" if platform.is_static else build
    library = platform.path({"fast": "lib/libloam.so", "checking": "lib/libloam-checking.so"}[build])
    has_loam_inside = os.path.basename(os.path.dirname(source)) in ("unit", "fuzz")
    preloaded = not has_loam_inside and header(source, "preloaded", ["yes"]) == ["yes"]
    preload = [library] if preloaded else []
    for key, at in (("preload-before", 0), ("preload-after", 1)):
        for module in header(source, key, []):
            preload.insert(at, platform.path(module + ".so"))
    if preload and not platform.is_static:
        environment["LD_PRELOAD"] = ":".join(preload)
    return environment, library


def timeout_of(platform, source):
    seconds = int(header(source, "timeout", ["60"])[0])
    return min(3 * seconds, 200) if platform.runner else seconds


def check_program(platform, program, source, build):
    """What is wrong, SKIPPED, or nothing."""
    environment, library = environment_of(platform, source, build)
    arguments = [library if word == "@library@" else word
                 for word in header(source, "arguments", [])]
    status, output, errors = platform.run(program, arguments, environment,
                                          timeout_of(platform, source))
    if status == SKIPPED:
        return SKIPPED
    return "" if status == 0 else f"status {status}: {(output + errors)[-400:]}"


def check_crime(platform, program, source, build):
    environment, _ = environment_of(platform, source, build)
    about = expect.read_header(source)
    environment.update(entry.split("=", 1) for entry in about["environment"])
    status, output, errors = platform.run(program, [], environment, timeout_of(platform, source))
    module = os.path.realpath(platform.path(program))
    return "\n".join(expect.differences(about, module, output, errors, status))


def fails_without_loam(platform, program, source):
    environment, _ = environment_of(platform, source, "fast")
    environment.pop("LD_PRELOAD", None)
    environment["LOAM_TEST_ANY"] = "1"
    status, _, _ = platform.run(program, header(source, "arguments", []), environment,
                                timeout_of(platform, source))
    return status not in (0, SKIPPED)


def may_do_without(platform, folder, source):
    """Whether the test can tell of another allocator."""
    with open(source, encoding="utf-8") as text:
        needs_loam = re.search(r"\bloam_\w+\(", text.read()) is not None
    return folder in ("api", "stress", "fork") and not platform.is_static and not needs_loam


class Counts:
    def __init__(self):
        self.passed = self.skipped = 0
        self.elsewhere, self.failed = [], []

    def add(self, platform, name, wrong, fails_anyway):
        if wrong == SKIPPED:
            self.skipped += 1
        elif not wrong:
            self.passed += 1
        elif fails_anyway():
            self.elsewhere.append(name)
        else:
            self.failed.append(name)
        if wrong and wrong != SKIPPED:
            kind = "FAIL" if self.failed and self.failed[-1] == name else "not loam's"
            print(f"{platform.name}: {kind}: {name}: {wrong}", flush=True)

    def row(self, platform, only):
        elsewhere = ", ".join(f"`{name}`" for name in self.elsewhere)
        failed = ", ".join(f"`{name}`" for name in self.failed)
        tests = ", ".join(f"`{pattern}`" for pattern in only)
        return (f"| {platform.name} | {tests} | {self.passed} | {self.skipped} | {elsewhere or '-'} | "
                f"{failed or '-'} |")


def builds_of(platform, folder, source):
    """The builds that a test runs in here."""
    if folder in ("unit", "fuzz"):
        return ["fast"]
    if folder == "misuse":
        builds = header(source, "build", ["both"])
        builds = ["fast", "checking"] if builds == ["both"] else builds
    else:
        builds = header(source, "builds", ["fast", "checking"])
    if platform.is_static:
        return ["fast"] if "fast" in builds else []
    return [build for build in builds if build in ("fast", "checking")]


def check_one(platform, folder, name, source, counts):
    builds = builds_of(platform, folder, source)
    if not builds:
        return
    program, flags = f"{folder}.{name}", ["-O0"] if folder == "misuse" else []
    if folder in ("unit", "fuzz"):
        flags = ["-Og", "-fwhole-program", *INSIDE]
    elif platform.is_static:
        flags += ["-static", "FIRST"]
    if folder in ("unit", "fuzz") and platform.is_static:
        flags += ["-static"]
    wrong = platform.compile(program, source, *flags)
    if wrong:
        counts.add(platform, program, "cannot be compiled: " + wrong, lambda: False)
        return
    for build in builds:
        check = check_crime if folder == "misuse" else check_program
        wrong = check(platform, program, source, build)
        is_emulators = platform.runner and (EMULATORS.search(str(wrong)) is not None or
                                            EMULATORS_FORK.search(f"{program}: {wrong}") is not None)
        can_do_without = may_do_without(platform, folder, source)
        counts.add(platform, f"{program}.{build}", wrong, lambda: is_emulators or
                   can_do_without and fails_without_loam(platform, program, source))
    os.remove(platform.path(program))


def check_platform(platform, only):
    counts = Counts()
    wrong = build_loam(platform)
    if wrong:
        counts.add(platform, "loam", wrong, lambda: False)
        return counts
    build_modules(platform)
    for folder, name, source in sources(platform, only):
        check_one(platform, folder, name, source, counts)
    print(counts.row(platform, only), flush=True)
    return counts


def write_rows(page, rows):
    """Puts each platform's row into the table between the page's two marks."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    begin, rest = text.split("<!-- architectures -->\n")
    table, end = rest.split("<!-- end of architectures -->\n")
    lines = [line for line in table.splitlines() if line.split("|")[1].strip() not in rows]
    lines += rows.values()
    with open(page, "w", encoding="utf-8") as file:
        file.write(begin + "<!-- architectures -->\n" + "\n".join(lines) + "\n"
                   "<!-- end of architectures -->\n" + end)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", help="names of tests, as api.realloc_*")
    parser.add_argument("--table", help="the page that has the table of results")
    parser.add_argument("work")
    parser.add_argument("platforms", nargs="+", choices=PLATFORMS)
    arguments = parser.parse_args()
    rows, failed, only = {}, False, arguments.only or ["*"]
    for name in arguments.platforms:
        platform = Platform(name, os.path.abspath(arguments.work))
        if not platform.is_there():
            print(f"{name}: passed over: no {platform.cc[0]} or {' '.join(platform.runner[:1])}")
            continue
        counts = check_platform(platform, only)
        rows[name] = counts.row(platform, only)
        failed |= bool(counts.failed)
    if arguments.table and rows:
        write_rows(arguments.table, rows)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
