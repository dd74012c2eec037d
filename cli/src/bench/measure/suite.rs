//! The rows of the suite, as `bench/suite.toml` has them.

use crate::bench::judge::results::{Better, Metric};
use crate::bench::measure::command_line::{self, Placeholders, is_there};
use crate::bench::measure::workload::{Figure, Kind, Server, Workload};
use crate::spelling::meant;
use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Where the parts of the suite are.
pub struct Places {
    /// The checkout's `bench` folder.
    pub bench: PathBuf,
    /// The built programs.
    pub programs: PathBuf,
    /// What the rows' preparations keep.
    pub data: PathBuf,
}

impl Places {
    /// Found from the `bench` folder that was asked for, or from where the command lies.
    pub fn locate(asked_for: Option<&Path>) -> Result<Places> {
        let bench = match asked_for {
            Some(folder) => folder.to_path_buf(),
            None => beside_command()?,
        };
        let bench =
            bench.canonicalize().with_context(|| format!("cannot find {}", bench.display()))?;
        let build = bench.parent().unwrap_or(Path::new("/")).join("build");
        Ok(Places { bench, programs: build.join("bench"), data: build.join("bench-data") })
    }

    pub fn placeholders(&self, row: &RowDefinition) -> Placeholders {
        let mut placeholders = Placeholders::default();
        placeholders.set("programs", &self.programs);
        placeholders.set("bench", &self.bench);
        placeholders.set("data", self.data.join(row.prepare.as_deref().unwrap_or(&row.name)));
        placeholders
    }
}

fn beside_command() -> Result<PathBuf> {
    let command = crate::binary::itself::path()?;
    let mut folders = command.ancestors().skip(1).map(|folder| folder.join("bench"));
    folders.find(|folder| folder.join(FILE).exists()).with_context(|| {
        format!("cannot find bench/{FILE} above {}: name it with --suite FOLDER", command.display())
    })
}

pub const FILE: &str = "suite.toml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    row: Vec<RowDefinition>,
}

/// A row as the file has it; bench/suite.toml explains the fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowDefinition {
    pub name: String,
    pub group: String,
    pub title: String,
    about: String,
    command: Option<String>,
    quick: Option<String>,
    input: Option<PathBuf>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    setup: Option<String>,
    server: Option<String>,
    client: Option<String>,
    quick_client: Option<String>,
    ready: Option<String>,
    #[serde(default)]
    metrics: Vec<MetricDefinition>,
    judged: Option<Vec<String>>,
    rounds: Option<Rounds>,
    limit_s: Option<u64>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    pub packages: Vec<String>,
    prepare: Option<String>,
    #[serde(default)]
    pub bump: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricDefinition {
    name: String,
    pattern: String,
    #[serde(default)]
    unit: String,
    better: Better,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Rounds {
    Both(usize),
    Each { full: usize, quick: usize },
}

/// All rows of the file.
pub fn read(bench: &Path) -> Result<Vec<RowDefinition>> {
    let path = bench.join(FILE);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let file: SuiteFile = toml::from_str(&text).map_err(|cause| {
        let before = cause.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let message = cause.message().replace('\n', " ");
        anyhow!("{}, line {line}: {message}", path.display())
    })?;
    for (index, row) in file.row.iter().enumerate() {
        if file.row[..index].iter().any(|other| other.name == row.name) {
            bail!("{}: two rows are called {}", path.display(), row.name);
        }
    }
    Ok(file.row)
}

/// Those of these names, of groups of these names, or all.
pub fn choose(rows: Vec<RowDefinition>, names: &[String]) -> Result<Vec<RowDefinition>> {
    for name in names {
        if !rows.iter().any(|row| row.name == *name || row.group == *name) {
            let groups = rows.iter().map(|row| row.group.as_str());
            let known = || rows.iter().map(|row| row.name.as_str());
            match meant(name, known().chain(groups)) {
                Some(meant) => bail!("no row {name}; did you mean '{meant}'?"),
                None => {
                    bail!("no row {name}: there are {}", known().collect::<Vec<_>>().join(", "))
                }
            }
        }
    }
    let is_wanted = |row: &RowDefinition| {
        names.is_empty() || names.iter().any(|name| *name == row.name || *name == row.group)
    };
    Ok(rows.into_iter().filter(is_wanted).collect())
}

impl RowDefinition {
    pub fn is_in(&self, quick: bool) -> bool {
        !quick || self.quick.is_some() || self.quick_client.is_some()
    }

    pub fn rounds(&self, quick: bool) -> Option<usize> {
        self.rounds.map(|rounds| match rounds {
            Rounds::Both(rounds) => rounds,
            Rounds::Each { full, quick: few } => {
                if quick {
                    few
                } else {
                    full
                }
            }
        })
    }

    pub fn time_limit(&self) -> Option<Duration> {
        self.limit_s.map(Duration::from_secs)
    }

    pub fn workload(&self, quick: bool) -> Result<Workload> {
        self.try_workload(quick).with_context(|| format!("{FILE}, row {}", self.name))
    }

    fn try_workload(&self, quick: bool) -> Result<Workload> {
        let mut workload = Workload::of(self.kind(quick)?);
        workload.name.clone_from(&self.name);
        workload.group = Some(self.group.clone());
        workload.title.clone_from(&self.title);
        workload.about = Some(self.about.clone());
        workload.setup = self.setup.as_deref().map(command_line::split).transpose()?;
        workload.input.clone_from(&self.input);
        workload.environment.clone_from(&self.environment);
        for definition in &self.metrics {
            let figure = Figure::new(&definition.pattern, definition.better)?;
            let metric = Metric { unit: definition.unit.clone(), better: definition.better };
            workload.figures.push(Figure { name: definition.name.clone(), metric, ..figure });
        }
        if let Some(judged) = &self.judged {
            let metrics = workload.metrics();
            if let Some(unknown) = judged.iter().find(|name| !metrics.contains_key(*name)) {
                bail!("judged by {unknown:?}, which is no metric");
            }
            workload.judged.clone_from(judged);
        }
        Ok(workload)
    }

    fn kind(&self, quick: bool) -> Result<Kind> {
        if let Some(server) = &self.server {
            let client = if quick { self.quick_client.as_ref() } else { self.client.as_ref() };
            return Ok(Kind::Server(Server {
                server: command_line::split(server)?,
                client: command_line::split(client.context("a server without a client")?)?,
                ready: self.ready.as_deref().map(command_line::split).transpose()?,
            }));
        }
        let command = if quick { self.quick.as_ref() } else { self.command.as_ref() };
        Ok(Kind::Command(command_line::split(command.context("there is no command")?)?))
    }

    /// Makes what the row needs, if it is not there; gives why it cannot run.
    pub fn prepare(&self, places: &Places) -> Result<Option<String>> {
        let placeholders = places.placeholders(self);
        if let Some(name) = &self.prepare
            && let Some(problem) = run_preparation(places, name)?
        {
            return Ok(Some(problem));
        }
        let missing =
            self.needs.iter().map(|need| placeholders.fill(need)).find(|need| !is_there(need));
        let packages = match &self.packages[..] {
            [] => String::new(),
            packages => format!(": apt-get install {}", packages.join(" ")),
        };
        Ok(missing.map(|missing| format!("needs {missing}{packages}")))
    }
}

/// Builds the suite's own programs, as far as they have changed.
pub fn build_programs(places: &Places) -> Result<()> {
    let root = places.bench.parent().unwrap_or(Path::new("/"));
    let output = Command::new("make")
        .args(["--no-print-directory", "programs"])
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .context("cannot run make, to build the suite's programs")?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    bail!("cannot build the suite's programs: make programs\n{}", text.trim_end())
}

/// Runs a preparation, if it has not been run; gives its last words if it fails.
fn run_preparation(places: &Places, name: &str) -> Result<Option<String>> {
    let folder = places.data.join(name);
    if folder.exists() {
        return Ok(None);
    }
    let parent = places.data.display();
    fs::create_dir_all(&places.data).with_context(|| format!("cannot make {parent}"))?;
    let script = places.bench.join("prepare").join(format!("{name}.sh"));
    let output = Command::new(&script)
        .arg(&folder)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", script.display()))?;
    if output.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no word why");
    Ok(Some(format!("its preparation failed: {}", last.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Vec<RowDefinition>> {
        Ok(toml::from_str::<SuiteFile>(text)?.row)
    }

    const TWO: &str = r#"
        [[row]]
        name = "a"
        group = "g"
        title = "t"
        about = "x"
        command = "{programs}/a 10"
        quick = "{programs}/a 1"
        rounds = { full = 3, quick = 1 }
        metrics = [{ name = "rate", pattern = "([0-9]+)/s", unit = "/s", better = "higher" }]
        judged = ["rate"]
        [[row]]
        name = "b"
        group = "h"
        title = "t"
        about = "x"
        server = "s --port {port}"
        client = "c"
    "#;

    #[test]
    fn rows_are_chosen_by_name_and_by_group() {
        let chosen = choose(rows(TWO).expect("valid"), &["h".into()]).expect("known");
        assert_eq!(chosen.len(), 1);
        assert_eq!(chosen[0].name, "b");
        assert!(choose(rows(TWO).expect("valid"), &["c".into()]).is_err());
    }

    #[test]
    fn a_row_becomes_a_workload() {
        let rows = rows(TWO).expect("valid");
        let workload = rows[0].workload(true).expect("valid");
        assert_eq!(workload.kind.shown(), "{programs}/a 1");
        assert_eq!(workload.judged, ["rate"]);
        assert_eq!((rows[0].rounds(true), rows[0].rounds(false)), (Some(1), Some(3)));
        assert!(rows[0].is_in(true) && !rows[1].is_in(true));
    }

    #[test]
    fn an_unknown_field_or_metric_is_an_error() {
        assert!(rows(&TWO.replace("title", "titel")).is_err());
        let row =
            &rows(&TWO.replace(r#"judged = ["rate"]"#, r#"judged = ["x"]"#)).expect("valid")[0];
        let error = row.workload(true).err().expect("no such metric");
        assert_eq!(format!("{error:#}"), "suite.toml, row a: judged by \"x\", which is no metric");
    }

    #[test]
    fn the_suite_in_this_checkout_is_valid() {
        let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench");
        for row in read(&bench).expect("valid") {
            row.workload(false).expect("valid");
            if row.is_in(true) {
                row.workload(true).expect("valid");
            }
        }
    }
}
