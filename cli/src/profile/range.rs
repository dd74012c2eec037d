//! How far off an estimate may be by chance.

use crate::profile::written::Sum;

/// Between these a sum's bytes are, in 95 of 100 cases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

/// So many standard deviations are 95 %.
const DEVIATIONS: f64 = 1.96;

impl Range {
    /// `None` if the sum is exact. As if it was of equal samples that are rare, a Poisson number;
    /// the bounds of that are by Wilson and Hilferty's approximation of the chi-square distribution.
    pub fn of(sum: &Sum) -> Option<Range> {
        let (bytes, deviation) = (sum.bytes as f64, sum.variance.sqrt());
        if deviation < 0.5 {
            return None;
        }
        if bytes <= 0.0 {
            return Some(Range::around(sum));
        }
        let samples = (bytes / deviation).powi(2);
        let bound = |count: f64, deviations: f64| {
            count * (1.0 - 1.0 / (9.0 * count) + deviations / (3.0 * count.sqrt())).max(0.0).powi(3)
        };
        Some(Range {
            low: bytes * bound(samples, -DEVIATIONS) / samples,
            high: bytes * bound(samples + 1.0, DEVIATIONS) / samples,
        })
    }

    /// Of a difference, which may be less than nothing.
    pub fn around(sum: &Sum) -> Range {
        let (bytes, off) = (sum.bytes as f64, DEVIATIONS * sum.variance.sqrt());
        Range { low: bytes - off, high: bytes + off }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(samples: i64) -> Range {
        let bytes = samples * 1000;
        let variance = samples as f64 * 1e6;
        Range::of(&Sum { bytes, samples, variance, ..Sum::default() }).expect("an estimate")
    }

    /// By tables of the exact bounds of a Poisson number.
    #[test]
    fn few_samples_say_little_and_many_much() {
        for (samples, low, high) in
            [(1, 25.3, 5572.0), (4, 1090.0, 10242.0), (50, 37111.0, 65918.0)]
        {
            let range = range(samples);
            let near = |value: f64, exact: f64| (value - exact).abs() < exact.max(1000.0) * 0.02;
            assert!(near(range.low, low) && near(range.high, high), "{samples}: {range:?}");
        }
    }

    #[test]
    fn what_every_block_is_a_sample_of_is_exact() {
        let sum = Sum { count: 3, bytes: 3000, samples: 3, variance: 0.0 };
        assert_eq!(Range::of(&sum), None);
    }
}
