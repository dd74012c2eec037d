#!/usr/bin/env python3
"""A Debian root of its own whose /etc/ld.so.preload names loam: what a system does all day ends in it
as it does without that file.

    debian_root.py FOLDER LIBRARY tools|browsers

`tools` are apt, dpkg, man, su, sudo, sshd with 50 logins, gdb and a list of programs that loam leaves
alone; `browsers` are Firefox and Chromium in their sandboxes, ffmpeg and rustc. Skipped without
debootstrap, without the right to mount, and where Debian's packages cannot be had.
"""
import os
import shutil
import sys

from roots import inside, new_root, skip

PACKAGES = {
    "tools": "gcc gdb hostname libc6-dev man-db openssh-client openssh-server python3-minimal sudo",
    "browsers": "chromium ffmpeg firefox-esr rustc",
}
LIBRARY = "/usr/local/lib/libloam.so"

PROGRAM = r"""
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) { /* glibc has a block's size before it */
  char *text = malloc(100);
  size_t word = ((size_t *)text)[-1] & ~(size_t)7;
  snprintf(text, 100, "a block of %s", word == malloc_usable_size(text) + 8 ? "libc" : "loam");
  puts(text);
  free(text);
  return 0;
}
"""

PREPARE = {
    "tools": r"""
useradd -m -s /bin/bash walker
echo 'walker ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/walker
mkdir -p /run/sshd; ssh-keygen -A; ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id
install -d -o walker -m 700 /home/walker/.ssh
install -o walker -m 600 /root/.ssh/id.pub /home/walker/.ssh/authorized_keys
gcc -g -O0 /root/program.c -o /usr/local/bin/program
cp /usr/local/bin/program /usr/local/bin/listed
cp /usr/local/bin/program /usr/local/bin/listed-setuid
chown walker /usr/local/bin/listed-setuid; chmod 4755 /usr/local/bin/listed-setuid
echo 'aside=listed:listed-setuid' > /etc/loam.conf
""",
    "browsers": r"""
useradd -m -s /bin/bash walker
echo '<html><body>hello <script>document.write(6*7)</script></body></html>' > /srv/page.html
echo 'fn main() { println!("{:?}", (0..9).map(|i| vec![i; i]).collect::<Vec<_>>()); }' > /srv/program.rs
""",
}

LOGINS = r"""
/usr/sbin/sshd -p 2322 -o ListenAddress=127.0.0.1 -o MaxStartups=100
for i in $(seq 50); do
  ssh -p 2322 -i /root/.ssh/id -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
    -o LogLevel=ERROR -o ConnectionAttempts=5 walker@127.0.0.1 id -un
done
"""

# Each step and what it prints in the end, with the file and without; None: it need only end well.
STEPS = {
    "tools": [
        ("apt-get check", None),
        ("apt-get update", None),
        ("apt-get install -y --reinstall hostname", None),
        ("dpkg --audit && dpkg --list | wc -l", None),
        ("man -P cat man | head -3", None),
        ("mandb --create", None),
        ("su walker -c 'id -un'", "walker"),
        ("su walker -c 'sudo -n id -un'", "root"),
        (LOGINS, "\n".join(50 * ["walker"])),
        ("gdb -batch -ex 'break puts' -ex run -ex up -ex 'print (long)malloc_usable_size(text) >= 100' "
         "-ex kill /usr/local/bin/program | grep -F '$1 ='", "$1 = 1"),
        ("python3 -c 'import json; print(len(json.dumps(list(range(1000)))))'", "4890"),
        ("listed && su nobody -s /bin/sh -c listed-setuid", "a block of libc\na block of libc"),
    ],
    "browsers": [
        ("ffmpeg -y -v error -f lavfi -i testsrc=duration=2:size=320x240:rate=25 -c:v mpeg4 /tmp/o.mp4",
         None),
        ("rustc -O /srv/program.rs -o /tmp/program && /tmp/program | wc -c", None),
        ("su - walker -c 'rm -f shot.png; firefox-esr --headless --screenshot ~/shot.png "
         "file:///srv/page.html'; test -s /home/walker/shot.png", None),
        ("su - walker -c 'chromium --headless --disable-gpu --dump-dom file:///srv/page.html' "
         "2> /dev/null | grep -o 42", "42"),
    ],
}
COMPLAINTS = ("loam:", "libloam", "ld.so", "free():", "malloc():")


def make_root(root, what):
    with open("/etc/os-release", encoding="utf-8") as file:
        release = dict(line.rstrip().replace('"', "").split("=", 1) for line in file if "=" in line)
    new_root(root, release["VERSION_CODENAME"])
    for name in os.listdir("/etc/apt/sources.list.d"):
        shutil.copy("/etc/apt/sources.list.d/" + name, root + "/etc/apt/sources.list.d")
    install = f"apt-get update && apt-get install -y --no-install-recommends {PACKAGES[what]}"
    installed = inside(root, install)
    if installed.returncode != 0:
        skip("packages cannot be had: " + installed.stderr[-300:])
    os.makedirs(root + "/root/.ssh", 0o700)
    with open(root + "/root/program.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    prepared = inside(root, "set -e\n" + PREPARE[what])
    if prepared.returncode != 0:
        sys.exit("the root cannot be prepared:\n" + prepared.stdout + prepared.stderr)


def findings(root, what, preloaded):
    for command, expected in STEPS[what]:
        if "listed" in command and not preloaded:
            continue
        result = inside(root, command)
        said = result.stdout + result.stderr
        wrong = result.returncode != 0 or (expected is not None and result.stdout.strip() != expected)
        wrong |= any(complaint in said for complaint in COMPLAINTS)
        print("failed" if wrong else "passed", "with loam:" if preloaded else "without:",
              command.strip().splitlines()[0], flush=True)
        if wrong:
            yield f"{command}\nstatus {result.returncode}\n{said[-2000:]}"


def preload(root, library):
    shutil.copy(library, root + LIBRARY)
    with open(root + "/etc/ld.so.preload", "w", encoding="utf-8") as file:
        file.write(LIBRARY + "\n")
    said = inside(root, "program 2> /dev/null || grep -c libloam /proc/self/maps").stdout
    if said != "a block of loam\n" and not said.strip().isdigit():
        sys.exit("loam is not in the programs of the root: " + said)


def main():
    if len(sys.argv) != 4 or sys.argv[3] not in STEPS:
        sys.exit(__doc__)
    folder, library, what = sys.argv[1:]
    root = os.path.join(os.path.abspath(folder), what)
    try:
        make_root(root, what)
        without = list(findings(root, what, False))
        if without:
            sys.exit("without loam:\n" + "\n".join(without))
        preload(root, library)
        found = list(findings(root, what, True))
        print(*found, sep="\n")
        return 1 if found else 0
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
