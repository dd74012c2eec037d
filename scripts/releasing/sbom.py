"""What the released command is made of, as a CycloneDX document: cargo says it."""
import json
import os
import re
import shlex
import time
import uuid

import dist
from releasing import packages
from releasing.command import rust_for, zig
from releasing.process import output_of

FORMAT = "1.5"


def checksums():
    """Of packages as they were fetched, by name and version."""
    pattern = r'name = "(.+)"\nversion = "(.+)"\nsource = .*\nchecksum = "(.+)"'
    return {(name, version): checksum
            for name, version, checksum in re.findall(pattern, dist.read("Cargo.lock"))}


def address(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, known):
    """A library in it."""
    entry = {"type": "library", "bom-ref": address(package), "name": package["name"],
             "version": package["version"], "purl": address(package)}
    if package["license"]:
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = known.get((package["name"], package["version"]))
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def toolchain(processor):
    """What the compilers link in."""
    rustc, _ = rust_for(processor.rust_target)
    version = output_of(rustc, "--version").split()[1]
    yield {"type": "library", "bom-ref": "rust-std", "name": "rust-std", "version": version,
           "licenses": [{"expression": "MIT OR Apache-2.0"}]}
    version = output_of(*shlex.split(zig()), "version").strip()
    yield {"type": "library", "bom-ref": "zig-libc", "version": version,
           "name": "musl, libunwind and compiler-rt of Zig",
           "licenses": [{"expression": "MIT AND Apache-2.0 WITH LLVM-exception"}]}


def document(processor):
    found = packages.by_id(processor)
    root, asked = packages.linked(processor)
    known = checksums()
    with_toolchain = list(toolchain(processor))
    components = [component(found[one], known) for one in asked if one != root]
    moment = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))
    return {
        "bomFormat": "CycloneDX", "specVersion": FORMAT, "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", moment),
            "component": {**component(found[root], known), "type": "application"}},
        "components": sorted(components + with_toolchain, key=lambda one: one["bom-ref"]),
        "dependencies": sorted(
            ({"ref": address(found[one]),
              "dependsOn": sorted({address(found[other]) for other in others})}
             for one, others in asked.items()), key=lambda one: one["ref"]),
    }


def write(processor, output):
    found = document(processor)
    text = json.dumps(found, sort_keys=True)
    found["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, text)}"
    dist.write(output, f"loam-{dist.version()}-{processor.name}.cdx.json",
               (json.dumps(found, indent=1, sort_keys=True) + "\n").encode())
