//! A drawing area that becomes an SVG of named colours: the page decides what they are, in light
//! and in dark.

use crate::picture::letters::escaped;
use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::cell::RefCell;

/// Plotters' font sizes are this much larger than the SVG's.
const FONT_FACTOR: f64 = 1.24;
/// Series beyond these repeat the colours, dashed.
pub const SERIES_COLORS: usize = 10;

/// What is drawn, by its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    Ink,
    /// Text of less weight.
    Faint,
    /// Grid lines.
    Rule,
    Better,
    Worse,
    /// No difference seen.
    Even,
    /// What the others are compared with.
    Baseline,
    Limit,
    Background,
    Series(usize),
}

impl Paint {
    const NAMED: [(Paint, &'static str); 9] = [
        (Paint::Ink, "ink"),
        (Paint::Faint, "faint"),
        (Paint::Rule, "rule"),
        (Paint::Better, "better"),
        (Paint::Worse, "worse"),
        (Paint::Even, "even"),
        (Paint::Baseline, "baseline"),
        (Paint::Limit, "limit"),
        (Paint::Background, "background"),
    ];

    /// A colour that stands for the name until the SVG is complete.
    fn stand_in(self) -> RGBColor {
        match self {
            Paint::Series(at) => RGBColor(1, 3, (at % 256) as u8),
            named => {
                let at = Paint::NAMED.iter().position(|(paint, _)| *paint == named);
                RGBColor(1, 2, at.unwrap_or(0) as u8)
            }
        }
    }
}

type Area<'b> = DrawingArea<SVGBackend<'b>, Shift>;

/// The area to draw on, in pixels from the upper left.
pub struct Canvas<'b> {
    area: Area<'b>,
    /// What parts of the picture say under the pointer.
    tips: RefCell<Vec<String>>,
}

/// An SVG with a title and a description for those who do not see it.
pub struct Picture {
    pub width: i32,
    pub height: i32,
    pub title: String,
    pub description: String,
}

impl Picture {
    /// The SVG, for the inside of a page that defines the colours.
    pub fn draw(&self, draw: impl FnOnce(&Canvas) -> Result<()>) -> Result<String> {
        let mut svg = String::new();
        let tips = {
            let size = (self.width.max(1) as u32, self.height.max(1) as u32);
            let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            let canvas = Canvas { area, tips: RefCell::default() };
            draw(&canvas)?;
            canvas.area.present().map_err(|error| anyhow!("drawing {}: {error}", self.title))?;
            canvas.tips.into_inner()
        };
        Ok(self.described(&with_tips(with_names(svg), &tips)))
    }

    fn described(&self, svg: &str) -> String {
        let title = escaped(&self.title);
        let description = escaped(&self.description);
        let head = format!(
            "<svg role=\"img\" aria-label=\"{title}\" viewBox=\"0 0 {} {}\" \
             width=\"{}\" height=\"{}\" xmlns=\"http://www.w3.org/2000/svg\">\n\
             <title>{title}</title>\n<desc>{description}</desc>\n",
            self.width, self.height, self.width, self.height
        );
        // Plotters writes the opening tag itself.
        let body = svg.split_once('>').map_or("", |(_, body)| body);
        format!("{head}{}", body.trim_start())
    }
}

impl Canvas<'_> {
    pub fn rectangle(&self, corners: [(i32, i32); 2], paint: Paint) -> Result<()> {
        self.put(&Rectangle::new(corners, paint.stand_in().filled()))
    }

    /// A part that says more under the pointer. To be drawn last: what lies below sees no pointer.
    pub fn tip(&self, corners: [(i32, i32); 2], text: String) -> Result<()> {
        let mut tips = self.tips.borrow_mut();
        let at = tips.len();
        tips.push(text);
        self.put(&Rectangle::new(corners, tip_stand_in(at).filled()))
    }

    pub fn line(&self, points: &[(i32, i32)], paint: Paint, width: u32) -> Result<()> {
        self.put(&PathElement::new(points.to_vec(), paint.stand_in().stroke_width(width)))
    }

    pub fn circle(&self, center: (i32, i32), radius: i32, paint: Paint) -> Result<()> {
        self.put(&Circle::new(center, radius, paint.stand_in().filled()))
    }

    pub fn ring(&self, center: (i32, i32), radius: i32, paint: Paint) -> Result<()> {
        self.put(&Circle::new(center, radius, Paint::Background.stand_in().filled()))?;
        self.put(&Circle::new(center, radius, paint.stand_in().stroke_width(2)))
    }

    pub fn polygon(&self, points: Vec<(i32, i32)>, paint: Paint) -> Result<()> {
        self.put(&Polygon::new(points, paint.stand_in().filled()))
    }

    /// Text whose middle is at the height of `at`.
    pub fn text(&self, text: &str, at: (i32, i32), side: HPos, look: Look) -> Result<()> {
        let style = if look.is_bold { FontStyle::Bold } else { FontStyle::Normal };
        let size = f64::from(look.size) * FONT_FACTOR;
        let font = FontDesc::new(FontFamily::SansSerif, size, style);
        let style = font.color(&look.paint.stand_in()).pos(Pos::new(side, VPos::Center));
        self.put(&Text::new(text.to_owned(), at, style))
    }

    fn put<'e, E>(&self, element: &'e E) -> Result<()>
    where
        &'e E: plotters::element::PointCollection<'e, (i32, i32)>,
        E: for<'b> plotters::element::Drawable<SVGBackend<'b>>,
    {
        self.area.draw(element).map_err(|error| anyhow!("drawing: {error}"))
    }
}

/// How text looks; the size in pixels.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub size: i32,
    pub paint: Paint,
    pub is_bold: bool,
}

impl Look {
    pub const fn new(size: i32, paint: Paint) -> Look {
        Look { size, paint, is_bold: false }
    }

    pub const fn bold(self) -> Look {
        Look { is_bold: true, ..self }
    }
}

/// The stand-ins replaced by the names of the colours.
fn with_names(mut svg: String) -> String {
    for (paint, name) in Paint::NAMED {
        svg = svg.replace(&hex(paint), &format!("\"var(--{name})\""));
    }
    // Only what is in the picture is looked for.
    for at in 0..256 {
        let stand_in = hex(Paint::Series(at));
        if svg.contains(&stand_in) {
            let name = format!("\"var(--series-{})\"", at % SERIES_COLORS);
            let dashed = format!("stroke={name} stroke-dasharray=\"5 3\"");
            if at >= SERIES_COLORS {
                svg = svg.replace(&format!("stroke={stand_in}"), &dashed);
            }
            svg = svg.replace(&stand_in, &name);
        }
    }
    svg
}

/// A colour that stands for a tip until the SVG is complete.
fn tip_stand_in(at: usize) -> RGBColor {
    RGBColor(5, (at / 256 % 256) as u8, (at % 256) as u8)
}

/// The stand-ins of tips replaced by elements with a title.
fn with_tips(mut svg: String, tips: &[String]) -> String {
    for (at, text) in tips.iter().enumerate() {
        let RGBColor(red, green, blue) = tip_stand_in(at);
        let fill = format!("fill=\"#{red:02X}{green:02X}{blue:02X}\"");
        let Some(place) = svg.find(&fill) else { continue };
        let Some(length) = svg[place..].find("/>") else { continue };
        let element = format!("class=\"tip\"><title>{}</title></rect>", escaped(text));
        svg.replace_range(place..place + length + "/>".len(), &element);
    }
    svg
}

fn hex(paint: Paint) -> String {
    let RGBColor(red, green, blue) = paint.stand_in();
    format!("\"#{red:02X}{green:02X}{blue:02X}\"")
}

/// Round values from 0 up to beyond the highest, about as many as asked for.
pub fn ticks(highest: f64, count: usize) -> Vec<f64> {
    if !highest.is_finite() || highest <= 0.0 || count == 0 {
        return vec![0.0, 1.0];
    }
    let rough = highest / count as f64;
    let magnitude = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|factor| factor * magnitude)
        .into_iter()
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(rough);
    let last = (highest / step).ceil() as usize;
    (0..=last.max(1)).map(|at| at as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::color_tests::{ALL, seen};

    #[test]
    fn tips_are_elements_with_a_title_and_no_stand_in_stays() {
        let picture =
            Picture { width: 9, height: 9, title: "t".into(), description: String::new() };
        let svg = picture.draw(|canvas| {
            (0..300).try_for_each(|at| canvas.tip([(0, 0), (9, 9)], format!("<{at}>")))
        });
        let svg = svg.expect("a picture");
        assert_eq!(svg.matches("class=\"tip\"").count(), 300);
        assert!(svg.contains("<title>&lt;299&gt;</title></rect>") && !svg.contains("#05"));
    }

    #[test]
    fn colours_can_be_told_apart_in_light_and_in_dark() {
        const DISTANCE_MIN: f64 = 30.0;
        const BARS: [&str; 6] = ["background", "better", "worse", "even", "baseline", "limit"];
        let css = include_str!("../../picture/colors.css");
        let (light, dark) = css.split_once("@media").expect("two sets");
        for set in [light, dark] {
            let color = |name: &str| {
                let (_, rest) = set.split_once(&format!("--{name}: ")).expect(name);
                seen(&rest[..7], &ALL)
            };
            let series: Vec<String> = (0..SERIES_COLORS).map(|at| format!("series-{at}")).collect();
            let series: Vec<&str> =
                ["background"].into_iter().chain(series.iter().map(|s| &**s)).collect();
            for names in [&BARS[..], &series] {
                for (at, first) in names.iter().enumerate() {
                    for second in &names[at + 1..] {
                        let (a, b) = (color(first), color(second));
                        let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
                        let distance = squares.sum::<f64>().sqrt();
                        assert!(distance >= DISTANCE_MIN, "{first}, {second}: {distance}");
                    }
                }
            }
        }
    }

    #[test]
    fn ticks_are_round_and_reach_beyond_the_highest() {
        assert_eq!(ticks(3.7, 4), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(ticks(94.0, 4), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(ticks(0.0, 4), [0.0, 1.0]);
        assert!(ticks(0.0123, 3).last().is_some_and(|last| *last >= 0.0123));
    }

    #[test]
    fn pictures_are_described_and_name_their_colours() {
        let picture = Picture {
            width: 10,
            height: 10,
            title: "a < b".into(),
            description: "<script>".into(),
        };
        let svg = picture
            .draw(|canvas| {
                canvas.line(&[(0, 0), (9, 9)], Paint::Series(SERIES_COLORS + 1), 1)?;
                canvas.text("<b>", (1, 1), HPos::Left, Look::new(10, Paint::Ink))
            })
            .expect("a picture");
        assert!(svg.contains("<title>a &lt; b</title>"), "{svg}");
        assert!(svg.contains("var(--series-1)\" stroke-dasharray"), "{svg}");
        assert!(
            svg.contains("var(--ink)") && !svg.contains("<b>") && !svg.contains("#01"),
            "{svg}"
        );
    }
}
