//! `loam run`: what passes through, and what is refused.

use crate::common::{Background, Workshop, checkout, library, loam, loam_process, standin};
use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use std::os::unix::process::ExitStatusExt;

/// The one line that every refusal and error consists of.
fn one_line() -> impl Predicate<str> {
    predicate::str::is_match(r"^loam: [^\n]+\n$").expect("a pattern")
}

#[test]
fn the_exit_status_and_the_output_are_the_programs() {
    let workshop = Workshop::new();
    let program = workshop.compile("allocates.c", &[]);
    loam().args(["run", "--"]).arg(program).assert().code(3).stdout("done\n");
}

/// What a program that is run gets as LD_PRELOAD beside what is preloaded already.
fn preloaded_beside(present: &str) -> assert_cmd::assert::Assert {
    let mut command = loam();
    command.args(["run", "--", "sh", "-c", "echo $LD_PRELOAD"]).env("LD_PRELOAD", present);
    command.assert().success()
}

#[test]
fn the_library_is_preloaded_behind_what_watches() {
    let loam = library().canonicalize().unwrap().display().to_string();
    preloaded_beside("libdoes-not-exist.so").stdout(format!("libdoes-not-exist.so:{loam}\n"));
}

#[test]
fn the_library_is_preloaded_in_front_of_other_allocators() {
    let workshop = Workshop::new();
    let other = workshop.compile("marked_allocator.c", &["-shared", "-fPIC"]);
    let loam = library().canonicalize().unwrap().display().to_string();
    let (other, first) = (other.display(), "libdoes-not-exist.so");
    preloaded_beside(&format!("{first} {other}"))
        .stdout(format!("{first}:{loam}:{other}\n"))
        .stderr(predicate::str::contains(format!(
            "loam: LD_PRELOAD names {other}, which is mimalloc: loam is put in front of it\n"
        )));
    preloaded_beside(&loam).stdout(format!("{loam}:{loam}\n"));
}

/// Whether the machine runs programs of 32 bits; without a compiler for them the tests fail.
fn runs_32_bits() -> bool {
    std::path::Path::new("/lib/ld-linux.so.2").exists() && cfg!(target_arch = "x86_64")
}

/// A library, and its twin for 32 bits at another place of the same folder. The paths of both.
fn twins(workshop: &Workshop, own: &str, other: &str) -> [std::path::PathBuf; 2] {
    let [own, other] = [own, other].map(|place| workshop.path(place));
    for place in [&own, &other] {
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    }
    std::fs::copy(library(), &own).unwrap();
    let headers = ["-idirafter", "/usr/include/x86_64-linux-gnu"];
    let flags = [&["-m32", "-shared", "-fPIC"], &headers[..]].concat();
    std::fs::rename(workshop.compile("standin.c", &flags), &other).unwrap();
    [own, other].map(|path| path.canonicalize().unwrap())
}

#[test]
fn programs_of_both_word_sizes_are_on_loam() {
    if !runs_32_bits() {
        return;
    }
    for (own, other) in [
        ("lib/libloam.so", "lib/loam/i386/libloam.so"),
        ("usr/lib/x86_64-linux-gnu/libloam.so", "usr/lib/loam/i386/libloam.so"),
        ("lib/x86_64-linux-gnu/l.so", "lib/i386-linux-gnu/l.so"),
        ("usr/lib64/libloam.so", "usr/lib/libloam.so"),
    ] {
        let workshop = Workshop::new();
        let [own, other] = twins(&workshop, own, other);
        let wide = workshop.compile("allocates.c", &[]).display().to_string() + "-64";
        std::fs::rename(workshop.path("allocates"), &wide).unwrap();
        let small = workshop.compile("allocates.c", &["-m32"]).display().to_string();
        let on_loam = |words: &[&str]| {
            let mut command = loam();
            command.env("XDG_CACHE_HOME", workshop.path("cache")).env("LOAM_LIBRARY", &own);
            command.args(words).assert().stderr("")
        };
        on_loam(&["run", "--", &small]).code(3).stdout("done\n");
        let both = format!("{wide}; {small}");
        on_loam(&["run", "--", "sh", "-c", &both]).code(3).stdout("done\ndone\n");
        for (program, library) in [(wide, own.clone()), (small, other)] {
            let said = on_loam(&["verify", "--preloaded", "--", &program]).success();
            said.stdout(contains(format!("\nloam: {}\n", library.display())));
        }
    }
}

#[test]
fn a_command_in_a_command_names_the_same_library_for_both_word_sizes() {
    if !runs_32_bits() {
        return;
    }
    let workshop = Workshop::new();
    let [own, _] = twins(&workshop, "lib/libloam.so", "lib/loam/i386/libloam.so");
    let mut command = loam();
    command.env("XDG_CACHE_HOME", workshop.path("cache")).env("LOAM_LIBRARY", &own);
    let inner = assert_cmd::cargo::cargo_bin!("loam");
    let shown =
        command.args(["run", "--"]).arg(inner).args(["run", "sh", "-c", "echo $LD_PRELOAD"]);
    let path = r"[^:]+/cache/loam/links-[0-9a-f]+/\$LIB/libloam\.so";
    let said = predicate::str::is_match(format!("^({path}):({path})\n$")).unwrap();
    shown.assert().success().stdout(said).stderr("");
}

#[test]
fn a_library_for_32_bits_that_cannot_be_named_is_one_line() {
    if !runs_32_bits() {
        return;
    }
    let workshop = Workshop::new();
    let [own, _] = twins(&workshop, "lib/libloam.so", "lib/loam/i386/libloam.so");
    std::fs::write(workshop.path("file"), "").unwrap();
    let mut command = loam();
    for variable in ["XDG_CACHE_HOME", "TMPDIR"] {
        command.env(variable, workshop.path("file"));
    }
    command.env("LOAM_LIBRARY", &own).args(["run", "sh", "-c", "echo $LD_PRELOAD"]);
    let said = command.assert().success().stdout(format!("{}\n", own.display()));
    said.stderr(one_line())
        .stderr(starts_with("loam: programs of the other word size run without loam: "));
}

#[test]
fn options_are_added_behind_those_already_set() {
    let script = ["--", "sh", "-c", "echo $LOAM_OPTIONS"];
    let output = |given: &[&str], present: Option<&str>| {
        let mut command = loam();
        command.arg("run").args(given).args(script);
        command.args(present.map(|_| "ignored"));
        command.env("LOAM_LIBRARY", standin());
        if let Some(present) = present {
            command.env("LOAM_OPTIONS", present);
        }
        String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
    };
    assert_eq!(output(&["--stats=json"], None), "stats=json\n");
    assert_eq!(
        output(&["--stats", "-o", "stats_fd=2"], None),
        "invalid=end,stats=text,stats_fd=2\n"
    );
    assert_eq!(
        output(&["--stats=json", "--option", "stats_fd=2"], None),
        "invalid=end,stats=json,stats_fd=2\n"
    );
    assert_eq!(output(&["-o", "stats=off"], Some("help=1")), "help=1,invalid=end,stats=off\n");
    assert_eq!(output(&[], Some("help=1")), "help=1\n");
}

#[test]
fn a_wrong_option_ends_the_program_before_it_starts() {
    let real = || {
        let mut command = loam();
        command.env("LOAM_LIBRARY", checkout("build/lib/libloam.so"));
        command
    };
    for (option, said) in [
        ("bogus=1", "loam: LOAM_OPTIONS: unknown option 'bogus'; help=1 lists them all\n"),
        ("stats=xml", "loam: LOAM_OPTIONS: bad value 'xml' for stats: expected off|text|json"),
    ] {
        let words = ["run", "--option", option, "--", "echo", "started"];
        real().args(words).assert().code(125).stdout("").stderr(starts_with(said));
    }
    let words = ["run", "--option", "stats=off", "--", "echo", "started"];
    real().args(words).assert().success().stdout("started\n").stderr("");
}

#[test]
fn options_of_the_program_are_left_alone() {
    loam().args(["run", "echo", "--stats", "-o"]).assert().success().stdout("--stats -o\n");
}

#[test]
fn a_program_that_a_signal_ends_is_seen_to_end_by_it() {
    let assert = loam().args(["run", "--", "sh", "-c", "kill -TERM $$"]).assert();
    assert_eq!(assert.get_output().status.signal(), Some(15));
}

#[test]
fn a_signal_to_the_command_reaches_the_program() {
    let mut process = Background::start(loam_process().args([
        "run",
        "--",
        "sh",
        "-c",
        "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done",
    ]));
    let killed = std::process::Command::new("kill").arg(process.pid()).status().unwrap();
    assert!(killed.success());
    assert_eq!(process.0.wait().unwrap().code(), Some(7));
}

#[test]
fn sigpipe_is_handed_on_as_it_was() {
    let kill = "kill -PIPE $$; echo survived";
    let assert = loam().args(["run", "--", "sh", "-c", kill]).assert();
    assert_eq!(assert.get_output().status.signal(), Some(13));
    let command = assert_cmd::cargo::cargo_bin!("loam");
    let ignoring = format!("trap '' PIPE; '{}' run -- sh -c '{kill}'", command.display());
    assert_cmd::Command::new("sh")
        .args(["-c", &ignoring])
        .env("LOAM_LIBRARY", library())
        .assert()
        .success()
        .stdout("survived\n");
}

#[test]
fn a_missing_program_is_127() {
    for name in ["no-such-program", "./no-such-program", ""] {
        loam().args(["run", "--", name]).assert().code(127).stderr(one_line());
    }
}

#[test]
fn what_cannot_be_executed_is_126() {
    let workshop = Workshop::new();
    let plain = workshop.path("plain");
    std::fs::write(&plain, "text").unwrap();
    for path in [std::path::Path::new("/"), &plain] {
        loam().args(["run", "--"]).arg(path).assert().code(126).stderr(one_line());
    }
}

#[test]
fn a_missing_library_is_named() {
    loam()
        .args(["run", "--library", "/no/lib.so", "--", "true"])
        .assert()
        .code(125)
        .stderr(one_line().and(contains("/no/lib.so")));
    loam()
        .env_remove("LOAM_LIBRARY")
        .args(["run", "--", "true"])
        .assert()
        .code(125)
        .stderr(one_line().and(contains("looked for")));
}

#[test]
fn a_library_that_is_not_loam_is_refused() {
    let workshop = Workshop::new();
    let plugin = workshop.compile("plugin.c", &["-shared", "-fPIC"]);
    loam()
        .args(["run", "--library"])
        .arg(plugin)
        .args(["--", "true"])
        .assert()
        .code(125)
        .stderr(one_line().and(contains("not loam's library")));
}

#[test]
fn bad_usage_is_one_line_and_2() {
    let cases: [&[&str]; 8] = [
        &[],
        &["jog"],
        &["run"],
        &["run", "--stat", "true"],
        &["run", "--option", "stats", "true"],
        &["run", "--option", "a=1,b=2", "true"],
        &["run", "--stats=xml", "true"],
        &["completions", "no-shell"],
    ];
    for case in cases {
        loam().args(case).assert().code(2).stderr(one_line()).stdout("");
    }
}

fn refused(program: &std::path::Path, reason: &str) {
    loam()
        .env("LOAM_LIBRARY", standin())
        .args(["run", "--"])
        .arg(program)
        .assert()
        .code(125)
        .stdout("")
        .stderr(one_line().and(contains(reason)));
}

#[test]
fn a_static_program_is_refused() {
    let workshop = Workshop::new();
    refused(&workshop.compile("allocates.c", &["-static"]), "statically linked");
    refused(&workshop.compile("allocates.c", &["-static-pie"]), "statically linked");
}

#[test]
fn a_program_with_a_malloc_of_its_own_is_refused() {
    let workshop = Workshop::new();
    refused(&workshop.compile("own_malloc.c", &[]), "its own malloc");
    refused(&workshop.compile("own_malloc.c", &["-s"]), "its own malloc");
}

#[test]
fn a_sanitized_program_is_refused() {
    let workshop = Workshop::new();
    refused(&workshop.compile("allocates.c", &["-fsanitize=address"]), "AddressSanitizer");
    refused(&workshop.compile("allocates.c", &["-fsanitize=thread"]), "ThreadSanitizer");
}

#[test]
fn a_program_of_another_architecture_is_refused() {
    let workshop = Workshop::new();
    let program = workshop.compile("allocates.c", &[]);
    let mut content = std::fs::read(program).unwrap();
    // The machine of the ELF header, little-endian: s390, which the tests do not run on.
    content[18..20].copy_from_slice(&[22, 0]);
    refused(&workshop.executable_file("foreign", content), "s390");
}

#[test]
fn a_program_of_another_c_library_is_refused() {
    let workshop = Workshop::new();
    let loader = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1";
    refused(&workshop.compile("allocates.c", &[loader]), "another C library");
}

#[test]
fn a_set_user_id_program_is_refused() {
    use std::os::unix::fs::{PermissionsExt, chown};
    const NOBODY: u32 = 65534;
    let workshop = Workshop::new();
    let program = workshop.compile("allocates.c", &[]);
    if chown(&program, Some(NOBODY), None).is_err() {
        eprintln!("not tested: only root can give a file to another user");
        return;
    }
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).unwrap();
    refused(&program, "set-user-ID");
}

#[test]
fn a_set_user_id_program_that_gains_nothing_runs() {
    use std::os::unix::fs::PermissionsExt;
    let workshop = Workshop::new();
    let program = workshop.compile("allocates.c", &[]);
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).unwrap();
    loam().args(["run", "--"]).arg(program).assert().code(3);
}

#[test]
fn a_script_is_judged_by_the_program_that_runs_it() {
    let workshop = Workshop::new();
    let fixed = workshop.compile("allocates.c", &["-static"]);
    let line = format!("#!{}\n", fixed.display());
    let script = workshop.executable_file("script", line);
    refused(&script, "statically linked");
    let line = format!("#! {} option\n", script.display());
    refused(&workshop.executable_file("script-of-script", line), "statically linked");
}

#[test]
fn scripts_run() {
    let workshop = Workshop::new();
    for line in ["#!/bin/sh\n", "#!/usr/bin/env sh\n", "#!/usr/bin/env -S sh -e\n", ""] {
        let script = workshop.executable_file("script", format!("{line}echo $1; exit 4\n"));
        loam().args(["run", "--"]).arg(script).arg("word").assert().code(4).stdout("word\n");
    }
}

#[test]
fn a_script_without_its_interpreter_is_127() {
    let workshop = Workshop::new();
    let script = workshop.executable_file("script", "#!/no/such/interpreter\n");
    loam().args(["run", "--"]).arg(script).assert().code(127).stderr(one_line());
}

#[test]
fn a_damaged_program_is_not_checked_and_not_run() {
    let workshop = Workshop::new();
    let program = workshop.executable_file("damaged", b"\x7fELF\x02\x01\x01garbage");
    loam().args(["run", "--"]).arg(program).assert().code(126).stderr(contains("damaged"));
}
