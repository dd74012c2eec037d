//! One measurement, from its start to what is printed and kept.

use crate::arguments::MeasuringArguments;
use crate::bench::judge::comparison::Comparison;
use crate::bench::judge::known::LOAM;
use crate::bench::judge::results::{Results, Row, SCHEMA};
use crate::bench::measure::allocators::{self, Allocator};
use crate::bench::measure::command_line::Placeholders;
use crate::bench::measure::machine::{self, Moment};
use crate::bench::measure::progress::Progress;
use crate::bench::measure::rounds::{Amount, Measurement};
use crate::bench::measure::workload::Workload;
use crate::bench::show::export;
use crate::bench::show::form::Form;
use crate::bench::show::table::Style;
use crate::replace::{self, Target};
use anyhow::{Context, Result, bail};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Instant, SystemTime};

pub struct Session<'a> {
    arguments: &'a MeasuringArguments,
    baseline: &'a str,
    results: Results,
    random: ChaCha8Rng,
    start: Instant,
    processor_start: Option<Moment>,
    pub progress: Progress,
}

impl<'a> Session<'a> {
    /// `allocators`: the columns, limits included. `steps`: runs to be made, if that is known.
    pub fn start(
        arguments: &'a MeasuringArguments,
        allocators: &[Allocator],
        baseline: &'a str,
        steps: usize,
    ) -> Result<Self> {
        check_used(&arguments.allocators, allocators)?;
        let exported = export::files(&arguments.export);
        let json = arguments.json.as_deref().filter(|path| !is_standard_output(path));
        for path in json.into_iter().chain(exported) {
            check_writable(path)?;
        }
        let results = Results {
            schema: SCHEMA,
            loam: env!("CARGO_PKG_VERSION").into(),
            commit: allocators::commit(),
            command: std::env::args().collect(),
            started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            seconds: 0.0,
            seed: arguments.seed,
            machine: machine::describe(),
            allocators: allocators.iter().map(Allocator::row).collect(),
            rows: Vec::new(),
            parts: Vec::new(),
        };
        Ok(Session {
            arguments,
            baseline,
            results,
            random: ChaCha8Rng::seed_from_u64(arguments.seed),
            start: Instant::now(),
            processor_start: machine::now(),
            progress: Progress::new(steps),
        })
    }

    /// Measures the allocators on a workload, and keeps the row.
    pub fn measure(
        &mut self,
        workload: &Workload,
        allocators: &[Allocator],
        placeholders: &Placeholders,
        amount: Amount,
    ) -> Result<&mut Row> {
        let measurement = Measurement {
            workload,
            allocators,
            placeholders,
            amount,
            random: &mut self.random,
            progress: &self.progress,
        };
        let row = measurement.run()?;
        Ok(self.keep(row))
    }

    pub fn keep(&mut self, row: Row) -> &mut Row {
        self.results.rows.push(row);
        let last = self.results.rows.len() - 1;
        &mut self.results.rows[last]
    }

    pub fn has_rows(&self) -> bool {
        !self.results.rows.is_empty()
    }

    /// Writes what there is so far, so that a long measurement is not lost.
    pub fn save(&mut self) -> Result<()> {
        self.results.seconds = self.start.elapsed().as_secs_f64();
        let now = machine::now();
        self.results.machine.taken_by_others = self
            .processor_start
            .zip(now)
            .and_then(|(start, now)| machine::taken_by_others(start, now));
        match &self.arguments.json {
            Some(path) if !is_standard_output(path) => replace::file(path, &self.json()?),
            _ => Ok(()),
        }
    }

    fn json(&self) -> Result<String> {
        serde_json::to_string(&self.results).context("cannot write JSON")
    }

    /// Prints the results and writes what was asked for.
    pub fn finish(mut self) -> Result<ExitCode> {
        self.progress.finish();
        self.save()?;
        let comparison = Comparison::new(&self.results, self.baseline)?;
        let text = match &self.arguments.json {
            Some(path) if is_standard_output(path) => self.json()? + "\n",
            _ => Style::of_stdout().show(&comparison)?,
        };
        let written = std::io::stdout().write_all(text.as_bytes());
        written.context("cannot write to standard output")?;
        export::export(&self.arguments.export, &comparison)?;
        Ok(self.status())
    }

    fn status(&self) -> ExitCode {
        let matters = |name: &str| name == LOAM || name == self.baseline;
        let failed = self
            .results
            .rows
            .iter()
            .flat_map(|row| &row.cells)
            .any(|cell| matters(&cell.allocator) && cell.problem.is_some());
        ExitCode::from(u8::from(failed))
    }
}

/// Who adds an allocator wants it compared.
fn check_used(added: &[(String, PathBuf)], allocators: &[Allocator]) -> Result<()> {
    let takes_part = |name: &str| allocators.iter().any(|allocator| allocator.name == name);
    match added.iter().find(|(name, _)| !takes_part(name)) {
        Some((name, path)) => bail!(
            "--allocator {name}={}: {name} takes no part: name it in --with, too, or leave that out",
            path.display()
        ),
        None => Ok(()),
    }
}

fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// A long measurement must not end in a file that cannot be written.
fn check_writable(path: &Path) -> Result<()> {
    let Target::File(path) = Target::of(path) else { return Ok(()) };
    let folder = folder_of(&path);
    // Its own text would name a file that only it knows.
    let without_name = |cause: std::io::Error| std::io::Error::from(cause.kind());
    tempfile::tempfile_in(folder)
        .map(drop)
        .map_err(without_name)
        .with_context(|| format!("cannot write to {}", folder.display()))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
