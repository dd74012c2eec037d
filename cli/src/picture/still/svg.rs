//! A still as SVG: text stays text, cells are a PNG within.

use crate::picture::letters::escaped;
use crate::picture::still::mark::{Cells, Look, Mark, Point, Side, Still};
use crate::picture::still::png;
use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;

pub fn of(still: &Still) -> Result<Vec<u8>> {
    let Still { title, width, height, marks } = still;
    let title = escaped(title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\" \
         font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\">\n\
         <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for mark in marks {
        out.push_str(&element(mark)?);
        out.push('\n');
    }
    out.push_str("</svg>\n");
    Ok(out.into_bytes())
}

fn element(mark: &Mark) -> Result<String> {
    Ok(match mark {
        Mark::Rectangle { corner: (x, y), size: (width, height), color } => format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{}\"/>",
            color.hex()
        ),
        Mark::Line { points, color, width } => format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"/>",
            path(points),
            color.hex()
        ),
        Mark::Text { text, at: (x, y), side, look, color } => format!(
            "<text x=\"{x}\" y=\"{y}\" fill=\"{}\"{}{}>{}</text>",
            color.hex(),
            if *side == Side::Left { " text-anchor=\"end\"" } else { "" },
            letters(*look),
            escaped(text)
        ),
        Mark::Cells { corner, size, cells } => image(*corner, *size, cells)?,
    })
}

fn path(points: &[Point]) -> String {
    let mut path = String::new();
    for (x, y) in points {
        // Writing to a string does not fail.
        let _ = write!(path, "{x},{y} ");
    }
    path
}

/// The letters of the fonts meant are six tenths as wide as high.
fn letters(look: Look) -> String {
    let weight = if look == Look::Plain { "" } else { " font-weight=\"bold\"" };
    format!(" font-size=\"{:.1}\"{weight}", f64::from(look.letter_width()) / 0.602)
}

fn image((x, y): Point, (width, height): (u32, u32), cells: &Cells) -> Result<String> {
    let bytes = STANDARD.encode(png::of_cells(cells)?);
    Ok(format!(
        "<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
         preserveAspectRatio=\"none\" image-rendering=\"optimizeSpeed\" \
         style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{bytes}\"/>"
    ))
}
