//! `loam run`: the program with loam preloaded, in the place of this command.

mod summary; // what processes said at their ends, on one screen
mod unsaid; // of a process that ends without saying anything

use crate::arguments::{RunArguments, StatsFormat};
use crate::binary::library::Library;
use crate::binary::reach::{self, Obstacle};
use crate::failure::{Failure, REFUSED, complain};
use crate::process::launch::Target;
use crate::process::{execute, inherited, launch, preload, supervise, tree};
use anyhow::Context;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::memfd::MFdFlags;
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// How often is looked who is there. Processes that end sooner have no name.
const PAUSE: Duration = Duration::from_millis(10);

pub fn run(arguments: &RunArguments) -> Result<ExitCode, Failure> {
    let refused = |cause| Failure { status: REFUSED, cause };
    let command = &arguments.command;
    let path = launch::find(&command[0])?;
    let target = launch::resolve(&path, command)?;
    let carries_loam = target.image.as_ref().is_some_and(|image| image.is_loam());
    let mut environment: Vec<(&str, OsString)> = Vec::new();
    refuse_library(&target)?;
    if !carries_loam {
        let library = Library::locate(arguments.library.library.as_deref()).map_err(refused)?;
        refuse_unreachable(&target, &library)?;
        environment.push(("LD_PRELOAD", preload::value(&library, target.image.as_ref())));
    }
    let options = |stats: Option<String>| {
        // The library knows which there are: it ends the program if one is wrong.
        let strict = (!arguments.options.is_empty()).then(|| "invalid=end".to_owned());
        let given = stats.into_iter().chain(arguments.options.iter().cloned());
        let added: Vec<String> = strict.into_iter().chain(given).collect();
        launch::options(&added).map(|options| ("LOAM_OPTIONS", options))
    };
    if is_summary_wanted(arguments) {
        let said = Collected::new().map_err(refused)?;
        environment.extend(options(Some(said.option())));
        return summarised(&path, command, &environment, &said).map_err(refused);
    }
    environment.extend(options(arguments.stats.map(|format| option_of(format).to_owned())));
    inherited::restore_sigpipe().context("cannot restore SIGPIPE").map_err(refused)?;
    Err(execute::execute(&path, command, &environment).unwrap_or_else(refused))
}

fn option_of(format: StatsFormat) -> &'static str {
    match format {
        StatsFormat::Text => "stats=text",
        StatsFormat::Json => "stats=json",
    }
}

/// Whether statistics are for people. Who sets where they go reads them himself.
fn is_summary_wanted(arguments: &RunArguments) -> bool {
    let is_about_stats = |option: &String| option.starts_with("stats");
    matches!(arguments.stats, Some(StatsFormat::Text))
        && !arguments.options.iter().any(is_about_stats)
}

/// A file in memory that every process appends its statistics to.
struct Collected {
    file: File,
}

impl Collected {
    /// Programs use low numbers for their own files, and expect these to be the lowest.
    const NUMBER_MIN: i32 = 700;

    fn new() -> anyhow::Result<Collected> {
        let memory = nix::sys::memfd::memfd_create(c"loam-stats", MFdFlags::MFD_CLOEXEC)
            .context("cannot make a file for the statistics")?;
        fcntl(&memory, FcntlArg::F_SETFL(OFlag::O_APPEND)).context("cannot append to a file")?;
        let number = fcntl(&memory, FcntlArg::F_DUPFD(Self::NUMBER_MIN))
            .or_else(|_| fcntl(&memory, FcntlArg::F_DUPFD(3)))
            .context("cannot hand a file on")?;
        // SAFETY: the descriptor is new, and nobody else has it.
        Ok(Collected { file: File::from(unsafe { OwnedFd::from_raw_fd(number) }) })
    }

    fn option(&self) -> String {
        format!("stats=json,stats_fd={}", self.file.as_raw_fd())
    }

    /// Whether a process has said nothing, as far as that can be read.
    fn lacks(&self, pid: Pid) -> bool {
        let said = self.text().unwrap_or_default();
        let is_its = |said: &serde_json::Value| said["process_id"] == pid.as_raw();
        !summary::processes(&said).iter().any(is_its)
    }

    fn text(&self) -> anyhow::Result<String> {
        let mut bytes = Vec::new();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0)).context("cannot read the statistics")?;
        file.read_to_end(&mut bytes).context("cannot read the statistics")?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Runs the program as a child, and says at its end what it and its children have used.
fn summarised(
    path: &Path,
    command: &[OsString],
    environment: &[(&str, OsString)],
    said: &Collected,
) -> anyhow::Result<ExitCode> {
    let (mut names, mut unsaid) = (BTreeMap::new(), String::new());
    let mut ended = supervise::run_to_last_look(
        path,
        || execute::become_child(path, command, environment),
        &mut |pid| {
            note_names(pid, &mut names);
            PAUSE
        },
        &mut |pid| {
            if said.lacks(pid) {
                unsaid += &unsaid::line(pid).unwrap_or_default();
            }
        },
    )?;
    ended.names = names;
    let text = said.text()? + &unsaid;
    // Nothing was started, or it has said why itself.
    if !text.is_empty() || !matches!(ended.status, WaitStatus::Exited(_, 125..=127)) {
        show(&summary::render(&ended, &text));
    }
    Ok(supervise::end_like(ended.status))
}

fn note_names(program: Pid, names: &mut BTreeMap<i32, String>) {
    for pid in tree::of(program) {
        if let Ok(name) = fs::read_to_string(format!("/proc/{pid}/comm")) {
            names.insert(pid, name.trim_end().to_owned());
        }
    }
}

/// Apart from what the program has printed, and fainter than that where colours are welcome.
fn show(text: &str) {
    let is_terminal = std::io::stderr().is_terminal();
    let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let (faint, plain) =
        if is_terminal && !is_refused { ("\u{1b}[2m", "\u{1b}[0m") } else { ("", "") };
    // Where standard error is closed there is nobody to tell.
    let _ = write!(std::io::stderr(), "\n{faint}{text}{plain}");
}

/// Also loam's own: it begins nowhere.
fn refuse_library(target: &Target) -> Result<(), Failure> {
    match &target.image {
        Some(image) if image.is_library => {
            Err(Failure::new(REFUSED, Obstacle::Library(target.path.clone())))
        }
        _ => Ok(()),
    }
}

fn refuse_unreachable(target: &Target, library: &Library) -> Result<(), Failure> {
    if let Some(image) = &target.image {
        return match reach::obstacle(&target.path, image, library) {
            Some(obstacle) => Err(Failure::new(REFUSED, obstacle)),
            None => Ok(()),
        };
    }
    if let Some(cause) = &target.unreadable {
        complain(format_args!("{cause}: not checked whether loam can serve it"));
    }
    Ok(())
}
