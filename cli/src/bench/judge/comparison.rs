//! Results compared with one allocator's: what every table, page and plot shows.

use crate::bench::judge::results::{
    AllocatorRow, Better, Cell, Effect, Metric, Results, Row, metric,
};
use crate::bench::judge::statistics::{self, Finding, Pair, Ratio, Summary};
use anyhow::{Result, bail};

/// In which the metrics that every run has are shown; a row's own come before them.
const USUAL_ORDER: [&str; 9] = [
    metric::WALL,
    metric::USER,
    metric::SYSTEM,
    metric::CPU,
    metric::PEAK,
    metric::FAULTS_MINOR,
    metric::FAULTS_MAJOR,
    metric::SWITCHES_VOLUNTARY,
    metric::SWITCHES_INVOLUNTARY,
];

pub struct Comparison<'a> {
    pub results: &'a Results,
    /// The allocator that all others are compared with.
    pub baseline: &'a str,
    /// Those that took part, in the order of the tables; without limits.
    pub allocators: Vec<&'a AllocatorRow>,
    /// What none can beat: shown, never judged.
    pub limits: Vec<&'a AllocatorRow>,
    /// Those that were run.
    pub rows: Vec<ComparedRow<'a>>,
    pub totals: Vec<Total<'a>>,
}

pub struct ComparedRow<'a> {
    pub row: &'a Row,
    /// The judged ones first, in their order, then the others in the usual one.
    pub metrics: Vec<ComparedMetric<'a>>,
}

pub struct ComparedMetric<'a> {
    pub name: &'a str,
    pub metric: &'a Metric,
    pub is_judged: bool,
    /// One per allocator that took part, then one per limit.
    pub entries: Vec<Entry<'a>>,
}

pub struct Entry<'a> {
    pub allocator: &'a str,
    pub summary: Option<Summary>,
    /// The allocator over the baseline; only for judged metrics.
    pub ratio: Option<Ratio>,
    pub verdict: Verdict<'a>,
    /// Only some of the command's processes got this allocator.
    pub is_partial: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// Better than the baseline, by more than chance and by what matters.
    Better,
    Worse,
    Same,
    NoDifference,
    TooFew,
    /// A value of 0 on one side only.
    NoRatio,
    /// It is what the others are compared with.
    Baseline,
    /// It is a limit, or the metric is not judged.
    NotJudged,
    /// The allocator has no numbers.
    Failed(&'a str),
    /// The baseline has none.
    BaselineFailed(&'a str),
    /// Neither has a value of this metric.
    Missing,
}

/// What a metric costs; ratios of one aspect may be put into one mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aspect {
    Time,
    Memory,
    Other,
}

/// One allocator over all rows that both it and the baseline finished.
pub struct Total<'a> {
    pub allocator: &'a str,
    pub time: AspectTotal,
    pub memory: AspectTotal,
}

#[derive(Default)]
pub struct AspectTotal {
    /// The geometric mean of costs over the baseline's: above 1 takes more.
    pub mean: Option<Ratio>,
    pub row_count: usize,
    pub better: usize,
    pub worse: usize,
}

impl Metric {
    pub fn aspect(&self) -> Aspect {
        match self.unit.as_str() {
            "s" | "ms" | "us" | "µs" | "ns" | "/s" => Aspect::Time,
            "B" | "KiB" | "MiB" => Aspect::Memory,
            _ => Aspect::Other,
        }
    }
}

impl ComparedMetric<'_> {
    /// How much more the allocator takes than the baseline: above 1 it is worse, whether the
    /// metric is better low or high.
    pub fn cost(&self, entry: &Entry) -> Option<Ratio> {
        match self.metric.better {
            Better::Lower => entry.ratio,
            Better::Higher => entry.ratio.map(Ratio::inverse),
        }
    }

    /// Whether any allocator has a value.
    pub fn has_figures(&self) -> bool {
        self.entries.iter().any(|entry| entry.summary.is_some())
    }

    pub fn entry(&self, allocator: &str) -> Option<&Entry<'_>> {
        self.entries.iter().find(|entry| entry.allocator == allocator)
    }

    /// Whether a row's name alone does not say which metric this is.
    pub fn needs_naming(&self) -> bool {
        self.name != metric::WALL && self.name != metric::PEAK
    }
}

impl ComparedRow<'_> {
    /// The one that stands for the row in a mean.
    pub fn leading(&self, aspect: Aspect) -> Option<&ComparedMetric<'_>> {
        self.judged().find(|compared| compared.metric.aspect() == aspect)
    }

    pub fn judged(&self) -> impl Iterator<Item = &ComparedMetric<'_>> {
        self.metrics.iter().filter(|compared| compared.is_judged)
    }

    pub fn unjudged(&self) -> impl Iterator<Item = &ComparedMetric<'_>> {
        self.metrics.iter().filter(|compared| !compared.is_judged)
    }
}

impl<'a> Comparison<'a> {
    /// An error if no such allocator was measured.
    pub fn new(results: &'a Results, baseline: &str) -> Result<Comparison<'a>> {
        let took_part = |row: &&AllocatorRow| row.problem.is_none();
        let (limits, allocators): (Vec<_>, Vec<_>) =
            results.allocators.iter().filter(took_part).partition(|row| row.is_limit);
        let Some(found) = allocators.iter().find(|row| row.name == baseline) else {
            let names: Vec<&str> = allocators.iter().map(|row| row.name.as_str()).collect();
            bail!("{baseline} is none of the allocators measured: {}", names.join(", "));
        };
        let baseline = found.name.as_str();
        let shown: Vec<&AllocatorRow> = allocators.iter().chain(&limits).copied().collect();
        let rows = results
            .rows
            .iter()
            .filter(|row| row.skipped.is_none())
            .map(|row| compare_row(results, row, baseline, &shown))
            .collect();
        let mut comparison =
            Comparison { results, baseline, allocators, limits, rows, totals: Vec::new() };
        comparison.totals = comparison
            .allocators
            .iter()
            .filter(|row| row.name != baseline)
            .map(|row| Total {
                allocator: &row.name,
                time: comparison.total(&row.name, Aspect::Time),
                memory: comparison.total(&row.name, Aspect::Memory),
            })
            .collect();
        Ok(comparison)
    }

    /// The names of all that is held against the baseline: allocators, then limits.
    pub fn others(&self) -> Vec<&'a str> {
        let columns = self.allocators.iter().chain(&self.limits);
        columns.map(|row| row.name.as_str()).filter(|name| *name != self.baseline).collect()
    }

    pub fn is_suite(&self) -> bool {
        self.results.rows.len() > 1
    }

    fn total(&self, allocator: &str, aspect: Aspect) -> AspectTotal {
        let mut total = AspectTotal::default();
        let mut rows: Vec<Vec<Pair>> = Vec::new();
        for row in &self.rows {
            let Some(compared) = row.leading(aspect) else { continue };
            let Some(entry) = compared.entry(allocator) else { continue };
            total.better += usize::from(entry.verdict == Verdict::Better);
            total.worse += usize::from(entry.verdict == Verdict::Worse);
            if entry.ratio.is_some() {
                let pairs = row_pairs(row.row, compared.name, self.baseline, allocator);
                rows.push(match compared.metric.better {
                    Better::Lower => pairs,
                    Better::Higher => pairs.into_iter().map(Pair::inverse).collect(),
                });
            }
        }
        let names = ["geometric mean", self.baseline, allocator, aspect.name()];
        let seed = statistics::seed_for(self.results.seed, &names);
        total.row_count = rows.len();
        total.mean = statistics::geometric_mean(&rows, seed);
        total
    }
}

impl Aspect {
    pub fn name(self) -> &'static str {
        match self {
            Aspect::Time => "time",
            Aspect::Memory => "memory",
            Aspect::Other => "other",
        }
    }
}

impl Verdict<'_> {
    pub fn is_difference(self) -> bool {
        matches!(self, Verdict::Better | Verdict::Worse)
    }
}

fn compare_row<'a>(
    results: &'a Results,
    row: &'a Row,
    baseline: &'a str,
    shown: &[&'a AllocatorRow],
) -> ComparedRow<'a> {
    let named = |name: &'a String| row.metrics.get_key_value(name);
    let judged = row.judged.iter().filter_map(named).map(|pair| (pair, true));
    let mut others: Vec<_> =
        row.metrics.iter().filter(|(name, _)| !row.judged.contains(name)).collect();
    others.sort_by_key(|(name, _)| USUAL_ORDER.iter().position(|usual| usual == name));
    let compare = |((name, metric), is_judged): ((&'a String, &'a Metric), bool)| {
        let entry = |allocator: &&'a AllocatorRow| {
            let question = Question { results, row, name, metric, is_judged, baseline };
            question.answer(allocator)
        };
        let entries = shown.iter().map(entry).collect();
        ComparedMetric { name, metric, is_judged, entries }
    };
    let metrics = judged.chain(others.into_iter().map(|pair| (pair, false))).map(compare).collect();
    ComparedRow { row, metrics }
}

/// One metric of one row, to be compared for one allocator after another.
struct Question<'a> {
    results: &'a Results,
    row: &'a Row,
    name: &'a str,
    metric: &'a Metric,
    is_judged: bool,
    baseline: &'a str,
}

impl<'a> Question<'a> {
    fn answer(&self, allocator: &'a AllocatorRow) -> Entry<'a> {
        let cell = self.row.cell(&allocator.name);
        let values: Vec<f64> = cell
            .map_or(Vec::new(), |cell| cell.values(self.name).map(|(_, value)| value).collect());
        let mut entry = Entry {
            allocator: &allocator.name,
            summary: statistics::summary(&values),
            ratio: None,
            verdict: Verdict::NotJudged,
            is_partial: cell.is_some_and(|cell| matches!(cell.effect, Effect::Partial(_))),
        };
        if let Some(problem) = cell.and_then(|cell| cell.problem.as_deref()) {
            entry.verdict = Verdict::Failed(problem);
        } else if self.is_judged {
            self.judge(allocator, &mut entry);
        }
        entry
    }

    fn judge(&self, allocator: &'a AllocatorRow, entry: &mut Entry<'a>) {
        if allocator.name == self.baseline {
            entry.verdict = Verdict::Baseline;
            return;
        }
        if entry.summary.is_none() {
            entry.verdict = Verdict::Missing;
            return;
        }
        if let Some(problem) = self.row.cell(self.baseline).and_then(|cell| cell.problem.as_deref())
        {
            entry.verdict = Verdict::BaselineFailed(problem);
            return;
        }
        let names = [self.row.name.as_str(), self.name, self.baseline, allocator.name.as_str()];
        let seed = statistics::seed_for(self.results.seed, &names);
        let pairs = row_pairs(self.row, self.name, self.baseline, &allocator.name);
        let (ratio, finding) = statistics::compare(&pairs, seed);
        entry.ratio = ratio;
        if !allocator.is_limit {
            entry.verdict = verdict(finding, self.metric.better);
        }
    }
}

fn verdict<'a>(finding: Finding, better: Better) -> Verdict<'a> {
    match (finding, better) {
        (Finding::Lower, Better::Lower) | (Finding::Higher, Better::Higher) => Verdict::Better,
        (Finding::Lower, Better::Higher) | (Finding::Higher, Better::Lower) => Verdict::Worse,
        (Finding::Same, _) => Verdict::Same,
        (Finding::NoDifference, _) => Verdict::NoDifference,
        (Finding::TooFew, _) => Verdict::TooFew,
        (Finding::NoRatio, _) => Verdict::NoRatio,
    }
}

fn row_pairs(row: &Row, metric: &str, baseline: &str, candidate: &str) -> Vec<Pair> {
    let values = |name: &str| {
        let of_cell = |cell: &Cell| cell.values(metric).collect::<Vec<(usize, f64)>>();
        row.cell(name).map(of_cell).unwrap_or_default()
    };
    statistics::pairs(values(baseline).into_iter(), values(candidate).into_iter())
}
