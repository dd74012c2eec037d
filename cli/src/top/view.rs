//! What is drawn of processes: each has its part of the screen.

use crate::account::names::Names;
use crate::heap::figures::Kind;
use crate::numbers;
use crate::picture::letters::shortened;
use crate::top::sample::{History, Row as Line};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line as Text;
use ratatui::widgets::{Block, Gauge, Paragraph, Row, Sparkline, Table};

pub fn draw(frame: &mut Frame, histories: &[History]) {
    let parts = Layout::vertical(histories.iter().map(|_| Constraint::Fill(1)));
    for (history, area) in histories.iter().zip(parts.split(frame.area()).iter()) {
        draw_process(frame, history, *area);
    }
}

fn rate(rate: Option<f64>) -> String {
    match rate {
        None => String::new(),
        Some(rate) if rate.abs() < 1.0 => "=".to_owned(),
        Some(rate) => {
            let sign = if rate < 0.0 { '-' } else { '+' };
            format!("{sign}{}/s", numbers::figure(rate.abs(), "B"))
        }
    }
}

fn name(kind: Kind, names: &Names) -> &'static str {
    match kind {
        Kind::Live => "live",
        Kind::Beside => "free beside them",
        Kind::Idle => names.short.idle,
        Kind::Cached => names.short.cached,
        Kind::Depots => names.short.depots,
        Kind::Dirty => names.short.dirty,
        Kind::Unused => "never used",
        Kind::Metadata => names.short.records,
        Kind::Profile => "the profile's own",
    }
}

fn draw_process(frame: &mut Frame, history: &History, area: Rect) {
    let last = &history.last;
    if area.height < BORDERS + 1 {
        let text = head(history, area.width, &last.title);
        frame.render_widget(Paragraph::new(Text::from(text)), area);
        return;
    }
    let block =
        Block::bordered().title(format!(" {} ", last.title).bold()).title_bottom(" q: end ");
    let inside = block.inner(area);
    frame.render_widget(block, area);
    // Of few lines, the figures have the first.
    let rest = inside.height - 1;
    let limit_lines = rest.min(u16::from(last.limit.is_some()));
    let lines = [1, limit_lines, (rest - limit_lines).min(3)].map(Constraint::Length);
    let rows = lines.into_iter().chain([Constraint::Fill(1)]);
    let [first, limit, line, tables] = Layout::vertical(rows).areas(inside);
    let text = head(history, inside.width, "");
    frame.render_widget(Paragraph::new(Text::from(text)), first);
    draw_limit(frame, history, limit);
    draw_line(frame, history, line);
    draw_tables(frame, history, tables);
}

/// Figures are whole, or not there.
fn head(history: &History, width: u16, title: &str) -> String {
    let last = &history.last;
    let space = if title.is_empty() { "" } else { ": " };
    let parts = [
        format!("{title}{space}{} in memory", numbers::bytes(last.resident_bytes)),
        match rate(history.resident_rate()) {
            unknown if unknown.is_empty() => unknown,
            known => format!(" {known}"),
        },
        format!(", at most {}", numbers::bytes(last.peak_bytes)),
        format!("; {} blocks live", last.live_count),
    ];
    let mut text = String::new();
    for part in parts {
        if text.chars().count() + part.chars().count() > usize::from(width) && !text.is_empty() {
            break;
        }
        text += &part;
    }
    text
}

const BORDERS: u16 = 2;
/// The longest of a kind's name, of bytes (`1023 MiB`) and of a change (`+1023 MiB/s`).
const KIND: u16 = 19;
const BYTES: u16 = 8;
const CHANGE: u16 = 11;
const KINDS_WIDTH: u16 = KIND + 1 + BYTES + 1 + CHANGE;
const KINDS_HEIGHT: u16 = 9;
/// Of a size, and of a thread with its number.
const SIZE: u16 = 14;
const THREAD: u16 = 25;
/// Beside a name.
const FIGURES: u16 = 1 + BYTES + 1 + IN_MEMORY;
const IN_MEMORY: u16 = 9;
/// Of the shortest name that says something.
const NAME: u16 = 15;
const GAP: u16 = 2;

/// Beside each other, as many as there is room for; what has none is below.
fn draw_tables(frame: &mut Frame, history: &History, area: Rect) {
    let last = &history.last;
    let sizes = |frame: &mut Frame, area| draw_rows(frame, "sizes", &last.sizes, area);
    let heaps = |frame: &mut Frame, area| draw_rows(frame, "kept by", &last.heaps, area);
    let columns = |widths: &[Constraint]| Layout::horizontal(widths).spacing(GAP).split(area);
    let (kinds_width, sizes_width) = (Constraint::Length(KINDS_WIDTH), SIZE + FIGURES);
    if area.width >= KINDS_WIDTH + GAP + sizes_width + GAP + THREAD + FIGURES {
        let areas = columns(&[kinds_width, Constraint::Length(sizes_width), Constraint::Fill(1)]);
        draw_kinds(frame, history, areas[0]);
        sizes(frame, areas[1]);
        heaps(frame, areas[2]);
    } else if area.width >= KINDS_WIDTH + GAP + NAME + FIGURES {
        let areas = columns(&[kinds_width, Constraint::Fill(1)]);
        let rows = [Constraint::Length(KINDS_HEIGHT + 1), Constraint::Fill(1)];
        let [above, below] = Layout::vertical(rows).areas(areas[0]);
        draw_kinds(frame, history, above);
        sizes(frame, below);
        heaps(frame, areas[1]);
    } else {
        let rows = [Constraint::Length(KINDS_HEIGHT + 1), Constraint::Fill(1), Constraint::Fill(1)];
        let [first, second, third] = Layout::vertical(rows).areas(area);
        draw_kinds(frame, history, first);
        heaps(frame, second);
        sizes(frame, third);
    }
}

fn draw_limit(frame: &mut Frame, history: &History, area: Rect) {
    let Some(limit) = history.last.limit else { return };
    let share = (limit.used_bytes as f64 / limit.limit_bytes.max(1) as f64).clamp(0.0, 1.0);
    let (used, most) = (numbers::bytes(limit.used_bytes), numbers::bytes(limit.limit_bytes));
    let color = if share > 0.9 { Color::Red } else { Color::Blue };
    let gauge = Gauge::default()
        .ratio(share)
        .label(format!("cgroup: {used} of {most}"))
        .gauge_style(Style::new().fg(color));
    frame.render_widget(gauge, area);
}

/// The last samples, as many as there is room for.
fn draw_line(frame: &mut Frame, history: &History, area: Rect) {
    let first = history.resident.len().saturating_sub(usize::from(area.width));
    frame.render_widget(Sparkline::default().data(&history.resident[first..]), area);
}

fn draw_kinds(frame: &mut Frame, history: &History, area: Rect) {
    let names = history.last.names;
    let rows = history.kinds().map(|(kind, size, change)| {
        Row::new([name(kind, names).to_owned(), numbers::bytes(size), rate(change)])
    });
    if area.width < KINDS_WIDTH {
        return;
    }
    let widths = [Constraint::Length(KIND), Constraint::Length(BYTES), Constraint::Length(CHANGE)];
    let head = Row::new([names.short.whole, "bytes", "change"]).bold();
    frame.render_widget(Table::new(rows, widths).header(head), area);
}

fn draw_rows(frame: &mut Frame, title: &str, lines: &[Line], area: Rect) {
    let Some(name_width) = area.width.checked_sub(FIGURES).filter(|width| *width >= NAME.min(SIZE))
    else {
        return;
    };
    let rows = lines.iter().map(|line| {
        Row::new([
            shortened(&line.name, usize::from(name_width)),
            line.live_bytes.map_or(String::new(), numbers::bytes),
            numbers::bytes(line.resident_bytes),
        ])
    });
    let widths =
        [Constraint::Length(name_width), Constraint::Length(BYTES), Constraint::Length(IN_MEMORY)];
    let head = Row::new([title, "live", "in memory"]).bold();
    frame.render_widget(Table::new(rows, widths).header(head), area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::group::Limit;
    use crate::top::sample::Row;
    use crate::top::synthetic::{history, sample};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use std::time::{Duration, Instant};

    fn drawn(width: u16, height: u16, histories: &[History]) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, histories)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>() + "\n";
        (0..height).map(row).collect()
    }

    #[test]
    fn a_screen_has_rates_limit_kinds_sizes_caches_and_centrals() {
        let screen = drawn(120, 24, &[history()]);
        for text in [
            "process 7 (server)",
            "14.0 MiB in memory +2.00 MiB/s, at most 100 MiB; 12345 blocks live",
            "cgroup: 64.0 MiB of 256 MiB",
            "live                13.0 MiB +2.00 MiB/s",
            "loam's records      512 KiB  =",
            "112 bytes",
            "server (7)",
        ] {
            assert!(screen.contains(text), "{text} in\n{screen}");
        }
    }

    #[test]
    fn two_processes_share_it_and_a_small_one_is_no_mistake() {
        let screen = drawn(100, 40, &[history(), history()]);
        assert_eq!(screen.matches("12345 blocks live").count(), 2, "{screen}");
        drawn(10, 3, &[history()]);
        drawn(1, 1, &[history(), history()]);
    }

    /// As many of the largest figures as there are, with the longest names.
    fn large(count: usize) -> Vec<History> {
        let start = Instant::now();
        let sample = |seconds: u64, mib: u64| {
            let mut sample = sample(start + Duration::from_secs(seconds), mib);
            sample.title = "process 4194304 (fifteen-letters)".to_owned();
            sample.peak_bytes = 15 << 40;
            sample.live_count = 123_456_789_012;
            sample.limit = Some(Limit { used_bytes: 5 << 40, limit_bytes: 16 << 40 });
            let name = "fifteen-letters (4194304)".to_owned();
            let (live_bytes, resident_bytes) = (Some(1023 << 20), 9 << 40);
            sample.heaps = vec![Row { name, live_bytes, resident_bytes }];
            sample
        };
        let history = || {
            let mut history = History::new(4_194_304, sample(0, 4));
            history.add(sample(1, 1027));
            history
        };
        (0..count).map(|_| history()).collect()
    }

    /// Every figure that is there has its unit behind it.
    fn has_whole_figures(screen: &str) -> bool {
        let mut words = screen.split([' ', '│', '\n']).filter(|word| !word.is_empty()).peekable();
        let is_unit = |word: &str| {
            let word = word.trim_end_matches([',', ';']);
            let word = word.strip_suffix("/s").unwrap_or(word);
            ["B", "KiB", "MiB", "GiB", "TiB", "of", "in", "blocks", "bytes"].contains(&word)
        };
        while let Some(word) = words.next() {
            let number = word.trim_start_matches(['+', '-']);
            if number.parse::<f64>().is_ok() && !words.peek().is_some_and(|next| is_unit(next)) {
                let is_name = word == "4194304" || word == "0";
                if !is_name {
                    return false;
                }
            }
        }
        true
    }

    #[test]
    fn names_are_shown_and_figures_are_whole_at_every_width() {
        for width in [60, 80, 120] {
            for count in [1, 2, 8] {
                for height in [24, 50] {
                    let screen = drawn(width, height, &large(count));
                    let shown = screen.matches("process 4194304 (fifteen-letters)").count();
                    assert_eq!(shown, count, "{width} {count} {height}\n{screen}");
                    let figures = screen.matches("1.00 GiB in memory +1023 MiB/s").count();
                    assert_eq!(figures, count, "{width} {count} {height}\n{screen}");
                    assert!(has_whole_figures(&screen), "{width} {count} {height}\n{screen}");
                }
            }
            let screen = drawn(width, 50, &large(1));
            for text in ["fifteen-letters", "1023 MiB 9.00 TiB", "live                1.00 GiB"] {
                assert!(screen.contains(text), "{width}: {text}\n{screen}");
            }
        }
    }
}
