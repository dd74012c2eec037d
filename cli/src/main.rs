//! The `loam` command. Verbs: `run`, `verify`, `explain`, `plot`, `stats`, `top`, `prof`, `record`,
//! `replay`, `trace`, `graft`, `bench`; each has a folder of its own.

mod account; // where the memory of a process is
mod arguments; // the command line: every verb, option and help text
mod bench; // verbs: compare allocators, on programs and on recordings
mod binary; // what files of programs and libraries say
mod completions; // verb: shell completions
mod explain; // verb: say where a process's memory is
mod failure; // errors with an exit status
mod graft; // verb: put loam into C libraries for static linking
mod heap; // the heaps of another process, from outside
mod man; // verb: man pages
mod naming; // what processes are called
mod numbers; // numbers as people read them
mod picture; // pages for a browser
mod plot; // verb: draw the memory of a process
mod process; // programs that run, or are to
mod prof; // verb: say which places in a program take memory
mod profile; // heap profiles
mod record; // verb: record what a program takes and frees
mod recording; // recordings of what programs allocate
mod replace; // files that take the place of others
mod run; // verb: run a program on loam
mod spelling; // what was meant by a mistyped word
mod stats; // verb: figures of a process
mod top; // verb: the same, live
mod trace; // verb: say what a recording holds
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
        Verb::Explain(arguments) => explain::explain(&arguments),
        Verb::Plot(arguments) => plot::plot(&arguments),
        Verb::Stats(arguments) => stats::stats(&arguments),
        Verb::Top(arguments) => top::top(&arguments),
        Verb::Prof(arguments) => prof::prof(&arguments),
        Verb::Record(arguments) => record::record(&arguments),
        Verb::Replay(arguments) => bench::replay(&arguments),
        Verb::Trace(arguments) => trace::trace(&arguments),
        Verb::Graft(arguments) => graft::graft(&arguments),
        Verb::Bench(arguments) => bench::bench(*arguments),
        Verb::Man(arguments) => man::write(&arguments),
        Verb::Completions(arguments) => completions::write(&arguments),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}
