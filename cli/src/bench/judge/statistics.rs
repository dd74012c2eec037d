//! What the numbers allow one to say: medians, ratios with intervals, verdicts.
//!
//! A ratio is the candidate's median over the baseline's, over the rounds that both finished. Runs
//! of one round were made next to each other and share the machine's mood, so rounds are resampled
//! whole. Its 95 % interval is
//!
//! - from `BOOTSTRAP_ROUNDS_MIN` rounds on, the percentile bootstrap over rounds, which outliers
//!   hardly move;
//! - below, Student's interval on the logarithms of the rounds' ratios: with so few rounds the
//!   bootstrap covers only 75 % (3 rounds) to 92 % (7 rounds) instead of 95 %.
//!
//! The tests at the end simulate how often the interval holds the truth, and how often a
//! difference is claimed where there is none.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::statistics::{Data, Distribution, OrderStatistics};

/// Below this many rounds nothing is claimed.
pub const ROUNDS_MIN: usize = 3;
/// From this many rounds on the interval is the bootstrap's.
pub const BOOTSTRAP_ROUNDS_MIN: usize = 8;
/// The same for the rows of a mean, where the bootstrap covers 90 % at 8 rows.
const BOOTSTRAP_ROWS_MIN: usize = 20;
/// The smallest difference that matters, as a share.
pub const DIFFERENCE_MIN: f64 = 0.02;
const RESAMPLES: usize = 2000;
/// What an interval leaves out on each side.
const TAIL: f64 = 0.025;

/// One metric of one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    pub median: f64,
    /// Half the distance between the quartiles: half of the runs lie about this near the median.
    pub spread: f64,
    pub lowest: f64,
    pub highest: f64,
    pub count: usize,
}

/// Two runs of one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    pub baseline: f64,
    pub candidate: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// The candidate over the baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    pub value: f64,
    /// Where 95 of 100 such measurements hold the truth; `None` with too few rounds.
    pub interval: Option<Interval>,
}

/// How the candidate's figure compares with the baseline's, whichever of them is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The whole interval lies below 1 by what matters.
    Lower,
    /// The whole interval lies above 1 by what matters.
    Higher,
    /// The whole interval lies nearer to 1 than what matters.
    Same,
    /// The interval allows for a difference and for none.
    NoDifference,
    TooFew,
    /// A value of 0, or none that can be divided.
    NoRatio,
}

impl Pair {
    /// For metrics that are better high: what a unit of it costs.
    pub fn inverse(self) -> Pair {
        Pair { baseline: self.baseline.recip(), candidate: self.candidate.recip() }
    }
}

impl Ratio {
    /// The same comparison seen from the other side.
    pub fn inverse(self) -> Ratio {
        let invert = |interval: Interval| Interval {
            low: interval.high.recip(),
            high: interval.low.recip(),
        };
        Ratio { value: self.value.recip(), interval: self.interval.map(invert) }
    }

    fn finding(&self) -> Finding {
        let most = 1.0 + DIFFERENCE_MIN;
        let least = most.recip();
        match self.interval {
            None => Finding::TooFew,
            Some(interval) if interval.low > most => Finding::Higher,
            Some(interval) if interval.high < least => Finding::Lower,
            Some(interval) if interval.low >= least && interval.high <= most => Finding::Same,
            Some(_) => Finding::NoDifference,
        }
    }
}

/// `None` without values.
pub fn summary(values: &[f64]) -> Option<Summary> {
    if values.is_empty() {
        return None;
    }
    let mut data = Data::new(values.to_vec());
    Some(Summary {
        median: data.median(),
        spread: data.interquartile_range() / 2.0,
        lowest: data.quantile(0.0),
        highest: data.quantile(1.0),
        count: values.len(),
    })
}

/// The rounds that both finished.
pub fn pairs(
    baseline: impl Iterator<Item = (usize, f64)>,
    candidate: impl Iterator<Item = (usize, f64)>,
) -> Vec<Pair> {
    let of_candidate: Vec<(usize, f64)> = candidate.collect();
    let pair_with = |(round, baseline): (usize, f64)| {
        let (_, candidate) = of_candidate.iter().find(|(other, _)| *other == round)?;
        Some(Pair { baseline, candidate: *candidate })
    };
    baseline.filter_map(pair_with).collect()
}

/// What may be said of one candidate. The same pairs and seed give the same answer.
pub fn compare(pairs: &[Pair], seed: u64) -> (Option<Ratio>, Finding) {
    if pairs.is_empty() {
        return (None, Finding::TooFew);
    }
    if pairs.iter().all(|pair| pair.baseline == 0.0 && pair.candidate == 0.0) {
        let enough = pairs.len() >= ROUNDS_MIN;
        return (None, if enough { Finding::Same } else { Finding::TooFew });
    }
    let ratio = ratio(pairs, seed);
    (ratio, ratio.map_or(Finding::NoRatio, |ratio| ratio.finding()))
}

/// `None` where a value is 0, negative or no number: what is divided must be positive.
pub fn ratio(pairs: &[Pair], seed: u64) -> Option<Ratio> {
    let is_positive = |value: f64| value.is_finite() && value > 0.0;
    let usable = |pair: &Pair| is_positive(pair.baseline) && is_positive(pair.candidate);
    if pairs.is_empty() || !pairs.iter().all(usable) {
        return None;
    }
    let value = ratio_of_medians(pairs.iter().copied());
    let interval = if pairs.len() < ROUNDS_MIN {
        None
    } else if pairs.len() < BOOTSTRAP_ROUNDS_MIN {
        let logs: Vec<f64> =
            pairs.iter().map(|pair| (pair.candidate / pair.baseline).ln()).collect();
        student_interval(logs)
    } else {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        let resampled =
            (0..RESAMPLES).map(|_| ratio_of_medians(resample(pairs, &mut generator))).collect();
        Some(percentile_interval(resampled))
    };
    // The mean of the rounds' ratios may lie away from the ratio of the medians.
    let interval = interval
        .map(|interval| Interval { low: interval.low.min(value), high: interval.high.max(value) });
    Some(Ratio { value, interval })
}

/// The geometric mean of the rows' ratios. Its interval says what other rows of this kind would
/// give: Student's for few rows; for many, rows are resampled, and rounds within them. None of the
/// rows may hold a value of 0.
pub fn geometric_mean(rows: &[Vec<Pair>], seed: u64) -> Option<Ratio> {
    let logs: Vec<f64> = rows
        .iter()
        .filter(|pairs| !pairs.is_empty())
        .map(|pairs| ratio_of_medians(pairs.iter().copied()).ln())
        .collect();
    if logs.is_empty() || !logs.iter().all(|log| log.is_finite()) {
        return None;
    }
    let value = mean(&logs).exp();
    let interval = if logs.len() < ROUNDS_MIN {
        None
    } else if logs.len() < BOOTSTRAP_ROWS_MIN {
        student_interval(logs)
    } else {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        let rows: Vec<&Vec<Pair>> = rows.iter().filter(|pairs| !pairs.is_empty()).collect();
        let mut resampled_mean = || {
            let chosen: Vec<&Vec<Pair>> = resample(&rows, &mut generator).collect();
            let log_of =
                |pairs: &&Vec<Pair>| ratio_of_medians(resample(pairs, &mut generator)).ln();
            mean(&chosen.iter().map(log_of).collect::<Vec<f64>>()).exp()
        };
        Some(percentile_interval((0..RESAMPLES).map(|_| resampled_mean()).collect()))
    };
    Some(Ratio { value, interval })
}

/// A seed for one comparison, so that it does not depend on which others are made.
pub fn seed_for(seed: u64, names: &[&str]) -> u64 {
    // FNV-1a, which stays the same from version to version.
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let bytes = names.iter().flat_map(|name| name.bytes().chain([0]));
    bytes.fold(seed ^ 0xcbf2_9ce4_8422_2325, step)
}

fn ratio_of_medians(pairs: impl Iterator<Item = Pair>) -> f64 {
    let (baseline, candidate): (Vec<f64>, Vec<f64>) =
        pairs.map(|pair| (pair.baseline, pair.candidate)).unzip();
    Data::new(candidate).median() / Data::new(baseline).median()
}

/// As many items as there are, drawn with return. There must be one.
fn resample<T: Copy>(items: &[T], generator: &mut ChaCha8Rng) -> impl Iterator<Item = T> {
    (0..items.len()).map(move |_| items[generator.random_range(0..items.len())])
}

fn percentile_interval(values: Vec<f64>) -> Interval {
    let mut data = Data::new(values);
    Interval { low: data.quantile(TAIL), high: data.quantile(1.0 - TAIL) }
}

/// Student's interval for the mean of the logarithms, as ratios.
fn student_interval(logs: Vec<f64>) -> Option<Interval> {
    let count = logs.len() as f64;
    let student = StudentsT::new(0.0, 1.0, count - 1.0).ok()?;
    let data = Data::new(logs);
    let half_width = student.inverse_cdf(1.0 - TAIL) * data.std_dev()? / count.sqrt();
    let mean = data.mean()?;
    Some(Interval { low: (mean - half_width).exp(), high: (mean + half_width).exp() })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
