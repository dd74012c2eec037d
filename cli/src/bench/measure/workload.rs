//! What is run under each allocator, and which figures are taken from it.

use crate::bench::judge::results::{Better, Metric, metric};
use crate::bench::measure::command_line;
use anyhow::{Result, anyhow, bail};
use regex::Regex;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

pub struct Workload {
    pub name: String,
    pub group: Option<String>,
    pub title: String,
    pub about: Option<String>,
    pub kind: Kind,
    /// Run before each run, without the allocator, and not measured.
    pub setup: Option<Vec<OsString>>,
    /// For standard input; without it there is none.
    pub input: Option<PathBuf>,
    pub environment: BTreeMap<String, String>,
    /// A status other than 0 is no failure.
    pub ignores_status: bool,
    pub figures: Vec<Figure>,
    pub judged: Vec<String>,
}

pub enum Kind {
    Command(Vec<OsString>),
    Server(Server),
}

/// The server is measured; its wall time is the client's.
pub struct Server {
    pub server: Vec<OsString>,
    pub client: Vec<OsString>,
    /// Ends with status 0 once the server answers. Without it the client is started at once.
    pub ready: Option<Vec<OsString>>,
}

/// A figure that the program prints itself.
#[derive(Debug)]
pub struct Figure {
    pub name: String,
    pub pattern: Regex,
    pub metric: Metric,
}

impl Figure {
    /// Named by the pattern's named group, if it has one.
    pub fn new(pattern: &str, better: Better) -> Result<Figure> {
        let regex = Regex::new(pattern).map_err(|cause| {
            // It shows the place over several lines, and says last what is wrong.
            let cause = cause.to_string();
            let last = cause.lines().last().unwrap_or_default().trim_start_matches("error: ");
            anyhow!("not a regular expression: {pattern}: {last}")
        })?;
        if regex.captures_len() != 2 {
            bail!("the expression needs one group, around the number: {pattern}");
        }
        let named = regex.capture_names().flatten().next().map(str::to_owned);
        let name = named.unwrap_or_else(|| "figure".to_owned());
        let metric = Metric { unit: String::new(), better };
        Ok(Figure { name, pattern: regex, metric })
    }

    /// The number in the program's output; of several matches the last.
    pub fn find(&self, output: &str) -> Result<f64> {
        let Some(captures) = self.pattern.captures_iter(output).last() else {
            bail!("no match for {} in what it printed", self.pattern);
        };
        let text = captures.get(1).map_or("", |group| group.as_str());
        match text.replace(',', "").parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => bail!("{} matches {text:?}, which is no number", self.pattern),
        }
    }
}

impl Workload {
    /// A command of the user's.
    pub fn of(kind: Kind) -> Workload {
        let title = kind.shown();
        let name = kind.program().rsplit('/').next().unwrap_or_default().to_owned();
        Workload {
            name,
            group: None,
            title,
            about: None,
            kind,
            setup: None,
            input: None,
            environment: BTreeMap::new(),
            ignores_status: false,
            figures: Vec::new(),
            judged: vec![metric::WALL.into(), metric::PEAK.into()],
        }
    }

    /// Every metric of a run.
    pub fn metrics(&self) -> BTreeMap<String, Metric> {
        let lower = |unit: &str| Metric { unit: unit.into(), better: Better::Lower };
        let own = self.figures.iter().map(|figure| (figure.name.clone(), figure.metric.clone()));
        [
            (metric::WALL, "s"),
            (metric::USER, "s"),
            (metric::SYSTEM, "s"),
            (metric::CPU, "s"),
            (metric::PEAK, "KiB"),
            (metric::FAULTS_MINOR, ""),
            (metric::FAULTS_MAJOR, ""),
            (metric::SWITCHES_VOLUNTARY, ""),
            (metric::SWITCHES_INVOLUNTARY, ""),
        ]
        .into_iter()
        .map(|(name, unit)| (name.to_owned(), lower(unit)))
        .chain(own)
        .collect()
    }
}

impl Kind {
    /// The command that gets the allocator.
    pub fn measured(&self) -> &[OsString] {
        match self {
            Kind::Command(command) => command,
            Kind::Server(server) => &server.server,
        }
    }

    pub fn shown(&self) -> String {
        match self {
            Kind::Command(command) => command_line::shown(command),
            Kind::Server(server) => format!(
                "{} (client: {})",
                command_line::shown(&server.server),
                command_line::shown(&server.client)
            ),
        }
    }

    fn program(&self) -> String {
        self.measured().first().map(|word| word.to_string_lossy().into()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_the_last_match_and_named_by_its_group() {
        let figure = Figure::new(r"(?<rate>[0-9.,]+) calls/s", Better::Higher).expect("valid");
        assert_eq!(figure.name, "rate");
        assert_eq!(figure.find("10 calls/s\n1,234.5 calls/s").expect("matches"), 1234.5);
        assert!(figure.find("nothing").is_err());
    }

    #[test]
    fn a_figure_needs_one_group_around_a_number() {
        assert!(Figure::new("calls", Better::Lower).is_err());
        assert!(Figure::new("(a)(b)", Better::Lower).is_err());
        assert!(Figure::new("(", Better::Lower).is_err());
        let word = Figure::new("(a+)", Better::Lower).expect("valid");
        assert!(word.find("aaa").is_err());
    }
}
