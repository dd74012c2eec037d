//! `loam bench suite`.

use crate::arguments::BenchSuiteArguments;
use crate::bench::choice::{find_allocators, list_allocators, with_baseline};
use crate::bench::judge::known::{BUMP, LIVE, LOAM};
use crate::bench::judge::results::{Row, metric};
use crate::bench::measure::allocators::Allocator;
use crate::bench::measure::limits;
use crate::bench::measure::rounds::{Amount, Stop};
use crate::bench::measure::runner;
use crate::bench::measure::suite::{self, Places, RowDefinition};
use crate::bench::session::Session;
use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Instant;

const ROUNDS: usize = 5;

/// The allocators of a suite, of those that there are, unless told otherwise.
const QUICK: [&str; 7] =
    [LOAM, "glibc", "mimalloc", "rpmalloc", "snmalloc", "jemalloc", "tcmalloc"];
const FULL: [&str; 11] = [
    LOAM,
    "glibc",
    "mimalloc",
    "mimalloc2",
    "rpmalloc",
    "snmalloc",
    "jemalloc",
    "tcmalloc",
    "gperftools",
    "tbb",
    "scudo",
];

/// What the rows are measured with.
struct Suite<'a> {
    arguments: &'a BenchSuiteArguments,
    places: Places,
    allocators: Vec<Allocator>,
    limits: Vec<Allocator>,
}

pub fn run(arguments: &BenchSuiteArguments) -> Result<ExitCode> {
    let places = Places::locate(arguments.suite.as_deref())?;
    let rows = suite::choose(suite::read(&places.bench)?, &arguments.names)?;
    let rows: Vec<_> = rows.into_iter().filter(|row| row.is_in(arguments.quick)).collect();
    if arguments.packages {
        return list_packages(&rows);
    }
    if arguments.prepare {
        return prepare(&rows, &places);
    }
    let all = find_allocators(&arguments.measuring);
    if arguments.list {
        return list(&rows, &all);
    }
    if rows.is_empty() {
        bail!("none of these rows has a quick form: leave out --quick");
    }
    let allocators = choose_allocators(arguments, all)?;
    suite::build_programs(&places)?;
    let limits = limits::find(&places.programs);
    let suite = Suite { arguments, places, allocators, limits };
    let columns = [&suite.allocators[..], &suite.limits[..]].concat();
    let steps = rows.iter().map(|row| suite.steps(row)).sum();
    let measuring = &arguments.measuring;
    let mut session = Session::start(measuring, &columns, &arguments.baseline, steps)?;
    for row in &rows {
        match suite.measure(row, &mut session) {
            // The rows before it are printed and kept.
            Err(_) if runner::is_interrupted() && session.has_rows() => break,
            outcome => outcome?,
        }
        session.save()?;
        if runner::is_interrupted() {
            break;
        }
    }
    session.finish()
}

fn list(rows: &[RowDefinition], allocators: &[Allocator]) -> Result<ExitCode> {
    for row in rows {
        println!("{:<24} {:<10} {}", row.name, row.group, row.title);
    }
    println!();
    list_allocators(allocators)
}

/// Says what is there; fails if anything is missing.
fn prepare(rows: &[RowDefinition], places: &Places) -> Result<ExitCode> {
    suite::build_programs(places)?;
    let mut is_complete = true;
    for row in rows {
        let problem = row.prepare(places)?;
        is_complete &= problem.is_none();
        println!("{}: {}", row.name, problem.as_deref().unwrap_or("ready"));
    }
    Ok(ExitCode::from(u8::from(!is_complete)))
}

fn list_packages(rows: &[RowDefinition]) -> Result<ExitCode> {
    let packages: BTreeSet<&String> = rows.iter().flat_map(|row| &row.packages).collect();
    packages.iter().for_each(|package| println!("{package}"));
    Ok(ExitCode::SUCCESS)
}

fn choose_allocators(
    arguments: &BenchSuiteArguments,
    all: Vec<Allocator>,
) -> Result<Vec<Allocator>> {
    let measuring = &arguments.measuring;
    let usual: &[&str] = if arguments.quick { &QUICK } else { &FULL };
    let is_there = |name: &&str| all.iter().any(|allocator| allocator.name == **name);
    let added = measuring.allocators.iter().map(|(name, _)| name.as_str());
    let usual: Vec<String> =
        usual.iter().copied().filter(is_there).chain(added).map(str::to_owned).collect();
    let names = measuring.with.as_ref().unwrap_or(&usual);
    with_baseline(all, Some(names), &arguments.baseline)
}

impl Suite<'_> {
    fn rounds(&self, row: &RowDefinition) -> usize {
        self.arguments.runs.or(row.rounds(self.arguments.quick)).unwrap_or(ROUNDS)
    }

    /// The allocators of a row, the bump allocator included where it can run.
    fn allocators(&self, row: &RowDefinition) -> Vec<Allocator> {
        let bump = self.limits.iter().filter(|limit| row.bump && limit.name == BUMP);
        self.allocators.iter().chain(bump).cloned().collect()
    }

    fn steps(&self, row: &RowDefinition) -> usize {
        self.rounds(row) * self.allocators(row).len()
    }

    /// Measures a row, or keeps why it was left out.
    fn measure(&self, row: &RowDefinition, session: &mut Session) -> Result<()> {
        let start = Instant::now();
        session.progress.show(&row.name, "preparing");
        let workload = row.workload(self.arguments.quick)?;
        if let Some(reason) = row.prepare(&self.places)? {
            session.progress.line(&format!("{}: left out: {reason}", row.name));
            session.progress.drop_steps(self.steps(row));
            session.keep(left_out(&workload, reason));
            return Ok(());
        }
        let placeholders = self.places.placeholders(row);
        let counter = self.limits.iter().find(|limit| limit.name == LIVE);
        let judges_memory = workload.judged.iter().any(|name| name == metric::PEAK);
        let live = match counter.filter(|_| judges_memory) {
            Some(counter) => Some(limits::count_live(&workload, counter, &placeholders)?),
            None => None,
        };
        let time_limit = self.arguments.measuring.timeout.or(row.time_limit());
        let warmup = self.arguments.measuring.warmup;
        let amount = Amount { stop: Stop::Rounds(self.rounds(row)), warmup, time_limit };
        let measured = session.measure(&workload, &self.allocators(row), &placeholders, amount)?;
        for cell in measured.cells.iter_mut().filter(|cell| cell.allocator == BUMP) {
            // What never frees says nothing about memory.
            cell.runs.iter_mut().for_each(|run| run.values.retain(|name, _| name != metric::PEAK));
        }
        measured.cells.extend(live);
        keep_typical_samples(measured);
        let seconds = start.elapsed().as_secs_f64();
        session.progress.line(&format!("{}: measured in {seconds:.0} s", row.name));
        Ok(())
    }
}

/// Memory over time of all runs of a suite would be megabytes: the run of each allocator with the
/// median peak keeps its samples.
fn keep_typical_samples(row: &mut Row) {
    for cell in &mut row.cells {
        let mut peaks: Vec<(f64, usize)> = cell
            .runs
            .iter()
            .enumerate()
            .filter_map(|(index, run)| Some((*run.values.get(metric::PEAK)?, index)))
            .collect();
        peaks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let typical = peaks.get(peaks.len() / 2).map(|(_, index)| *index);
        for (index, run) in cell.runs.iter_mut().enumerate() {
            if Some(index) != typical {
                run.resident = None;
            }
        }
    }
}

fn left_out(workload: &crate::bench::measure::workload::Workload, reason: String) -> Row {
    Row {
        name: workload.name.clone(),
        group: workload.group.clone(),
        title: workload.title.clone(),
        about: workload.about.clone(),
        command: workload.kind.shown(),
        skipped: Some(reason),
        judged: workload.judged.clone(),
        metrics: workload.metrics(),
        cells: Vec::new(),
    }
}
