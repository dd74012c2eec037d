//! The question that a measurement was made for, answered in one sentence.

use crate::bench::judge::comparison::{
    Aspect, ComparedMetric, ComparedRow, Comparison, Entry, Verdict,
};
use crate::bench::judge::results::metric;
use crate::bench::judge::statistics::{Interval, Ratio};
use crate::bench::show::wording;
use crate::numbers;

/// `No allocator is faster than glibc beyond chance; loam has the smallest peak, 0.87 of glibc's.`
pub fn answer(comparison: &Comparison) -> String {
    let text = match comparison.rows.first() {
        None => "nothing was measured".into(),
        Some(row) if !comparison.is_suite() => of_row(comparison, row),
        Some(_) => of_suite(comparison),
    };
    let is_name = comparison.allocators.iter().any(|row| text.starts_with(&row.name));
    if is_name {
        return text + ".";
    }
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

fn of_row(comparison: &Comparison, row: &ComparedRow) -> String {
    let baseline = comparison.baseline;
    let names = |entry: &Entry| entry.allocator == baseline;
    let failed = row.judged().flat_map(|one| &one.entries).any(|entry| {
        names(entry) && matches!(entry.verdict, Verdict::Failed(_)) || is_incomparable(entry)
    });
    if failed {
        return format!("no answer: the runs under {baseline}, to compare with, failed");
    }
    if comparison.others().is_empty() {
        return format!("no answer: there is nothing to compare {baseline} with");
    }
    let entries = || row.judged().flat_map(|one| &one.entries);
    if !entries().any(|entry| is_judged(entry.verdict)) {
        return match entries().any(|entry| entry.verdict == Verdict::TooFew) {
            true => "no answer: too few runs to tell; make more, by --runs".into(),
            false => format!("no answer: the runs under all but {baseline} failed"),
        };
    }
    let clauses = row.judged().map(|compared| clause(baseline, compared));
    let mut clauses: Vec<String> = clauses.collect();
    // What was said of all allocators before need not be said in full again.
    for later in clauses.iter_mut().skip(1) {
        if let Some(rest) = later.strip_prefix("no allocator ") {
            *later = format!("none {rest}");
        }
    }
    clauses.join("; ")
}

fn is_incomparable(entry: &Entry) -> bool {
    matches!(entry.verdict, Verdict::BaselineFailed(_))
}

/// Who is best by one metric.
fn clause(baseline: &str, compared: &ComparedMetric) -> String {
    let judged = || compared.entries.iter().filter(|entry| is_judged(entry.verdict));
    let mut better: Vec<(&str, Ratio)> = judged()
        .filter(|entry| entry.verdict == Verdict::Better)
        .filter_map(|entry| Some((entry.allocator, compared.cost(entry)?)))
        .collect();
    better.sort_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
    let all_worse = judged().count() > 0 && judged().all(|entry| entry.verdict == Verdict::Worse);
    let (is_best, is_better) = words(compared.name);
    match better.first() {
        Some((name, cost)) => {
            let share = share(*cost, compared.name, baseline);
            let next = better[1..]
                .iter()
                .map(|(name, cost)| format!("{name} {}", numbers::ratio(cost.value)));
            let next: Vec<String> = next.collect();
            let next = match next.is_empty() {
                true => String::new(),
                false => format!(" (also {})", next.join(", ")),
            };
            format!("{name} {is_best}, {share}{next}")
        }
        None if all_worse => format!("{baseline} {is_best}"),
        None => format!("no allocator {is_better} {baseline} beyond chance"),
    }
}

fn is_judged(verdict: Verdict) -> bool {
    use Verdict::{Better, NoDifference, Same, Worse};
    matches!(verdict, Better | Worse | Same | NoDifference)
}

fn share(cost: Ratio, name: &str, baseline: &str) -> String {
    let what = match name {
        metric::WALL => " time",
        metric::PEAK => "",
        _ => " cost",
    };
    format!("{} of {baseline}'s{what}", numbers::ratio(cost.value))
}

/// How one speaks of a metric: who is best, and who is better than another.
fn words(name: &str) -> (String, String) {
    match name {
        metric::WALL => ("is the fastest".into(), "is faster than".into()),
        metric::PEAK => ("has the smallest peak".into(), "has a smaller peak than".into()),
        other => {
            let title = wording::title(other);
            (format!("is best by {title}"), format!("is better by {title} than"))
        }
    }
}

/// By the means over all rows.
fn of_suite(comparison: &Comparison) -> String {
    let baseline = comparison.baseline;
    let part = |aspect: Aspect| {
        let mut below: Vec<(&str, Ratio)> = comparison
            .totals
            .iter()
            .filter_map(|total| {
                let of_aspect = if aspect == Aspect::Time { &total.time } else { &total.memory };
                Some((total.allocator, of_aspect.mean?))
            })
            .filter(|(_, mean)| mean.interval.is_some_and(|Interval { high, .. }| high < 1.0))
            .collect();
        below.sort_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
        let what = aspect.name();
        match below.first() {
            Some((name, mean)) => format!(
                "{name} takes the least {what}, {}",
                numbers::ratio(mean.value) + " of " + baseline + "'s"
            ),
            None => format!("no allocator takes less {what} than {baseline} beyond chance"),
        }
    };
    let count = comparison.rows.len();
    format!("over {count} rows, {}; {}", part(Aspect::Time), part(Aspect::Memory))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::judge::results::{Cell, Results};
    use crate::bench::synthetic;

    fn with(change: impl Fn(&mut Cell)) -> String {
        let mut results: Results = synthetic::command(1);
        results.rows[0].cells.retain(|cell| ["glibc", "loam"].contains(&&*cell.allocator));
        results.allocators.retain(|row| ["glibc", "loam"].contains(&&*row.name));
        results.rows[0].cells.iter_mut().for_each(change);
        answer(&Comparison::new(&results, "glibc").expect("a baseline"))
    }

    /// Time and peak of loam, of glibc's.
    fn of_ratios(time: f64, peak: f64) -> String {
        with(|cell| {
            let (time, peak) = if cell.allocator == "loam" { (time, peak) } else { (1.0, 1.0) };
            for run in &mut cell.runs {
                let noise = 1.0 + run.round as f64 / 1e4;
                run.values.insert(metric::WALL.into(), time * noise);
                run.values.insert(metric::PEAK.into(), 1000.0 * peak * noise);
            }
        })
    }

    #[test]
    fn the_sentence_says_who_is_best_and_by_how_much() {
        assert_eq!(
            of_ratios(1.0, 0.87),
            "No allocator is faster than glibc beyond chance; loam has the smallest peak, 0.87 of \
             glibc's."
        );
        assert_eq!(
            of_ratios(0.5, 1.2),
            "loam is the fastest, 0.50 of glibc's time; glibc has the smallest peak."
        );
    }

    #[test]
    fn without_numbers_there_is_no_answer() {
        let fail = |name: &'static str| {
            move |cell: &mut Cell| {
                if cell.allocator == name {
                    cell.problem = Some("killed".into());
                }
            }
        };
        assert_eq!(
            with(fail("glibc")),
            "No answer: the runs under glibc, to compare with, failed."
        );
        assert_eq!(with(fail("loam")), "No answer: the runs under all but glibc failed.");
        let few = with(|cell| cell.runs.truncate(2));
        assert!(few.starts_with("No answer: too few runs to tell"), "{few}");
    }

    #[test]
    fn a_suite_is_answered_by_its_means() {
        let results = synthetic::suite(1);
        let text = answer(&Comparison::new(&results, "loam").expect("a baseline"));
        assert!(text.starts_with("Over 8 rows, ") && text.contains("memory"), "{text}");
    }
}
