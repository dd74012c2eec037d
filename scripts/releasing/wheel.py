"""The Python package: `pip install loam-malloc` brings the command and its libraries."""
import base64
import hashlib
import io
import os
import time
import zipfile

import dist

# The library needs no C library by name, and the command none at all: any Linux will do.
TAGS = ("manylinux_2_17", "manylinux2014", "musllinux_1_1")
METADATA = """Metadata-Version: 2.1
Name: loam-malloc
Version: {version}
Summary: A memory allocator that replaces a program's malloc, and the command that proves it
License: MIT OR Apache-2.0
License-File: LICENSE-MIT
License-File: LICENSE-APACHE
Requires-Python: >=3.6
Description-Content-Type: text/markdown

{readme}"""
WHEEL = """Wheel-Version: 1.0
Generator: loam
Root-Is-Purelib: false
{tags}"""
# From the tree of a tarball to the package's folder.
CARRIED = ("bin/loam", "lib/libloam.so", "lib/libloam-checking.so", "lib/loam/",
           "share/doc/loam/third-party.txt")


def platform_tag(processor):
    return ".".join(f"{tag}_{processor.name}" for tag in TAGS)


def contents(processor, tree):
    """For each path the bytes, and whether the file is executable."""
    version = dist.version()
    info = f"loam_malloc-{version}.dist-info"
    found = {f"loam/{name}": entry for name, entry in tree.items() if name.startswith(CARRIED)}
    for name in ("__init__.py", "__main__.py"):
        found["loam/" + name] = (dist.read(f"bindings/python/loam/{name}").encode(), False)
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        found[f"{info}/licenses/{name}"] = (dist.read(name).encode(), False)
    tags = "".join(f"Tag: py3-none-{tag}_{processor.name}\n" for tag in TAGS)
    texts = {"METADATA": METADATA.format(version=version,
                                         readme=dist.read("bindings/python/README.md")),
             "WHEEL": WHEEL.format(tags=tags),
             "entry_points.txt": "[console_scripts]\nloam = loam.__main__:main\n"}
    found.update({f"{info}/{name}": (text.encode(), False) for name, text in texts.items()})
    found[f"{info}/RECORD"] = (record(found, f"{info}/RECORD").encode(), False)
    return found


def record(found, itself):
    lines = []
    for path, (data, _) in sorted(found.items()):
        checksum = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={checksum},{len(data)}\n")
    return "".join(lines) + itself + ",,\n"


def write(processor, tree, output):
    stream = io.BytesIO()
    moment = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, (data, is_executable) in sorted(contents(processor, tree).items()):
            entry = zipfile.ZipInfo(path, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if is_executable else 0o100644) << 16
            archive.writestr(entry, data)
    name = f"loam_malloc-{dist.version()}-py3-none-{platform_tag(processor)}.whl"
    dist.write(output, name, stream.getvalue())
