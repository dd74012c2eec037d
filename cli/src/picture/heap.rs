//! What is in a process's heaps, as a page: what keeps its memory, its address space page by page,
//! sizes, caches and centrals.

use crate::account::names::Names;
use crate::account::report::{HeapLine, Parts, Report, Size};
use crate::heap::figures::Figures;
use crate::heap::source::Source;
use crate::numbers;
use crate::picture::bars::{Amount, Row, in_blocks, name_of_sizes, parts, percent, power_of, sum};
use crate::picture::map::Map;
use crate::picture::packed;
use crate::picture::page::{self, Template};
use crate::picture::pins::{self, Line, Shown};
use crate::profile::living;
use crate::profile::symbols::Symbols;
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeMap;

const TEMPLATE: Template =
    Template { html: include_str!("heap.html"), scripts: &[page::RASTER, include_str!("map.js")] };

/// What has been read of a process.
pub struct Heap<'a> {
    pub report: &'a Report,
    pub figures: &'a Figures,
    /// `None` where no profile says who has taken what.
    pins: Option<Vec<Line>>,
}

impl<'a> Heap<'a> {
    pub fn read(source: &dyn Source, report: &'a Report, figures: &'a Figures) -> Heap<'a> {
        // Pictures do without, as where the process has ended meanwhile or has an older library.
        let profile = living::find(source).ok().flatten();
        let pins = profile.map(|profile| pins::of(&profile, &mut Symbols::default()));
        Heap { report, figures, pins }
    }

    pub fn page(&self) -> Result<String> {
        let map = Map::of(self.figures);
        let (info, cells) = (packed::json(&map.info)?, map.packed()?);
        page::render(&TEMPLATE, &Page { content: self.content(), map_info: info, map_cells: cells })
    }

    pub fn content(&self) -> Content<'_> {
        Content::of(self.report, self.figures, self.pins.as_deref())
    }
}

#[derive(Serialize)]
struct Page<'a> {
    #[serde(flatten)]
    content: Content<'a>,
    map_info: String,
    map_cells: String,
}

#[derive(Serialize)]
pub struct Content<'a> {
    pub names: &'static Names,
    /// Else glibc's: of no profile.
    pub is_loams: bool,
    pub title: String,
    pub answer: String,
    pub rest: &'a str,
    pub advice: Vec<&'a str>,
    pub facts: Vec<(&'static str, String)>,
    pub whole: Row,
    pub account: Vec<AccountLine>,
    pub pins: Option<Vec<Shown<'a>>>,
    pub pinning_sizes: Vec<SizeLine>,
    pub beside: String,
    pub sizes: Vec<Row>,
    pub more_sizes: Vec<Row>,
    pub histogram: Vec<Row>,
    pub heaps: Vec<Row>,
    pub more_heaps: Vec<Row>,
}

#[derive(Serialize)]
pub struct AccountLine {
    pub name: &'static str,
    pub color: &'static str,
    pub size: String,
    pub share: String,
}

#[derive(Serialize)]
pub struct SizeLine {
    pub beside: String,
    pub blocks: String,
    pub percent: f64,
    pub content: usize,
}

const ROWS_SHOWN: usize = 16;

impl<'a> Content<'a> {
    fn of(report: &'a Report, figures: &Figures, pins: Option<&'a [Line]>) -> Content<'a> {
        let mut sizes = size_rows(report, figures);
        let more_sizes = sizes.split_off(sizes.len().min(ROWS_SHOWN));
        let mut heaps = heap_rows(&report.heaps);
        let more_heaps = heaps.split_off(heaps.len().min(ROWS_SHOWN));
        let beside_bytes = report.heap.beside_bytes;
        let named = pins.and_then(|pins| answer(pins, report));
        let skipped = usize::from(named.is_none());
        let first = report.advice.first().map_or("", String::as_str);
        // Its first sentence; a point in a number has no blank behind it.
        let (first, rest) = first.split_once(". ").unwrap_or((first, ""));
        Content {
            names: report.heap.names(),
            is_loams: report.malloc.is_none(),
            title: title(report),
            answer: named.clone().unwrap_or_else(|| format!("{}.", first.trim_end_matches('.'))),
            rest: if named.is_none() { rest } else { "" },
            advice: report.advice.iter().skip(skipped).map(String::as_str).collect(),
            facts: facts(report, figures),
            whole: whole(report),
            account: account_lines(report),
            pins: pins.map(|pins| pins::shown(pins, beside_bytes)),
            pinning_sizes: pinning_sizes(report, figures),
            beside: numbers::bytes(beside_bytes),
            sizes,
            more_sizes,
            histogram: histogram(report, figures),
            heaps,
            more_heaps,
        }
    }
}

fn title(report: &Report) -> String {
    let size = numbers::bytes(report.resident_bytes);
    let where_to = if report.is_live { "in memory" } else { "in it" };
    format!("{}: {size} {where_to}", report.process)
}

/// Who keeps most, if that is a twentieth of the whole.
fn answer(pins: &[Line], report: &Report) -> Option<String> {
    let most = pins.first()?;
    if most.beside_bytes * 20 < report.resident_bytes {
        return None;
    }
    Some(format!(
        "About {} of {} in memory are free and cannot go back: blocks from {} stand on their \
         pages.",
        numbers::bytes(most.beside_bytes),
        numbers::bytes(report.resident_bytes),
        most.name(),
    ))
}

fn facts(report: &Report, figures: &Figures) -> Vec<(&'static str, String)> {
    let heap = &report.heap;
    let back = match &report.malloc {
        Some(malloc) => malloc.counted.trim_bytes,
        None => heap.idle_bytes + heap.depot_bytes + heap.dirty_bytes,
    };
    let live = figures.live();
    let mut facts = vec![("in memory", numbers::bytes(report.resident_bytes))];
    if let Some(peak) = report.peak_resident_bytes {
        facts.push(("at most so far", numbers::bytes(peak)));
    }
    facts.push(("the program has", in_blocks(live.bytes, live.count)));
    facts.push(("pinned: pages that these are on", bytes(report.pinned_bytes)));
    facts.push(("of that free beside them", bytes(heap.beside_bytes)));
    facts.push(("would come back by a trim", bytes(back)));
    if let Some(malloc) = &report.malloc {
        let there = &malloc.on_loam;
        let range = format!("{} to {}", bytes(there.low_bytes), bytes(there.high_bytes));
        facts.push(("in memory on loam", range));
    }
    facts
}

fn bytes(count: u64) -> String {
    numbers::figure(count as f64, "B")
}

fn share(part: u64, whole: u64) -> String {
    numbers::percent(part as f64 / (whole as f64).max(1.0))
}

/// What resident bytes of the heap are, and what they are drawn in.
fn amounts(heap: &Parts, names: &Names) -> [Amount; 9] {
    let amount = |name, color, bytes| Amount { name, color, bytes };
    [
        amount("live: blocks that the program has", "full", heap.live_bytes),
        amount("free beside them, on the same pages", "pinned", heap.beside_bytes),
        amount(names.idle, "free", heap.idle_bytes),
        amount(names.dirty, "free", heap.dirty_bytes),
        amount(names.cached, "cached", heap.cached_bytes),
        amount(names.depots, "cached", heap.depot_bytes),
        amount("never used: parts of huge pages", "rest", heap.unused_bytes),
        amount(names.records, "own", heap.metadata_bytes),
        amount("the profile's own", "own", heap.profile_bytes),
    ]
}

fn all_amounts(report: &Report) -> Vec<Amount> {
    let others = &report.others;
    let other = |name, bytes| Amount { name, color: "other", bytes };
    let not_its = [
        other(report.heap.names().libc_heap, others.libc_heap_bytes),
        other("stacks", others.stack_bytes),
        other("files: code and data", others.file_bytes),
        other("other mappings", others.mapping_bytes),
        other("unexplained", u64::try_from(report.unexplained_bytes).unwrap_or(0)),
    ];
    amounts(&report.heap, report.heap.names()).into_iter().chain(not_its).collect()
}

fn whole(report: &Report) -> Row {
    let amounts = all_amounts(report);
    let parts = parts(&amounts, sum(&amounts));
    Row { name: String::new(), parts, figure: String::new(), content: None }
}

fn account_lines(report: &Report) -> Vec<AccountLine> {
    let amounts = all_amounts(report);
    let there = amounts.into_iter().filter(|amount| amount.bytes != 0);
    let line = |amount: Amount| AccountLine {
        name: amount.name,
        color: amount.color,
        size: bytes(amount.bytes),
        share: share(amount.bytes, report.resident_bytes),
    };
    there.map(line).collect()
}

/// Sizes beside whose blocks most is free.
fn pinning_sizes(report: &Report, figures: &Figures) -> Vec<SizeLine> {
    let mut sizes: Vec<&Size> = report.sizes.iter().filter(|size| size.beside_bytes != 0).collect();
    sizes.sort_by_key(|size| std::cmp::Reverse(size.beside_bytes));
    let longest = sizes.first().map_or(1, |size| size.beside_bytes);
    let line = |size: &&Size| SizeLine {
        beside: bytes(size.beside_bytes),
        blocks: format!(
            "{}, which keep {}",
            blocks(size.live_count, size.block_bytes),
            bytes(size.pinned_bytes)
        ),
        percent: percent(size.beside_bytes, longest),
        content: content_of(size.block_bytes, figures),
    };
    sizes.iter().take(pins::LINES_SHOWN).map(line).collect()
}

fn blocks(count: u64, block_bytes: u64) -> String {
    format!("{count} block{} of {block_bytes} bytes", if count == 1 { "" } else { "s" })
}

/// As the map has it.
fn content_of(block_bytes: u64, figures: &Figures) -> usize {
    let index = figures.classes.iter().position(|class| class.block_bytes == block_bytes);
    4 + index.unwrap_or(0)
}

fn size_rows(report: &Report, figures: &Figures) -> Vec<Row> {
    let longest = report.sizes.iter().map(|size| size.resident_bytes).max().unwrap_or(0);
    let row = |size: &Size| {
        let used = size.live_bytes + size.beside_bytes + size.idle_bytes;
        let amount = |name, color, bytes| Amount { name, color, bytes };
        let amounts = [
            amount("live", "full", size.live_bytes),
            amount("free beside them", "pinned", size.beside_bytes),
            amount("free pages", "free", size.idle_bytes),
            amount("in lists, and the rest", "cached", size.resident_bytes.saturating_sub(used)),
        ];
        Row {
            name: format!("{} bytes", size.block_bytes),
            parts: parts(&amounts, longest),
            figure: format!(
                "{}, {} live",
                bytes(size.resident_bytes),
                share(size.live_bytes, size.resident_bytes)
            ),
            content: Some(content_of(size.block_bytes, figures)),
        }
    };
    report.sizes.iter().filter(|size| size.resident_bytes != 0).map(row).collect()
}

/// Blocks that the program has, by the power of two that their size is below.
fn histogram(report: &Report, figures: &Figures) -> Vec<Row> {
    let small = report.sizes.iter().map(|size| (size.block_bytes, size.live_count));
    let larger = figures.larger.iter().map(|(bytes, one)| (*bytes, one.count));
    let mut bins: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (size, count) in small.chain(larger).filter(|(_, count)| *count != 0) {
        let (counts, bytes) = bins.entry(power_of(size)).or_default();
        *counts += count;
        *bytes += count * size;
    }
    let longest = bins.values().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    let row = |(power, (count, size)): (&u32, &(u64, u64))| Row {
        name: name_of_sizes(*power),
        parts: parts(&[Amount { name: "live", color: "full", bytes: *size }], longest),
        figure: in_blocks(*size, *count),
        content: None,
    };
    bins.iter().map(row).collect()
}

fn heap_rows(heaps: &[HeapLine]) -> Vec<Row> {
    let longest = heaps.iter().map(|heap| heap.resident_bytes).max().unwrap_or(0);
    let row = |heap: &HeapLine| Row {
        name: heap.name.clone(),
        parts: parts(&amounts(&heap.heap, heap.heap.names()), longest),
        figure: bytes(heap.resident_bytes),
        content: None,
    };
    heaps.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::sums::Account;
    use crate::heap::source::Process;
    use crate::picture::synthetic;

    fn report() -> Report {
        let figures = synthetic::figures();
        let process = Process {
            title: "process 1 (<q>)".to_owned(),
            name: "<q>".to_owned(),
            is_live: true,
            mappings: Vec::new(),
            threads: Vec::new(),
            pid: None,
            resident_bytes: Some(figures.resident.sum() + 100),
            peak_bytes: Some(2 << 20),
        };
        Report::of(&Account::of(&process, &figures), &figures)
    }

    fn line(beside_bytes: u64) -> Line {
        Line {
            function: "keep<char>".to_owned(),
            place: Some("server.c:42".to_owned()),
            callers: vec!["from main  server.c:7".to_owned()],
            pinned_bytes: beside_bytes + 4480,
            beside_bytes,
            live_bytes: 4480,
            live_count: 40,
            age: None,
            range: None,
        }
    }

    fn answer_with(pins: &[Line]) -> String {
        Content::of(&report(), &synthetic::figures(), Some(pins)).answer
    }

    fn page(pins: Option<Vec<Line>>) -> String {
        Heap { report: &report(), figures: &synthetic::figures(), pins }.page().unwrap()
    }

    #[test]
    fn the_page_needs_nothing_else_and_names_are_escaped() {
        let page = page(None);
        for outside in ["http:", "https:", "src=", "@import", "<q>"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("process 1 (&lt;q&gt;): 1.16 MiB in memory"), "{page}");
        assert!(page.contains("profile=on"), "how to have lines");
    }

    #[test]
    fn the_line_that_keeps_most_is_the_answer() {
        let pins = vec![line(150_000)];
        let content = answer_with(&pins);
        assert!(content.starts_with("About 146 KiB of 1.16 MiB"), "{content}");
        assert!(content.contains("keep<char> (server.c:42)"), "{content}");
        let page = page(Some(pins));
        assert!(page.contains("keep&lt;char&gt;") && page.contains("94 %"), "{page}");
        let few = [line(1000)];
        let content = answer_with(&few);
        assert!(content.contains("is live"), "{content}");
    }

    #[test]
    fn sizes_count_as_many_blocks_as_there_are() {
        let rows = histogram(&report(), &synthetic::figures());
        let shown: Vec<_> = rows.iter().map(|row| (&*row.name, &*row.figure)).collect();
        let expected =
            [("65 to 128 bytes", "4.38 KiB in 40 blocks"), ("to 1.00 MiB", "1.00 MiB in 1 block")];
        assert_eq!(shown, expected);
    }
}
