#!/usr/bin/env python3
"""run.py WINE FOLDER CASE [TIMES]: a test of loam-redirect.dll and loam-run.exe, which are in FOLDER with the programs."""
import os
import subprocess
import sys
import tempfile

SECONDS = 600


class Runner:
    def __init__(self, wine, folder):
        self.wine = [wine] if wine else []
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *command, status=0, errors="", options="", text=None):
        """Runs it, and demands its status and all it says on standard error. Returns its output."""
        done = subprocess.run([*self.wine, *command], input=text, capture_output=True, text=True, timeout=SECONDS,
                              env=os.environ | {"LOAM_REDIRECT": options}, cwd=self.folder, check=False)
        said = done.stderr.replace("\r", "")
        assert done.returncode == status and (errors is None or said == errors), \
            f"{command}: status {done.returncode}, not {status}; said:\n{said}\nexpected:\n{errors}\n{done.stdout[-500:]}"
        return done.stdout.replace("\r", "") if errors is not None else said

    def loam(self, *command, **others):
        return self.run(self.path("loam-run.exe"), *command, **others)


def case_family(runner):
    runner.loam("family.exe")


def case_imported(runner):
    runner.run("imported.exe")
    late = "loam: loam-redirect.dll is not first: blocks that a C runtime gave out by now stay its own\n"
    runner.run("imported-last.exe", errors=late)


def case_cmake(runner):
    here = os.path.dirname(os.path.realpath(__file__))
    with tempfile.TemporaryDirectory(dir=runner.folder) as folder:
        made = subprocess.run(
            ["cmake", "-S", here + "/project", "-B", folder, "-G", "Ninja", "-DCMAKE_SYSTEM_NAME=Windows",
             "-DCMAKE_C_COMPILER=clang", "-DCMAKE_C_COMPILER_TARGET=x86_64-pc-windows-msvc",
             "-DCMAKE_LINKER=lld-link", "-DWINDOWS_FOLDER=" + runner.folder, f"-DSOURCE={here}/imported.c"],
            capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr
        subprocess.run(["cmake", "--build", folder], stdout=subprocess.DEVNULL, check=True)
        runner.run(os.path.join(folder, "imported.exe"))
        refused = subprocess.run(["cmake", "-DREFUSED=ON", folder], capture_output=True, text=True, check=False)
        assert refused.returncode != 0 and "loam_redirect(library): it is no program" in refused.stderr, refused


def case_static(runner):
    runner.run("static/without.exe", status=20)
    for name in ("plain", "ref", "thin", "library"):
        runner.run(f"static/{name}.exe")


def case_tables(runner):
    runner.loam("family-tables.exe", options="tables")
    said = runner.loam("--verify", "child.exe", "0", options="tables", errors=None, text="")
    assert ", 0 escape\n" in said, said


def case_plugins(runner):
    runner.loam("plugins.exe")


def case_late(runner):
    for seed in range(int(sys.argv[4])):
        runner.run(runner.path("late.exe"), str(seed))


def case_mutated(runner):
    """What the test above is to find: a jump that is put in by halves, while threads run."""
    for seed in range(5):
        try:
            runner.run(runner.path("late.exe"), str(seed), errors=None)
        except subprocess.TimeoutExpired:
            return
        except AssertionError as error:
            assert "library != NULL" not in str(error), error
            print(error)
            return
    raise AssertionError("half a jump is not noticed")


def case_another_tool(runner):
    assert runner.run("first.exe", "none") == "loam"
    refused = ("loam: ucrtbase.dll: malloc is not as in its file: another tool has changed it; the runtime is left "
               "alone (LOAM_REDIRECT=anyway puts loam over it)\n")
    assert runner.run("first.exe", "tool", errors=refused) == "tool"
    assert runner.run("first.exe", "tool", options="anyway") == "loam"
    unknown = "loam: LOAM_REDIRECT: any is none of anyway, children, tables, verify\n"
    assert runner.run("first.exe", "none", options="any", errors=unknown) == "loam"


def case_other_runtimes(runner):
    """One for debugging, and one whose functions are too short: by the names of libraries."""
    left = "loam: ucrtbased.dll is for debugging and is left alone: its malloc is not loam's\n"
    short = ("loam: msvcr120.dll: malloc is too short for a jump; tables of imports and exports lead to loam "
             "instead\n")
    os.environ["LOAM_WINE_OVERRIDES"] = "msvcr120=n" # not wine's own
    with tempfile.TemporaryDirectory(dir=runner.folder) as folder:
        for name, source, said in (("ucrtbased.dll", "plugin.dll", left), ("msvcr120.dll", "short.dll", short)):
            os.link(runner.path(source), os.path.join(folder, name))
            path = os.path.relpath(os.path.join(folder, name), runner.folder)
            assert runner.run("first.exe", "none", path.replace("/", "\\"), errors=said) == "loam"


def case_statistics(runner):
    os.environ["LOAM_OPTIONS"] = "stats=text,background=on"
    said = runner.loam("family.exe", errors=None)
    assert "loam 0." in said and "process" in said, said


def case_host(runner):
    stands_back = "loam: host.exe has loam inside, which serves: loam-redirect.dll stands back\n"
    runner.loam("host.exe", "0", text="", errors=stands_back)
    said = runner.loam("--verify", "host.exe", "0", text="", errors=None, status=1)
    assert "loam: host.exe has loam inside\n" in said and "ucrtbase" in said, said


def case_launcher(runner):
    for status in (0, 3, 255):
        out = runner.loam("child.exe", str(status), "a b", 'c"d', "", "e\\", status=status, text="one\ntwo\n")
        assert out == 'loam yes [a b] [c"d] [] [e\\]\none\ntwo\n', out
    usage = "loam-run: usage: loam-run [--children] [--verify] program [argument...]\n"
    runner.loam(status=2, errors=usage)
    runner.loam("--unknown", "child.exe", status=2, errors=usage)
    runner.loam("--", "child.exe", "0", text="")
    runner.loam("nothing.exe", status=127, errors="loam-run: the program cannot be started: error 2\n")


def case_without_library(runner):
    """The launcher alone, and a path that a table of imports cannot have."""
    with tempfile.TemporaryDirectory(dir=runner.folder) as folder:
        for name in ("loam-run.exe", "child.exe"):
            os.link(runner.path(name), os.path.join(folder, name))
        out = runner.run(os.path.join(folder, "loam-run.exe"), os.path.join(folder, "child.exe"), "5", text="",
                         status=5, errors="loam-run: the program runs without loam: loam-redirect.dll is missing\n")
        assert out == "loam no\n", out
    with tempfile.TemporaryDirectory(prefix="日本 ", dir=runner.folder) as folder:
        for name in ("loam-run.exe", "child.exe", "loam-redirect.dll"):
            os.link(runner.path(name), os.path.join(folder, name))
        done = subprocess.run([*runner.wine, os.path.join(folder, "loam-run.exe"), os.path.join(folder, "child.exe"),
                               "6"], input="", capture_output=True, text=True, check=False)
        assert done.returncode == 6 and done.stdout.strip() in ("loam yes", "loam no"), done
        assert ("runs without loam" in done.stderr) == (done.stdout.strip() == "loam no"), done


def case_children(runner):
    command = "child.exe 7 x"
    assert runner.loam("child.exe", "start", command, text="", status=7) == "loam no [x]\n"
    assert runner.loam("--children", "child.exe", "start", command, text="", status=7) == "loam yes [x]\n"
    two = f'child.exe start "{command}"'
    assert runner.loam("--children", "child.exe", "start", two, text="", status=7) == "loam yes [x]\n"


def case_verify(runner):
    said = runner.loam("--verify", "child.exe", "0", text="", errors=None)
    assert "loam: child.exe: " in said and said.endswith(", 0 escape\n"), said
    assert runner.loam("--verify", "child.exe", "9", text="", errors=None, status=9).endswith(", 0 escape\n")
    said = runner.loam("--verify", "inside.exe", errors=None, status=1)
    assert "loam: inside.exe has a C runtime inside, whose malloc is not loam's\n" in said, said
    assert said.endswith(", 1 escape\n"), said


def main():
    wine, folder, case = sys.argv[1:4]
    globals()["case_" + case](Runner(wine, os.path.abspath(folder)))


if __name__ == "__main__":
    main()
