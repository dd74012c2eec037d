//! Verbs that say where the memory of a process is, and who has taken it.

use crate::arguments::library::LibraryArguments;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgGroup, Args, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  loam explain $(pidof server)     where is the memory of the running server?
  loam explain --json 4711         the same as JSON
  loam explain core.4711           and of one that has left a core
  loam explain 4711 --html x.html  and as a page with pictures
  loam explain --tree 4711         a server and its workers: a line for each
  loam explain --cgroup 4711       all of a container or a service, beside its limit
  loam explain --watch=1min 4711   what does it do, and what has grown in the end?
  loam explain --compare old.json 4711   what has grown since?

Exit status: 0, or 2 if it cannot be found out.";

const PLOT_EXAMPLES: &str = "\
Examples:
  loam plot $(pidof server) --html heap.html   what is on the pages of the running server?
  loam plot core.4711 --html heap.html         and of one that has left a core
  loam plot app.trace --html time.html         what was live over time, and where?
  loam plot app.trace --at 90s --html x.html   and who kept pages after a minute and a half?
  loam plot app.trace --png time.png           the same as one picture, for a report
  loam plot old.trace new.trace --html x.html  two recordings beside each other

Exit status: 0, or 2 if it cannot be drawn; then no file is left.";

const STATS_EXAMPLES: &str = "\
Examples:
  loam stats 4711                  what the process has allocated, by size, cache and central
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

/// Say where the memory of a process is: live, pinned, cached, not loam's
///
/// Reads the memory of a process that runs on loam, or a core that one has left. Nothing has to be
/// prepared, nothing runs in the process, and nothing of it is stopped; what it does meanwhile may
/// be counted in part. Every resident page is accounted for: what the program has, what is free
/// and on which pages, by size, cache and central, and what is not loam's. In the end that is put in
/// words.
#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub struct ExplainArguments {
    /// The number of a running process, or a core file; with --cgroup a process or a folder
    #[arg(value_name = "PID|CORE|CGROUP", value_hint = ValueHint::FilePath)]
    pub target: OsString,

    /// Print the result as JSON (docs/memory.md describes it)
    #[arg(long)]
    pub json: bool,

    /// A line for PID and each of its descendants, and the sum
    #[arg(long, conflicts_with_all = ["cgroup", "compare", "watch", "html"])]
    pub tree: bool,

    /// A line for each process of a cgroup, and the sum beside its limit: that of PID, or a folder
    /// below /sys/fs/cgroup
    #[arg(long, conflicts_with_all = ["compare", "watch", "html"])]
    pub cgroup: bool,

    /// Say what has grown and shrunk since EARLIER, a file that explain --json has written
    #[arg(long, value_name = "EARLIER", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["watch", "html"])]
    pub compare: Option<PathBuf>,

    /// Print a line each DURATION until PID ends or Ctrl-C, and then what has grown and shrunk
    /// [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "10s")]
    #[arg(conflicts_with_all = ["html", "json"])]
    pub watch: Option<Duration>,

    /// Write a page with pictures to FILE, as plot does
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
}

/// Draw the memory of a process, or a recording, as a page for a browser or as one picture
///
/// The page needs no server, no network and no other files. Of a process, which is read as explain
/// does, it shows the address space page by page by how full each is, where the memory is, how well
/// the pages of each size are used, and what keeps pages that would else go back. Of a recording:
/// memory over time, addresses by time, sizes and lifetimes.
#[derive(Debug, Args)]
#[command(after_help = PLOT_EXAMPLES)]
#[command(group(ArgGroup::new("pictures").required(true).multiple(true).args(["html", "svg", "png"])))]
pub struct PlotArguments {
    /// The number of a running process, a core file, or a recording
    #[arg(value_name = "PID|CORE|TRACE", value_hint = ValueHint::FilePath)]
    pub target: OsString,

    /// A second recording, drawn beside the first
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub other: Option<PathBuf>,

    /// Write the page to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,

    /// Write the same pictures to FILE as SVG, for a report
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,

    /// Write the same pictures to FILE as PNG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub png: Option<PathBuf>,

    /// When to look at who keeps pages, in a recording made with --stacks: so long after its begin,
    /// or so far into it, as 50% [default: when most was free on them, and at the end]
    #[arg(long, value_name = "DURATION|PERCENT", value_parser = plot_moment)]
    pub at: Option<PlotMoment>,
}

/// A moment of a recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlotMoment {
    /// Since its begin.
    Time(Duration),
    Percent(f64),
}

fn plot_moment(text: &str) -> Result<PlotMoment, String> {
    let Some(number) = text.strip_suffix('%') else {
        let time = humantime::parse_duration(text).map(PlotMoment::Time);
        return time.map_err(|_| "write a time, as 90s, or a part of the whole, as 50%".into());
    };
    match number.trim().parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(PlotMoment::Percent(percent)),
        _ => Err("not from 0% to 100%".into()),
    }
}

/// Print what a process has allocated, by size, cache and central
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
/// what it is, sizes, caches and centrals, and how near the cgroup's limit is. Ends with q.
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
