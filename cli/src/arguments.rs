//! The command line. Help, man pages and completions derive from what stands here.

mod complaint; // what was mistyped, in one line

use crate::binary::arch::Arch;
use crate::failure::{USAGE, complain};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  loam run -- redis-server --port 7000    run it on loam
  loam run --stats -- make -j8            and print statistics at the end
  loam verify python3                     would python3 run on loam, all of it?
  loam verify 4711                        does the running process 4711?
  loam explain 4711                       where is its memory?
  loam prof --leaks -- ./program          which places in it never free what they take?
  loam record -- ./program                what does it take and free?
  loam graft libc.a                       put loam into a C library for static programs
  loam bench -- make -j8                  compare allocators on it";

const RUN_EXAMPLES: &str = "\
Examples:
  loam run -- redis-server --port 7000
  loam run --stats -- clang -O2 -c file.c
  loam run --stats=json --option stats_fd=3 -- ./server 3>stats.json
  loam run --option help=1 -- true          list the options

Exit status: that of PROGRAM; 127 if it is not found, 126 if it cannot be executed, 125 if loam
cannot serve it (the program is then not started), 2 for a bad command line.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  loam verify python3                       everything python3 has loaded when main begins
  loam verify --json ./server -- --port 80  started with arguments, result as JSON
  loam verify --run ./app -- --port 80      run it, and count its calls of malloc and free
  loam verify $(pidof server)               a running process, with its plugins
  loam verify ./app || exit 1               a build that fails if app is not on loam

Exit status: 0 if every allocation function of every module is loam's, 1 if not, 2 if it cannot
be found out.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  loam explain $(pidof server)     where is the memory of the running server?
  loam explain --json 4711         the same as JSON
  loam explain core.4711           and of one that has left a core
  loam explain 4711 --html x.html  and as a page with pictures

Exit status: 0, or 2 if it cannot be found out.";

const PLOT_EXAMPLES: &str = "\
Examples:
  loam plot $(pidof server) --html heap.html   what is on the pages of the running server?
  loam plot core.4711 --html heap.html         and of one that has left a core
  loam plot app.trace --html time.html         what was live over time, and where?
  loam plot old.trace new.trace --html x.html  two recordings beside each other

Exit status: 0, or 2 if it cannot be drawn; then no file is left.";

const STATS_EXAMPLES: &str = "\
Examples:
  loam stats 4711                  what the process has allocated, by size and by heap
  loam stats --prometheus 4711     as Prometheus reads it

Exit status: 0, or 2 if it cannot be found out.";

const TOP_EXAMPLES: &str = "\
Examples:
  loam top $(pidof server)         what the server's memory does
  loam top --every 5s 4711 4712    two processes, looked at more rarely

Exit status: 0, or 2 if a process cannot be read, or has ended.";

const PROF_EXAMPLES: &str = "\
Examples:
  loam prof --leaks -- ./program       which places take memory that is never freed?
  loam prof -- ./program               which places hold memory, and held it at the peak?
  loam prof --pprof heap.pb.gz -- ./program
  loam prof --start 4711               have a process take one; then look, as often as one likes:
  loam prof 4711 --by pinned           which places keep pages from going back?
  loam prof loam.4711.profile          a file that a program has written (docs/profile.md)
  loam prof --since before.profile after.profile

Exit status: that of PROGRAM; 0 for a file; 2 if there is no profile.";

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

const GRAFT_EXAMPLES: &str = "\
Examples:
  loam graft --dry-run /usr/lib/x86_64-linux-musl/libc.a    what would change?
  loam graft /usr/lib/x86_64-linux-musl/libc.a              change it
  loam graft --undo /usr/lib/x86_64-linux-musl/libc.a       and back
  loam graft --output loam/libc.a /usr/lib/x86_64-linux-gnu/libc.a
  loam graft sysroot/                                       every C library in a folder
  loam graft swift-sdk.artifactbundle.tar.gz                a packed one, into a new file
  loam graft --object --arch aarch64                        loam's object alone

Exit status: 0 if it is done, or was done before; 2 if not, and nothing is changed then.";

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

/// Run programs on the loam memory allocator, and prove that they do
#[derive(Debug, Parser)]
#[command(name = "loam", version, after_help = EXAMPLES, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    Run(RunArguments),
    Verify(VerifyArguments),
    Explain(ExplainArguments),
    Plot(PlotArguments),
    Stats(StatsArguments),
    Top(TopArguments),
    Prof(ProfArguments),
    Record(RecordArguments),
    Replay(Box<ReplayArguments>),
    Trace(TraceArguments),
    Graft(GraftArguments),
    Bench(Box<BenchArguments>),
    Man(ManArguments),
    Completions(CompletionsArguments),
}

/// Run a program with loam's malloc preloaded
///
/// The program takes the place of this command: signals and the exit status are its own. A program
/// that a preload cannot reach is not started, and the error says why: statically linked,
/// set-user-ID, of another architecture, with a malloc or a sanitizer of its own.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct RunArguments {
    /// Print statistics when the program ends
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "text", value_enum)]
    pub stats: Option<StatsFormat>,

    /// Set an option of loam's, as in LOAM_OPTIONS; may be given more than once
    #[arg(long = "option", short, value_name = "NAME=VALUE", value_parser = option_pair)]
    pub options: Vec<String>,

    #[command(flatten)]
    pub library: LibraryArguments,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true)]
    #[arg(value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// Prove that a program, or a running process, allocates with loam only
///
/// For the program and every library it has loaded, shows to what malloc, free, calloc, realloc,
/// aligned_alloc, posix_memalign, strdup's allocation, operator new and their relatives resolve.
///
/// A PROGRAM is started with loam preloaded, stopped before its main function, inspected and
/// ended. A process is only read. Recognised: libraries opened with RTLD_DEEPBIND or in a
/// namespace of their own, a malloc inside the executable, a sanitizer's malloc, an allocator
/// preloaded ahead of loam.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub struct VerifyArguments {
    /// A program, by path or by name in PATH, or the number of a running process
    #[arg(value_name = "PROGRAM|PID", required = true)]
    #[arg(value_hint = ValueHint::CommandName)]
    pub target: OsString,

    /// Let PROGRAM run to its end, and count its calls of the allocation functions by caller
    #[arg(long)]
    pub run: bool,

    /// Print the result as JSON (docs/command.md describes it)
    #[arg(long)]
    pub json: bool,

    /// List every module and every reference, not only those that are not loam's
    #[arg(long)]
    pub all: bool,

    #[command(flatten)]
    pub library: LibraryArguments,

    /// Arguments for PROGRAM; those that begin with a dash behind --
    #[arg(value_name = "ARGUMENTS")]
    pub arguments: Vec<OsString>,
}

/// Say where the memory of a process is: live, pinned, cached, not loam's
///
/// Reads the memory of a process that runs on loam, or a core that one has left. Nothing has to be
/// prepared, nothing runs in the process, and nothing of it is stopped; what it does meanwhile may
/// be counted in part. Every resident page is accounted for: what the program has, what is free
/// and on which pages, by size and by thread, and what is not loam's. In the end that is put in
/// words.
#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub struct ExplainArguments {
    /// The number of a running process, or a core file
    #[arg(value_name = "PID|CORE", value_hint = ValueHint::FilePath)]
    pub target: OsString,

    /// Print the result as JSON (docs/memory.md describes it)
    #[arg(long)]
    pub json: bool,

    /// Write a page with pictures to FILE, as plot does
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
}

/// Draw the memory of a process, or a recording, as a page for a browser
///
/// The page needs no server, no network and no other files. Of a process, which is read as explain
/// does, it shows the address space page by page by how full each is, where the memory is, how well
/// the pages of each size are used, and what keeps pages that would else go back. Of a recording:
/// memory over time, addresses by time, sizes and lifetimes.
#[derive(Debug, Args)]
#[command(after_help = PLOT_EXAMPLES)]
pub struct PlotArguments {
    /// The number of a running process, a core file, or a recording
    #[arg(value_name = "PID|CORE|TRACE", value_hint = ValueHint::FilePath)]
    pub target: OsString,

    /// A second recording, drawn beside the first
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub other: Option<PathBuf>,

    /// Write the page to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, required = true)]
    pub html: PathBuf,
}

/// Print what a process has allocated, by size and by heap
///
/// Reads the process as explain does, so that it need not be prepared.
#[derive(Debug, Args)]
#[command(after_help = STATS_EXAMPLES)]
pub struct StatsArguments {
    /// The number of a running process, or a core file
    #[arg(value_name = "PID|CORE", value_hint = ValueHint::FilePath)]
    pub target: OsString,

    /// Print the figures as JSON
    #[arg(long, conflicts_with = "prometheus")]
    pub json: bool,

    /// Print the figures as Prometheus reads them
    #[arg(long)]
    pub prometheus: bool,
}

/// Watch the memory of processes, live on the terminal
///
/// Reads them as explain does, again and again: what they have in memory and how fast that grows,
/// what it is, sizes and heaps, and how near the cgroup's limit is. Ends with q.
#[derive(Debug, Args)]
#[command(after_help = TOP_EXAMPLES)]
pub struct TopArguments {
    /// The numbers of running processes
    #[arg(required = true, value_name = "PID")]
    pub pids: Vec<i32>,

    /// How long to wait before it looks again
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    #[arg(value_parser = humantime::parse_duration)]
    pub every: Duration,
}

/// Say which places in a program take memory, and which keep it
///
/// Runs PROGRAM with loam's malloc preloaded, which looks at samples of what it takes, and prints at
/// its end the places that hold most. Or reads the profile of a process that runs, of a core file,
/// or a FILE that a program has written itself, with the option profile=on. Of a process and a core
/// it also says which places have freed what is still in memory, and which pin pages that are nine
/// tenths empty. What is estimated from samples is right on average; how far it may be off is
/// printed, too.
#[derive(Debug, Args)]
#[command(after_help = PROF_EXAMPLES)]
pub struct ProfArguments {
    /// A process's number, a core file, or a profile that a program has written
    #[arg(value_name = "PID|FILE", value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present_any = ["command", "start", "stop"], conflicts_with = "command")]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub file: Option<PathBuf>,

    /// Have a process take a profile from here on, that was started without one
    #[arg(long, value_name = "PID", conflicts_with_all = ["file", "command", "stop"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub start: Option<u32>,

    /// Have it take none any longer
    #[arg(long, value_name = "PID", conflicts_with_all = ["file", "command", "every"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub stop: Option<u32>,

    /// Only what is never freed, from closer samples
    #[arg(long, conflicts_with_all = ["start", "stop"])]
    pub leaks: bool,

    /// What the places are ordered by, and files show [default: live]
    #[arg(long, value_name = "FIGURE", value_enum, conflicts_with = "leaks")]
    pub by: Option<ProfFigure>,

    /// How many places are printed
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// How far apart samples are on average, in bytes: 16 looks at almost every block
    /// [default: 524288, with --leaks 512]
    #[arg(long, value_name = "BYTES", conflicts_with = "file")]
    #[arg(value_parser = clap::value_parser!(u64).range(16..=268435456))]
    pub every: Option<u64>,

    /// What has changed since an earlier profile of the same program
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub since: Option<PathBuf>,

    /// Write the profile as programs write it, for another computer or a later --since
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub save: Option<PathBuf>,

    /// Write the profile as pprof reads it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub pprof: Option<PathBuf>,

    /// Write one line for each stack, with its bytes
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub folded: Option<PathBuf>,

    /// Draw the stacks: a picture for a browser
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub flamegraph: Option<PathBuf>,

    /// Write the stacks as speedscope.app reads them
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub speedscope: Option<PathBuf>,

    /// Write the stacks as DHAT's viewer and the Firefox profiler read them
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub dhat: Option<PathBuf>,

    /// Print JSON: all places, and more of each
    #[arg(long)]
    pub json: bool,

    /// Keep the profiles of PROGRAM and of all that it starts in this folder
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, requires = "command")]
    pub keep: Option<PathBuf>,

    #[command(flatten)]
    pub library: LibraryArguments,

    /// The program and its arguments
    #[arg(last = true)]
    #[arg(value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProfFigure {
    /// What the program has at the end
    Live,
    /// What it had when that was most
    Peak,
    /// All that it has ever taken
    Taken,
    /// What it has freed that is in memory and in no use; of a process or a core
    Retained,
    /// What its blocks keep on pages that are nine tenths empty; of a process or a core
    Pinned,
}

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

    /// Record who calls, too, by frame pointers: build with -fno-omit-frame-pointer
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

/// Put loam into a C library for static linking: a libc.a, an SDK, a toolchain
///
/// The members that define malloc and its family are found by their symbols, and left out; where
/// others want more of such a member, only loam's names in it become references to loam. Loam's
/// object comes first in the archive. The original is kept beside it, as NAME.loam-original.
///
/// In a folder, every C library's archive is found by its content, whatever its name, for every
/// architecture. A packed folder (.tar, .tar.gz, .tar.xz, .tar.zst, .zip, or a bundle of these) is
/// packed again into a new file, NAME-loam.tar.gz and so on. Links are not followed.
#[derive(Debug, Args)]
#[command(after_help = GRAFT_EXAMPLES)]
pub struct GraftArguments {
    /// A C library's archive, a folder, or a packed folder
    #[arg(required_unless_present = "object", value_hint = ValueHint::AnyPath)]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub target: Option<PathBuf>,

    /// Show what would be done, and write nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Write the grafted archive or packed folder, or the object, to PATH
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Only for these architectures, separated by commas; without it all there are
    #[arg(long, value_name = "ARCH", value_enum, value_delimiter = ',')]
    pub arch: Vec<Arch>,

    /// Put the originals back
    #[arg(long, conflicts_with_all = ["output", "object", "arch"])]
    pub undo: bool,

    /// Write loam's object alone, to be put first on a link line
    #[arg(long)]
    pub object: bool,

    /// Print what was done as JSON (docs/graft.md describes it)
    #[arg(long)]
    pub json: bool,

    /// The folder with loam's objects, instead of that installed with this command
    #[arg(long, value_name = "FOLDER", env = "LOAM_OBJECTS", hide_env_values = true)]
    #[arg(value_hint = ValueHint::DirPath)]
    pub objects: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct LibraryArguments {
    /// The library to preload, instead of the libloam.so installed with this command
    #[arg(long, value_name = "PATH", env = "LOAM_LIBRARY", hide_env_values = true)]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from))]
    #[arg(value_hint = ValueHint::FilePath)]
    pub library: Option<PathBuf>,
}

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

    /// Write every single run to FILE
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

    /// Compare the verdicts with those of another run of the same rows
    #[arg(long, value_name = "OTHER", value_hint = ValueHint::FilePath)]
    pub agree: Option<PathBuf>,

    /// Write README.md's table, docs/benchmarks.md and the plots of the checkout in FOLDER
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub update_docs: Option<PathBuf>,
}

/// Write the man pages into a folder
#[derive(Debug, Args)]
pub struct ManArguments {
    /// The folder, made if it does not exist
    pub folder: PathBuf,
}

/// Print a shell's completion script
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  loam completions bash > /etc/bash_completion.d/loam")]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum StatsFormat {
    Text,
    Json,
}

/// NAME=VALUE. Which names and values there are, the library knows.
fn option_pair(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((name, _)) if name.is_empty() || name.contains(char::is_whitespace) => {
            Err("the name is missing: write NAME=VALUE".into())
        }
        Some(_) if text.contains(',') => Err("give each NAME=VALUE an --option of its own".into()),
        Some((_, value)) if !value.is_empty() => Ok(text.into()),
        _ => Err("the value is missing: write NAME=VALUE".into()),
    }
}

/// A number of rounds.
fn rounds(text: &str) -> Result<usize, String> {
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

/// The definition of the command line, for man pages and completions.
pub fn definition() -> clap::Command {
    CommandLine::command()
}

/// The verb asked for, or the status to end with: after help, or after one line of complaint.
pub fn parse() -> Result<Verb, ExitCode> {
    CommandLine::try_parse().map(|line| line.verb).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Where standard output is closed there is nobody to help.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            complain("no verb given; try 'loam --help'");
            ExitCode::from(USAGE)
        }
        _ => {
            let words: Vec<OsString> = std::env::args_os().skip(1).collect();
            complain(complaint::of(&error, &words, &definition()));
            ExitCode::from(USAGE)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_holds_together() {
        definition().debug_assert();
    }

    #[test]
    fn options_must_be_pairs() {
        assert!(option_pair("purge_delay_ms=0").is_ok());
        for bad in ["", "stats", "=text", "stats=", "a=1,b=2"] {
            assert!(option_pair(bad).is_err(), "{bad}");
        }
    }
}
