//! One workload under all allocators, in rounds: in each, every allocator runs once, in random
//! order, so that whatever else happens on the machine strikes all alike.

use crate::bench::judge::known::is_system;
use crate::bench::judge::results::{Cell, Effect, Row, Run};
use crate::bench::measure::allocators::Allocator;
use crate::bench::measure::command_line::Placeholders;
use crate::bench::measure::effect::{self, Trial};
use crate::bench::measure::progress::Progress;
use crate::bench::measure::runner::{self, RunError};
use crate::bench::measure::workload::Workload;
use anyhow::{Context, Result};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Amount {
    pub stop: Stop,
    /// Rounds before the first that counts.
    pub warmup: usize,
    /// A run that takes longer has failed. Without it the limit is taken from the first run.
    pub time_limit: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
pub enum Stop {
    Rounds(usize),
    /// No round is begun that would, by the length of those before, end later than this.
    After(Duration),
}

/// With a limit on time there are still this many rounds: with fewer nothing can be told.
const ROUNDS_MIN: usize = 3;
/// The first run of all, by which the others are limited, may take this long.
const FIRST_LIMIT: Duration = Duration::from_secs(3600);
/// A run that takes so many times as long as the first one hangs.
const LIMIT_FACTOR: u32 = 20;
const LIMIT_MIN: Duration = Duration::from_secs(20);
/// An allocator under which so many runs have failed is not tried again.
const FAILURES_MAX: usize = 2;

pub struct Measurement<'a> {
    pub workload: &'a Workload,
    pub allocators: &'a [Allocator],
    pub placeholders: &'a Placeholders,
    pub amount: Amount,
    pub random: &'a mut ChaCha8Rng,
    pub progress: &'a Progress,
}

/// A cell in the making.
struct Candidate {
    allocator: Allocator,
    effect: Effect,
    /// Why it does not take part, before any run.
    obstacle: Option<String>,
    runs: Vec<Run>,
}

impl Candidate {
    fn failures(&self) -> usize {
        self.runs.iter().filter(|run| run.problem.is_some()).count()
    }

    fn takes_part(&self) -> bool {
        self.obstacle.is_none() && self.failures() < FAILURES_MAX
    }

    fn note_strangers(&mut self, strangers: Vec<String>) {
        if strangers.is_empty() {
            return;
        }
        match &mut self.effect {
            Effect::Partial(texts) => {
                for text in strangers {
                    let executable = text.split(' ').next().unwrap_or_default().to_owned();
                    if texts.iter().all(|known| !known.starts_with(&executable)) {
                        texts.push(text);
                    }
                }
            }
            effect => *effect = Effect::Partial(strangers),
        }
    }

    fn into_cell(self) -> Cell {
        let failed = self.failures();
        let first = self.runs.iter().find_map(|run| run.problem.clone());
        let problem = self.obstacle.or_else(|| {
            let first = first?;
            Some(match self.runs.len() {
                1 => first,
                runs => format!("{failed} of {runs} runs: {first}"),
            })
        });
        let allocator = self.allocator.name.clone();
        Cell { allocator, effect: self.effect, problem, runs: self.runs }
    }
}

impl<'a> Measurement<'a> {
    /// Measures; the row has a cell for each allocator, whatever became of it.
    pub fn run(mut self) -> Result<Row> {
        let mut candidates = self.tried()?;
        let time_limit = self.warm_up(&mut candidates)?;
        for _ in 0..self.amount.warmup {
            self.warm_up_all(&mut candidates, time_limit)?;
        }
        let rounds_start = Instant::now();
        let mut round = 0;
        while self.has_time_for(round, rounds_start) && candidates.iter().any(Candidate::takes_part)
        {
            match self.round(round, &mut candidates, time_limit) {
                // What was measured before an interruption counts.
                Err(_) if round > 0 && runner::is_interrupted() => break,
                outcome => outcome?,
            }
            round += 1;
        }
        let workload = self.workload;
        Ok(Row {
            name: workload.name.clone(),
            group: workload.group.clone(),
            title: workload.title.clone(),
            about: workload.about.clone(),
            command: workload.kind.shown(),
            skipped: None,
            judged: workload.judged.clone(),
            metrics: workload.metrics(),
            cells: candidates.into_iter().map(Candidate::into_cell).collect(),
        })
    }

    /// Whether each allocator takes effect.
    fn tried(&self) -> Result<Vec<Candidate>> {
        let command = self.placeholders.fill_words(self.workload.kind.measured());
        let variable = |(name, value): (&String, &String)| {
            (OsString::from(name), OsString::from(self.placeholders.fill(value)))
        };
        let environment: Vec<_> = self.workload.environment.iter().map(variable).collect();
        let mut candidates = Vec::new();
        for mut allocator in self.allocators.iter().cloned() {
            let mut trial = match &allocator.problem {
                Some(problem) => Trial::NoEffect(problem.clone()),
                None => effect::trial(&command, &environment, &allocator)?,
            };
            if let Trial::Behind(libc) = trial {
                allocator.library = Some(libc);
                trial = effect::trial(&command, &environment, &allocator)?;
            }
            let (effect, obstacle) = match trial {
                Trial::Works | Trial::Behind(_) => (Effect::Full, None),
                Trial::Partly(text) => (Effect::Partial(vec![text]), None),
                Trial::NoEffect(text) => (Effect::Unchecked, Some(text)),
            };
            candidates.push(Candidate { allocator, effect, obstacle, runs: Vec::new() });
        }
        Ok(candidates)
    }

    /// A run that is not counted: what it warms, files mostly, is then warm for all. Gives the
    /// time limit for those that follow. It is made under the system's own allocator, as the one
    /// that the program surely works with.
    fn warm_up(&mut self, candidates: &mut [Candidate]) -> Result<Duration> {
        let limit = self.amount.time_limit;
        let mut able: Vec<&mut Candidate> =
            candidates.iter_mut().filter(|candidate| candidate.takes_part()).collect();
        able.sort_by_key(|candidate| !is_system(&candidate.allocator.name));
        // Where one round is wanted, so is little else.
        if matches!(self.amount.stop, Stop::Rounds(1)) {
            return Ok(limit.unwrap_or(FIRST_LIMIT));
        }
        for candidate in able {
            let start = Instant::now();
            let one = self.one(candidate, 0, limit.unwrap_or(FIRST_LIMIT))?;
            match one.problem {
                Some(problem) => candidate.obstacle = Some(problem),
                None => {
                    let usual = (start.elapsed() * LIMIT_FACTOR).max(LIMIT_MIN);
                    return Ok(limit.unwrap_or(usual));
                }
            }
        }
        Ok(limit.unwrap_or(LIMIT_MIN))
    }

    /// A round that is not counted, whatever becomes of its runs.
    fn warm_up_all(&self, candidates: &mut [Candidate], time_limit: Duration) -> Result<()> {
        candidates
            .iter_mut()
            .filter(|candidate| candidate.takes_part())
            .try_for_each(|candidate| self.one(candidate, 0, time_limit).map(drop))
    }

    fn has_time_for(&self, round: usize, start: Instant) -> bool {
        match self.amount.stop {
            Stop::Rounds(rounds) => round < rounds,
            Stop::After(time) => {
                let done = u32::try_from(round).unwrap_or(u32::MAX).max(1);
                let elapsed = start.elapsed();
                round < ROUNDS_MIN || elapsed + elapsed / done <= time
            }
        }
    }

    fn round(
        &mut self,
        round: usize,
        candidates: &mut [Candidate],
        time_limit: Duration,
    ) -> Result<()> {
        let mut order: Vec<&mut Candidate> = candidates.iter_mut().collect();
        order.shuffle(self.random);
        for candidate in order {
            if candidate.takes_part() {
                let run = self.one(candidate, round, time_limit)?;
                candidate.runs.push(run);
            }
            self.progress.step();
        }
        Ok(())
    }

    fn one(&self, candidate: &mut Candidate, round: usize, time_limit: Duration) -> Result<Run> {
        let name = &candidate.allocator.name;
        self.progress.show(&self.workload.name, name);
        match runner::run(self.workload, &candidate.allocator, self.placeholders, time_limit) {
            Ok(outcome) => {
                candidate.note_strangers(outcome.strangers);
                let resident = Some(outcome.resident);
                Ok(Run { round, values: outcome.values, resident, problem: None })
            }
            Err(RunError::Failed(how)) => {
                Ok(Run { round, values: [].into(), resident: None, problem: Some(how) })
            }
            Err(RunError::Broken(cause)) => {
                Err(cause).with_context(|| format!("{} under {name}", self.workload.name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(allocator: &Allocator, problems: &[Option<&str>]) -> Cell {
        let run = |(round, problem): (usize, &Option<&str>)| Run {
            round,
            values: [].into(),
            resident: None,
            problem: problem.map(str::to_owned),
        };
        let runs = problems.iter().enumerate().map(run).collect();
        Candidate { allocator: allocator.clone(), effect: Effect::Full, obstacle: None, runs }
            .into_cell()
    }

    #[test]
    fn one_failed_run_is_the_cells_problem() {
        let allocator = Allocator::default();
        assert_eq!(candidate(&allocator, &[None, None]).problem, None);
        let problem = candidate(&allocator, &[None, Some("killed by SIGSEGV"), None]).problem;
        assert_eq!(problem.as_deref(), Some("1 of 3 runs: killed by SIGSEGV"));
    }
}
