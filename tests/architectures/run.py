#!/usr/bin/env python3
"""The tests of api, stress, fork, misuse, unit and fuzz on other processors, emulated by qemu-user.

    run.py [--only PATTERN]... [--table PAGE] WORK PLATFORM...

Builds loam and the tests for each PLATFORM (a key of PLATFORMS) in the folder WORK, once for all sizes
of pages, and runs each while the next are compiled. Names what fails, and what takes long. A test that
fails in an emulator on the C library's malloc as well, or whose check is of what the emulator does,
tells nothing of loam, and is counted apart. --table writes a row for each platform into PAGE, between
the lines that say `architectures`, and what is counted apart between those that say so. A platform whose
compiler is missing is named and passed over.
"""
import argparse
import concurrent.futures
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(TESTS)
sys.path.insert(0, os.path.join(TESTS, "misuse"))
import expect # noqa: E402

SKIPPED = 77
LONG_SECONDS = 20
# Profiles follow frame pointers there.
M32 = ["-m32", "-fno-omit-frame-pointer", "-idirafter", "/usr/include/x86_64-linux-gnu"]


def cross(prefix, emulator, page_bytes=4096):
    """Compiler of C, compiler of C++ or nothing, emulator and its settings."""
    cxx = prefix + "-g++" if shutil.which(prefix + "-g++") else None
    settings = {"LOAM_TEST_EMULATOR": emulator, "QEMU_LD_PREFIX": "/usr/" + prefix,
                "QEMU_PAGESIZE": str(page_bytes)}
    return [prefix + "-gcc"], cxx and [cxx], emulator, settings


# Those that run natively have no emulator. Pages of another size are the emulator's.
PLATFORMS = {
    "aarch64": cross("aarch64-linux-gnu", "qemu-aarch64"),
    "aarch64-16k": cross("aarch64-linux-gnu", "qemu-aarch64", 16384),
    "aarch64-64k": cross("aarch64-linux-gnu", "qemu-aarch64", 65536),
    "armhf": cross("arm-linux-gnueabihf", "qemu-arm"),
    "riscv64": cross("riscv64-linux-gnu", "qemu-riscv64"),
    "s390x": cross("s390x-linux-gnu", "qemu-s390x"),
    "ppc64le": cross("powerpc64le-linux-gnu", "qemu-ppc64le"),
    "i386": (["gcc", *M32], None, None, {}),
    "x86_64-musl": (["musl-gcc"], None, None, {}),
}
FOLDERS = ["api", "stress", "fork", "misuse", "unit", "fuzz"]
HAVE_LOAM_INSIDE = ("unit", "fuzz")
FLAGS = ["-g", "-O1", "-fno-builtin", "-funwind-tables", "-w", "-D_FILE_OFFSET_BITS=64", f"-I{TESTS}",
         f"-I{ROOT}/include", f"-I{ROOT}/src"]
LINK = ["-Wl,-z,dynamic-undefined-weak", "-pthread", "-ldl", "-lm"]
# Checks of what an emulator adds to or does not show: memory, faults and time of the process, programs
# that it starts, huge pages, control groups, its own threads, pages that move, addresses of 32 bit, all
# of which it has mapped, libraries that it cannot map with larger pages, mappings for addresses that it
# gives only once. And its own crashes.
EMULATORS = re.compile(r'(resident_bytes|fault_count|seconds_now|refuses\(|!"exec|is_single_threaded)'
                       r'|!is_mapped|memory_limit_of_group|lm_large_resize|cannot be preloaded'
                       r'|stress_maps_most|^ERROR:\.\./\.\./|^qemu-\w+: \./', re.M)
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
    built = {} # of all platforms: what building a file has said

    def __init__(self, name, work):
        self.name = name
        self.cc, self.cxx, self.emulator, self.settings = PLATFORMS[name]
        self.is_static = "musl" in name
        self.work = os.path.join(work, re.sub(r"-\d+k$", "", name))
        os.makedirs(self.work, exist_ok=True)

    def build_once(self, name, build):
        path = self.path(name)
        if path not in self.built:
            self.built[path] = build()
        return self.built[path]

    def path(self, name):
        return os.path.join(self.work, name)

    def is_there(self):
        tools = [self.cc[0], *([self.emulator] if self.emulator else [])]
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
        own.update(self.settings)
        if self.emulator: # it runs without loam itself
            preload = own.pop("LD_PRELOAD", "")
            command[0:0] = [self.emulator, *(["-E", f"LD_PRELOAD={preload}"] if preload else [])]
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


def build_loam(platform, builds):
    """As CMake builds it, and the modules; what is said if that fails, else nothing."""
    build = platform.path("cmake")
    shutil.rmtree(build, ignore_errors=True)
    environment = {**os.environ, "CC": platform.cc[0], "CFLAGS": " ".join(platform.cc[1:])}
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    what = [{"fast": "loam_shared", "checking": "loam-checking_shared"}[build] for build in builds]
    what = ["loam_relocatable"] if platform.is_static else what
    for command in (["cmake", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
                     "-DCMAKE_C_COMPILER_WORKS=TRUE", *launcher],
                    ["cmake", "--build", build, "--target", *what]):
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            return result.stdout + result.stderr
    build_modules(platform)
    return ""


def build_modules(platform):
    for folder in ("api", "misuse"):
        modules = os.path.join(TESTS, folder, "modules")
        for file in [] if platform.is_static else sorted(os.listdir(modules)):
            if file.endswith(".c") or platform.cxx:
                platform.compile(os.path.splitext(file)[0] + ".so", os.path.join(modules, file),
                                 "-shared", "-fPIC")


def builds_of(platform, folder, source):
    """The builds that a test runs in here."""
    if folder in HAVE_LOAM_INSIDE:
        return ["fast"]
    if folder == "misuse":
        builds = header(source, "build", ["both"])
        builds = ["fast", "checking"] if builds == ["both"] else builds
    else:
        builds = header(source, "builds", ["fast", "checking"])
    if platform.is_static:
        return ["fast"] if "fast" in builds else []
    return [build for build in builds if build in ("fast", "checking")]


def needs_cxx(source):
    """Whether it is in C++, or opens a module that is."""
    with open(source, encoding="utf-8") as text:
        return source.endswith(".cpp") or "/cxx_plugin.so" in text.read()


def tests_of(platform, only):
    """Folder, name, source and chosen builds of each test that has any."""
    for folder in FOLDERS:
        path = os.path.join(ROOT if folder == "fuzz" else TESTS, folder)
        for file in sorted(os.listdir(path)):
            name, ending = os.path.splitext(file)
            source = os.path.join(path, file)
            if ending not in (".c", ".cpp") or needs_cxx(source) and not platform.cxx:
                continue
            builds = [build for build in builds_of(platform, folder, source)
                      if any(fnmatch.fnmatch(f"{folder}.{name}.{build}", pattern) for pattern in only)]
            if builds:
                yield folder, name, source, builds


def environment_of(platform, source, build):
    """What a test is run with, as ctest runs it."""
    environment = dict(entry.split("=", 1) for entry in header(source, "environment", []))
    environment["LOAM_TEST_BUILD"] = "static" if platform.is_static else build
    library = platform.path({"fast": "lib/libloam.so", "checking": "lib/libloam-checking.so"}[build])
    has_loam_inside = os.path.basename(os.path.dirname(source)) in HAVE_LOAM_INSIDE
    preloaded = not has_loam_inside and header(source, "preloaded", ["yes"]) == ["yes"]
    preload = [library] if preloaded else []
    for key, at in (("preload-before", 0), ("preload-after", 1)):
        for module in header(source, key, []):
            preload.insert(at, platform.path(module + ".so"))
    if preload and not platform.is_static:
        environment["LD_PRELOAD"] = ":".join(preload)
    return environment, library


def timeout_of(platform, source):
    """Many forks under threads never end in an emulator; those that do are soon through."""
    if not platform.emulator:
        return int(header(source, "timeout", ["300"])[0])
    return 40 if os.path.basename(os.path.dirname(source)) == "fork" else 200


def arguments_of(platform, source):
    arguments = header(source, "arguments", [])
    return header(source, "emulated-arguments", arguments) if platform.emulator else arguments


def check_program(platform, program, source, build):
    """What is wrong, SKIPPED, or nothing."""
    environment, library = environment_of(platform, source, build)
    arguments = [library if word == "@library@" else word
                 for word in arguments_of(platform, source)]
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


def failed_check(wrong):
    """Which check it was; else how the program ended."""
    check = re.search(r"[\w./]+:\d+: check failed", wrong)
    return (check or re.match("[^:]*", wrong))[0]


def fails_without_loam(platform, program, source, wrong):
    """Whether the same goes wrong with the C library's malloc."""
    environment, library = environment_of(platform, source, "fast")
    modules = [module for module in environment.get("LD_PRELOAD", "").split(":") if module != library]
    environment["LD_PRELOAD"] = ":".join(modules)
    environment["LOAM_TEST_ANY"] = "1"
    status, output, errors = platform.run(program, arguments_of(platform, source), environment,
                                          timeout_of(platform, source))
    without = f"status {status}: {(output + errors)[-400:]}"
    return status not in (0, SKIPPED) and failed_check(without) == failed_check(wrong)


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
            print(f"{platform.name}: skipped: {name}", flush=True)
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
        failed = ", ".join(f"`{name}`" for name in self.failed)
        tests = ", ".join(f"`{pattern}`" for pattern in only)
        return (f"| {platform.name} | {tests} | {self.passed} | {self.skipped} | "
                f"{len(self.elsewhere)} | {failed or '-'} |")


def compile_test(platform, folder, name, source, _):
    """What the compiler says if it fails, else nothing."""
    is_inside = folder in HAVE_LOAM_INSIDE
    flags = ["-O0"] if folder == "misuse" else []
    if is_inside:
        flags = ["-Og", "-fwhole-program", *INSIDE]
    if platform.is_static:
        flags += ["-static"] if is_inside else ["-static", "FIRST"]
    program = f"{folder}.{name}"
    return platform.build_once(program, lambda: platform.compile(program, source, *flags))


def check_one(platform, folder, name, source, builds, counts):
    program, can_do_without = f"{folder}.{name}", may_do_without(platform, folder, source)
    for build in builds:
        check = check_crime if folder == "misuse" else check_program
        start = time.monotonic()
        wrong = check(platform, program, source, build)
        seconds = time.monotonic() - start
        if seconds >= LONG_SECONDS:
            print(f"{platform.name}: {seconds:.0f} s: {program}.{build}", flush=True)
        is_emulators = (EMULATORS.search(str(wrong)) is not None or
                        EMULATORS_FORK.search(f"{program}: {wrong}") is not None)
        counts.add(platform, f"{program}.{build}", wrong, lambda: platform.emulator and (
            is_emulators or can_do_without and fails_without_loam(platform, program, source, wrong)))


def check_platform(platform, only):
    counts, tests = Counts(), list(tests_of(platform, only))
    builds = sorted({build for folder, *_, builds in tests for build in builds
                     if folder not in HAVE_LOAM_INSIDE})
    wrong = builds and platform.build_once("loam", lambda: build_loam(platform, builds))
    if wrong:
        counts.add(platform, "loam", wrong, lambda: False)
        return counts
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as compiler:
        compilations = [compiler.submit(compile_test, platform, *test) for test in tests]
        for test, compilation in zip(tests, compilations):
            if compilation.result():
                counts.add(platform, ".".join(test[:2]),
                           "cannot be compiled: " + compilation.result(), lambda: False)
            else:
                check_one(platform, *test, counts)
    print(counts.row(platform, only), flush=True)
    return counts


def between(text, name):
    """What stands before, between and after two marks of a page."""
    before, rest = text.split(f"<!-- {name} -->\n")
    inside, after = rest.split(f"<!-- end of {name} -->\n")
    return f"{before}<!-- {name} -->\n", inside, f"<!-- end of {name} -->\n{after}"


def with_row(table, name, row):
    lines = [line for line in table.splitlines() if line.split("|")[1].strip() != name]
    return "\n".join([*lines, row, ""])


def with_apart(items, platform, tests):
    """Items of a list, each with tests that are counted apart on the same platforms."""
    places = {test: [platform] for test in tests}
    for item in re.split(r"^- ", items, flags=re.M)[1:]:
        names, own = item.split(":", 1)
        for test in re.findall("`(.*?)`", own):
            places.setdefault(test, []).extend({*re.split(r",\s+", names)} - {platform})
    groups = {}
    for test in sorted(places):
        groups.setdefault(", ".join(sorted(places[test])), []).append(f"`{test}`")
    return "".join(textwrap.fill(f"- {names}: {', '.join(own)}", 118, subsequent_indent="  ",
                                 break_on_hyphens=False) + "\n"
                   for names, own in sorted(groups.items()) if names)


def write_results(page, platform, row, apart):
    """Puts the platform's row into the page's table, and what is counted apart into its list."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    begin, table, end = between(text, "architectures")
    text = begin + with_row(table, platform, row) + end
    begin, items, end = between(text, "counted apart")
    tests = {test.rsplit(".", 1)[0] for test in apart}
    with open(page, "w", encoding="utf-8") as file:
        file.write(begin + with_apart(items, platform, tests) + end)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", help="tests, as 'api.realloc_*.fast'")
    parser.add_argument("--table", help="the page that has the table of results")
    parser.add_argument("work")
    parser.add_argument("platforms", nargs="+", choices=PLATFORMS)
    arguments = parser.parse_args()
    has_run, failed, only = False, False, arguments.only or ["*"]
    for name in arguments.platforms:
        platform = Platform(name, os.path.abspath(arguments.work))
        if not platform.is_there():
            print(f"{name}: passed over: no {platform.cc[0]} or {platform.emulator or ''}")
            continue
        counts = check_platform(platform, only)
        has_run, failed = True, failed or bool(counts.failed)
        if arguments.table:
            write_results(arguments.table, name, counts.row(platform, only), counts.elsewhere)
    return 1 if failed else 0 if has_run else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
