#!/usr/bin/env python3
"""Checks the rules of docs and STYLE that a machine can check in src/ and include/.

  * A folder of src/ is a layer; a file includes only files of its own and of earlier layers.
    src/loam.c, the whole of it as one unit, includes everything.
  * In a folder no files include each other in a circle, x.c and x.h being one.
  * Each .c file compiles by itself.
  * Lines have at most 100 columns, functions at most 70 lines.
"""
import os
import re
import subprocess
import sys
import tempfile

LAYERS = ["base", "os", "config", "sizeclass", "pages", "central", "thread", "large", "profile",
          "report", "api", "redirect"]
COLUMNS = 100
FUNCTION_LINES = 70
# Files for other systems than the one that the tests run on cannot be compiled here.
OTHER_SYSTEMS = re.compile(r"_(windows|unix|macos|freebsd|netbsd|openbsd|darwin|wasm)\.c$")

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def layer_of(path, src):
    """The index of the layer of a file in src, or None for a file directly in src."""
    parts = os.path.relpath(path, src).split(os.sep)
    if len(parts) == 1:
        return None
    return LAYERS.index(parts[0]) if parts[0] in LAYERS else -1


def included_file(name, path, src):
    """The file that an include means: beside the including one, in src or in include."""
    for folder in (os.path.dirname(path), src, os.path.join(os.path.dirname(src), "include")):
        candidate = os.path.normpath(os.path.join(folder, name))
        if os.path.exists(candidate):
            return candidate
    return None


def check_includes(path, text, src):
    own = layer_of(path, src)
    if own is None:
        return
    if own == -1:
        yield 1, f"the folder is no layer; layers are {', '.join(LAYERS)}"
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match is None:
            continue
        target = included_file(match[1], path, src)
        if target is None:
            yield number, f"includes {match[1]}, which does not exist"
        elif not target.startswith(src + os.sep):
            continue
        elif layer_of(target, src) is None:
            yield number, f"includes {match[1]}, which belongs to no layer"
        elif layer_of(target, src) > own:
            yield number, f"layer {LAYERS[own]} includes {match[1]} of a later layer"


def neighbours(src):
    """By file of src without its ending: the files of the same folder that it includes."""
    graph = {}
    for path in source_files(os.path.dirname(src)):
        if not path.startswith(src + os.sep):
            continue
        own = os.path.splitext(path)[0]
        included = graph.setdefault(own, set())
        with open(path, encoding="utf-8") as file:
            names = [match[1] for match in map(INCLUDE.match, file) if match]
        for name in names:
            target = included_file(name, path, src)
            if target is not None and os.path.dirname(target) == os.path.dirname(path):
                included.add(os.path.splitext(target)[0])
        included.discard(own)
    return graph


def check_circles(src):
    """Takes away files that include none of those that are left, as long as there is one."""
    graph = neighbours(src)
    while True:
        last = [file for file, included in graph.items() if not included & graph.keys()]
        if not last:
            break
        for file in last:
            del graph[file]
    if graph:
        names = ", ".join(sorted(os.path.relpath(file, src) for file in graph))
        yield f"src: files that include each other in a circle, or such files: {names}"


def without_comments_and_texts(text):
    """The text with comments, strings and characters blanked; line breaks stay."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def functions(text):
    """(first line, last line, head) of each brace group at file level that is a function."""
    depth, head, start = 0, "", None
    for number, line in enumerate(without_comments_and_texts(text).splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        for char in line:
            if depth == 0 and not char.isspace() and not head:
                start = number
            if char == "{":
                if depth == 0 and re.search(r'extern\s*$', head):
                    head = "" # extern "C" {: what is inside is still at file level
                    continue
                depth += 1
            elif char == "}":
                depth = max(0, depth - 1)
                if depth == 0:
                    if "(" in head and "=" not in head:
                        yield start, number, head.strip()
                    head = ""
            elif depth == 0:
                head = "" if char == ";" else head + (char if head or not char.isspace() else "")
        if depth == 0 and head:
            head += " "


def check_lengths(text):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > COLUMNS:
            yield number, f"{len(line)} columns, at most {COLUMNS}"
    for start, end, head in functions(text):
        if end - start + 1 > FUNCTION_LINES:
            yield start, f"a function of {end - start + 1} lines, at most {FUNCTION_LINES}: {head}"


def check_compiles(path, root):
    if OTHER_SYSTEMS.search(path):
        return
    result = subprocess.run(["cc", "-fsyntax-only", "-std=c11", f"-I{root}/src",
                             f"-I{root}/include", path], capture_output=True, text=True)
    if result.returncode != 0:
        yield 1, "does not compile alone:\n" + result.stderr[:2000]


def source_files(root):
    for top in ("src", "include"):
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.join(folder, name)


def check(root):
    """All findings in the repository at root, as lines of text, and the number of files."""
    src = os.path.join(root, "src")
    found, count = [], 0
    for path in source_files(root):
        count += 1
        with open(path, encoding="utf-8") as file:
            text = file.read()
        findings = list(check_lengths(text))
        if path.startswith(src + os.sep):
            findings += check_includes(path, text, src)
            if path.endswith(".c"):
                findings += check_compiles(path, root)
        found += [f"{os.path.relpath(path, root)}:{line}: {what}" for line, what in findings]
    found += check_circles(src)
    return found, count


GOOD = {
    "src/base/bits.h": "static inline int bit(int x) {\n  return x & 1;\n}\n",
    "src/pages/pages.h": '#include "base/bits.h"\nint heap_use(int x);\n',
    "src/pages/pages.c": '#include "pages/pages.h"\n#include "loam/loam.h"\n'
                        '/* { */\nint heap_use(int x) { return bit(x); }\n',
    "src/pages/low.h": "#pragma once\n",
    "src/pages/high.h": '#pragma once\n#include "pages/low.h"\n',
    "src/loam.c": '#include "pages/pages.c"\n',
    "src/os/os_windows.c": "#include <windows.h>\n",
    "include/loam/loam.h": '#ifdef __cplusplus\nextern "C" {\n#endif\nint x(void);\n',
}
BAD = {
    "upward include": ("src/base/bad.h", '#include "pages/pages.h"\n', "later layer"),
    "unknown folder": ("src/misc/bad.h", "int x;\n", "no layer"),
    "missing include": ("src/base/bad.h", '#include "base/none.h"\n', "does not exist"),
    "does not compile": ("src/base/bad.c", "int f(void) { return missing; }\n", "compile alone"),
    "circle": ("src/pages/low.h", '#pragma once\n#include "pages/high.h"\n', "in a circle"),
    "long line": ("src/base/bad.h", "/* " + "x" * 100 + " */\n", "columns"),
    "long function": ("src/base/bad.c", "int f(int x,\n      int y) {\n" + "  x++;\n" * 70 +
                      "  return x + y;\n}\n", "a function of 74 lines"),
}


def self_test():
    def check_files(files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return check(root)[0]

    assert check_files(GOOD) == [], check_files(GOOD)
    for name, (path, text, expected) in BAD.items():
        found = check_files(GOOD | {path: text})
        assert len(found) == 1 and os.path.basename(path)[:-2] in found[0] and expected in found[0], (name, found)
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} ROOT | --self-test")
    found, count = check(os.path.realpath(sys.argv[1]))
    print(*found, f"{count} files, {len(found)} findings", sep="\n")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
