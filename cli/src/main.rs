//! The `loam` command. Verbs: `run`, `verify`, `explain`, `plot`, `stats`, `top`, `exporter`,
//! `prof`, `record`, `replay`, `trace`, `graft`, `bench`; each has a folder of its own.

// What verbs share is more than `run` and `verify` use.
#![cfg_attr(not(feature = "every-verb"), allow(dead_code))]

#[cfg(feature = "every-verb")]
mod account; // where the memory of a process is
mod arguments; // the command line: every verb, option and help text
#[cfg(feature = "every-verb")]
mod bench; // verbs: compare allocators, on programs and on recordings
mod binary; // what files of programs and libraries say
mod completions; // verb: shell completions
#[cfg(feature = "every-verb")]
mod doctor; // verb: what holds most of a process's memory, and what to do about it
#[cfg(feature = "every-verb")]
mod explain; // verb: say where a process's memory is
#[cfg(feature = "every-verb")]
mod exporter; // verb: answer other programs about all processes
#[cfg(feature = "every-verb")]
mod exposition; // metrics as text
mod failure; // errors with an exit status
#[cfg(feature = "every-verb")]
mod graft; // verb: put loam into C libraries for static linking
mod heap; // the heaps of another process, from outside
mod man; // verb: man pages
mod naming; // what processes are called
mod numbers; // numbers as people read them
#[cfg(feature = "every-verb")]
mod picture; // pages for a browser
#[cfg(feature = "every-verb")]
mod plot; // verb: draw the memory of a process
mod process; // programs that run, or are to
#[cfg(feature = "every-verb")]
mod prof; // verb: say which places in a program take memory
#[cfg(feature = "every-verb")]
mod profile; // heap profiles
#[cfg(feature = "every-verb")]
mod record; // verb: record what a program takes and frees
#[cfg(feature = "every-verb")]
mod recording; // recordings of what programs allocate
#[cfg(feature = "every-verb")]
mod replace; // files that take the place of others
mod run; // verb: run a program on loam
mod spelling; // what was meant by a mistyped word
#[cfg(feature = "every-verb")]
mod stats; // verb: figures of a process
#[cfg(feature = "every-verb")]
mod top; // verb: the same, live
#[cfg(feature = "every-verb")]
mod trace; // verb: say what a recording holds
mod verify; // verb: prove that a program runs on loam

use arguments::Verb;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "every-verb")]
    {
        let mut words = std::env::args_os().skip(1);
        if words.next().is_some_and(|word| word == bench::LAUNCH) {
            return bench::launch(words);
        }
    }
    let verb = match arguments::parse() {
        Ok(verb) => verb,
        Err(status) => return status,
    };
    let outcome = match verb {
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Verify(arguments) => verify::verify(&arguments),
        Verb::Completions(arguments) => completions::write(&arguments),
        Verb::Man(arguments) => man::write(&arguments),
        other => others(other),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}

#[cfg(feature = "every-verb")]
fn others(verb: Verb) -> Result<ExitCode, Failure> {
    match verb {
        Verb::Explain(arguments) => explain::explain(&arguments),
        Verb::Doctor(arguments) => doctor::doctor(&arguments),
        Verb::Plot(arguments) => plot::plot(&arguments),
        Verb::Stats(arguments) => stats::stats(&arguments),
        Verb::Top(arguments) => top::top(&arguments),
        Verb::Exporter(arguments) => exporter::exporter(&arguments),
        Verb::Prof(arguments) => prof::prof(&arguments),
        Verb::Record(arguments) => record::record(&arguments),
        Verb::Replay(arguments) => bench::replay(&arguments),
        Verb::Trace(arguments) => trace::trace(&arguments),
        Verb::Graft(arguments) => graft::graft(&arguments),
        Verb::Bench(arguments) => bench::bench(*arguments),
        _ => unreachable!("main has it"),
    }
}

/// What `make run` builds.
#[cfg(not(feature = "every-verb"))]
fn others(_: Verb) -> Result<ExitCode, Failure> {
    let text = "this command is built for 'run' and 'verify' alone; 'make cli' builds all of it";
    Err(Failure::new(failure::USAGE, text))
}
