//! What is plotted of one row: bars of each judged metric, and memory over time.

use crate::bench::judge::comparison::{ComparedMetric, ComparedRow, Comparison, Entry, Verdict};
use crate::bench::judge::results::{Cell, Run, Samples, metric};
use crate::bench::show::canvas::{Canvas, Look, Paint, Picture, ticks};
use crate::bench::show::wording;
use crate::numbers::{self, Scale};
use crate::picture::letters::shortened;
use anyhow::Result;
use plotters::style::text_anchor::HPos;

/// Narrow enough for a phone, and for two beside each other elsewhere.
const WIDTH: i32 = 480;
const NAME_END: i32 = 106;
const NAME_LENGTH: usize = 14;
const BARS_START: i32 = 113;
const BARS_END: i32 = 360;
const FIGURE_END: i32 = 426;
const RATIO_END: i32 = 476;
const BARS_TOP: i32 = 24;
const LINE_HEIGHT: i32 = 26;
const TEXT: Look = Look::new(13, Paint::Ink);
const SMALL: Look = Look::new(11, Paint::Faint);

/// A bar per allocator from 0 to its median, its runs as dots, and the interval of the comparison.
pub fn bars(
    comparison: &Comparison,
    row: &ComparedRow,
    compared: &ComparedMetric,
) -> Result<String> {
    let title = format!("{}: {}", row.row.name, wording::title(compared.name));
    let told: Vec<String> = compared
        .entries
        .iter()
        .map(|entry| {
            let figure = entry
                .summary
                .map(|summary| numbers::figure(summary.median, &compared.metric.unit))
                .unwrap_or_else(|| "no figure".into());
            let verdict = wording::verdict(entry, compared.name, compared.metric);
            format!("{}: {figure}, {verdict}", entry.allocator)
        })
        .collect();
    let bottom = BARS_TOP + LINE_HEIGHT * compared.entries.len() as i32;
    let description = format!("Compared with {}. {}.", comparison.baseline, told.join("; "));
    let picture = Picture { width: WIDTH, height: bottom + 24, title, description };
    let reach = Reach::of(comparison, row, compared);
    picture.draw(|canvas| {
        reach.grid(canvas, bottom)?;
        canvas.text("median", (FIGURE_END, 10), HPos::Right, SMALL)?;
        let against = format!("/ {}", shortened(comparison.baseline, 7));
        canvas.text(&against, (RATIO_END, 10), HPos::Right, SMALL)?;
        for (at, entry) in compared.entries.iter().enumerate() {
            let middle = BARS_TOP + LINE_HEIGHT * at as i32 + LINE_HEIGHT / 2;
            reach.bar(canvas, entry, middle)?;
        }
        reach.baseline_mark(canvas, bottom)?;
        for (at, text) in told.iter().enumerate() {
            let top = BARS_TOP + LINE_HEIGHT * at as i32;
            canvas.tip([(0, top), (WIDTH, top + LINE_HEIGHT)], text.clone())?;
        }
        Ok(())
    })
}

/// The values that the bars are drawn from, and how far they reach.
struct Reach<'a> {
    row: &'a ComparedRow<'a>,
    compared: &'a ComparedMetric<'a>,
    baseline: &'a str,
    baseline_median: Option<f64>,
    scale: Scale,
    ticks: Vec<f64>,
}

impl<'a> Reach<'a> {
    fn of(
        comparison: &'a Comparison,
        row: &'a ComparedRow<'a>,
        compared: &'a ComparedMetric<'a>,
    ) -> Reach<'a> {
        let baseline_median = compared
            .entry(comparison.baseline)
            .and_then(|entry| entry.summary)
            .map(|summary| summary.median);
        let ends = |entry: &Entry| {
            let of_interval = interval_of(entry, baseline_median).map(|(_, high)| high);
            let of_runs = entry.summary.map(|summary| summary.highest);
            [of_interval, of_runs]
        };
        let highest =
            compared.entries.iter().flat_map(ends).flatten().fold(0.0_f64, |a, b| a.max(b));
        let median_of = |entry: &Entry| entry.summary.map(|summary| summary.median);
        let highest_median =
            compared.entries.iter().filter_map(median_of).fold(0.0_f64, |a, b| a.max(b));
        // One wild run must not make all bars unreadably short.
        let shown = highest.min(highest_median * 1.6);
        let scale = Scale::of(shown, &compared.metric.unit);
        let ticks = ticks(scale.apply(shown), 4);
        Reach { row, compared, baseline: comparison.baseline, baseline_median, scale, ticks }
    }

    fn x(&self, value: f64) -> i32 {
        let last = self.ticks.last().copied().unwrap_or(1.0);
        let share = (self.scale.apply(value) / last).clamp(0.0, 1.0);
        BARS_START + (share * f64::from(BARS_END - BARS_START)).round() as i32
    }

    fn grid(&self, canvas: &Canvas, bottom: i32) -> Result<()> {
        let count = self.ticks.len();
        for (at, tick) in self.ticks.iter().enumerate() {
            let x = BARS_START + (BARS_END - BARS_START) * at as i32 / (count as i32 - 1).max(1);
            canvas.line(&[(x, BARS_TOP), (x, bottom)], Paint::Rule, 1)?;
            let unit = if at + 1 == count { self.scale.unit() } else { "" };
            canvas.text(&tick_label(*tick, unit), (x, bottom + 12), HPos::Center, SMALL)?;
        }
        Ok(())
    }

    fn bar(&self, canvas: &Canvas, entry: &Entry, middle: i32) -> Result<()> {
        let is_baseline = entry.allocator == self.baseline;
        let name = shortened(entry.allocator, NAME_LENGTH);
        let look = if is_baseline { TEXT.bold() } else { TEXT };
        canvas.text(&name, (NAME_END, middle), HPos::Right, look)?;
        let Some(summary) = entry.summary else {
            let why = match entry.verdict {
                Verdict::Failed(_) => "failed",
                _ => "not measured",
            };
            let why = shortened(why, 52);
            return canvas.text(&why, (BARS_START + 4, middle), HPos::Left, SMALL);
        };
        let end = self.x(summary.median);
        let paint = paint(entry.verdict);
        canvas.rectangle([(BARS_START, middle - 8), (end, middle + 8)], paint)?;
        let cell = self.row.row.cell(entry.allocator);
        let values = cell.map(|cell| cell.values(self.compared.name).collect::<Vec<_>>());
        for (_, value) in values.unwrap_or_default() {
            canvas.circle((self.x(value), middle + 5), 1, Paint::Ink)?;
        }
        if let Some((low, high)) = interval_of(entry, self.baseline_median) {
            let (low, high) = (self.x(low), self.x(high));
            let middle = middle - 2;
            canvas.line(&[(low, middle), (high, middle)], Paint::Ink, 2)?;
            for x in [low, high] {
                canvas.line(&[(x, middle - 4), (x, middle + 4)], Paint::Ink, 2)?;
            }
        }
        let figure = numbers::figure(summary.median, &self.compared.metric.unit);
        canvas.text(&figure, (FIGURE_END, middle), HPos::Right, TEXT)?;
        let ratio = entry.ratio.map(|ratio| numbers::ratio(ratio.value)).unwrap_or_default();
        let mark = wording::mark(entry.verdict);
        let look = if entry.verdict.is_difference() { TEXT.bold() } else { TEXT };
        canvas.text(&format!("{ratio}{mark}"), (RATIO_END, middle), HPos::Right, look)
    }

    /// A line through all bars where the baseline's ends.
    fn baseline_mark(&self, canvas: &Canvas, bottom: i32) -> Result<()> {
        let Some(median) = self.baseline_median else { return Ok(()) };
        let x = self.x(median);
        let mut top = BARS_TOP;
        while top < bottom {
            canvas.line(&[(x, top), (x, (top + 3).min(bottom))], Paint::Ink, 1)?;
            top += 6;
        }
        Ok(())
    }
}

/// The comparison's interval, as values of the metric.
fn interval_of(entry: &Entry, baseline_median: Option<f64>) -> Option<(f64, f64)> {
    let interval = entry.ratio?.interval?;
    let median = baseline_median?;
    Some((interval.low * median, interval.high * median))
}

pub fn paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Better => Paint::Better,
        Verdict::Worse => Paint::Worse,
        Verdict::Baseline => Paint::Baseline,
        Verdict::NotJudged => Paint::Limit,
        _ => Paint::Even,
    }
}

fn tick_label(tick: f64, unit: &str) -> String {
    let number = if tick.fract() == 0.0 { format!("{tick:.0}") } else { numbers::digits(tick) };
    // 0.500 and 2.50 as 0.5 and 2.5.
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => &number,
    };
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

const PLOT_LEFT: i32 = 52;
const PLOT_RIGHT: i32 = 464;
const PLOT_TOP: i32 = 12;
const PLOT_BOTTOM: i32 = 232;
const POINTS_MAX: usize = 160;

/// Resident memory over time, of the run whose peak is the median; `None` without samples.
pub fn memory(comparison: &Comparison, row: &ComparedRow) -> Result<Option<String>> {
    let shown = comparison.allocators.iter().chain(&comparison.limits).enumerate();
    let lines: Vec<Line> = shown
        .filter_map(|(at, allocator)| {
            let samples = median_run(row.row.cell(&allocator.name)?)?.resident.as_ref()?;
            (!samples.kib.is_empty()).then(|| Line::new(at, &allocator.name, samples))
        })
        .collect();
    let Some(chart) = Chart::of(&lines) else { return Ok(None) };
    let legend_top = PLOT_BOTTOM + 46;
    let height = legend_top + 20 * lines.len().div_ceil(3) as i32;
    let told: Vec<String> = lines
        .iter()
        .map(|line| format!("{} up to {}", line.name, numbers::figure(line.highest(), "KiB")))
        .collect();
    let picture = Picture {
        width: WIDTH,
        height,
        title: format!("{}: memory over time", row.row.name),
        description: format!("Resident memory. {}.", told.join("; ")),
    };
    let svg = picture.draw(|canvas| {
        chart.grid(canvas)?;
        // What is compared with is drawn last, above the others.
        let is_baseline = |line: &&Line| line.name == comparison.baseline;
        for line in lines.iter().filter(|line| !is_baseline(line)) {
            chart.line(canvas, line, 1)?;
        }
        for line in lines.iter().filter(is_baseline) {
            chart.line(canvas, line, 3)?;
        }
        lines.iter().enumerate().try_for_each(|(at, line)| {
            let x = PLOT_LEFT - 40 + 156 * (at as i32 % 3);
            let y = legend_top + 20 * (at as i32 / 3) + 4;
            let width = if is_baseline(&line) { 4 } else { 2 };
            canvas.line(&[(x, y), (x + 22, y)], Paint::Series(line.at), width)?;
            canvas.text(
                &shortened(line.name, 18),
                (x + 28, y),
                HPos::Left,
                Look::new(12, Paint::Ink),
            )
        })?;
        chart.tips(canvas, &lines)
    })?;
    Ok(Some(svg))
}

/// One allocator's memory: seconds and KiB.
struct Line<'a> {
    at: usize,
    name: &'a str,
    points: Vec<(f64, f64)>,
}

impl<'a> Line<'a> {
    /// With the highest of each group of samples if there are too many.
    fn new(at: usize, name: &'a str, samples: &Samples) -> Line<'a> {
        let group = samples.kib.len().div_ceil(POINTS_MAX).max(1);
        let point = |(at, group_of): (usize, &[u64])| {
            let seconds = (at * group) as f64 * samples.interval_ms / 1000.0;
            (seconds, group_of.iter().copied().max().unwrap_or(0) as f64)
        };
        Line { at, name, points: samples.kib.chunks(group).enumerate().map(point).collect() }
    }

    fn highest(&self) -> f64 {
        self.points.iter().fold(0.0, |highest, (_, kib)| highest.max(*kib))
    }

    /// What it has at a time; `None` once it has ended.
    fn told_at(&self, seconds: f64) -> Option<String> {
        let (_, kib) = self.points.iter().find(|(at, _)| *at >= seconds)?;
        Some(format!("{}: {}", self.name, numbers::figure(*kib, "KiB")))
    }

    fn last_second(&self) -> f64 {
        self.points.last().map_or(0.0, |(seconds, _)| *seconds)
    }
}

struct Chart {
    time: Scale,
    time_ticks: Vec<f64>,
    memory: Scale,
    memory_ticks: Vec<f64>,
}

impl Chart {
    /// `None` if there is nothing to draw.
    fn of(lines: &[Line]) -> Option<Chart> {
        let seconds = lines.iter().map(Line::last_second).fold(0.0, f64::max);
        let kib = lines.iter().map(Line::highest).fold(0.0, f64::max);
        if seconds <= 0.0 || kib <= 0.0 {
            return None;
        }
        let time = Scale::of(seconds, "s");
        let memory = Scale::of(kib, "KiB");
        let time_ticks = ticks(time.apply(seconds), 5);
        let memory_ticks = ticks(memory.apply(kib), 4);
        Some(Chart { time, time_ticks, memory, memory_ticks })
    }

    fn x(&self, value: f64) -> i32 {
        place(value, &self.time_ticks, PLOT_LEFT, PLOT_RIGHT)
    }

    fn y(&self, value: f64) -> i32 {
        place(value, &self.memory_ticks, PLOT_BOTTOM, PLOT_TOP)
    }

    fn grid(&self, canvas: &Canvas) -> Result<()> {
        for tick in &self.memory_ticks {
            let y = self.y(*tick);
            canvas.line(&[(PLOT_LEFT, y), (PLOT_RIGHT, y)], Paint::Rule, 1)?;
            canvas.text(&tick_label(*tick, ""), (PLOT_LEFT - 6, y), HPos::Right, SMALL)?;
        }
        for tick in &self.time_ticks {
            let x = self.x(*tick);
            canvas.line(&[(x, PLOT_BOTTOM), (x, PLOT_BOTTOM + 4)], Paint::Faint, 1)?;
            canvas.text(&tick_label(*tick, ""), (x, PLOT_BOTTOM + 14), HPos::Center, SMALL)?;
        }
        let middle = (PLOT_LEFT + PLOT_RIGHT) / 2;
        let caption =
            format!("resident memory in {} over time in {}", self.memory.unit(), self.time.unit());
        canvas.text(&caption, (middle, PLOT_BOTTOM + 30), HPos::Center, SMALL)
    }

    /// What all have resident, for each stretch of time.
    fn tips(&self, canvas: &Canvas, lines: &[Line]) -> Result<()> {
        const STRETCHES: i32 = 40;
        let last = self.time_ticks.last().copied().unwrap_or(1.0);
        let shown_s = last / self.time.apply(1.0);
        let edge = |at: i32| PLOT_LEFT + (PLOT_RIGHT - PLOT_LEFT) * at / STRETCHES;
        for at in 0..STRETCHES {
            let seconds = shown_s * (f64::from(at) + 0.5) / f64::from(STRETCHES);
            let told: Vec<String> = lines.iter().filter_map(|line| line.told_at(seconds)).collect();
            if !told.is_empty() {
                let text = format!("{}\n{}", numbers::figure(seconds, "s"), told.join("\n"));
                canvas.tip([(edge(at), PLOT_TOP), (edge(at + 1), PLOT_BOTTOM)], text)?;
            }
        }
        Ok(())
    }

    fn line(&self, canvas: &Canvas, line: &Line, width: u32) -> Result<()> {
        let point = |(seconds, kib): &(f64, f64)| {
            (self.x(self.time.apply(*seconds)), self.y(self.memory.apply(*kib)))
        };
        let points: Vec<(i32, i32)> = line.points.iter().map(point).collect();
        canvas.line(&points, Paint::Series(line.at), width.max(2))
    }
}

/// Where between two places a value lies on an axis from 0 to its last tick.
fn place(value: f64, ticks: &[f64], from: i32, to: i32) -> i32 {
    let last = ticks.last().copied().unwrap_or(1.0);
    from + (value / last * f64::from(to - from)).round() as i32
}

/// The run whose peak is in the middle of all.
fn median_run(cell: &Cell) -> Option<&Run> {
    let mut runs: Vec<(&Run, f64)> =
        cell.runs.iter().filter_map(|run| Some((run, *run.values.get(metric::PEAK)?))).collect();
    runs.sort_by(|(_, first), (_, second)| first.total_cmp(second));
    runs.get(runs.len().checked_sub(1)? / 2).map(|(run, _)| *run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::synthetic;

    #[test]
    fn every_row_can_be_plotted() {
        let results = synthetic::suite(1);
        let comparison = Comparison::new(&results, "loam").expect("a baseline");
        for row in &comparison.rows {
            for compared in row.judged() {
                let svg = bars(&comparison, row, compared).expect("bars");
                assert!(svg.contains("<title>") && !svg.contains("<script"), "{}", row.row.name);
            }
            let svg = memory(&comparison, row).expect("lines").expect("samples");
            assert!(svg.contains("polyline") && !svg.contains("<script"));
        }
    }

    #[test]
    fn rows_without_samples_have_no_lines() {
        let mut results = synthetic::command(1);
        for run in results.rows[0].cells.iter_mut().flat_map(|cell| &mut cell.runs) {
            run.resident = None;
        }
        let comparison = Comparison::new(&results, "loam").expect("a baseline");
        assert!(memory(&comparison, &comparison.rows[0]).expect("no error").is_none());
    }

    #[test]
    fn tick_labels_have_no_needless_zeros() {
        assert_eq!(tick_label(2.5, "s"), "2.5 s");
        assert_eq!(tick_label(100.0, ""), "100");
        assert_eq!(tick_label(0.0, ""), "0");
    }
}
