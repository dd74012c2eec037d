//! A sheet that is filled from top to bottom: texts, lists, bars, lines over time, cells.

use crate::picture::bars::Row;
use crate::picture::colors::Color;
use crate::picture::letters::shortened;
use crate::picture::pins::Shown;
use crate::picture::still::mark::{Cells, Look, Mark, Point, Side, Still};

/// Of what is within the margins.
pub const WIDTH: u32 = 1200;
const MARGIN: i32 = 40;
const LINE: i32 = 21;

pub struct Sheet {
    title: String,
    marks: Vec<Mark>,
    /// Where the next thing goes.
    y: i32,
}

/// What a picture over time goes up to.
pub struct Axis {
    /// The largest value, and names for it and what is below, the first one for a quarter.
    pub most: u64,
    pub labels: [String; 4],
    /// When it ends.
    pub end: String,
    /// Columns that are marked.
    pub marked: Vec<usize>,
}

/// A value for each column.
pub struct Line<'a> {
    pub color: &'static str,
    pub values: Vec<Option<u64>>,
    pub name: &'a str,
}

impl Sheet {
    pub fn new(title: &str) -> Sheet {
        let mut sheet = Sheet { title: title.to_owned(), marks: Vec::new(), y: MARGIN + 20 };
        sheet.text(&shortened(title, letters(Look::Title)), 0, Look::Title, "ink");
        sheet.y += LINE + 8;
        sheet
    }

    pub fn finish(self) -> Still {
        let Sheet { title, marks, y } = self;
        let (width, height) = (WIDTH + 2 * MARGIN as u32, (y + MARGIN - LINE).max(1) as u32);
        Still { title, width, height, marks }
    }

    /// A heading.
    pub fn heading(&mut self, text: &str) {
        self.y += LINE;
        self.text(text, 0, Look::Bold, "ink");
        self.y += LINE + 4;
    }

    /// A text of as many lines as it takes.
    pub fn paragraph(&mut self, text: &str, is_bold: bool) {
        let look = if is_bold { Look::Bold } else { Look::Plain };
        for line in wrapped(text, letters(look)) {
            self.text(&line, 0, look, "ink");
            self.y += LINE;
        }
    }

    /// What colours mean.
    pub fn key(&mut self, entries: &[(Color, String)]) {
        const SQUARE: u32 = 13;
        let mut x = 0;
        for (color, name) in entries {
            let width = SQUARE as i32 + 8 + width_of(name, Look::Plain) + 24;
            if x != 0 && x + width > WIDTH as i32 {
                (x, self.y) = (0, self.y + LINE);
            }
            self.rectangle((x, -12), (SQUARE, SQUARE), Color::named("rule"));
            self.rectangle((x + 1, -11), (SQUARE - 2, SQUARE - 2), *color);
            self.text(name, x + SQUARE as i32 + 8, Look::Plain, "ink");
            x += width;
        }
        self.y += LINE + 4;
    }

    /// Bars with their names before and their figures behind them.
    pub fn bars(&mut self, rows: &[Row]) {
        const NAMES: i32 = 200;
        const FIGURES: i32 = 300;
        let track = WIDTH as i32 - NAMES - FIGURES - 24;
        for row in rows {
            let name = shortened(&row.name, (NAMES / 9) as usize);
            self.put_text(&name, (NAMES, 0), Side::Left, Look::Plain, "ink");
            self.bar(row, NAMES + 12, track, 14);
            self.text(&row.figure, WIDTH as i32 - FIGURES, Look::Plain, "faint");
            self.y += LINE;
        }
    }

    /// One bar as wide as the sheet.
    pub fn whole(&mut self, row: &Row) {
        self.y += 14;
        self.bar(row, 0, WIDTH as i32, 26);
        self.y += LINE + 6;
    }

    fn bar(&mut self, row: &Row, x: i32, track: i32, height: u32) {
        let top = 2 - height as i32;
        self.rectangle((x, top), (track as u32, height), Color::named("panel"));
        let mut from = 0.0;
        for part in &row.parts {
            let at = |share: f64| x + (share * f64::from(track) / 100.0).round() as i32;
            let (left, right) = (at(from), at(from + part.percent));
            // What is there is seen.
            let width = (right - left).max(1) as u32;
            self.rectangle((left, top), (width, height), Color::of_part(part.color));
            from += part.percent;
        }
    }

    /// Lines of the program that keep pages.
    pub fn pins(&mut self, lines: &[Shown]) {
        const FIGURES: i32 = 170;
        let length = ((WIDTH as i32 - FIGURES) / 9) as usize;
        for Shown { line, beside, share, of, percent } in lines {
            self.text(&format!("{beside} {share}"), 0, Look::Bold, "ink");
            self.text(&shortened(&line.name(), length), FIGURES, Look::Bold, "ink");
            self.y += LINE;
            let callers = line.callers.join(", ");
            for text in [&callers, of].into_iter().filter(|text| !text.is_empty()) {
                self.text(&shortened(text, length), FIGURES, Look::Plain, "faint");
                self.y += LINE;
            }
            let width = (f64::from(WIDTH) * percent / 100.0).max(1.0) as u32;
            self.rectangle((0, -10), (width, 5), Color::of_part("pinned"));
            self.y += 14;
        }
    }

    /// Values over time, as many as the sheet has points or fewer.
    pub fn chart(&mut self, axis: &Axis, lines: &[Line]) {
        const HEIGHT: i32 = 240;
        let keys: Vec<(Color, String)> =
            lines.iter().map(|line| (Color::named(line.color), line.name.to_owned())).collect();
        self.key(&keys);
        let bottom = HEIGHT + 4;
        let y = |value: u64| {
            bottom - (value as f64 / axis.most.max(1) as f64 * f64::from(HEIGHT)) as i32
        };
        for quarter in 0..=4 {
            self.rectangle((0, y(axis.most * quarter / 4)), (WIDTH, 1), Color::named("rule"));
        }
        let count = lines.iter().map(|line| line.values.len()).max().unwrap_or(0).max(2);
        let x = |column: usize| (column * (WIDTH as usize - 1) / (count - 1)) as i32;
        for column in &axis.marked {
            for dash in (0..HEIGHT).step_by(8) {
                self.rectangle((x(*column), 4 + dash), (1, 4), Color::named("faint"));
            }
        }
        for Line { color, values, .. } in lines {
            let there = values.iter().enumerate();
            let points = there.filter_map(|(at, value)| Some((x(at), y((*value)?)))).collect();
            self.line(&without_middles(points), Color::named(color));
        }
        for (quarter, label) in (1..).zip(&axis.labels) {
            let above = y(axis.most * quarter / 4) - 4;
            let size = (width_of(label, Look::Plain) as u32 + 4, 15);
            self.rectangle((0, above - 12), size, Color::named("background"));
            self.put_text(label, (2, above), Side::Right, Look::Plain, "faint");
        }
        self.y += bottom;
        self.times(&axis.end);
    }

    /// Below a picture over time.
    pub fn times(&mut self, end: &str) {
        self.y += 18;
        self.text("0", 0, Look::Plain, "faint");
        self.put_text(end, (WIDTH as i32, 0), Side::Left, Look::Plain, "faint");
        self.y += LINE + 6;
    }

    /// Cells as large as the sheet is wide, each so many points high.
    pub fn cells(&mut self, cells: Cells, cell_height: u32) {
        let cell_width = (WIDTH as usize / cells.columns.max(1)).max(1) as u32;
        let size = (cells.columns as u32 * cell_width, cells.rows() as u32 * cell_height);
        let corner = (MARGIN, self.y - 8);
        self.rectangle((-1, -9), (size.0 + 2, size.1 + 2), Color::named("rule"));
        self.rectangle((0, -8), size, Color::named("background"));
        self.marks.push(Mark::Cells { corner, size, cells });
        self.y += size.1 as i32;
    }

    /// What cells mean: how full, and what else there is.
    pub fn below(&mut self, others: &[(&str, &str)]) {
        const FULLNESS: [(u8, &str); 5] = [
            (10, "to 10 % in use"),
            (35, "to 35 %"),
            (65, "to 65 %"),
            (90, "to 90 %"),
            (100, "full"),
        ];
        self.y += 14;
        let fullness = FULLNESS.iter().map(|(full, name)| (Color::of_fullness(*full), *name));
        let others = others.iter().map(|(color, name)| (Color::of_part(color), *name));
        let all = fullness.chain(others).map(|(color, name)| (color, name.to_owned()));
        self.key(&all.collect::<Vec<_>>());
    }

    /// To the right of the left margin, and below the base line of the text.
    fn rectangle(&mut self, (x, y): Point, size: (u32, u32), color: Color) {
        let corner = (MARGIN + x, self.y + y);
        self.marks.push(Mark::Rectangle { corner, size, color });
    }

    fn line(&mut self, points: &[Point], color: Color) {
        let points = points.iter().map(|(x, y)| (MARGIN + x, self.y + y)).collect();
        self.marks.push(Mark::Line { points, color, width: 2 });
    }

    fn text(&mut self, text: &str, x: i32, look: Look, color: &str) {
        self.put_text(text, (x, 0), Side::Right, look, color);
    }

    fn put_text(&mut self, text: &str, (x, y): Point, side: Side, look: Look, color: &str) {
        let at = (MARGIN + x, self.y + y);
        // The fonts of points have no other sign for it.
        let text = text.replace('…', "...");
        self.marks.push(Mark::Text { text, at, side, look, color: Color::named(color) });
    }
}

/// How many fit beside each other.
fn letters(look: Look) -> usize {
    (WIDTH / look.letter_width()) as usize
}

fn width_of(text: &str, look: Look) -> i32 {
    (text.chars().count() as u32 * look.letter_width()) as i32
}

/// In lines of whole words; a word that is longer than a line is cut.
fn wrapped(text: &str, length: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = shortened(word, length);
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= length => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// What lies on a level between others adds nothing.
fn without_middles(points: Vec<Point>) -> Vec<Point> {
    let is_middle = |at: usize| {
        let level = points[at].1;
        at > 0 && at + 1 < points.len() && points[at - 1].1 == level && points[at + 1].1 == level
    };
    (0..points.len()).filter(|at| !is_middle(*at)).map(|at| points[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::bars::Part;
    use crate::picture::still::{png as points, svg};
    use std::io::Cursor;

    fn drawn() -> Still {
        let mut sheet = Sheet::new("A <title>\u{1}");
        sheet.paragraph("one two", false);
        let part = |color, percent| Part { percent, color, tip: String::new() };
        let parts = vec![part("pinned", 50.0), part("full", 50.0)];
        sheet.whole(&Row { name: String::new(), parts, figure: String::new(), content: None });
        let colors = (0..=100).map(Color::of_fullness).collect();
        sheet.cells(Cells { columns: 4, colors, cells: vec![5, 50, 100, 0, 100] }, 10);
        let axis = Axis {
            most: 100,
            labels: ["25 B", "50 B", "75 B", "100 B"].map(str::to_owned),
            end: "3.00 s".to_owned(),
            marked: vec![2],
        };
        let values = vec![Some(0), Some(50), None, Some(100)];
        sheet.chart(&axis, &[Line { color: "m-full", values, name: "live" }]);
        sheet.finish()
    }

    #[test]
    fn the_points_have_the_colours_of_what_is_drawn() {
        let png = points::of(&drawn()).unwrap();
        let mut reader = png::Decoder::new(Cursor::new(png)).read_info().unwrap();
        let mut points = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut points).unwrap();
        assert_eq!(info.width, WIDTH + 2 * MARGIN as u32);
        let count = |color: Color| points.chunks(3).filter(|point| **point == color.0).count();
        // Half the bar, and a quarter of a line of cells.
        assert_eq!(count(Color::of_part("pinned")), 600 * 26 + 300 * 10);
        assert_eq!(count(Color::of_fullness(50)), 300 * 10);
        assert!(count(Color::of_part("full")) > 600 * 26 + 600 * 10 + 1000, "a line, too");
        assert!(count(Color::named("ink")) > 100, "text");
    }

    #[test]
    fn the_same_as_svg_is_escaped_text() {
        let svg = String::from_utf8(svg::of(&drawn()).unwrap()).unwrap();
        assert!(svg.contains("<title>A &lt;title&gt;\u{fffd}</title>"), "{svg}");
        assert!(svg.contains(">one two</text>") && svg.contains(">100 B</text>"));
        assert_eq!(svg.matches("href=\"data:image/png;base64,").count(), 1);
        assert_eq!(svg.matches("<polyline").count(), 1);
    }

    #[test]
    fn texts_are_cut_into_lines_of_whole_words() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a longer-one", 5), ["a", "long…"]);
        assert!(wrapped("", 5).is_empty());
        let level = vec![(0, 1), (1, 1), (2, 1), (3, 2), (4, 2)];
        assert_eq!(without_middles(level), [(0, 1), (2, 1), (3, 2), (4, 2)]);
    }
}
