//! Programs whose work is to start another one: which of them become it, and which start it beside
//! themselves.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher {
    /// It executes the other program in its own place.
    Becomes,
    /// The other program is its child, or there are several.
    StartsChildren,
}

/// Programs that become the one they are given.
const BECOMING: [&str; 15] = [
    "catchsegv",
    "choom",
    "chroot",
    "chrt",
    "env",
    "ionice",
    "linux64",
    "nice",
    "nohup",
    "numactl",
    "prlimit",
    "setpriv",
    "setsid",
    "stdbuf",
    "taskset",
];
/// Programs that wait for the one they are given.
const STARTING: [&str; 12] = [
    "doas", "flock", "ltrace", "parallel", "perf", "runuser", "script", "strace", "sudo", "time",
    "timeout", "xargs",
];
const SHELLS: [&str; 8] = ["ash", "bash", "busybox", "dash", "ksh", "mksh", "sh", "zsh"];
/// The program that stands behind the names of all tools of a Rust toolchain.
const RUSTUP: &str = "rustup";

/// What a program is that has been, or would be, executed with these arguments.
pub fn of(program: &Path, argv: &[OsString]) -> Option<Launcher> {
    let names = [base(argv.first()?), base(program.as_os_str())];
    let is_one_of = |list: &[&str]| names.iter().any(|name| list.iter().any(|one| *one == *name));
    let has_command = argv.len() > 1;
    if is_one_of(&SHELLS) {
        return of_shell(argv);
    }
    if is_proxy_of_rustup(program, names[0]) {
        return Some(Launcher::Becomes);
    }
    match has_command {
        true if is_one_of(&BECOMING) => Some(Launcher::Becomes),
        true if is_one_of(&STARTING) => Some(Launcher::StartsChildren),
        _ => None,
    }
}

fn base(path: &OsStr) -> &OsStr {
    Path::new(path).file_name().unwrap_or(path)
}

/// A link to rustup by the name of a tool, symbolic or hard.
fn is_proxy_of_rustup(program: &Path, name: &OsStr) -> bool {
    if name == RUSTUP || name == "rustup-init" {
        return false;
    }
    let identity = |path: &Path| path.metadata().ok().map(|file| (file.dev(), file.ino()));
    let rustup = program.with_file_name(RUSTUP);
    base(program.as_os_str()) == RUSTUP
        || identity(program).is_some_and(|own| identity(&rustup) == Some(own))
}

/// A shell with a script, or with a text behind -c. A text without exec is the shell's own.
fn of_shell(argv: &[OsString]) -> Option<Launcher> {
    let mut words = argv.iter().skip(1).skip_while(|word| {
        let bytes = word.as_bytes();
        bytes.starts_with(b"-") && !bytes.ends_with(b"c") || SHELLS.iter().any(|name| word == name)
    });
    let first = words.next()?;
    if first.as_bytes().starts_with(b"-") {
        return executes(words.next()?.as_bytes()).then_some(Launcher::Becomes);
    }
    let text = std::fs::read(PathBuf::from(first)).ok()?;
    match executes(&text) {
        true => Some(Launcher::Becomes),
        false => Some(Launcher::StartsChildren),
    }
}

/// Whether a shell's text has exec with a command where a command may stand.
fn executes(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.lines().any(|line| {
        let line = line.trim_start();
        let mut parts = line.split([';', '&', '|', '(', '{']).map(str::trim_start);
        !line.starts_with('#') && parts.any(is_exec)
    })
}

fn is_exec(command: &str) -> bool {
    const BEFORE: [&str; 5] = ["then", "else", "do", "command", "builtin"];
    let mut words = command.split_whitespace().skip_while(|word| {
        let is_setting = word.contains('=') && !word.starts_with(['=', '"', '\'']);
        BEFORE.contains(word) || word.ends_with(')') || is_setting
    });
    let is_redirection =
        |word: &str| word.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['<', '>']);
    words.next() == Some("exec") && words.next().is_some_and(|word| !is_redirection(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_words(words: &[&str]) -> Option<Launcher> {
        let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
        of(Path::new(words[0]), &argv)
    }

    #[test]
    fn exec_counts_where_a_command_stands() {
        for text in [
            "exec prog \"$@\"",
            "if true; then exec prog; fi",
            "[ -x /bin/prog ] && exec /bin/prog",
            "A=1 exec prog",
            "case $1 in\n  a) exec prog ;;\nesac",
            "set -e\n  exec \"$HOME/prog\"",
        ] {
            assert!(executes(text.as_bytes()), "{text}");
        }
        for text in
            ["exec 3>file", "exec >log 2>&1", "# exec prog", "echo exec prog", "prog", "exec"]
        {
            assert!(!executes(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn launchers_are_known_by_name_and_by_what_they_are_given() {
        assert_eq!(of_words(&["/usr/bin/env", "prog"]), Some(Launcher::Becomes));
        assert_eq!(of_words(&["/usr/bin/env"]), None);
        assert_eq!(of_words(&["timeout", "3", "prog"]), Some(Launcher::StartsChildren));
        assert_eq!(of_words(&["/bin/sh", "-c", "exec prog"]), Some(Launcher::Becomes));
        assert_eq!(of_words(&["/bin/sh", "-ec", "touch x"]), None);
        assert_eq!(of_words(&["/bin/sh", "-i"]), None);
        assert_eq!(of_words(&["/usr/bin/python3", "script"]), None);
    }
}
