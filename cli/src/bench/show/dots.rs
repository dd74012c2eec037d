//! All rows of a suite in one picture: a dot per row and allocator, on a logarithmic scale.

use crate::bench::judge::comparison::{
    Aspect, ComparedMetric, ComparedRow, Comparison, Entry, Verdict,
};
use crate::bench::show::canvas::{Canvas, Look, Paint, Picture, SERIES_COLORS};
use crate::bench::show::form::Form;
use crate::bench::show::wording;
use crate::numbers;
use crate::picture::letters::shortened;
use anyhow::Result;
use plotters::style::text_anchor::HPos;

const WIDTH: i32 = 800;
const NAME_END: i32 = 158;
const NAME_LENGTH: usize = 22;
const LEFT: i32 = 172;
const RIGHT: i32 = 784;
const LANE_HEIGHT: i32 = 4;
const LEGEND_COLUMNS: i32 = 5;
const SMALL: Look = Look::new(12, Paint::Faint);
/// Beyond this a dot stands at the edge.
const RATIO_MAX: f64 = 100.0;

/// The ratios of the allocators named, each to the baseline.
pub struct Dots<'n> {
    pub aspect: Aspect,
    pub names: &'n [&'n str],
}

impl Form for Dots<'_> {
    fn show(&self, comparison: &Comparison) -> Result<String> {
        let plot = Plot::of(comparison, self.aspect, self.names);
        let picture = Picture {
            width: WIDTH,
            height: plot.bottom() + 40,
            title: format!("{}, each row", plot.title),
            description: plot.told(),
        };
        picture.draw(|canvas| {
            canvas.rectangle([(0, 0), (WIDTH, plot.bottom() + 40)], Paint::Background)?;
            plot.legend(canvas)?;
            plot.grid(canvas, comparison.baseline)?;
            plot.lines.iter().enumerate().try_for_each(|(at, line)| plot.line(canvas, at, line))
        })
    }
}

/// The same for a file of its own, which brings its colours along.
pub fn standalone(svg: &str) -> String {
    const COLORS: &str = include_str!("../../picture/colors.css");
    let style = format!(
        "<style>{COLORS}\ntext {{ font-family: system-ui, sans-serif; }}</style>\n</svg>\n"
    );
    svg.trim_end().strip_suffix("</svg>").map_or(svg.to_owned(), |open| format!("{open}{style}"))
}

enum Line<'a> {
    Group(&'a str),
    Row(&'a ComparedRow<'a>, &'a ComparedMetric<'a>),
}

struct Plot<'a> {
    title: String,
    names: &'a [&'a str],
    lines: Vec<Line<'a>>,
    lowest: f64,
    highest: f64,
}

impl<'a> Plot<'a> {
    fn of(comparison: &'a Comparison, aspect: Aspect, names: &'a [&'a str]) -> Plot<'a> {
        let mut lines = Vec::new();
        let mut group = None;
        let (mut lowest, mut highest) = (0.8_f64, 1.25_f64);
        for row in &comparison.rows {
            let Some(compared) = row.leading(aspect) else { continue };
            if row.row.group != group {
                group.clone_from(&row.row.group);
                lines.extend(row.row.group.as_deref().map(Line::Group));
            }
            for name in names {
                let cost = compared.entry(name).and_then(|entry| compared.cost(entry));
                for value in cost.iter().map(|cost| cost.value) {
                    lowest = lowest.min(value / 1.05).max(RATIO_MAX.recip());
                    highest = highest.max(value * 1.05).min(RATIO_MAX);
                }
            }
            lines.push(Line::Row(row, compared));
        }
        let title = format!("{}, NAME / {}", aspect.name(), comparison.baseline);
        Plot { title, names, lines, lowest, highest }
    }

    fn told(&self) -> String {
        let row = |line: &Line| match line {
            Line::Group(_) => None,
            Line::Row(row, compared) => {
                let one = |name: &&str| {
                    let cost = compared.entry(name).and_then(|entry| compared.cost(entry))?;
                    Some(format!("{name} {}", numbers::ratio(cost.value)))
                };
                let all: Vec<String> = self.names.iter().filter_map(one).collect();
                Some(format!("{}: {}", row.row.name, all.join(", ")))
            }
        };
        self.lines.iter().filter_map(row).collect::<Vec<_>>().join(". ")
    }

    fn line_height(&self) -> i32 {
        (LANE_HEIGHT * self.names.len() as i32 + 10).max(24)
    }

    fn top(&self) -> i32 {
        let lines = (self.names.len() as i32 + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS;
        20 * lines + 76
    }

    fn bottom(&self) -> i32 {
        self.top() + self.line_height() * self.lines.len() as i32
    }

    fn x(&self, ratio: f64) -> i32 {
        let share = (ratio / self.lowest).ln() / (self.highest / self.lowest).ln();
        LEFT + (share.clamp(0.0, 1.0) * f64::from(RIGHT - LEFT)).round() as i32
    }

    fn legend(&self, canvas: &Canvas) -> Result<()> {
        let look = Look::new(15, Paint::Ink).bold();
        canvas.text(&self.title, (10, 14), HPos::Left, look)?;
        for (at, name) in self.names.iter().enumerate() {
            let x = 18 + (WIDTH - 20) / LEGEND_COLUMNS * (at as i32 % LEGEND_COLUMNS);
            let y = 40 + 20 * (at as i32 / LEGEND_COLUMNS);
            marker(canvas, at, (x, y), true)?;
            let look = Look::new(13, Paint::Ink);
            canvas.text(&shortened(name, 18), (x + 10, y), HPos::Left, look)?;
        }
        Ok(())
    }

    fn grid(&self, canvas: &Canvas, baseline: &str) -> Result<()> {
        let (top, bottom) = (self.top(), self.bottom());
        let mut label_start = LEFT - 30;
        for tick in log_ticks(self.lowest, self.highest) {
            let x = self.x(tick);
            let is_one = tick == 1.0;
            let (paint, width) = if is_one { (Paint::Ink, 2) } else { (Paint::Rule, 1) };
            canvas.line(&[(x, top), (x, bottom)], paint, width)?;
            // Labels that would touch are left out; that of 1 is always there.
            let near_one = (x - self.x(1.0)).abs() < 30 && !is_one;
            if x >= label_start && !near_one {
                for y in [top - 10, bottom + 12] {
                    canvas.text(&tick_label(tick), (x, y), HPos::Center, SMALL)?;
                }
                label_start = x + 30;
            }
        }
        let one = self.x(1.0);
        let name = shortened(baseline, 14);
        let less = format!("◀ less than {name}");
        let more = format!("more than {name} ▶");
        canvas.text(&less, ((one - 8).max(LEFT + 120), top - 28), HPos::Right, SMALL)?;
        let more_start = (one + 8).max(LEFT + 136);
        canvas.text(&more, (more_start, top - 28), HPos::Left, SMALL)?;
        let caption = "filled: a difference beyond chance and 2 %; hollow: none seen; \
                       line: 95 % interval";
        canvas.text(caption, ((LEFT + RIGHT) / 2, bottom + 30), HPos::Center, SMALL)
    }

    fn line(&self, canvas: &Canvas, at: usize, line: &Line) -> Result<()> {
        let top = self.top() + self.line_height() * at as i32;
        let middle = top + self.line_height() / 2;
        let (row, compared) = match line {
            Line::Group(name) => {
                let look = Look::new(13, Paint::Ink).bold();
                let name = shortened(name, NAME_LENGTH);
                return canvas.text(&name, (NAME_END, middle), HPos::Right, look);
            }
            Line::Row(row, compared) => (row, compared),
        };
        canvas.line(&[(LEFT, top), (RIGHT, top)], Paint::Rule, 1)?;
        let name = shortened(&row.row.name, NAME_LENGTH);
        canvas.text(&name, (NAME_END, middle), HPos::Right, Look::new(13, Paint::Ink))?;
        let first_lane = middle - LANE_HEIGHT * (self.names.len() as i32 - 1) / 2;
        for (lane, name) in self.names.iter().enumerate() {
            let y = first_lane + LANE_HEIGHT * lane as i32;
            if let Some(entry) = compared.entry(name) {
                self.dot(canvas, lane, y, entry, compared)?;
            }
        }
        let corners = [(0, top), (WIDTH, top + self.line_height())];
        canvas.tip(corners, self.told_of(row, compared))
    }

    /// All of one row, a line for each allocator.
    fn told_of(&self, row: &ComparedRow, compared: &ComparedMetric) -> String {
        let one = |name: &&str| {
            let entry = compared.entry(name)?;
            let verdict = wording::verdict(entry, compared.name, compared.metric);
            Some(format!("\n{name}: {verdict}"))
        };
        let all: String = self.names.iter().filter_map(one).collect();
        format!("{}{all}", wording::row_label(row, compared))
    }

    fn dot(
        &self,
        canvas: &Canvas,
        lane: usize,
        y: i32,
        entry: &Entry,
        compared: &ComparedMetric,
    ) -> Result<()> {
        let Some(cost) = compared.cost(entry) else { return Ok(()) };
        if let Some(interval) = cost.interval {
            let ends = [(self.x(interval.low), y), (self.x(interval.high), y)];
            canvas.line(&ends, Paint::Series(lane), 1)?;
        }
        let is_filled = entry.verdict.is_difference() || entry.verdict == Verdict::NotJudged;
        marker(canvas, lane, (self.x(cost.value), y), is_filled)
    }
}

/// Shapes tell apart what colours may not.
fn marker(canvas: &Canvas, at: usize, (x, y): (i32, i32), is_filled: bool) -> Result<()> {
    let paint = Paint::Series(at);
    // Where a colour comes again it has another shape.
    let points = match (at + at / SERIES_COLORS) % 4 {
        0 => {
            return match is_filled {
                true => canvas.circle((x, y), 5, paint),
                false => canvas.ring((x, y), 4, paint),
            };
        }
        1 => vec![(x - 4, y - 4), (x + 4, y - 4), (x + 4, y + 4), (x - 4, y + 4)],
        2 => vec![(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)],
        _ => vec![(x, y - 6), (x + 6, y + 4), (x - 6, y + 4)],
    };
    if is_filled {
        return canvas.polygon(points, paint);
    }
    let outline: Vec<(i32, i32)> = points.iter().copied().chain([points[0], points[1]]).collect();
    canvas.polygon(points, Paint::Background)?;
    canvas.line(&outline, paint, 2)
}

/// 1, 2 and 5 times the powers of ten between two ratios.
fn log_ticks(lowest: f64, highest: f64) -> Vec<f64> {
    let fine = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 2.0];
    let coarse = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
    let is_inside = |tick: &f64| (lowest..=highest).contains(tick);
    if highest / lowest < 3.0 {
        fine.into_iter().filter(is_inside).collect()
    } else {
        let between = [0.7, 1.5, 3.0];
        let mut all: Vec<f64> = coarse.into_iter().chain(between).filter(is_inside).collect();
        all.sort_by(f64::total_cmp);
        all
    }
}

fn tick_label(tick: f64) -> String {
    format!("{tick}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::synthetic;

    #[test]
    fn all_rows_are_in_the_picture() {
        let results = synthetic::suite(1);
        let comparison = Comparison::new(&results, "loam").expect("a baseline");
        for aspect in [Aspect::Time, Aspect::Memory] {
            let svg = Dots { aspect, names: &["glibc", synthetic::HOSTILE] }
                .show(&comparison)
                .expect("dots");
            assert!(svg.contains("ghostscript") && !svg.contains("<script"), "{svg}");
            let file = standalone(&svg);
            assert!(file.contains("prefers-color-scheme") && file.ends_with("</svg>\n"));
        }
    }

    #[test]
    fn one_is_always_a_tick() {
        for (lowest, highest) in [(0.8, 1.25), (0.5, 8.0), (0.01, 100.0)] {
            assert!(log_ticks(lowest, highest).contains(&1.0));
        }
    }
}
