//! `loam graft` of glibc for other processors: a threaded program is linked with each, run in an
//! emulator where it must be, and verified.

use crate::common::libc::{copy_of, graft, link_with, run, text};
use crate::common::{Workshop, loam};
use predicates::prelude::*;
use predicates::str::contains;

/// A processor: its C library, the compiler with its flags, and what runs a program.
struct Processor {
    name: &'static str,
    libc: &'static str,
    compiler: &'static [&'static str],
    runner: &'static [&'static str],
}

impl Processor {
    fn serves_a_threaded_program_on_loam(&self) {
        let workshop = Workshop::new();
        let copy = copy_of(&workshop, self.libc, self.name);
        let original = format!("{}: glibc, {}: grafted", copy.display(), self.name);
        graft(&workshop).arg(&copy).assert().success().stdout(contains(original));
        let folder = copy.parent().unwrap();
        let program = link_with(self.compiler, "libc_callers.c", folder);
        let command = [self.runner, &[text(&program)]].concat();
        assert_eq!(run(command[0], &command[1..]), "ok\n");
        loam()
            .arg("verify")
            .arg(&program)
            .assert()
            .success()
            .stdout(contains("every malloc function in it is loam's").and(contains("NOT").not()));
        graft(&workshop).arg("--undo").arg(&copy).assert().success();
        run("cmp", &[text(&copy), self.libc]);
    }
}

#[test]
fn riscv64() {
    let processor = Processor {
        name: "riscv64",
        libc: "/usr/riscv64-linux-gnu/lib/libc.a",
        compiler: &["riscv64-linux-gnu-gcc"],
        runner: &["qemu-riscv64"],
    };
    processor.serves_a_threaded_program_on_loam();
}

#[test]
fn armhf() {
    let processor = Processor {
        name: "armhf",
        libc: "/usr/arm-linux-gnueabihf/lib/libc.a",
        compiler: &["arm-linux-gnueabihf-gcc"],
        runner: &["qemu-arm"],
    };
    processor.serves_a_threaded_program_on_loam();
}

#[test]
fn i386_without_an_emulator() {
    let processor = Processor {
        name: "i386",
        libc: "/usr/lib32/libc.a",
        compiler: &["gcc", "-m32", "-idirafter", "/usr/include/x86_64-linux-gnu"],
        runner: &[],
    };
    processor.serves_a_threaded_program_on_loam();
}
