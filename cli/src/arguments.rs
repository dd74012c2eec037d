//! The command line. Help, man pages and completions derive from what stands here.

mod complaint; // what was mistyped, in one line
mod exporter; // the verb that answers other programs
mod library; // what verbs share that run programs on loam
mod measuring; // verbs that compare allocators
mod memory; // verbs that say where memory is
mod profile; // the verb that says who has taken it
mod recording; // verbs that make recordings, and that read them

pub use exporter::*;
pub use library::{LIBRARY_VARIABLE, LibraryArguments};
pub use measuring::*;
pub use memory::*;
pub use profile::*;
pub use recording::*;

use crate::binary::arch::Arch;
use crate::failure::{USAGE, complain};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  loam run -- redis-server --port 7000    run it on loam
  loam run --stats -- make -j8            and print statistics at the end
  loam verify ./program                   is it on loam, as it is? All of it?
  loam verify --preloaded python3         would python3 be, under 'loam run'?
  loam verify 4711                        is the running process 4711?
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
  loam verify ./app || exit 1               a build that fails if app is not on loam as it is
  loam verify --preloaded python3           would all of it be, under 'loam run'?
  loam verify --json ./server -- --port 80  started with arguments, result as JSON
  loam verify --run ./app -- --port 80      run it, and count its calls of malloc and free
  loam verify $(pidof server)               a running process, with its plugins

Exit status: 0 if every allocation function of every module is loam's, 1 if not, 2 if it cannot
be found out. With --run, that of PROGRAM in place of 0.";

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
    Doctor(DoctorArguments),
    Plot(PlotArguments),
    Stats(StatsArguments),
    Top(TopArguments),
    Exporter(ExporterArguments),
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
/// A PROGRAM is started as it is, in this environment with its LD_PRELOAD, stopped before its main
/// function, inspected and ended. With --preloaded it is started as 'loam run' starts it. A process
/// is only read. Recognised: libraries opened with RTLD_DEEPBIND or in a namespace of their own, a
/// malloc inside the executable, a sanitizer's malloc, an allocator preloaded ahead of loam.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub struct VerifyArguments {
    /// A program, by path or by name in PATH, or the number of a running process
    #[arg(value_name = "PROGRAM|PID", required = true)]
    #[arg(value_hint = ValueHint::CommandName)]
    pub target: OsString,

    /// Preload loam into PROGRAM, as 'loam run' does: what would be, not what is
    #[arg(long)]
    pub preloaded: bool,

    /// Let PROGRAM run to its end, and count its calls of the allocation functions by caller
    #[arg(long)]
    pub run: bool,

    /// Print the result as JSON (docs/command.md describes it)
    #[arg(long)]
    pub json: bool,

    /// List every module and every reference, not only those that are not loam's
    #[arg(long)]
    pub all: bool,

    /// The library to preload with --preloaded, instead of the one that 'loam run' takes
    #[arg(long, value_name = "PATH", requires = "preloaded", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub library: Option<PathBuf>,

    /// Arguments for PROGRAM; those that begin with a dash behind --
    #[arg(value_name = "ARGUMENTS")]
    pub arguments: Vec<OsString>,
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
        assert!(option_pair("purge_delay_ms=never").is_ok());
        for bad in ["", "stats", "=text", "stats=", "a=1,b=2"] {
            assert!(option_pair(bad).is_err(), "{bad}");
        }
    }
}
