//! What is claimed of made-up measurements whose truth is known.

use super::*;
use noise::Noise;

/// Noise by the Box-Muller transform, so that the tests need no further crate.
mod noise {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    pub struct Noise(ChaCha8Rng);

    impl Noise {
        pub fn new(seed: u64) -> Self {
            Noise(ChaCha8Rng::seed_from_u64(seed))
        }

        pub fn normal(&mut self) -> f64 {
            let radius = (-2.0 * (1.0 - self.0.random::<f64>()).ln()).sqrt();
            radius * (std::f64::consts::TAU * self.0.random::<f64>()).cos()
        }

        pub fn happens(&mut self, probability: f64) -> bool {
            self.0.random::<f64>() < probability
        }
    }
}

/// A machine's noise: of each run, of each round, and now and then a run half as long again.
#[derive(Debug, Clone, Copy)]
struct Machine {
    run: f64,
    round: f64,
    outliers: f64,
}

const MACHINES: [Machine; 5] = [
    Machine { run: 0.01, round: 0.0, outliers: 0.0 },
    Machine { run: 0.02, round: 0.05, outliers: 0.0 },
    Machine { run: 0.02, round: 0.02, outliers: 0.1 },
    Machine { run: 0.05, round: 0.1, outliers: 0.05 },
    Machine { run: 0.1, round: 0.1, outliers: 0.1 },
];

fn measure(machine: Machine, rounds: usize, truth: f64, noise: &mut Noise) -> Vec<Pair> {
    let run = |base: f64, noise: &mut Noise| {
        let outlier = if noise.happens(machine.outliers) { 1.5 } else { 1.0 };
        base * (machine.run * noise.normal()).exp() * outlier
    };
    let round = |_| {
        let shared = (machine.round * noise.normal()).exp();
        Pair { baseline: run(shared, noise), candidate: run(shared * truth, noise) }
    };
    (0..rounds).map(round).collect()
}

/// Of that many measurements: the shares whose interval holds the truth, and of each finding.
struct Shares {
    covered: f64,
    claimed: f64,
    found_higher: f64,
}

fn shares(machine: Machine, rounds: usize, truth: f64, measurements: usize) -> Shares {
    let mut noise = Noise::new(rounds as u64);
    let mut counts = [0_usize; 3];
    for seed in 0..measurements {
        let (ratio, finding) = compare(&measure(machine, rounds, truth, &mut noise), seed as u64);
        let interval = ratio.and_then(|ratio| ratio.interval).expect("enough rounds");
        counts[0] += usize::from(interval.low <= truth && truth <= interval.high);
        counts[1] += usize::from(matches!(finding, Finding::Lower | Finding::Higher));
        counts[2] += usize::from(finding == Finding::Higher);
    }
    let share = |count: usize| count as f64 / measurements as f64;
    Shares { covered: share(counts[0]), claimed: share(counts[1]), found_higher: share(counts[2]) }
}

#[test]
fn intervals_hold_the_truth_and_equals_are_not_told_apart() {
    hold_the_truth(&[(3, 1000), (8, 100)], 0.91);
}

#[test]
#[ignore = "long: more measurements, and more rounds"]
fn intervals_hold_the_truth_in_many_measurements() {
    // 300 measurements of 95 % leave a standard error of 1.3 %.
    hold_the_truth(&[(3, 2000), (5, 2000), (8, 300), (10, 300), (20, 300)], 0.91);
}

/// For each number of rounds, of that many measurements.
fn hold_the_truth(sizes: &[(usize, usize)], covered_min: f64) {
    for machine in MACHINES {
        for &(rounds, measurements) in sizes {
            let equal = shares(machine, rounds, 1.0, measurements);
            eprintln!("{machine:?} {rounds}: {:.3} {:.3}", equal.covered, equal.claimed);
            assert!(equal.covered >= covered_min, "{machine:?} {rounds}: covers {}", equal.covered);
            assert!(equal.claimed <= 0.05, "{machine:?} {rounds}: claims {}", equal.claimed);
        }
    }
}

#[test]
fn five_percent_are_found_in_ten_rounds_of_two_percent_noise() {
    let machine = Machine { run: 0.02, round: 0.02, outliers: 0.0 };
    let shares = shares(machine, 10, 1.05, 100);
    assert!(shares.found_higher > 0.6, "found {}", shares.found_higher);
    assert!((shares.claimed - shares.found_higher).abs() < 1e-9, "the wrong way round");
}

#[test]
fn ten_percent_are_found_in_five_rounds_of_two_percent_noise() {
    let machine = Machine { run: 0.02, round: 0.05, outliers: 0.0 };
    assert!(shares(machine, 5, 1.10, 500).found_higher > 0.9);
}

#[test]
fn a_difference_below_what_matters_is_never_claimed() {
    let machine = Machine { run: 0.01, round: 0.0, outliers: 0.0 };
    assert!(shares(machine, 20, 1.015, 40).claimed < 0.01);
}

fn constant(baseline: f64, candidate: f64, rounds: usize) -> Vec<Pair> {
    vec![Pair { baseline, candidate }; rounds]
}

#[test]
fn constants_and_zeros_do_not_divide_by_zero() {
    assert_eq!(compare(&constant(0.0, 0.0, 5), 1), (None, Finding::Same));
    assert_eq!(compare(&constant(0.0, 3.0, 5), 1), (None, Finding::NoRatio));
    assert_eq!(compare(&constant(3.0, 0.0, 5), 1), (None, Finding::NoRatio));
    assert_eq!(compare(&constant(f64::NAN, 1.0, 5), 1).1, Finding::NoRatio);
    for rounds in [3, 10] {
        let (ratio, finding) = compare(&constant(100.0, 100.0, rounds), 1);
        assert_eq!(finding, Finding::Same);
        assert_eq!(ratio.map(|ratio| ratio.value), Some(1.0));
        assert_eq!(compare(&constant(100.0, 110.0, rounds), 1).1, Finding::Higher);
        assert_eq!(compare(&constant(110.0, 100.0, rounds), 1).1, Finding::Lower);
    }
}

#[test]
fn two_rounds_are_too_few() {
    let (ratio, finding) = compare(&constant(1.0, 2.0, 2), 1);
    assert_eq!(finding, Finding::TooFew);
    assert_eq!(ratio, Some(Ratio { value: 2.0, interval: None }));
    assert_eq!(compare(&[], 1), (None, Finding::TooFew));
}

#[test]
fn the_same_seed_gives_the_same_interval() {
    let measured = measure(MACHINES[3], 12, 1.1, &mut Noise::new(7));
    assert_eq!(ratio(&measured, 5), ratio(&measured, 5));
    assert_ne!(ratio(&measured, 5), ratio(&measured, 6));
    assert_eq!(seed_for(1, &["a", "b"]), seed_for(1, &["a", "b"]));
    assert_ne!(seed_for(1, &["a", "b"]), seed_for(1, &["ab", ""]));
}

#[test]
fn only_rounds_that_both_finished_are_paired() {
    let baseline = [(0, 1.0), (1, 2.0), (3, 4.0)];
    let candidate = [(3, 40.0), (1, 20.0), (2, 30.0)];
    let paired = pairs(baseline.into_iter(), candidate.into_iter());
    let expected = [(2.0, 20.0), (4.0, 40.0)];
    let found: Vec<(f64, f64)> = paired.iter().map(|p| (p.baseline, p.candidate)).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_spread_is_half_the_distance_of_the_quartiles() {
    let summary = summary(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0]).expect("values");
    assert!((summary.median - 4.5).abs() < 1e-9);
    assert!((1.5..3.0).contains(&summary.spread), "{}", summary.spread);
    assert_eq!(super::summary(&[5.0]).map(|one| one.spread), Some(0.0));
    assert_eq!(super::summary(&[]), None);
}

#[test]
fn the_geometric_mean_is_that_of_the_rows() {
    let rows: Vec<Vec<Pair>> = (0..10)
        .map(|row| constant(1.0, if row % 2 == 0 { 2.0 } else { 0.5 }, 5))
        .chain([Vec::new()])
        .collect();
    let mean = geometric_mean(&rows, 3).expect("rows");
    assert!((mean.value - 1.0).abs() < 1e-9);
    let interval = mean.interval.expect("ten rows");
    assert!(interval.low > 0.5 && interval.low < 1.0);
    assert!(interval.high < 2.0 && interval.high > 1.0);
    assert_eq!(geometric_mean(&rows[..2], 3).and_then(|mean| mean.interval), None);
    assert_eq!(geometric_mean(&[], 3), None);
    let inverse = mean.inverse();
    assert!((inverse.value * mean.value - 1.0).abs() < 1e-9);
}

#[test]
fn the_interval_of_the_mean_holds_what_other_rows_would_give() {
    mean_holds_the_truth(&[(4, 200), (8, 200)]);
}

#[test]
#[ignore = "long: more measurements, and more rows"]
fn intervals_of_the_mean_hold_the_truth_in_many_measurements() {
    mean_holds_the_truth(&[(4, 200), (8, 200), (20, 200), (40, 200)]);
}

/// Rows whose true ratios lie about a true mean, as widely as in a real suite: for each number of
/// rows, of that many measurements.
fn mean_holds_the_truth(sizes: &[(usize, usize)]) {
    const MEAN: f64 = 1.2;
    let machine = Machine { run: 0.02, round: 0.05, outliers: 0.05 };
    for &(rows, measurements) in sizes {
        let mut noise = Noise::new(rows as u64);
        let mut covered = 0;
        for seed in 0..measurements {
            let measured: Vec<Vec<Pair>> = (0..rows)
                .map(|_| {
                    let truth = MEAN * (0.3 * noise.normal()).exp();
                    measure(machine, 5, truth, &mut noise)
                })
                .collect();
            let mean = geometric_mean(&measured, seed as u64).expect("rows");
            let interval = mean.interval.expect("enough rows");
            covered += usize::from(interval.low <= MEAN && MEAN <= interval.high);
        }
        let share = covered as f64 / measurements as f64;
        eprintln!("mean of {rows} rows: {share:.3}");
        assert!(share >= 0.90, "{rows} rows: covers {share}");
    }
}
