"""Programs that a release calls."""
import os
import subprocess

from dist import ROOT, Failure


def output_of(*command, environment=None, what=None, folder=ROOT):
    """Standard output of a program that must succeed. What went wrong is its last line; all that it
    said follows, if it is a build."""
    try:
        result = subprocess.run(command, cwd=folder, env={**os.environ, **(environment or {})},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT if what else
                                subprocess.PIPE, text=True, errors="replace", check=False)
    except OSError as error:
        raise Failure(f"{command[0]} cannot be run: {error.strerror}") from error
    if result.returncode != 0:
        said = (result.stderr or result.stdout).strip()
        if what is None:
            raise Failure(f"{' '.join(command[:2])} failed: {(said.splitlines() or [''])[-1]}")
        raise Failure(f"{what} failed: {' '.join(command[:2])} says:\n{said}")
    return result.stdout
