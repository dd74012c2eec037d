#!/usr/bin/env python3
"""mutate.py ROOT FOLDER: a copy of the sources whose jumps are put in by halves and beside threads that run.

The tests of threads must fail with what is built of it.
"""
import os
import shutil
import sys

CHANGES = [
    ("  memcpy(patch->function, jump, jump_bytes());\n",
     "  memcpy(patch->function, jump, 1);\n  Sleep(20);\n"
     "  memcpy(patch->function + 1, jump + 1, jump_bytes() - 1);\n"),
    ("has_begun && !lm_others_stop(&others, is_inside, &places)", "has_begun && !is_inside(&places, 0) && false"),
    ("  if (has_begun) lm_others_go(&others);\n", "  (void)others;\n"),
]


def main():
    root, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("src", "include"):
        shutil.copytree(os.path.join(root, part), os.path.join(folder, part))
    path = os.path.join(folder, "src/redirect/patch_windows.c")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for before, after in CHANGES:
        if text.count(before) != 1:
            sys.exit(f"{path}: does not hold once: {before}")
        text = text.replace(before, after)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
