//! Verbs that say where the memory of a process is.

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgGroup, Args, ValueHint};
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

const DOCTOR_EXAMPLES: &str = "\
Examples:
  loam doctor $(pidof server)      what holds most memory, and what is to be done about it?
  loam doctor --json core.4711     the same of a core, as JSON

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

/// Say where the memory of a process is: live, pinned, cached, not loam's
///
/// Reads the memory of a process that runs on loam or on glibc, or a core that one has left. Nothing
/// has to be prepared, nothing runs in the process, and nothing of it is stopped; what it does
/// meanwhile may be counted in part. Every resident page is accounted for: what the program has, what
/// is free and on which pages, by size, cache and central, or by arena and tcache, and what is not
/// the allocator's. In the end that is put in words.
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

/// Say what holds most of a process's memory, by which line, and what to do about it
///
/// Reads the process as explain does, with the profile that it takes, if it takes one, and its
/// options. On one page: the three things that hold most, each with the line of the program, what it
/// would give back, and what to do. If there is nothing to say, that is said.
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub struct DoctorArguments {
    /// The number of a running process, or a core file
    #[arg(value_name = "PID|CORE", value_hint = ValueHint::FilePath)]
    pub target: OsString,

    /// Print the result as JSON (docs/memory.md describes it)
    #[arg(long)]
    pub json: bool,
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
/// Reads the process, on loam or glibc, as explain does, so that it need not be prepared.
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
/// Reads them, on loam or glibc, as explain does, again and again: what they have in memory and how
/// fast that grows, what it is, sizes, caches and centrals, and how near the cgroup's limit is.
/// Ends with q.
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
