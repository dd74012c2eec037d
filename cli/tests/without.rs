//! Verbs that read a process on loam, asked about one that is not: which malloc it has, where its
//! memory is as far as the system says, and what starts it on loam. Those that read glibc's heap as
//! well are in glibc.rs.

use crate::common::{Workshop, loam};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Ended with the test.
struct Other(Child);

impl Other {
    /// Once it executes the program.
    fn start(command: &mut Command, program: &Path) -> Other {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let link = format!("/proc/{}/exe", child.id());
        let file = program.canonicalize().unwrap();
        let end = Instant::now() + Duration::from_secs(10);
        while std::fs::read_link(&link).unwrap() != file {
            assert!(Instant::now() < end, "{} is not executed", program.display());
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(300)); // until its loader is through
        Other(child)
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a verb says on standard error, with status 2.
fn said(words: &[&str], pid: &str) -> String {
    let output = loam().args(words).arg(pid).output().unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]), "{words:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.lines().count() <= 12, "{text}");
    text
}

fn sleep() -> &'static Path {
    Path::new("/bin/sleep")
}

#[test]
fn every_verb_says_of_a_process_without_loam_what_it_has_and_how_it_is_started() {
    let workshop = Workshop::new();
    let folder = workshop.path("geh heim");
    std::fs::create_dir(&folder).unwrap();
    let other =
        Other::start(Command::new(sleep()).args(["100", "\n 1"]).current_dir(&folder), sleep());
    let pid = other.pid();
    let verbs: [&[&str]; 4] = [&["doctor"], &["prof"], &["prof", "--start"], &["prof", "--stop"]];
    let first = said(verbs[0], &pid);
    let head = format!("loam: process {pid} (sleep) is not on loam: its malloc is glibc's, of /");
    assert!(first.starts_with(&head), "{first}");
    assert!(first.contains("\n  in memory ") && first.contains("\n  [heap] "), "{first}");
    let command = format!("cd '{}' && loam run -- /bin/sleep 100 ", folder.display());
    assert!(first.contains(&command), "{first}");
    assert!(first.ends_with(" $'\\012 1'\n"), "{first}");
    for words in verbs {
        let text = said(words, &pid);
        assert!(text.starts_with(&head) && text.contains(&command), "{words:?}: {text}");
    }
}

/// Threads have arenas of their own.
#[test]
fn glibcs_arenas_and_who_started_it_by_a_link_are_told() {
    let python = Path::new("/usr/bin/python3");
    if !python.exists() {
        eprintln!("not tested: no {}", python.display());
        return;
    }
    let workshop = Workshop::new();
    let link = workshop.path("bin/python");
    std::fs::create_dir(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(python, &link).unwrap();
    let code = "import threading, time\n\
                def work():\n  kept = [bytearray(1000) for _ in range(9000)]; time.sleep(100)\n\
                threads = [threading.Thread(target=work) for _ in range(3)]\n\
                [thread.start() for thread in threads]";
    let other = Other::start(Command::new(&link).args(["-c", code]), python);
    std::thread::sleep(Duration::from_secs(1));
    let text = said(&["prof"], &other.pid());
    let line = text.lines().find(|line| line.starts_with("  arenas ")).unwrap_or(&text);
    assert!(line.contains("MiB  3 anonymous, "), "{text}");
    assert!(text.contains(&format!("loam run -- {} -c $'import", link.display())), "{text}");
}

#[test]
fn runtimes_with_heaps_of_their_own_name_the_tool_that_knows_them() {
    let workshop = Workshop::new();
    let source = workshop.path("main.go");
    let code = "package main\nimport \"time\"\nfunc main() { time.Sleep(100 * time.Second) }\n";
    std::fs::write(&source, code).unwrap();
    let program = workshop.path("program");
    let built = Command::new("go")
        .args(["build", "-ldflags=-s -w", "-o"])
        .args([&program, &source])
        .env("GOCACHE", workshop.path("cache"))
        .status();
    if built.is_ok_and(|status| status.success()) {
        let other = Other::start(&mut Command::new(&program), &program);
        let text = said(&["explain"], &other.pid());
        assert!(text.contains("is not on loam: it is a static program of Go's\n"), "{text}");
        assert!(text.contains("go tool pprof") && !text.contains("loam run"), "{text}");
    } else {
        eprintln!("not tested: no go");
    }
    let Ok(node) = Path::new("/usr/bin/node").canonicalize() else {
        eprintln!("not tested: no /usr/bin/node");
        return;
    };
    let code = "setTimeout(() => {}, 100000)";
    let other = Other::start(Command::new(&node).args(["-e", code]), &node);
    let text = said(&["prof"], &other.pid());
    assert!(text.contains("--heapsnapshot-signal") && text.contains("loam run -- "), "{text}");
    let explained = loam().args(["explain", &other.pid()]).assert().success();
    explained.stdout(contains("--heapsnapshot-signal").and(contains("on glibc 2.")));
}

#[test]
fn a_static_program_is_told_that_it_is_to_be_linked() {
    let workshop = Workshop::new();
    let source = workshop.path("wait.c");
    std::fs::write(&source, "int pause(void);\nint main(void) { return pause(); }\n").unwrap();
    let program = workshop.path("wait");
    let mut compiler = Command::new("cc");
    let compiled = compiler.arg("-static").args([&source]).arg("-o").arg(&program).status();
    if !compiled.is_ok_and(|status| status.success()) {
        eprintln!("not tested: no static C library");
        return;
    }
    let other = Other::start(&mut Command::new(&program), &program);
    let text = said(&["prof"], &other.pid());
    assert!(text.contains("it is static, and its malloc is glibc's malloc\n"), "{text}");
    assert!(text.contains("link it again with loam.o") && !text.contains("loam run"), "{text}");
}

#[test]
fn other_mallocs_are_named_with_their_share_and_where_their_statistics_are() {
    for (file, name, statistics) in [
        ("libjemalloc.so.2", "jemalloc", "MALLOC_CONF=stats_print:true"),
        ("libmimalloc.so.2", "mimalloc", "MIMALLOC_SHOW_STATS=1"),
        ("libtcmalloc_minimal.so.4", "tcmalloc", "MALLOCSTATS=1"),
    ] {
        let library = Path::new("/usr/lib/x86_64-linux-gnu").join(file);
        let python = Path::new("/usr/bin/python3");
        if !library.exists() || !python.exists() {
            eprintln!("not tested: no {}", library.display());
            continue;
        }
        let code = "import time; kept = [bytes(900) for _ in range(20000)]; time.sleep(100)";
        let mut command = Command::new(python);
        command.args(["-c", code]).env("LD_PRELOAD", library).env("PYTHONMALLOC", "malloc");
        let other = Other::start(&mut command, python);
        std::thread::sleep(Duration::from_secs(1));
        let text = said(&["explain"], &other.pid());
        assert!(text.contains(&format!("is not on loam: its malloc is {name}, of ")), "{text}");
        assert!(text.contains(statistics), "{text}");
        let share = text.lines().find(|line| line.starts_with(&format!("  {name} ")));
        let mib = share.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
        assert!(mib.is_some_and(|mib| (17.0..60.0).contains(&mib)), "{text}");
    }
}

#[test]
fn a_32_bit_process_on_glibc_is_told_as_such() {
    let workshop = Workshop::new();
    let source = workshop.path("wait.c");
    std::fs::write(&source, "#include <stdlib.h>\n#include <unistd.h>\nint main(void) { return malloc(9) == 0 || pause(); }\n").unwrap();
    let program = workshop.path("wait");
    let mut compiler = Command::new("cc");
    let compiled = compiler.arg("-m32").arg(&source).arg("-o").arg(&program).status();
    if !compiled.is_ok_and(|status| status.success()) {
        eprintln!("not tested: no 32-bit C library");
        return;
    }
    let other = Other::start(&mut Command::new(&program), &program);
    for verb in ["explain", "stats"] {
        let text = said(&[verb], &other.pid());
        let first = text.lines().next().unwrap_or_default();
        assert!(
            first.ends_with(", of 32 bits: of glibc's heaps those of 64 bits are read"),
            "{text}"
        );
    }
}

#[test]
fn musls_malloc_is_named() {
    let workshop = Workshop::new();
    let source = workshop.path("wait.c");
    let code = "void *malloc(unsigned long); int pause(void);\n\
                int main(void) { return malloc(100) == 0 || pause(); }\n";
    std::fs::write(&source, code).unwrap();
    let program = workshop.path("wait");
    let mut compiler = Command::new("musl-gcc");
    if !compiler.arg(&source).arg("-o").arg(&program).status().is_ok_and(|status| status.success())
    {
        eprintln!("not tested: no musl-gcc");
        return;
    }
    let other = Other::start(&mut Command::new(&program), &program);
    let text = said(&["explain"], &other.pid());
    assert!(text.contains("its malloc is musl's, of "), "{text}");
    assert!(text.contains("musl's malloc keeps no statistics"), "{text}");
}
