#!/usr/bin/env python3
"""Runs one misuse program and compares all it prints to standard error with what its file expects.

Header lines of a misuse program:
    // build: both | checking | fast        where the misuse is found (read by CMake)
    // expect: TEXT                         a whole line of standard error; several lines in order
    // status: SIGABRT | NUMBER             how the program ends; SIGABRT if not given
    // environment: NAME=VALUE              repeated as needed

In TEXT, 0xADDR stands for the address that the program prints to standard output, MODULE for
PROGRAM+0xOFFSET, and {REGEX} for a regular expression; everything else is literal. An expectation
with no `expect` line is that nothing is printed.
"""
import argparse
import os
import re
import signal
import subprocess
import sys

HEADER = re.compile(r"// (build|expect|status|environment): (.*)")


def read_header(path):
    header = {"expect": [], "environment": [], "status": "SIGABRT", "build": None}
    with open(path, encoding="utf-8") as source:
        for line in source:
            match = HEADER.fullmatch(line.rstrip("\n"))
            if match is None:
                continue
            key, value = match.groups()
            if isinstance(header[key], list):
                header[key].append(value)
            else:
                header[key] = value
    if header["build"] not in ("both", "checking", "fast"):
        sys.exit(f"{path}: no line '// build: both|checking|fast'")
    return header


# How abort() ends a program on Windows.
WINDOWS_ABORT_STATUS = 3


def line_pattern(text, address, module):
    pattern = ""
    for part in re.split(r"(0xADDR|MODULE|\{[^}]*\})", text):
        if part == "0xADDR":
            pattern += re.escape(address)
        elif part == "MODULE":
            pattern += re.escape(module) + r"\+0x[0-9a-f]+"
        elif part.startswith("{"):
            pattern += f"(?:{part[1:-1]})"
        else:
            pattern += re.escape(part)
    return pattern


def differences(header, module, output, errors, status, abort_status=-signal.SIGABRT):
    """What is not as expected, as a list of texts."""
    address = output.split()[0] if output.split() else "(the program printed no address)"
    found = []
    named = header["status"]
    expected_status = abort_status if named == "SIGABRT" else int(named)
    if status != expected_status:
        found.append(f"status {status}, expected {expected_status}")
    lines = errors.splitlines()
    if len(lines) != len(header["expect"]):
        found.append(f"{len(lines)} lines, expected {len(header['expect'])}")
    for text, line in zip(header["expect"], lines):
        pattern = line_pattern(text, address, module)
        if re.fullmatch(pattern, line) is None:
            found.append(f"expected the line {pattern}\n                 got {line}")
    return found


def run(library, wine, source, program):
    header = read_header(source)
    environment = dict(os.environ)
    if library:
        environment["LD_PRELOAD"] = library
    environment.pop("LOAM_OPTIONS", None)
    environment.update(entry.split("=", 1) for entry in header["environment"])
    command, module, abort_status = [program], os.path.realpath(program), -signal.SIGABRT
    if wine or os.name == "nt":
        abort_status = WINDOWS_ABORT_STATUS
        module = os.path.abspath(program).replace("/", "\\")  # as it was started, links and all
    if wine:
        command, module = [wine, program], "Z:" + module
    result = subprocess.run(command, env=environment, capture_output=True, text=True,
                            errors="replace", timeout=200)
    found = differences(header, module, result.stdout, result.stderr, result.returncode,
                        abort_status)
    for text in found:
        print(f"{os.path.basename(source)}: {text}")
    if found:
        print(f"--- standard error:\n{result.stderr}--- standard output:\n{result.stdout}", end="")
    return 1 if found else 0


def self_test():
    header = {"expect": ["loam: free of 0xADDR by MODULE: {a|b} (x)"], "status": "SIGABRT"}
    abort = -signal.SIGABRT
    good = "loam: free of 0x12 by /nowhere/p+0x1f: b (x)\n"
    assert differences(header, "/nowhere/p", "0x12\n", good, abort) == []
    assert differences(header, "/nowhere/p", "0x13\n", good, abort)
    assert differences(header, "/nowhere/p", "0x12\n", good, 0)
    assert differences(header, "/nowhere/p", "0x12\n", good + "more\n", abort)
    assert differences(header, "/nowhere/p", "0x12\n", "", abort)
    assert differences(header, "/nowhere/q", "0x12\n", good, abort)
    assert differences(header, "/nowhere/p", "0x12\n", good.replace("(x)", "x"), abort)
    silent = {"expect": [], "status": "0"}
    assert differences(silent, "/nowhere/p", "", "", 0) == []
    assert differences(silent, "/nowhere/p", "", "loam: x\n", 0)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", help="the library to preload")
    parser.add_argument("--wine", help="the script that runs programs for Windows")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("source", nargs="?")
    parser.add_argument("program", nargs="?")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    return run(arguments.library, arguments.wine, arguments.source, arguments.program)


if __name__ == "__main__":
    sys.exit(main())
