//! The `loam` command. Verbs: `run`, `verify`, `graft`, `bench`; each has a file or folder of its own.

mod arguments; // the command line: every verb, option and help text
mod bench; // verb: compare allocators
mod binding; // to what a reference leads
mod callers; // which functions of a static program call others
mod completions; // verb: shell completions
mod count; // counts a program's calls while it runs
mod deepbind; // which modules look in their own libraries first
mod elf; // what an ELF file defines and refers to
mod entry_points; // the functions that loam must serve
mod entry_points_windows; // the same by the names of Windows
mod failure; // errors with an exit status
mod findings; // what is wrong, in words
mod graft; // verb: put loam into C libraries for static linking
mod inherited; // signal dispositions to hand on to a program
mod inspect; // a process, inspected
mod inspect_pe; // a program for Windows, inspected
mod inspect_static; // a static program, inspected
mod itself; // where this command's own file is
mod launch; // how a program starts: PATH, scripts, environment
mod launcher; // programs that start others
mod library; // where libloam.so is
mod man; // verb: man pages
mod numbers; // numbers as people read them
mod pe; // what a file for Windows imports
mod process; // the modules and the memory of a running process
mod reach; // can a preloaded library serve this program
mod report; // what verify found, as data and JSON
mod run; // verb: run a program on loam
mod text; // what verify found, as text
mod trace; // start a program and stop it before main
mod tree; // a process and what it has started
mod verify; // verb: prove that a program runs on loam

use arguments::Verb;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == bench::LAUNCH) {
        return bench::launch(words);
    }
    let verb = match arguments::parse() {
        Ok(verb) => verb,
        Err(status) => return status,
    };
    let outcome = match verb {
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Verify(arguments) => verify::verify(&arguments),
        Verb::Graft(arguments) => graft::graft(&arguments),
        Verb::Bench(arguments) => bench::bench(*arguments),
        Verb::Man(arguments) => man::write(&arguments),
        Verb::Completions(arguments) => completions::write(&arguments),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}
