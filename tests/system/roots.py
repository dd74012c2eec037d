"""A root of Debian to run programs in, which takes the right to mount and Debian's packages."""
import os
import shutil
import subprocess
import sys

SKIPPED = 77

# In a mount and process namespace of its own, which ends with what was started in it.
ENTER = r"""
root=$1; shift
mount --bind "$root" "$root"; mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"; mount --rbind /sys "$root/sys"
mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
cd "$root"; mkdir -p .old; pivot_root . .old; umount -l /.old; cd /; exec "$@"
"""


def inside(root, script):
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private",
               "bash", "-c", ENTER, "enter", root, "bash", "-c", script]
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                   "LC_ALL": "C.UTF-8", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=900, check=False)


def skip(why):
    print("skipped: " + why)
    sys.exit(SKIPPED)


def new_root(root, suite, packages=()):
    """Makes the folder a root of the suite, with the packages; skips the test if that cannot be."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        skip("a root to mount in takes root's rights")
    if shutil.which("debootstrap") is None:
        skip("there is no debootstrap")
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    included = ["--include=" + ",".join(packages)] if packages else []
    made = subprocess.run(["debootstrap", "--variant=minbase", *included, suite, root],
                          capture_output=True, text=True, check=False)
    if made.returncode != 0:
        skip("no root can be made: " + (made.stdout.splitlines() or ["?"])[-1])
