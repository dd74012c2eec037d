#!/usr/bin/env python3
"""Someone ships a static program of musl: loam's object, from the released command, first on the
link line; and the command says before and after what malloc the program has."""
from support import HELLO, expect, released, run, walk, write



def main(release, folder):
    run("tar", "-xf", released(release, "loam-*-ARCH-linux.tar.gz"), folder=folder)
    command = released(folder, "loam-*-ARCH-linux") + "/bin/loam"
    write(folder + "/hello.c", HELLO)
    run("musl-gcc", "-static", "hello.c", "-o", "before", folder=folder)
    said = run(command, "verify", "./before", folder=folder, status=1)
    expect("NOT on loam" in said, said)
    run(command, "graft", "--object", "--output", "loam.o", folder=folder)
    run("musl-gcc", "-static", "loam.o", "hello.c", "-o", "after", folder=folder)
    said = run(command, "verify", "./after", folder=folder)
    expect("every malloc function in it is loam's" in said, said)
    said = run("./after", folder=folder)
    expect(said == "hello\n", said)


if __name__ == "__main__":
    walk(main)
