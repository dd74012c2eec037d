"""What the walks share. Each is that of one person who has a release and nothing else of loam: it
is called with the folder of the release, and takes of the machine only what it asks for."""
import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
SKIPPED = 77
ON_LOAM = re.compile(r" \((as it is|with loam preloaded)\): all of it is loam's: [0-9]+ references? in [0-9]+ modules?")
HELLO = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  char *text = strdup("hello");
  puts(text);
  free(text);
  return 0;
}
"""


class Wrong(Exception):
    """What is not as it should be."""


def run(*command, folder=None, environment=None, path="/usr/bin:/bin:/usr/sbin:/sbin", status=0):
    """What a command says that must end with the status, in an environment of its own."""
    clean = {"PATH": path, "HOME": folder or "/", "LANG": "C.UTF-8", **(environment or {})}
    result = subprocess.run(command, cwd=folder, env=clean, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            check=False)
    if result.returncode != status:
        raise Wrong(f"{' '.join(command)}: status {result.returncode}\n{result.stdout}")
    return result.stdout


class Service:
    """A process in the background, from the line with which it says that it is ready to its end."""

    def __init__(self, *command, folder, environment=None, path="/usr/bin:/bin"):
        clean = {"PATH": path, "HOME": folder, "LANG": "C.UTF-8", **(environment or {})}
        self.process = subprocess.Popen(command, cwd=folder, env=clean, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.says("ready")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def says(self, expected):
        line = self.process.stdout.readline()
        expect(line == expected + "\n", f"said {line!r}: {expected!r} was to come")

    @property
    def pid(self):
        return str(self.process.pid)

    def end(self, number):
        """What it says on standard error once the signal has ended it."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=60)[1]


def installed(release, folder):
    """The command, unpacked from the tarball."""
    run("tar", "-xf", released(release, "loam-*-ARCH-linux.tar.gz"), folder=folder)
    return released(folder, "loam-*-ARCH-linux") + "/bin/loam"


def line_of(text, comment):
    """The number of the line that ends with the comment."""
    found = [at for at, line in enumerate(text.splitlines(), 1) if line.endswith(comment)]
    expect(len(found) == 1, f"{len(found)} lines with {comment}")
    return found[0]


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def expect(condition, text):
    if not condition:
        raise Wrong(text)


def expect_on_loam(report, library):
    """A report of `loam verify` that all is well, by this library."""
    expect(ON_LOAM.search(report), report)
    expect(re.search(rf"^loam: {library}$", report, re.M), report)


def expect_statistics(summary, program):
    """What `loam run --stats` says of a program that it was on loam."""
    expect(re.search(rf"^  {program} \([0-9]+\) +[0-9-]", summary, re.M), summary)


class Clean:
    """A root with what is put into it; programs run there see nothing else, and /proc."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("bin", "dev", "proc", "root", "tmp", "usr"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        self.put_empty("/dev/null") # does as well

    def path(self, name):
        return self.folder + name

    def put(self, source, name=None):
        target = self.path(name or source)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)

    def put_empty(self, name):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        write(self.path(name), "")

    def put_program(self, source, name=None):
        """With the libraries that it needs."""
        self.put(source, name)
        listing = subprocess.run(["ldd", source], capture_output=True, text=True, check=False)
        for library in re.findall(r"(/\S+) \(0x", listing.stdout):
            self.put(library)

    def unpack(self, tarball):
        """As /opt/loam."""
        os.makedirs(self.path("/opt/loam"))
        run("tar", "-xf", tarball, "-C", self.path("/opt/loam"), "--strip-components=1")

    def run(self, *command, **keywords):
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        return run("unshare", *user, "--mount", "--pid", "--fork", "--root=" + self.folder,
                   "--wd=/", "--mount-proc", *command, **keywords)

    def is_possible(self):
        try:
            run("unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount", "--pid",
                "--fork", "--mount-proc", "true")
        except Wrong:
            return False
        return True


def released(folder, pattern):
    """The one file of the release that is called so."""
    found = glob.glob(os.path.join(folder, pattern.replace("ARCH", platform.machine())))
    expect(len(found) == 1, f"{folder}: {len(found)} files {pattern}")
    return found[0]


def walk(function):
    """Calls the function with the release and an empty folder; ends with the status for ctest."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} RELEASE")
    with tempfile.TemporaryDirectory(prefix="loam-first-hour-") as folder:
        try:
            skipped = function(os.path.abspath(sys.argv[1]), folder)
        except Wrong as wrong:
            sys.exit(f"{os.path.basename(sys.argv[0])}: {wrong}")
    if skipped:
        print(f"skipped: {skipped}")
        sys.exit(SKIPPED)


NO_ROOTS = "unshare makes no root of its own here"
