//! Verbs that compare allocators.

use crate::arguments::library::LibraryArguments;
use clap::{Args, Subcommand, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const BENCH_EXAMPLES: &str = "\
Examples:
  loam bench -- clang -O2 -c file.c
  loam bench --with loam,glibc,jemalloc --time 2min --html page.html -- ./job
  loam bench --rate '([0-9.]+) requests/s' -- ./load-test
  loam bench --server 'redis-server --port {port}' --ready 'redis-cli -p {port} ping' \\
             --client 'redis-benchmark -q -p {port}'
  loam bench suite --quick                 the suite of this checkout

In commands, {dir} is an empty folder made for each run, {port} a free TCP port.

Exit status: 0; 1 if a run failed under the baseline or under loam; 2 if nothing could be measured;
130 if interrupted, after printing what was measured.";

/// Compare allocators on a command, or on a suite of programs
///
/// Finds the allocators there are (--list shows them), checks that the command really gets each,
/// and runs it under all of them in shuffled rounds. Prints medians with their spread, the ratio
/// to a baseline with a 95 % interval, and in words whether there is a difference.
#[derive(Debug, Args)]
#[command(after_help = BENCH_EXAMPLES, args_conflicts_with_subcommands = true)]
#[command(subcommand_negates_reqs = true)]
pub struct BenchArguments {
    #[command(subcommand)]
    pub verb: Option<BenchVerb>,

    #[command(flatten)]
    pub command: BenchCommandArguments,
}

#[derive(Debug, Subcommand)]
pub enum BenchVerb {
    Suite(BenchSuiteArguments),
    Report(BenchReportArguments),
}

/// What `loam bench -- COMMAND` takes.
#[derive(Debug, Args)]
pub struct BenchCommandArguments {
    /// Measured rounds: in each, every allocator runs once
    #[arg(long, value_name = "N", default_value = "10", value_parser = rounds)]
    pub runs: usize,

    /// Measure for this long instead, and at least three rounds
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    #[arg(conflicts_with = "runs")]
    pub time: Option<Duration>,

    /// Take a figure from the program's output; less is better. REGEX has one group, around the
    /// number; if it has a name, (?<name>...), the figure gets it
    #[arg(long = "metric", value_name = "REGEX")]
    pub metrics: Vec<String>,

    /// The same, where more is better
    #[arg(long = "rate", value_name = "REGEX")]
    pub rates: Vec<String>,

    /// A status other than 0 is no failure. A signal is, and a missing figure
    #[arg(long)]
    pub ignore_failure: bool,

    /// A command before each run, not measured, on the system's allocator
    #[arg(long, value_name = "COMMAND")]
    pub setup: Option<String>,

    /// A file for standard input; without it there is none
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub input: Option<PathBuf>,

    /// Measure a server: started, loaded by --client, stopped by SIGTERM. Wall time is the
    /// client's, all else the server's
    #[arg(long, value_name = "COMMAND", requires = "client", conflicts_with = "command")]
    pub server: Option<String>,

    /// The load on the server, run on the system's allocator
    #[arg(long, value_name = "COMMAND", requires = "server", conflicts_with = "command")]
    pub client: Option<String>,

    /// Ends with status 0 once the server answers; tried until it does
    #[arg(long, value_name = "COMMAND", requires = "server", conflicts_with = "command")]
    pub ready: Option<String>,

    /// The allocator that the others are compared with [default: the C library's, as glibc]
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,

    /// List the allocators there are
    #[arg(long)]
    pub list: bool,

    #[command(flatten)]
    pub measuring: MeasuringArguments,

    /// The command and its arguments
    #[arg(last = true, required_unless_present_any = ["server", "list"])]
    #[arg(value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// What measuring a command and measuring the suite share.
#[derive(Debug, Args)]
pub struct MeasuringArguments {
    /// Which allocators, separated by commas; without it all there are
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub with: Option<Vec<String>>,

    /// One more allocator: a library to preload
    #[arg(long = "allocator", value_name = "NAME=PATH", value_parser = named_path)]
    pub allocators: Vec<(String, PathBuf)>,

    /// The folder with the libraries that 'make peers' builds
    #[arg(long, value_name = "FOLDER", env = "LOAM_PEERS", hide_env_values = true)]
    #[arg(value_hint = ValueHint::DirPath)]
    pub peers: Option<PathBuf>,

    /// A run that takes longer has failed [default: 20 times the first run, at least 20s]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub timeout: Option<Duration>,

    /// Of the order of runs and of the intervals
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,

    /// Write every single run to FILE; -: to standard output, in place of the tables
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,

    /// Unmeasured rounds before the first measured one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub warmup: usize,

    #[command(flatten)]
    pub export: ExportArguments,

    #[command(flatten)]
    pub library: LibraryArguments,
}

/// Files that a comparison is written to.
#[derive(Debug, Default, Clone, Args)]
pub struct ExportArguments {
    /// Write a page with plots to PAGE
    #[arg(long, value_name = "PAGE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,

    /// Write the figures as comma-separated values to CSV
    #[arg(long, value_name = "CSV", value_hint = ValueHint::FilePath)]
    pub export_csv: Option<PathBuf>,

    /// Write the tables as Markdown to MARKDOWN
    #[arg(long, value_name = "MARKDOWN", value_hint = ValueHint::FilePath)]
    pub export_markdown: Option<PathBuf>,
}

/// Run the suite of a checkout of loam: programs of its own, and real ones
///
/// Rows whose program is not installed are left out, and listed. What a row needs beside that is
/// made once and kept in build/bench-data.
#[derive(Debug, Args)]
pub struct BenchSuiteArguments {
    /// Fewer rounds of shorter runs: within 10 minutes on two processors
    #[arg(long)]
    pub quick: bool,

    /// Measured rounds of each row, instead of what the suite has
    #[arg(long, value_name = "N", value_parser = rounds)]
    pub runs: Option<usize>,

    /// The allocator that the others are compared with
    #[arg(long, value_name = "NAME", default_value = "loam")]
    pub baseline: String,

    /// The folder with suite.toml [default: bench in the checkout that this command is in]
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub suite: Option<PathBuf>,

    /// List rows and allocators
    #[arg(long)]
    pub list: bool,

    /// Make what the rows need, and measure nothing
    #[arg(long)]
    pub prepare: bool,

    /// List the Debian packages that the rows need
    #[arg(long)]
    pub packages: bool,

    #[command(flatten)]
    pub measuring: MeasuringArguments,

    /// Rows, or groups of rows; without any, all
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
}

/// Print results again that were kept by --json, or draw them as a page
#[derive(Debug, Args)]
pub struct BenchReportArguments {
    /// Files written by --json
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,

    /// The allocator that the others are compared with [default: loam for the suite, else the C
    /// library's]
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,

    #[command(flatten)]
    pub export: ExportArguments,

    /// Take the files as parts of one measurement, and write it to MERGED: a row that several of
    /// them hold is the last one's
    #[arg(long, value_name = "MERGED", value_hint = ValueHint::FilePath)]
    pub merge: Option<PathBuf>,

    /// Compare the verdicts with those of another run of the same rows
    #[arg(long, value_name = "OTHER", value_hint = ValueHint::FilePath)]
    pub agree: Option<PathBuf>,

    /// Write README.md's table, docs/benchmarks.md and the plots of the checkout in FOLDER
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub update_docs: Option<PathBuf>,
}

/// A number of rounds.
pub fn rounds(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(rounds) if rounds > 0 => Ok(rounds),
        _ => Err("not a positive number".into()),
    }
}

/// NAME=PATH.
fn named_path(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() && !name.contains(',') => {
            Ok((name.into(), path.into()))
        }
        _ => Err("write NAME=PATH".into()),
    }
}
