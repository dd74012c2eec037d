#!/usr/bin/env python3
"""Someone follows the recipes of docs/tasks to the letter: the lines of Dockerfiles, each in a root
of its own with what its image would have, and the lines of a service's unit."""
import json
import os
import platform
import shlex
import shutil

from support import (HELLO, NO_ROOTS, ROOT, Clean, Wrong, expect, released, run, walk, write)

STATISTICS = "LOAM_OPTIONS=stats=text"


def blocks(page):
    """What stands indented in a page, line by line, each of several as one."""
    with open(os.path.join(ROOT, "docs", "tasks", page), encoding="utf-8") as file:
        text = file.read().replace("\\\n", " ")
    found, is_within = [], False
    for line in text.splitlines():
        if line.startswith("    "):
            if not is_within:
                found.append([])
            found[-1].append(line.strip())
        # An empty line within a block does not end it.
        is_within = line.startswith("    ") or is_within and not line
    return found


def holding(page, words):
    """The one block that has these words."""
    matching = [block for block in blocks(page) if any(words in line for line in block)]
    expect(len(matching) == 1, f"{page}: {len(matching)} blocks with {words}")
    return matching[0]


class Image:
    """What some lines of a Dockerfile make of a root."""

    def __init__(self, folder, programs, context):
        self.root, self.context = Clean(folder), context
        self.environment, self.entry = [], None
        for program in programs:
            self.root.put_program(shutil.which(program, path="/usr/bin:/bin:/usr/sbin:/sbin"))
        self.root.put_program("/usr/bin/expr", "/usr/bin/server")

    def make(self, lines):
        for line in lines:
            word, rest = line.split(maxsplit=1)
            getattr(self, word.lower())(rest)

    def copy(self, rest):
        source, target = rest.split()
        self.root.put(os.path.join(self.context, source), target)

    def add(self, rest):
        source, target = rest.split()
        os.makedirs(self.root.path(target), exist_ok=True)
        run("tar", "-xf", os.path.join(self.context, source), "-C", self.root.path(target))

    def run(self, rest):
        self.root.run("env", *self.environment, "sh", "-c", rest)

    def env(self, rest):
        self.environment.append(rest)

    def entrypoint(self, rest):
        self.entry = json.loads(rest)

    def start(self, *words):
        return self.root.run("env", STATISTICS, *self.environment, *words)


def expect_seen_without(place, lines, make):
    """A recipe whose swap is taken out fails."""
    without = [line for line in lines if "LD_PRELOAD" not in line]
    expect(len(without) == len(lines) - 1, lines)
    try:
        make(place, without)
    except Wrong as wrong:
        expect("NOT on loam" in str(wrong), str(wrong))
    else:
        raise Wrong(f"{lines}: nobody sees that the swap is not there")


def expect_served(said):
    expect(said.startswith("13\n") and "loam" in said, said)


def of_debian(folder, context):
    def make(place, lines):
        image = debian_image(place, context)
        image.make(lines)
        return image

    lines = holding("container.md", "dpkg -i")
    expect_served(make(folder + "/with", lines).start("server", "6", "+", "7"))
    expect_seen_without(folder + "/without", lines, make)


def debian_image(folder, context):
    os.mkdir(folder)
    image = Image(folder, ["sh", "env", "rm", "tar", "diff", "dpkg", "dpkg-deb", "dpkg-split",
                           "ldconfig", "start-stop-daemon"], context)
    for name in ("status", "available"):
        image.root.put_empty("/var/lib/dpkg/" + name)
    for name in ("updates", "info", "triggers"):
        os.makedirs(image.root.path("/var/lib/dpkg/" + name))
    return image


def of_any(folder, context):
    def make(place, lines):
        os.mkdir(place)
        image = Image(place, ["sh", "env", "mv"], context)
        image.make(lines)
        return image

    lines = holding("container.md", "RUN mv")
    expect_served(make(folder + "/with", lines).start("server", "6", "+", "7"))
    expect_seen_without(folder + "/without", lines, make)


def of_the_command_alone(folder, context):
    image = Image(folder, ["env"], context)
    image.make(holding("container.md", "ENTRYPOINT"))
    expect_served(image.start(*image.entry, "6", "+", "7"))


def in_stages(folder, context):
    """The first stage is this machine, with musl's compiler in the place of Alpine's."""
    lines = holding("static-binary.md", "FROM scratch")
    at = lines.index("FROM scratch")
    build, program = os.path.join(folder, "build"), os.path.join(folder, "program.root")
    os.makedirs(build + "/bin")
    os.symlink(shutil.which("musl-gcc"), build + "/bin/cc")
    write(build + "/program.c", HELLO)
    for line in lines[:at]:
        word, rest = line.split(maxsplit=1)
        if word == "ADD":
            source, target = rest.split()
            os.makedirs(build + target)
            run("tar", "-xf", os.path.join(context, source), "-C", build + target)
        elif word == "RUN" and not rest.startswith("apk "):
            run("sh", "-c", rest.replace("/opt/", build + "/opt/"), folder=build,
                path=build + "/bin:/usr/bin:/bin")
    expect(lines[at + 1] == "COPY --from=build /program /program", lines)
    root = Clean(program)
    root.put(build + "/program", "/program")
    said = root.run(*json.loads(lines[at + 2].split(maxsplit=1)[1]))
    expect(said == "hello\n", said)


def as_a_service(folder, context):
    """The unit as systemd reads it, where that is installed; and what it would start, in a root
    with the package's files."""
    lines = holding("service.md", "[Service]")
    start = holding("service.md", "ExecStartPre=")
    expect(lines[1] == "[Service]", lines)
    root = Clean(folder)
    root.put_program("/usr/bin/expr", "/usr/bin/server")
    root.put_program("/usr/bin/env")
    run("dpkg-deb", "--extract", os.path.join(context, "loam_0.1.0_amd64.deb"), root.folder)
    settings = [*lines[2:], *start]
    unit = ["[Unit]", "DefaultDependencies=no", "[Service]", "ExecStart=/usr/bin/server 6 + 7",
            *settings]
    os.makedirs(root.path("/etc/systemd/system"))
    write(root.path("/etc/systemd/system/server.service"), "\n".join(unit) + "\n")
    if shutil.which("systemd-analyze"):
        said = run("systemd-analyze", "verify", "--man=no", "--root=" + root.folder,
                   "server.service")
        expect("server.service" not in said, said)
    values = [line.split("=", 1) for line in settings]
    environment = [value for key, value in values if key == "Environment"]
    before = [shlex.split(value) for key, value in values if key == "ExecStartPre"]
    expect(len(before) == 1, values)
    root.run("env", *environment, *before[0])
    said = root.run("env", *before[0], status=1)
    expect("NOT on loam" in said, said)
    expect_served(root.run("env", STATISTICS, *environment, "server", "6", "+", "7"))


def main(release, folder):
    if platform.machine() != "x86_64":
        return "the recipes name files for x86-64"
    if not Clean(folder + "/try").is_possible():
        return NO_ROOTS
    context = folder + "/context"
    shutil.copytree(release, context)
    tarball = released(release, "loam-*-ARCH-linux.tar.gz")
    run("tar", "-xf", tarball, "-C", folder)
    shutil.copy(os.path.join(folder, os.path.basename(tarball)[:-len(".tar.gz")], "bin", "loam"),
                context)
    for recipe in (of_debian, of_any, of_the_command_alone, in_stages, as_a_service):
        try:
            os.mkdir(f"{folder}/{recipe.__name__}")
            recipe(f"{folder}/{recipe.__name__}", context)
        except Wrong as wrong:
            raise Wrong(f"{recipe.__name__}: {wrong}") from wrong
    return None


if __name__ == "__main__":
    walk(main)
