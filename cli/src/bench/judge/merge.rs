//! Parts of one measurement, put together: a suite that takes hours can be measured in several
//! calls.

use crate::bench::judge::results::{Part, Results, Row};
use anyhow::{Result, bail};
use std::path::Path;

/// Each row as the last part has it that holds it. Refuses parts of which rows could not stand
/// beside each other: of another machine, library or form of the suite.
pub fn merge(parts: Vec<(&Path, Results)>) -> Result<Results> {
    let mut parts = parts.into_iter();
    let Some((first_path, mut whole)) = parts.next() else { bail!("no results to merge") };
    whole.parts = measured_in(&whole);
    for (path, part) in parts {
        if let Some(difference) = difference(&whole, &part) {
            let (first, other) = (first_path.display(), path.display());
            bail!("cannot merge {other} with {first}: {difference}");
        }
        whole.parts.extend(measured_in(&part));
        part.rows.into_iter().for_each(|row| place(&mut whole.rows, row));
    }
    sum_up(&mut whole);
    Ok(whole)
}

/// Where the row of this name stands, else behind the last one of its group.
fn place(rows: &mut Vec<Row>, row: Row) {
    if let Some(earlier) = rows.iter_mut().find(|earlier| earlier.name == row.name) {
        *earlier = row;
        return;
    }
    let of_group = rows.iter().rposition(|earlier| earlier.group == row.group);
    rows.insert(of_group.map_or(rows.len(), |at| at + 1), row);
}

/// Results that were merged before keep the parts that they are of.
fn measured_in(results: &Results) -> Vec<Part> {
    if !results.parts.is_empty() {
        return results.parts.clone();
    }
    vec![Part {
        command: results.command.clone(),
        started: results.started.clone(),
        seconds: results.seconds,
        seed: results.seed,
        taken_by_others: results.machine.taken_by_others,
    }]
}

/// What the whole says of time is of all parts; `None` where one of them does not say it.
fn sum_up(whole: &mut Results) {
    let seconds: f64 = whole.parts.iter().map(|part| part.seconds).sum();
    let taken = whole.parts.iter().map(|part| Some(part.taken_by_others? * part.seconds));
    let taken = taken.sum::<Option<f64>>();
    whole.machine.taken_by_others =
        taken.map(|taken| if seconds > 0.0 { taken / seconds } else { 0.0 });
    whole.seconds = seconds;
    if let Some(started) = whole.parts.iter().map(|part| &part.started).min() {
        whole.started.clone_from(started);
    }
}

/// The first thing in which two parts differ and must not.
fn difference(first: &Results, other: &Results) -> Option<String> {
    let commit = |results: &Results| results.commit.clone().unwrap_or_else(|| "unknown".into());
    let facts = [
        ("loam", first.loam.clone(), other.loam.clone()),
        ("commit", commit(first), commit(other)),
        ("form of the suite", form(first).into(), form(other).into()),
    ];
    let between = |what: &str, a: &str, b: &str| format!("another {what}: {b} instead of {a}");
    let of_machine = machine(first).into_iter().zip(machine(other));
    let of_machine = of_machine.map(|((what, a), (_, b))| (what, a, b));
    of_machine
        .chain(facts)
        .find(|(_, a, b)| a != b)
        .map(|(what, a, b)| between(what, &a, &b))
        .or_else(|| libraries(first, other))
}

fn machine(results: &Results) -> [(&'static str, String); 7] {
    let machine = &results.machine;
    [
        ("processor", machine.processor.clone()),
        ("number of processors", machine.processor_count.to_string()),
        ("memory", format!("{} KiB", machine.memory_kib)),
        ("kernel", machine.kernel.clone()),
        ("system", machine.system.clone()),
        ("C library", machine.libc.clone()),
        ("setting of huge pages", machine.huge_pages.clone().unwrap_or_else(|| "unknown".into())),
    ]
}

/// The rows of a quick suite are shorter runs of the same name.
fn form(results: &Results) -> &'static str {
    let mut commands = vec![&results.command];
    commands.extend(results.parts.iter().map(|part| &part.command));
    let is_quick = |command: &&Vec<String>| command.iter().any(|word| word == "--quick");
    if commands.iter().any(is_quick) { "quick" } else { "full" }
}

fn libraries(first: &Results, other: &Results) -> Option<String> {
    let names = |results: &Results| {
        results.allocators.iter().map(|row| row.name.clone()).collect::<Vec<_>>().join(",")
    };
    if names(first) != names(other) {
        return Some(format!("other allocators: {} instead of {}", names(other), names(first)));
    }
    let mut pairs = first.allocators.iter().zip(&other.allocators);
    let (a, b) = pairs.find(|(a, b)| a != b)?;
    let described = |row: &crate::bench::judge::results::AllocatorRow| {
        let version = row.version.as_deref().unwrap_or("unknown version");
        let library = row.library.as_deref().unwrap_or("the system's");
        format!("{version} ({library})")
    };
    let (a_text, b_text) = (described(a), described(b));
    let name = &a.name;
    Some(match a_text == b_text {
        true => format!("another {name}: its flags, environment or problem differ"),
        false => format!("another {name}: {b_text} instead of {a_text}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::synthetic;

    fn part(names: &[&str], seed: u64) -> Results {
        let mut results = synthetic::suite(seed);
        results.rows.retain(|row| names.contains(&row.name.as_str()));
        results
    }

    fn merged(parts: &[&Results]) -> Result<Results> {
        let paths = ["a.json", "b.json", "c.json"].map(Path::new);
        merge(paths.into_iter().zip(parts.iter().map(|part| (*part).clone())).collect())
    }

    fn refusal(change: impl FnOnce(&mut Results)) -> String {
        let first = part(&["factor"], 1);
        let mut second = part(&["larson"], 1);
        change(&mut second);
        format!("{:#}", merged(&[&first, &second]).expect_err("a refusal"))
    }

    #[test]
    fn rows_of_a_later_part_win_and_others_stand_beside_them() {
        let first = part(&["factor", "larson"], 1);
        let second = part(&["larson", "batches"], 2);
        let whole = merged(&[&first, &second]).expect("one measurement");
        let names: Vec<&str> = whole.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["factor", "larson", "batches"]);
        let wall = |results: &Results, name: &str| {
            let row = results.rows.iter().find(|row| row.name == name).expect("a row");
            row.cells[0].runs[0].values["wall"]
        };
        assert_eq!(wall(&whole, "factor"), wall(&first, "factor"));
        assert_eq!(wall(&whole, "larson"), wall(&second, "larson"));
        assert_ne!(wall(&first, "larson"), wall(&second, "larson"));
    }

    #[test]
    fn a_new_row_stands_with_its_group() {
        let mut first = part(&["factor", "larson"], 1);
        let mut second = part(&["batches"], 1);
        first.rows[0].group = Some("one".into());
        first.rows[1].group = Some("two".into());
        second.rows[0].group = Some("one".into());
        let whole = merged(&[&first, &second]).expect("one measurement");
        let names: Vec<&str> = whole.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["factor", "batches", "larson"]);
    }

    #[test]
    fn time_is_of_all_parts_and_each_is_kept() {
        let mut first = part(&["factor"], 1);
        let mut second = part(&["larson"], 2);
        (first.seconds, first.machine.taken_by_others) = (300.0, Some(0.0));
        (second.seconds, second.machine.taken_by_others) = (100.0, Some(0.2));
        first.started = "2026-11-22T10:00:00Z".into();
        second.started = "2026-11-21T10:00:00Z".into();
        let whole = merged(&[&first, &second]).expect("one measurement");
        assert_eq!(whole.seconds, 400.0);
        assert_eq!(whole.started, second.started);
        let taken = whole.machine.taken_by_others.expect("a share");
        assert!((taken - 0.05).abs() < 1e-9, "{taken}");
        let third = part(&["batches"], 3);
        let again = merged(&[&whole, &third]).expect("one measurement");
        let seeds: Vec<u64> = again.parts.iter().map(|part| part.seed).collect();
        assert_eq!(seeds, [1, 2, 3]);
    }

    #[test]
    fn parts_that_cannot_stand_beside_each_other_are_refused() {
        let start = "cannot merge b.json with a.json: ";
        let text = refusal(|results| results.machine.processor = "another".into());
        assert_eq!(
            text,
            format!("{start}another processor: another instead of Example 9000 Processor")
        );
        let text = refusal(|results| results.commit = None);
        assert_eq!(text, format!("{start}another commit: unknown instead of 0123abc+changes"));
        let text = refusal(|results| results.command.push("--quick".into()));
        assert_eq!(text, format!("{start}another form of the suite: quick instead of full"));
        let text = refusal(|results| results.allocators[2].version = Some("9".into()));
        let paths = "(/opt/peers/libmimalloc.so)";
        assert_eq!(text, format!("{start}another mimalloc: 9 {paths} instead of 3.4.3 {paths}"));
        let text = refusal(|results| results.allocators[0].flags = None);
        assert!(text.contains("another loam: its flags"), "{text}");
        let text = refusal(|results| results.allocators.truncate(2));
        assert!(
            text.starts_with(&format!("{start}other allocators: loam,glibc instead")),
            "{text}"
        );
        assert!(!text.contains('\n'), "{text}");
    }
}
