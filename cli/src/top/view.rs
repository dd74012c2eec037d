//! What is drawn of processes: each has its part of the screen.

use crate::heap::figures::Kind;
use crate::numbers;
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

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Live => "live",
        Kind::Beside => "free beside them",
        Kind::Idle => "free pages of spans",
        Kind::Cached => "caches of threads",
        Kind::Depots => "depots",
        Kind::Dirty => "pages nobody uses",
        Kind::Unused => "never used",
        Kind::Metadata => "loam's records",
        Kind::Profile => "the profile's own",
    }
}

fn draw_process(frame: &mut Frame, history: &History, area: Rect) {
    let last = &history.last;
    let block =
        Block::bordered().title(format!(" {} ", last.title).bold()).title_bottom(" q: end ");
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let limit_lines = u16::from(last.limit.is_some());
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(limit_lines),
        Constraint::Length(3),
        Constraint::Fill(1),
    ]);
    let [head, limit, line, tables] = rows.areas(inside);
    let text = format!(
        "{} in memory {}, at most {}; {} blocks live",
        numbers::bytes(last.resident_bytes),
        rate(history.resident_rate()),
        numbers::bytes(last.peak_bytes),
        last.live_count
    );
    frame.render_widget(Paragraph::new(Text::from(text)), head);
    draw_limit(frame, history, limit);
    draw_line(frame, history, line);
    let columns =
        Layout::horizontal([Constraint::Length(44), Constraint::Fill(1), Constraint::Fill(1)]);
    let [kinds, sizes, heaps] = columns.spacing(2).areas(tables);
    draw_kinds(frame, history, kinds);
    draw_rows(frame, "sizes", &last.sizes, sizes);
    draw_rows(frame, "caches and centrals", &last.heaps, heaps);
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
    let rows = history.kinds().map(|(kind, size, change)| {
        Row::new([name(kind).to_owned(), numbers::bytes(size), rate(change)])
    });
    let widths = [Constraint::Length(20), Constraint::Length(10), Constraint::Length(12)];
    let head = Row::new(["loam's memory", "bytes", "change"]).bold();
    frame.render_widget(Table::new(rows, widths).header(head), area);
}

fn draw_rows(frame: &mut Frame, title: &str, lines: &[Line], area: Rect) {
    let rows = lines.iter().map(|line| {
        Row::new([
            line.name.clone(),
            line.live_bytes.map_or(String::new(), numbers::bytes),
            numbers::bytes(line.resident_bytes),
        ])
    });
    let widths = [Constraint::Fill(1), Constraint::Length(10), Constraint::Length(10)];
    let head = Row::new([title, "live", "in memory"]).bold();
    frame.render_widget(Table::new(rows, widths).header(head), area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::synthetic::history;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

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
            "live                 13.0 MiB   +2.00 MiB/s",
            "loam's records       512 KiB    =",
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
}
