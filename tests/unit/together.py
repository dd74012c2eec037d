#!/usr/bin/env python3
"""Writes one C file that has all given unit tests in it: the compiler then translates the allocator
once for all of them.

    together.py OUTPUT FILE...

The program takes the name of a file, without its ending, and does what its main does. Names that
more than one of the files defines get the file's name in front. A file still compiles alone.
"""
import collections
import os
import re
import sys

DEFINED = re.compile(
    r"^(?:static|struct|enum|union|typedef|int)\b[^\n;({=]*?\b(\w+)(?=\(|\[| =|;| \{)", re.M)
SEVERAL = re.compile(r"^static [^\n=({;]*,[^\n=({;]*;", re.M)
CONSTANTS = re.compile(r"^enum (?:\w+ )?\{([^}]*)\}", re.M)
MACRO = re.compile(r"^#define (\w+)", re.M)
INCLUDED = re.compile(r'^#include "unit.h"\n', re.M)
# A comment or a text as a whole, or a word that is no member's.
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|(?<![\w.])(?<!->)[A-Za-z_]\w*', re.S)


def names_in(text):
    text = re.sub(r"_Atomic\([^)]*\)", "_Atomic", text) # no function
    names = set(DEFINED.findall(text)) | set(MACRO.findall(text))
    for variables in SEVERAL.findall(text):
        names.update(re.findall(r"(\w+)(?:\[[^]]*\])?(?=,|;)", variables))
    for constants in CONSTANTS.findall(text):
        names.update(re.findall(r"\w+", re.sub(r"=[^,]*|/\*.*?\*/", "", constants)))
    return names


def renamed(text, names, stem):
    return TOKEN.sub(lambda token: f"{stem}_{token[0]}" if token[0] in names else token[0], text)


def section(path, text, names):
    stem = os.path.splitext(os.path.basename(path))[0]
    body = renamed(INCLUDED.sub("\n", text, count=1), names, stem)
    return f'#line 1 "{path}"\n{body}'


def together(paths):
    texts = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            texts[path] = file.read()
    count = collections.Counter(name for text in texts.values() for name in names_in(text))
    shared = {name for name, files in count.items() if files > 1} | {"main"}
    stems = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    table = "\n".join(f'  if (strcmp(words[1], "{stem}") == 0) return {stem}_main();'
                      for stem in stems)
    return ('#include "unit.h"\n' +
            "".join(section(path, text, shared & names_in(text)) for path, text in texts.items()) +
            f"int main(int count, char **words) {{\n  if (count != 2) return 2;\n{table}\n"
            "  return 2;\n}\n")


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    with open(arguments[0], "w", encoding="utf-8") as file:
        file.write(together(arguments[1:]))


if __name__ == "__main__":
    main(sys.argv[1:])
