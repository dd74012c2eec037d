//! What a recording's pictures say: in words, facts, bars.

use crate::numbers;
use crate::picture::bars::{Amount, Row, in_blocks, name_of_sizes, parts};
use crate::picture::pins::{self, Line, Shown};
use crate::plot::recording::classes::Use;
use crate::plot::recording::origin;
use crate::plot::recording::pins::Moment;
use crate::plot::recording::placement::class_least;
use crate::plot::recording::reading::Recording;
use crate::plot::recording::sums::{Sum, Sums};
use crate::plot::recording::time::{COLUMNS, Span};
use crate::profile::symbols::Symbols;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Debug;

const CLASSES_SHOWN: usize = 16;
/// Of pages that are well used one in so many bytes is free at most.
const WELL_USED: u64 = 5;

#[derive(Serialize)]
pub struct Section<'a> {
    pub file: &'a str,
    pub program: &'a str,
    pub made: &'a str,
    pub answer: String,
    pub facts: Vec<(&'static str, String)>,
    pub has_addresses: bool,
    pub has_stacks: bool,
    pub keepers: Vec<Keepers<'a>>,
    /// When `classes` and `more_classes` are true.
    pub worst: String,
    pub classes: Vec<Row>,
    pub more_classes: Vec<Row>,
    pub sizes: Vec<Row>,
    pub all_sizes: String,
    pub lifetimes: Vec<Row>,
    pub all_lifetimes: String,
}

impl<'a> Section<'a> {
    pub fn of(recording: &'a Recording, moments: &'a [NamedMoment]) -> Section<'a> {
        let Recording { origin, sums, .. } = recording;
        let (classes, more_classes) = classes(recording);
        Section {
            file: &origin.file,
            program: &origin.program,
            made: &origin.made,
            answer: answer(recording, moments),
            facts: facts(recording),
            has_addresses: recording.has_addresses,
            has_stacks: recording.moments.is_some(),
            keepers: moments.iter().map(|moment| Keepers::of(moment, recording)).collect(),
            worst: at(recording.worst, sums.span),
            classes,
            more_classes,
            sizes: rows(&sums.sizes, |power| name_of_sizes(*power)),
            all_sizes: sum_of(&sums.sizes),
            lifetimes: lifetimes(sums),
            all_lifetimes: sum_of(&sums.lifetimes),
        }
    }
}

/// Of all recordings.
pub fn title(recordings: &[Recording]) -> String {
    origin::title(&recordings.iter().map(|one| &one.origin).collect::<Vec<_>>())
}

/// Of each recording its moments.
pub fn all_named(recordings: &[Recording]) -> Vec<Vec<NamedMoment>> {
    recordings.iter().map(|one| named(one.moments.as_deref().unwrap_or_default())).collect()
}

fn bytes(count: u64) -> String {
    numbers::figure(count as f64, "B")
}

/// When most was free beside blocks, and how much; and who keeps it.
fn answer(recording: &Recording, moments: &[NamedMoment]) -> String {
    let Recording { sums, raster, worst, .. } = recording;
    let (pinned, live) = (raster.pinned_bytes[*worst], sums.last_live_bytes[*worst]);
    let beside = pinned.saturating_sub(live);
    let peak = bytes(sums.peak.bytes);
    let end = bytes(sums.at_end.bytes);
    let most = format!("At most {peak} were live, {end} at the end");
    if pinned == 0 {
        return format!("{most}.");
    }
    let when = at(*worst, sums.span);
    let (share, when_lower) = (numbers::percent(beside as f64 / pinned as f64), lower_first(&when));
    if beside * WELL_USED < pinned {
        return format!(
            "{most}, on pages that are well used: {when_lower}, when most was free on them, that \
             was {share} of {}.",
            bytes(pinned)
        );
    }
    let who = moments.iter().max_by_key(|moment| moment.beside_bytes);
    let who = who.and_then(|moment| keeper(moment, recording)).unwrap_or_default();
    format!(
        "{most}. {when} blocks of {} kept pages of {}: {share} of them free.{who}",
        bytes(live),
        bytes(pinned),
    )
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// The line beside whose blocks most is free, if that is a twentieth of what is pinned.
fn keeper(moment: &NamedMoment, recording: &Recording) -> Option<String> {
    let most = moment.lines.first()?;
    if most.beside_bytes * 20 < recording.raster.pinned_bytes[moment.column] {
        return None;
    }
    let when = at(moment.column, recording.sums.span);
    let beside = bytes(most.beside_bytes);
    Some(format!(" {when} about {beside} are kept free by blocks from {}.", most.name()))
}

fn at(column: usize, span: Span) -> String {
    if column == COLUMNS - 1 { "At the end".into() } else { format!("At {}", span.moment(column)) }
}

/// A moment whose addresses have names.
pub struct NamedMoment {
    pub column: usize,
    beside_bytes: u64,
    lines: Vec<Line>,
}

fn named(moments: &[Moment]) -> Vec<NamedMoment> {
    let mut symbols = Symbols::default();
    let named = |moment: &Moment| NamedMoment {
        column: moment.column,
        beside_bytes: moment.profile.total.beside.bytes.max(0).cast_unsigned(),
        lines: pins::of(&moment.profile, &mut symbols),
    };
    moments.iter().map(named).collect()
}

/// Who keeps pages then.
#[derive(Serialize)]
pub struct Keepers<'a> {
    pub when: String,
    pub what: String,
    pub lines: Vec<Shown<'a>>,
}

impl<'a> Keepers<'a> {
    fn of(moment: &'a NamedMoment, recording: &Recording) -> Keepers<'a> {
        let Recording { sums, raster, worst, .. } = recording;
        let at = at(moment.column, sums.span);
        let is_worst = moment.column == *worst;
        let pinned = bytes(raster.pinned_bytes[moment.column]);
        Keepers {
            when: if is_worst { format!("{at}, when most was free on them") } else { at },
            what: format!(
                "{} of {pinned} that blocks pin are free beside them.",
                bytes(moment.beside_bytes)
            ),
            lines: pins::shown(&moment.lines, moment.beside_bytes),
        }
    }
}

fn facts(recording: &Recording) -> Vec<(&'static str, String)> {
    let Recording { sums, raster, .. } = recording;
    let in_blocks = |sum: Sum| in_blocks(sum.bytes, sum.count);
    let pinned = raster.most_pinned_bytes.iter().max().copied().unwrap_or(0);
    let mut facts = vec![
        ("events", numbers::figure(sums.event_count as f64, "")),
        ("live at the peak, as asked for", in_blocks(sums.peak)),
        ("live at the end", in_blocks(sums.at_end)),
        ("pinned at most: pages that live blocks are on", bytes(pinned)),
    ];
    if let Span::Microseconds(length) = sums.span {
        facts.insert(0, ("took", numbers::duration(length as f64 * 1e-6)));
    }
    if let Some(resident) = sums.resident_bytes.iter().flatten().max() {
        facts.push(("in memory at most", bytes(*resident)));
    }
    if let Some(unpinned) = recording.unpinned.iter().flatten().flatten().next_back() {
        facts.push(("not pinned at the end", bytes(*unpinned)));
    }
    facts
}

/// Those with the most pages, and all others.
fn classes(recording: &Recording) -> (Vec<Row>, Vec<Row>) {
    let pinned = |used: &Use| used.live_bytes + used.beside_bytes.round() as u64;
    let mut all: Vec<(u64, Use)> = recording.classes.iter().map(|(at, one)| (*at, *one)).collect();
    all.sort_by_key(|(_, used)| Reverse(pinned(used)));
    let longest = all.first().map_or(0, |(_, used)| pinned(used));
    let row = |(most, used): &(u64, Use)| {
        let amount = |name, color, bytes| Amount { name, color, bytes };
        let amounts = [
            amount("live", "full", used.live_bytes),
            amount("free beside them", "pinned", pinned(used) - used.live_bytes),
        ];
        let in_use = numbers::percent(used.live_bytes as f64 / pinned(used) as f64);
        Row {
            name: name_of_class(*most),
            parts: parts(&amounts, longest),
            figure: format!("{in_use} of {}", bytes(pinned(used))),
            content: None,
        }
    };
    let mut rows: Vec<Row> = all.iter().map(row).collect();
    let others = rows.split_off(rows.len().min(CLASSES_SHOWN));
    (rows, others)
}

fn name_of_class(most: u64) -> String {
    match most {
        ..=1024 => format!("{} to {most} bytes", class_least(most)),
        _ => format!("to {}", bytes(most)),
    }
}

fn rows<Key: Debug>(sums: &BTreeMap<Key, Sum>, name: impl Fn(&Key) -> String) -> Vec<Row> {
    let longest = sums.values().map(|sum| sum.bytes).max().unwrap_or(0);
    let row = |(key, sum): (&Key, &Sum)| Row {
        name: name(key),
        parts: parts(&[Amount { name: "taken", color: "full", bytes: sum.bytes }], longest),
        figure: in_blocks(sum.bytes, sum.count),
        content: None,
    };
    sums.iter().map(row).collect()
}

fn sum_of<Key>(sums: &BTreeMap<Key, Sum>) -> String {
    let of = |figure: fn(&Sum) -> u64| sums.values().map(figure).sum();
    in_blocks(of(|sum| sum.bytes), of(|sum| sum.count))
}

/// The shortest first, and what was never freed last.
fn lifetimes(sums: &Sums) -> Vec<Row> {
    let name = |key: &Option<u32>| match key {
        Some(power) => {
            let most = 10_u64.checked_pow(*power).unwrap_or(u64::MAX);
            format!("to {}", numbers::figure(most as f64 * 1e-6, "s"))
        }
        None => "never freed".to_owned(),
    };
    let mut rows = rows(&sums.lifetimes, name);
    if sums.lifetimes.contains_key(&None) {
        rows.rotate_left(1);
    }
    rows
}
