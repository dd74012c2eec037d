"""Both crates, packed as cargo publishes them. Each carries the allocator as one C file."""
import os
import shutil

import dist
from releasing.process import output_of

FOLDERS = {"loam-malloc": "bindings/rust", "loam": "cli"}


def vendor(generated):
    """GENERATED holds loam.c and loam.h."""
    for folder in FOLDERS.values():
        target = os.path.join(dist.ROOT, folder, "vendor")
        os.makedirs(target, exist_ok=True)
        for name in ("loam.c", "loam.h"):
            shutil.copyfile(os.path.join(generated, name), os.path.join(target, name))


def write(output, build):
    vendor(output)
    names = [word for name in FOLDERS for word in ("--package", name)]
    # What is vendored is not in git, so the tree counts as dirty. The tests build what is packed.
    output_of("cargo", "package", "--locked", "--allow-dirty", "--no-verify", "--quiet", *names,
              "--target-dir", build, what="cargo package")
    for name in FOLDERS:
        packed = f"{name}-{dist.version()}.crate"
        with open(os.path.join(build, "package", packed), "rb") as file:
            dist.write(output, packed, file.read())
