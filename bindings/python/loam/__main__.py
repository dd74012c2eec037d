"""`python -m loam ARGUMENTS`: the command, in the place of this process."""
import os
import sys

from loam import command


def main():
    try:
        os.execv(command(), [command(), *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"loam: cannot run {command()}: {error.strerror}")


if __name__ == "__main__":
    main()
