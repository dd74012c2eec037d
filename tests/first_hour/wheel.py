#!/usr/bin/env python3
"""A Python developer: `pip install loam-malloc` into an environment of its own, without network."""
import re
import sys

from support import expect, expect_on_loam, expect_statistics, released, run, walk

SCRIPT = ("import loam, os; same = os.path.samefile(os.environ['LD_PRELOAD'], loam.library()); "
          "print(same, len('x' * 100000))")


def main(release, folder):
    wheel = released(release, "loam_malloc-*ARCH.whl")
    place = folder + "/environment"
    run(sys.executable, "-m", "venv", place)
    python = place + "/bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check",
        wheel)
    library = re.escape(run(python, "-c", "import loam; print(loam.library())").strip())

    expect_on_loam(run(place + "/bin/loam", "verify", "--preloaded", python), library)
    said = run(python, "-m", "loam", "run", "--stats", "--", python, "-c", SCRIPT)
    expect(said.startswith("True 100000\n"), said)
    expect_statistics(said, r"python[\w.]*")
    said = run(python, "-m", "loam", "run", "--", "/no/such/program", status=127)
    expect(said == "loam: cannot run /no/such/program: no such file or directory\n", said)


if __name__ == "__main__":
    walk(main)
