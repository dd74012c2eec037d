//! The verb that says who has taken memory.

use crate::arguments::library::LibraryArguments;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

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

/// Say which places in a program take memory, and which keep it
///
/// Runs PROGRAM with loam's malloc preloaded, which looks at samples of what it takes, and prints at
/// its end the places that hold most. Or reads the profile of a process that runs, of a core file,
/// or a FILE that a program has written itself, with the option profile=on. Of a process and a core
/// it also says which places have freed what is still in memory, and what pages each pins. What is
/// estimated from samples is right on average; how far it may be off is
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

    /// What the places are ordered by, and files show [default: live, or the peak if most of that was
    /// freed by the end]; and what a place is, if not a line: as --by taken, or --by peak,function
    #[arg(long, value_name = "FIGURE|PLACE", value_enum, value_delimiter = ',')]
    pub by: Vec<ProfBy>,

    /// Tell places apart by so many frames: by their callers, too
    #[arg(long, value_name = "N", default_value = "1", hide_default_value = true)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=64))]
    pub frames: u8,

    /// Print below each place who calls it, with what part of it is each one's
    #[arg(long)]
    pub tree: bool,

    /// How many places are printed
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// How far apart samples are on average, in bytes: 16 looks at almost every block
    /// [default: 524288 (512 KiB), with --leaks 512]
    #[arg(long, value_name = "BYTES", conflicts_with = "file")]
    #[arg(value_parser = sample_bytes)]
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

/// A figure, or what a place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProfBy {
    /// What the program has at the end
    Live,
    /// What it had when that was most
    Peak,
    /// All that it has ever taken
    Taken,
    /// What it has freed that is in memory and in no use; of a process or a core
    #[value(alias = "retained")]
    Freed,
    /// What its blocks keep of their pages, by what is free beside them; of a process or a core
    Pinned,
    /// A place is a line of the program's source
    Line,
    /// A place is a function
    Function,
    /// A place is a stack: all callers
    Stack,
}

impl ProfBy {
    fn figure(self) -> Option<ProfFigure> {
        match self {
            ProfBy::Live => Some(ProfFigure::Live),
            ProfBy::Peak => Some(ProfFigure::Peak),
            ProfBy::Taken => Some(ProfFigure::Taken),
            ProfBy::Freed => Some(ProfFigure::Freed),
            ProfBy::Pinned => Some(ProfFigure::Pinned),
            ProfBy::Line | ProfBy::Function | ProfBy::Stack => None,
        }
    }

    fn rows(self) -> Option<ProfRows> {
        match self {
            ProfBy::Line => Some(ProfRows::Line),
            ProfBy::Function => Some(ProfRows::Function),
            ProfBy::Stack => Some(ProfRows::Stack),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfFigure {
    Live,
    Peak,
    Taken,
    Freed,
    Pinned,
}

/// What the places of a profile are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfRows {
    Line,
    Function,
    Stack,
}

impl ProfArguments {
    /// What --by says of the figure and of the places; of each kind one at most.
    pub fn chosen(&self) -> Result<(Option<ProfFigure>, ProfRows), String> {
        fn one<T>(given: Vec<T>, what: &str) -> Result<Option<T>, String> {
            match given.len() {
                0 | 1 => Ok(given.into_iter().next()),
                _ => Err(format!("--by: there can be only one {what}")),
            }
        }
        let figure = one(self.by.iter().filter_map(|by| by.figure()).collect(), "figure")?;
        let rows = one(self.by.iter().filter_map(|by| by.rows()).collect(), "kind of place")?;
        if self.leaks && figure.is_some_and(|figure| figure != ProfFigure::Live) {
            return Err("--by: --leaks shows what is live".to_owned());
        }
        let figure = figure.or(self.leaks.then_some(ProfFigure::Live));
        Ok((figure, rows.unwrap_or(ProfRows::Line)))
    }
}

/// As the option profile_bytes has it.
fn sample_bytes(text: &str) -> Result<u64, String> {
    let bytes = text.parse().ok().filter(|bytes| (16..=256 << 20).contains(bytes));
    bytes.ok_or_else(|| "a number of bytes, from 16 bytes to 256 MiB (268435456)".into())
}
