//! `loam graft` of what it cannot graft: one line, status 2, and everything is as it was.

use crate::common::libc::{MUSL, copy_of, graft, objects, run, text};
use crate::common::{Public, Workshop, fixture, loam_process};
use predicates::prelude::*;
use predicates::str::{contains, ends_with, starts_with};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn one_line(part: &str) -> impl Predicate<str> {
    starts_with("loam: ")
        .and(contains(part))
        .and(ends_with("\n"))
        .and(predicate::function(|text: &str| text.lines().count() == 1))
}

/// Asserts that a target is refused with a reason, and that nothing in its folder changes.
fn assert_refused(workshop: &Workshop, target: &Path, reason: &str) {
    let folder = target.parent().unwrap();
    let content = |folder: &Path| -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut all: Vec<_> = entries
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), std::fs::read(path).ok()))
            .collect();
        all.sort();
        all
    };
    let mut grafted = graft(workshop); // May make the folder of objects.
    let before = content(folder);
    grafted.arg(target).assert().code(2).stdout("").stderr(one_line(reason));
    assert!(content(folder) == before, "{} is as it was", folder.display());
}

fn c_object(workshop: &Workshop, compiler: &str, source: &str, flags: &[&str]) -> PathBuf {
    let (source_path, object) = (workshop.path("part.c"), workshop.path("part.o"));
    std::fs::write(&source_path, source).unwrap();
    let mut all = vec!["-c", "-O1", "-w", text(&source_path), "-o", text(&object)];
    all.extend(flags);
    run(compiler, &all);
    object
}

#[test]
fn what_is_no_archive() {
    let workshop = Workshop::new();
    let path = workshop.executable_file("text", "no archive\n");
    assert_refused(&workshop, &path, "text: not a static archive");
    assert_refused(&workshop, &workshop.path("missing"), "cannot read");
    let device = graft(&workshop).arg("/dev/null").assert();
    device.code(2).stderr(one_line("/dev/null: neither a file nor a folder"));
}

#[test]
fn a_truncated_archive() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    let whole = std::fs::read(&libc).unwrap();
    for length in [8, 9, 60, 70, 5_000, 100_000, whole.len() / 2, whole.len() - 1_000] {
        std::fs::write(&libc, &whole[..length]).unwrap();
        let reason = if length == 8 { "no C library" } else { "damaged" };
        assert_refused(&workshop, &libc, reason);
    }
}

#[test]
fn a_member_whose_name_is_no_text() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    let mut bytes = std::fs::read(&libc).unwrap();
    let name = b"free.lo/   ";
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at] = 1;
    std::fs::write(&libc, bytes).unwrap();
    assert_refused(&workshop, &libc, r#"damaged: a member is called "\u{1}ree.lo""#);
}

#[test]
fn a_broken_symbol_table() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    let mut bytes = std::fs::read(&libc).unwrap();
    // After the file's and the table's headers and the count comes the first symbol's offset.
    let first = 8 + 60 + 4;
    bytes[first + 3] ^= 0x10;
    std::fs::write(&libc, bytes).unwrap();
    assert_refused(&workshop, &libc, "its symbol table is damaged");
}

#[test]
fn a_thin_archive() {
    let workshop = Workshop::new();
    let object = c_object(&workshop, "cc", "int x;", &[]);
    let archive = workshop.path("libc.a");
    run("ar", &["rcT", text(&archive), text(&object)]);
    assert_refused(&workshop, &archive, "a thin archive");
}

#[test]
fn intermediate_code() {
    let workshop = Workshop::new();
    for (compiler, flags) in [("cc", &["-flto", "-fno-fat-lto-objects"][..]), ("clang", &["-flto"])]
    {
        let libc = copy_of(&workshop, MUSL, compiler);
        let object = c_object(&workshop, compiler, "int x;", flags);
        run("ar", &["rS", text(&libc), text(&object)]);
        assert_refused(&workshop, &libc, "member part.o is the compiler's intermediate code (LTO)");
    }
}

#[test]
fn what_is_no_c_library() {
    let workshop = Workshop::new();
    let object = c_object(&workshop, "cc", "void *malloc(unsigned long n) { return 0; }", &[]);
    let archive = workshop.path("libc.a");
    run("ar", &["rc", text(&archive), text(&object)]);
    assert_refused(&workshop, &archive, "no C library: none of its members defines");
    let folder = workshop.path("folder");
    std::fs::create_dir(&folder).unwrap();
    std::fs::rename(&archive, folder.join("libc.a")).unwrap();
    assert_refused(&workshop, &folder, "there is no C library's archive in it");
}

#[test]
fn what_something_else_has_cut() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "cut");
    run("ar", &["d", text(&libc), "calloc.lo"]);
    assert_refused(&workshop, &libc, "has already cut into its malloc: no member defines calloc");
    let libc = copy_of(&workshop, MUSL, "other");
    let object = c_object(&workshop, "cc", "void mi_malloc(void) {}", &[]);
    run("ar", &["r", text(&libc), text(&object)]);
    assert_refused(&workshop, &libc, "mimalloc has already been put into it");
}

/// Zig's musl has none since 0.17: its one object, libzigc.a, defines malloc weakly.
#[test]
fn a_c_library_whose_malloc_is_elsewhere() {
    let workshop = Workshop::new();
    let source = "extern void *malloc(unsigned long);
        void __libc_start_main(void) { malloc(1); }
        __attribute__((weak)) void __malloc_atfork(int who) {}";
    let object = c_object(&workshop, "cc", source, &[]);
    let archive = workshop.path("libc.a");
    run("ar", &["rc", text(&archive), text(&object)]);
    assert_refused(&workshop, &archive, "it holds no malloc: something has cut that out");
}

#[test]
fn a_grafted_archive_without_its_original() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    graft(&workshop).arg(&libc).assert().success();
    std::fs::remove_file(libc.with_file_name("libc.a.loam-original")).unwrap();
    assert_refused(&workshop, &libc, "holds loam already, and the original is not beside it");
    graft(&workshop).arg("--undo").arg(&libc).assert().code(2).stderr(one_line("nothing to undo"));
}

#[test]
fn an_archive_that_was_replaced_after_the_graft() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    graft(&workshop).arg(&libc).assert().success();
    run("cp", &[MUSL, text(&libc)]);
    run("ar", &["m", text(&libc), "fork.lo"]);
    assert_refused(&workshop, &libc, "is kept from an earlier graft");
    let undone = graft(&workshop).arg("--undo").arg(&libc).assert();
    undone.code(2).stderr(one_line("is not grafted any more"));
}

#[test]
fn an_architecture_without_an_object() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    let empty = workshop.path("empty");
    std::fs::create_dir(&empty).unwrap();
    graft(&workshop)
        .env("LOAM_OBJECTS", &empty)
        .arg(&libc)
        .assert()
        .code(2)
        .stderr(one_line("loam has no object for x86_64: there is no"));
    graft(&workshop)
        .args([text(&libc), "--arch", "aarch64"])
        .assert()
        .code(2)
        .stderr(one_line("for x86_64, not asked for"));
}

#[test]
fn a_symbolic_link() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    let link = libc.with_file_name("link.a");
    std::os::unix::fs::symlink("libc.a", &link).unwrap();
    assert_refused(&workshop, &link, "link.a is a symbolic link to libc.a: name that instead");
}

/// `COMMAND graft TARGET` under another command, which takes something from it.
fn graft_under(
    wrapper: &[&str],
    command: &Path,
    objects: &Path,
    target: &Path,
) -> std::process::Output {
    Command::new(wrapper[0])
        .args(&wrapper[1..])
        .arg(command)
        .arg("graft")
        .arg(target)
        .env("LOAM_OBJECTS", objects)
        .output()
        .unwrap()
}

/// The same with the command and the objects as they are.
fn graft_here(workshop: &Workshop, wrapper: &[&str], target: &Path) -> std::process::Output {
    let plain = loam_process();
    graft_under(wrapper, Path::new(plain.get_program()), &objects(workshop), target)
}

fn assert_failed(output: &std::process::Output, reason: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(one_line(reason).eval(&error), "{error}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_read_only_target() {
    let workshop = Workshop::new();
    let public = Public::new();
    let folder = public.path("musl");
    let libc = folder.join("libc.a");
    let object = public.path("loam-x86_64.o");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(MUSL, &libc).unwrap();
    std::fs::copy(objects(&workshop).join("loam-x86_64.o"), &object).unwrap();
    std::fs::set_permissions(&object, PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::set_permissions(&libc, PermissionsExt::from_mode(0o444)).unwrap();
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o555)).unwrap();
    // Root may write everywhere: then as nobody.
    let is_root = run("id", &["-u"]) == "0\n";
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let wrapper = if is_root { &nobody[..] } else { &["env"] };
    let output = graft_under(wrapper, &public.command(), &public.path(""), &libc);
    assert_failed(&output, "cannot write to ");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
    assert!(std::fs::read(&libc).unwrap() == std::fs::read(MUSL).unwrap());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn no_room_for_the_result() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    // Half a megabyte, and an error instead of a signal beyond it.
    let limited = ["sh", "-c", "trap '' XFSZ; ulimit -f 1000; exec \"$@\"", "sh"];
    let output = graft_here(&workshop, &limited, &libc);
    assert_failed(&output, "libc.a: file too large");
    assert!(std::fs::read(&libc).unwrap() == std::fs::read(MUSL).unwrap());
    assert_eq!(std::fs::read_dir(libc.parent().unwrap()).unwrap().count(), 1);
    let mut command = graft(&workshop);
    command.args([MUSL, "--output", "/dev/full/libc.a"]);
    command.assert().code(2).stderr(one_line("cannot write"));
}

#[test]
fn a_run_that_was_killed_between_its_two_steps() {
    let workshop = Workshop::new();
    let libc = copy_of(&workshop, MUSL, "musl");
    let original = libc.with_file_name("libc.a.loam-original");
    std::fs::hard_link(&libc, &original).unwrap();
    std::fs::write(libc.with_file_name(".loam-unfinished-1"), "part").unwrap();
    graft(&workshop).arg(&libc).assert().success();
    graft(&workshop).arg("--undo").arg(&libc).assert().success();
    assert!(std::fs::read(&libc).unwrap() == std::fs::read(MUSL).unwrap());
}

#[test]
fn an_interrupted_run() {
    let workshop = Workshop::new();
    copy_of(&workshop, MUSL, "sdk");
    // What cannot be compressed takes longest: many times the second until the interrupt.
    let mut random = std::fs::File::open("/dev/urandom").unwrap();
    let mut part = vec![0; 1 << 20];
    for number in 0..8 {
        random.read_exact(&mut part).unwrap();
        std::fs::write(workshop.path(&format!("sdk/{number}")), &part).unwrap();
    }
    let packed = workshop.path("sdk.tar.xz");
    run(
        "sh",
        &["-c", &format!("tar -C {} -c sdk | xz -0 > {}", text(&workshop.path("")), text(&packed))],
    );
    let output = graft_here(&workshop, &["timeout", "--signal=INT", "1"], &packed);
    let error = String::from_utf8_lossy(&output.stderr);
    // timeout(1) ends with a status of its own.
    assert_eq!(output.status.code(), Some(124), "{error}");
    assert!(one_line("interrupted: everything is as it was").eval(&error), "{error}");
    let entries = std::fs::read_dir(workshop.path("")).unwrap();
    let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    let is_left = |name: &std::ffi::OsString| name.to_string_lossy().contains("loam-");
    assert!(!names.iter().any(is_left), "{names:?}");
}

#[test]
fn packed_folders_that_climb_out() {
    let workshop = Workshop::new();
    copy_of(&workshop, MUSL, "sdk");
    let root = workshop.path("");
    for (transform, path) in [("s,sdk/,../,", "../libc.a"), ("s,sdk/,/etc/,", "/etc/libc.a")] {
        let packed = workshop.path("climbs.tar.gz");
        let flag = format!("--transform={transform}");
        run("tar", &["-P", &flag, "-C", text(&root), "-czf", text(&packed), "sdk/libc.a"]);
        assert_refused(&workshop, &packed, &format!("{path} leads out of the folder"));
    }
}

#[test]
fn packed_folders_that_are_damaged() {
    let workshop = Workshop::new();
    copy_of(&workshop, MUSL, "sdk");
    let root = workshop.path("");
    for (suffix, flag) in
        [("tar", "-b20"), ("tar.gz", "-z"), ("tar.xz", "-J"), ("tar.zst", "--zstd")]
    {
        let packed = workshop.path(&format!("sdk.{suffix}"));
        run("tar", &["-C", text(&root), flag, "-cf", text(&packed), "sdk"]);
        let whole = std::fs::read(&packed).unwrap();
        for length in [600.min(whole.len() / 2), whole.len() / 2] {
            std::fs::write(&packed, &whole[..length]).unwrap();
            assert_refused(&workshop, &packed, "truncated");
        }
        std::fs::remove_file(packed).unwrap();
    }
    let packed = workshop.path("no-libc.tar");
    let source = fixture("");
    run("tar", &["-C", text(&source), "-cf", text(&packed), "."]);
    assert_refused(&workshop, &packed, "there is no C library's archive in it");
}
