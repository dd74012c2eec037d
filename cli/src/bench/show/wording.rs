//! Verdicts and metrics in words that leave no doubt which way round they are meant.

use crate::bench::judge::comparison::{ComparedMetric, ComparedRow, Comparison, Entry, Verdict};
use crate::bench::judge::results::{Better, Metric, Results, metric};
use crate::bench::judge::statistics::Ratio;
use crate::numbers;

/// A ratio from here on is told as a multiple, not in percent.
const MULTIPLE_MIN: f64 = 2.0;

/// What a metric is called in tables.
pub fn title(name: &str) -> &str {
    match name {
        metric::WALL => "wall time",
        metric::USER => "user time",
        metric::SYSTEM => "system time",
        metric::CPU => "CPU time",
        metric::PEAK => "peak memory",
        other => other,
    }
}

/// What there is less or more of.
fn amount_of(name: &str) -> &str {
    match name {
        metric::WALL => "time",
        metric::PEAK => "memory",
        other => title(other),
    }
}

/// The same where the interval stands beside it: `12 % less time`.
pub fn short_verdict(entry: &Entry, name: &str, metric: &Metric) -> String {
    let ratio = entry.ratio.map(|ratio| Ratio { interval: None, ..ratio });
    match (entry.verdict, ratio) {
        (Verdict::Better | Verdict::Worse, Some(ratio)) => change(ratio, name, metric),
        _ => verdict(entry, name, metric),
    }
}

/// The verdict on one entry, such as `12 % less time (8.0 to 15 %)`.
pub fn verdict(entry: &Entry, name: &str, metric: &Metric) -> String {
    match entry.verdict {
        Verdict::Better | Verdict::Worse => {
            let change = entry.ratio.map(|ratio| change(ratio, name, metric));
            let word = match (name, entry.verdict) {
                (metric::WALL, Verdict::Better) => "faster: ",
                (metric::WALL, _) => "slower: ",
                _ => "",
            };
            format!("{word}{}", change.unwrap_or_default())
        }
        Verdict::Same => "the same within 2 %".into(),
        Verdict::NoDifference => "no difference seen".into(),
        Verdict::TooFew => "too few runs to tell".into(),
        Verdict::NoRatio => "no ratio: one of them has values of 0".into(),
        Verdict::Baseline => "the baseline".into(),
        Verdict::NotJudged => "a limit, not judged".into(),
        // How, a note says, once for all metrics.
        Verdict::Failed(_) => "failed".into(),
        Verdict::BaselineFailed(_) => "nothing to compare with".into(),
        Verdict::Missing => "not measured".into(),
    }
}

/// `12 % less time (8.0 to 15 %)`, `2.10 times the time (2.00 to 2.31)`.
fn change(ratio: Ratio, name: &str, metric: &Metric) -> String {
    let what = amount_of(name);
    if ratio.value >= MULTIPLE_MIN {
        let range = range(ratio, numbers::ratio);
        return format!("{} times the {what}{range}", numbers::ratio(ratio.value));
    }
    let range = match ratio.interval {
        None => String::new(),
        Some(interval) => {
            let mut ends = [(interval.low - 1.0).abs(), (interval.high - 1.0).abs()];
            ends.sort_by(f64::total_cmp);
            format!(" ({} to {})", numbers::percent_digits(ends[0]), numbers::percent(ends[1]))
        }
    };
    let is_less = ratio.value < 1.0;
    let word = match (is_less, metric.unit.as_str()) {
        (true, "/s") => "fewer",
        (true, _) => "less",
        (false, _) => "more",
    };
    let per_second = match (metric.better, metric.unit.as_str()) {
        (Better::Higher, "/s") if !what.ends_with("per second") => " per second",
        _ => "",
    };
    format!("{} {word} {what}{per_second}{range}", numbers::percent(ratio.value - 1.0))
}

/// ` (0.82 to 0.88)`, or nothing without an interval.
fn range(ratio: Ratio, show: fn(f64) -> String) -> String {
    ratio.interval.map_or(String::new(), |interval| {
        format!(" ({} to {})", show(interval.low), show(interval.high))
    })
}

/// `0.85 (0.82 to 0.88)`.
pub fn ratio_and_range(ratio: Ratio) -> String {
    format!("{}{}", numbers::ratio(ratio.value), range(ratio, numbers::ratio))
}

/// One sign behind a ratio in a matrix.
pub fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NoDifference => "~",
        Verdict::Same => "=",
        Verdict::TooFew | Verdict::NoRatio => "?",
        Verdict::Failed(_) | Verdict::BaselineFailed(_) => "!",
        _ => "",
    }
}

/// What those signs mean.
pub const MARKS: [(&str, &str); 5] = [
    ("~", "no difference seen: the runs allow for one and for none"),
    ("=", "the same within 2 %"),
    ("?", "too few runs to tell, or a value of 0"),
    ("!", "failed"),
    ("-", "not measured"),
];

/// The row, and the metric where the aspect does not say which it is.
pub fn row_label(row: &ComparedRow, compared: &ComparedMetric) -> String {
    if compared.needs_naming() {
        format!("{}: {}", row.row.name, title(compared.name))
    } else {
        row.row.name.clone()
    }
}

/// Which way round the ratios of a suite are.
pub fn direction(comparison: &Comparison) -> String {
    let baseline = comparison.baseline;
    let mut judged = comparison.rows.iter().flat_map(|row| row.judged());
    let turned = match judged.find(|compared| compared.metric.better == Better::Higher) {
        Some(_) => " Figures that are better high are turned round, so that this holds for all.",
        None => "",
    };
    format!(
        "Ratios are NAME / {baseline}: 2.00 takes twice as much as {baseline}, 0.50 half. \
         Below 1, NAME is better than {baseline}; above 1, {baseline} is better.{turned}"
    )
}

/// The machine and its system, one fact each.
pub fn machine_facts(results: &Results) -> Vec<(&'static str, String)> {
    let machine = &results.machine;
    let memory = match machine.memory_kib {
        0 => String::new(),
        kib => format!(", {}", numbers::figure(kib as f64, "KiB")),
    };
    let count = machine.processor_count;
    let plural = if count == 1 { "" } else { "s" };
    let mut facts = vec![
        ("machine", format!("{}, {count} processor{plural}{memory}", machine.processor)),
        ("kernel", machine.kernel.clone()),
        ("system", format!("{}, {}", machine.system, machine.libc)),
    ];
    if let Some(huge_pages) = &machine.huge_pages {
        facts.push(("huge pages", huge_pages.clone()));
    }
    if let Some(share) = machine.taken_by_others {
        facts.push(("taken by others", format!("{} of processor time", numbers::percent(share))));
    }
    let commit = results.commit.as_deref().map(|commit| format!(", commit {commit}"));
    facts.push(("measured by", format!("loam {}{}", results.loam, commit.unwrap_or_default())));
    facts.push(("started", results.started.clone()));
    facts.push(("took", numbers::duration(results.seconds)));
    facts.push(("seed", seeds(results)));
    facts
}

/// Those of all parts, in their order.
fn seeds(results: &Results) -> String {
    if results.parts.is_empty() {
        return results.seed.to_string();
    }
    results.parts.iter().map(|part| part.seed.to_string()).collect::<Vec<_>>().join(", ")
}

/// What was called to measure this: a command line, or one of each part.
pub fn measured_by(results: &Results) -> Vec<String> {
    match results.parts.as_slice() {
        [] => vec![command_line(&results.command)],
        parts => parts.iter().map(|part| command_line(&part.command)).collect(),
    }
}

/// The command line as a shell would take it.
pub fn command_line(words: &[String]) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "-_./=:,+@%^".contains(character);
    let quoted = |word: &String| match word.as_str() {
        "" => "''".to_owned(),
        word if word.chars().all(is_plain) => word.to_owned(),
        word => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// `loam 0.1.0`, with the flags it was built with.
pub fn allocator_versions(comparison: &Comparison) -> Vec<String> {
    let shown = comparison.allocators.iter().chain(&comparison.limits);
    let text = |row: &&crate::bench::judge::results::AllocatorRow| {
        let version = row.version.as_deref().map(|version| {
            // Some versions name their library themselves.
            let bare = version.strip_prefix(row.name.as_str()).unwrap_or(version);
            format!(" {}", bare.trim_start())
        });
        let limit = if row.is_limit { " (limit)" } else { "" };
        let set = |(name, value): (&String, &String)| format!(", {name}={value}");
        let variables: String = row.environment.iter().map(set).collect();
        format!("{}{}{limit}{variables}", row.name, version.unwrap_or_default())
    };
    shown.map(text).collect()
}

/// Without what would steer a terminal: names come from files of others.
pub fn printable(content: &str) -> String {
    content.chars().map(|one| if one.is_control() { '\u{fffd}' } else { one }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::judge::statistics::Interval;

    fn entry(value: f64, low: f64, high: f64, verdict: Verdict<'static>) -> Entry<'static> {
        let ratio = Some(Ratio { value, interval: Some(Interval { low, high }) });
        Entry { allocator: "a", summary: None, ratio, verdict, is_partial: false }
    }

    fn metric(unit: &str, better: Better) -> Metric {
        Metric { unit: unit.into(), better }
    }

    #[test]
    fn verdicts_say_which_way_round() {
        let time = metric("s", Better::Lower);
        let memory = metric("KiB", Better::Lower);
        let rate = metric("/s", Better::Higher);
        let cases = [
            (
                entry(0.8, 0.75, 0.85, Verdict::Better),
                "wall",
                &time,
                "faster: 20 % less time (15 to 25 %)",
            ),
            (
                entry(1.25, 1.2, 1.3, Verdict::Worse),
                "wall",
                &time,
                "slower: 25 % more time (20 to 30 %)",
            ),
            (
                entry(2.5, 2.4, 2.6, Verdict::Worse),
                "wall",
                &time,
                "slower: 2.50 times the time (2.40 to 2.60)",
            ),
            (
                entry(0.96, 0.95, 0.97, Verdict::Better),
                "peak",
                &memory,
                "4.0 % less memory (3.0 to 5.0 %)",
            ),
            (
                entry(1.25, 1.2, 1.3, Verdict::Better),
                "requests",
                &rate,
                "25 % more requests per second (20 to 30 %)",
            ),
            (
                entry(0.8, 0.75, 0.85, Verdict::Worse),
                "requests",
                &rate,
                "20 % fewer requests per second (15 to 25 %)",
            ),
            (entry(1.0, 0.9, 1.1, Verdict::NoDifference), "wall", &time, "no difference seen"),
        ];
        for (entry, name, metric, text) in cases {
            assert_eq!(verdict(&entry, name, metric), text);
        }
    }

    #[test]
    fn command_lines_can_be_pasted() {
        let words = ["sh", "-c", "echo 'a b'", ""].map(String::from);
        assert_eq!(command_line(&words), r"sh -c 'echo '\''a b'\''' ''");
    }
}
