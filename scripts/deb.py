#!/usr/bin/env python3
"""Makes a Debian package of what `cmake --install` has put into an empty root, under /usr.

    scripts/deb.py ROOT OUTPUT [ARCHITECTURE]

ROOT is arranged as Debian's policy wants it; OUTPUT gets loam_VERSION_ARCHITECTURE.deb. The times
in it are SOURCE_DATE_EPOCH's, where that is set, so that the same files give the same package. Its
maintainer is DEBFULLNAME and DEBEMAIL of the environment, or else the author of the newest commit.
"""
import email.utils
import glob
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

import dist
from dist import Failure

CONTROL = """Package: loam
Version: {version}
Section: libdevel
Priority: optional
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {installed_kib}
{depends}Description: general-purpose memory allocator and its command
 loam replaces the malloc of a program: preloaded, or linked in. The loam
 command runs programs on it and proves that the replacement took effect.
"""
CHANGELOG = """loam ({version}) unstable; urgency=medium

  * Version {version}; /usr/share/doc/loam/changelog.gz says what is new.

 -- {maintainer}  {date}
"""
COPYRIGHT = """loam, a general-purpose memory allocator.

Copyright (c) 2026 the loam authors

loam is under the MIT license or the Apache License, version 2.0, as you choose. The latter is in
/usr/share/common-licenses/Apache-2.0 on Debian systems. The MIT license:

{licence}"""
# What documents link to, and the file that Debian has instead.
RENAMED = {"CHANGELOG.md": "changelog.gz",
           "LICENSE-MIT": "copyright", "LICENSE-APACHE": "copyright"}
# Why what lintian takes for a mistake is meant.
OVERRIDES = """# Linked into static programs of other processors: that is what `loam graft` is for; or preloaded
# into programs of 32 bits.
loam: binary-from-other-architecture [usr/lib/loam/*]
# Preloaded beside any C library, or linked by full path: they name none, and are not versioned.
loam: package-name-doesnt-match-sonames *
loam: shared-library-lacks-prerequisites *
loam: shared-library-lacks-version *
"""
STATIC_OVERRIDE = """# So that it runs beside any C library, of any age.
loam: statically-linked-binary [usr/bin/loam]
"""


def output_of(*command, **keywords):
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, **keywords)
    except OSError as error:
        raise Failure(f"{command[0]} cannot be run: {error.strerror}") from error
    if result.returncode != 0:
        last = (result.stderr.strip() or result.stdout.strip()).splitlines()[-1:]
        raise Failure(f"{command[0]} failed: {''.join(last)}")
    return result.stdout


def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def packed(text):
    return gzip.compress(text.encode(), mtime=0)


def needed_libraries(command):
    return "NEEDED" in output_of("readelf", "--dynamic", "--wide", command)


def maintainer():
    name, address = (os.environ.get(variable) for variable in ("DEBFULLNAME", "DEBEMAIL"))
    if name and address:
        return f"{name} <{address}>"
    try:
        return output_of("git", "log", "-1", "--format=%an <%ae>", cwd=dist.ROOT).strip()
    except Failure as failure:
        raise Failure("the package has no maintainer: set DEBFULLNAME and DEBEMAIL in the environment; "
                      f"there is no commit whose author it could be ({failure})") from failure


def arrange(root):
    """Files that Debian wants in other forms than other systems."""
    share = os.path.join(root, "usr/share")
    docs = os.path.join(share, "doc/loam")
    for name in RENAMED:
        os.remove(os.path.join(docs, name))
    readme = dist.read("README.md")
    for name, instead in RENAMED.items():
        readme = readme.replace(f"]({name})", f"]({instead})")
    put(docs + "/README.md", readme.encode())
    put(docs + "/copyright", COPYRIGHT.format(licence=dist.read("LICENSE-MIT")).encode())
    put(docs + "/changelog.gz", packed(dist.read("CHANGELOG.md")))
    date = email.utils.formatdate(moment())
    put(docs + "/changelog.Debian.gz", packed(CHANGELOG.format(
        version=dist.version(), maintainer=maintainer(), date=date.replace("-0000", "+0000"))))
    for page in glob.glob(share + "/man/man1/*.1"):
        with open(page, encoding="utf-8") as file:
            put(page + ".gz", packed(file.read()))
        os.remove(page)
    is_static = not needed_libraries(os.path.join(root, "usr/bin/loam"))
    put(share + "/lintian/overrides/loam",
        (OVERRIDES + (STATIC_OVERRIDE if is_static else "")).encode())


def files(root):
    """Below usr, sorted, relative to the root."""
    found = []
    for folder, _, names in os.walk(os.path.join(root, "usr")):
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


def moment():
    """The time of all that is packed. dpkg-deb alone would keep those that are older."""
    return int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))


def set_times(root):
    for folder, _, names in os.walk(root):
        for name in (*names, "."):
            os.utime(os.path.join(folder, name), (moment(), moment()))


def set_modes(root):
    for folder, folders, names in os.walk(root):
        for name in folders:
            os.chmod(os.path.join(folder, name), 0o755)
        for name in names:
            is_command = folder == os.path.join(root, "usr/bin")
            os.chmod(os.path.join(folder, name), 0o755 if is_command else 0o644)


def dependencies(root):
    """What the command takes of other packages; the libraries need none."""
    command = os.path.join(root, "usr/bin/loam")
    if not needed_libraries(command):
        return ""
    with tempfile.TemporaryDirectory() as folder:
        put(folder + "/debian/control", b"Source: loam\n\nPackage: loam\nArchitecture: any\n")
        text = output_of("dpkg-shlibdeps", "-O", "-e" + os.path.abspath(command), cwd=folder)
    return "Depends: " + text.strip().removeprefix("shlibs:Depends=") + "\n"


def write_control(root, architecture):
    total = sum(os.path.getsize(os.path.join(root, name)) for name in files(root))
    sums = []
    for name in files(root):
        with open(os.path.join(root, name), "rb") as file:
            sums.append(f"{hashlib.md5(file.read()).hexdigest()}  {name}\n")
    put(root + "/DEBIAN/md5sums", "".join(sums).encode())
    put(root + "/DEBIAN/triggers", b"activate-noawait ldconfig\n")
    put(root + "/DEBIAN/control", CONTROL.format(
        version=dist.version(), architecture=architecture, maintainer=maintainer(),
        installed_kib=(total + 1023) // 1024, depends=dependencies(root)).encode())


def strip(root, architecture):
    prefix = {"arm64": "aarch64-linux-gnu-"}.get(architecture, "")
    tool = prefix + "strip" if shutil.which(prefix + "strip") else "strip"
    output_of(tool, "--strip-unneeded", *glob.glob(root + "/usr/lib/*/*.so"),
              os.path.join(root, "usr/bin/loam"))
    output_of(tool, "--strip-debug", "--enable-deterministic-archives",
              *glob.glob(root + "/usr/lib/*/*.[ao]"))


def make(root, output, architecture, *compression):
    """The package's path. dpkg-deb packs as tight as it does by itself, or as it is told."""
    if not os.path.exists(os.path.join(root, "usr/bin/loam")):
        raise Failure(f"{root}/usr/bin/loam: there is no command to pack")
    arrange(root)
    strip(root, architecture)
    write_control(root, architecture)
    set_modes(root)
    set_times(root)
    os.makedirs(output, exist_ok=True)
    package = os.path.join(output, f"loam_{dist.version()}_{architecture}.deb")
    output_of("dpkg-deb", "--root-owner-group", "-Zxz", *compression, "--build", root, package)
    return package


def main():
    if len(sys.argv) not in (3, 4):
        print(f"usage: {sys.argv[0]} ROOT OUTPUT [ARCHITECTURE]", file=sys.stderr)
        return 2
    try:
        architecture = (sys.argv[3:] or [output_of("dpkg", "--print-architecture").strip()])[0]
        print(make(os.path.abspath(sys.argv[1]), sys.argv[2], architecture))
    except (Failure, OSError) as failure:
        print(f"deb: {failure}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
