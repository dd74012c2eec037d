//! Verbs that make recordings, and that read them.

use crate::arguments::library::LibraryArguments;
use crate::arguments::measuring::{MeasuringArguments, rounds};
use clap::{Args, Subcommand, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const RECORD_EXAMPLES: &str = "\
Examples:
  loam record -- python3 script.py                   what python3 takes and frees, in python3.trace
  loam record --output job.trace -- ./job --fast
  loam record --loam --addresses -- ./job            on loam, with the addresses of its blocks
  loam record --children -- make                     make in make.trace, others in make.trace.PID

Exit status: that of PROGRAM; 127 if it is not found, 126 if it cannot be executed, 125 if it cannot
be recorded (it is then not started), 2 if nothing was recorded.";

const REPLAY_EXAMPLES: &str = "\
Examples:
  loam replay job.trace --with loam,glibc,jemalloc
  loam replay job.trace --runs 5 --html page.html    with memory over time, for a browser

Exit status: 0; 1 if a run failed under the baseline or under loam; 2 if nothing could be measured;
130 if interrupted, after printing what was measured.";

const TRACE_EXAMPLES: &str = "\
Examples:
  loam trace stats server.trace                     what does the program allocate?
  loam trace import app.txt --output app.trace      a recording of Android's or glibc's
  loam trace recover cut.trace --output app.trace   what is whole of one that was cut off

Exit status: 0, or 2 if it cannot be done; then no file is left.";

/// Record what a program takes and frees
///
/// Runs PROGRAM as it is, and writes down each call of malloc, free and their relatives: sizes,
/// threads, times, and the order in which blocks pass from thread to thread; nothing of what is in
/// its memory. Signals and the exit status are the program's own. A program that it becomes (exec) is
/// recorded in its place; processes that it starts only with --children.
#[derive(Debug, Args)]
#[command(after_help = RECORD_EXAMPLES)]
pub struct RecordArguments {
    /// Write the recording to FILE [default: PROGRAM.trace]
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Record what it starts, too, each process in FILE.PID
    #[arg(long)]
    pub children: bool,

    /// Record who calls, too, up to 64 calls: `loam plot` names lines of what is built with -g. A
    /// recording costs up to three times the processor time then
    #[arg(long)]
    pub stacks: bool,

    /// Record where blocks are, too
    #[arg(long)]
    pub addresses: bool,

    /// Run PROGRAM on loam meanwhile
    #[arg(long)]
    pub loam: bool,

    #[command(flatten)]
    pub library: LibraryArguments,

    /// The program and its arguments
    #[arg(required = true, last = true)]
    #[arg(value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// Compare allocators on a recording: time, memory, page faults
///
/// Does what the recorded program did with its allocator, and nothing else, as fast as it can: the
/// same calls, by as many threads, and each block in the order in which it passed from thread to
/// thread. Writes to the pages that the program wrote to. Measured and judged as by bench.
#[derive(Debug, Args)]
#[command(after_help = REPLAY_EXAMPLES)]
pub struct ReplayArguments {
    /// A recording
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub trace: PathBuf,

    /// Measured rounds: in each, every allocator runs once
    #[arg(long, value_name = "N", default_value = "10", value_parser = rounds)]
    pub runs: usize,

    /// Measure for this long instead, and at least three rounds
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    #[arg(conflicts_with = "runs")]
    pub time: Option<Duration>,

    /// The allocator that the others are compared with
    #[arg(long, value_name = "NAME", default_value = "glibc")]
    pub baseline: String,

    #[command(flatten)]
    pub measuring: MeasuringArguments,
}

/// Say what a recording of a program's allocations holds, and read those of other tools
#[derive(Debug, Args)]
#[command(after_help = TRACE_EXAMPLES, arg_required_else_help = true)]
pub struct TraceArguments {
    #[command(subcommand)]
    pub verb: TraceVerb,
}

#[derive(Debug, Subcommand)]
pub enum TraceVerb {
    Stats(TraceStatsArguments),
    Import(TraceImportArguments),
    Recover(TraceRecoverArguments),
}

/// Print sizes, lifetimes, temporaries, frees by other threads, and the least memory that any
/// allocator needs for it
#[derive(Debug, Args)]
pub struct TraceStatsArguments {
    /// A recording
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,

    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// Make a recording of another tool's: the text of Android's memory_replay or of glibc's mtrace
#[derive(Debug, Args)]
pub struct TraceImportArguments {
    /// The other tool's file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,

    /// Write the recording to FILE
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
}

/// Save what is whole of a recording that was cut off
#[derive(Debug, Args)]
pub struct TraceRecoverArguments {
    /// The recording
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,

    /// Write what is whole to FILE
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
}
