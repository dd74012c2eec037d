//! A still as PNG. Text is in a font of points, which needs no file of a system's.

use crate::picture::colors::Color;
use crate::picture::still::mark::{Cells, Look, Mark, Side, Still};
use anyhow::{Context, Result};
use embedded_graphics::Pixel;
use embedded_graphics::draw_target::DrawTarget;
use embedded_graphics::geometry::{OriginDimensions, Point, Size};
use embedded_graphics::mono_font::iso_8859_1::{FONT_9X15, FONT_9X15_BOLD, FONT_10X20};
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle};
use embedded_graphics::pixelcolor::{Rgb888, RgbColor};
use embedded_graphics::prelude::{Drawable, Primitive};
use embedded_graphics::primitives::{Line, PrimitiveStyle, Rectangle};
use embedded_graphics::text::{Alignment, Text};
use png::{BitDepth, ColorType, Compression, Encoder};
use std::convert::Infallible;

const WHOLE: &str = "cannot write a PNG";

pub fn of(still: &Still) -> Result<Vec<u8>> {
    let mut points = Points::new(still.width, still.height);
    for mark in &still.marks {
        // Points take all that is drawn.
        let Ok(()) = points.put(mark);
    }
    encoded(still.width, still.height, ColorType::Rgb, None, &points.bytes)
}

/// Cells alone, one point each.
pub fn of_cells(cells: &Cells) -> Result<Vec<u8>> {
    let mut bytes = cells.cells.clone();
    bytes.resize(cells.columns * cells.rows(), 0);
    let palette: Vec<u8> = cells.colors.iter().flat_map(|Color(bytes)| *bytes).collect();
    let (width, height) = (cells.columns as u32, cells.rows() as u32);
    encoded(width, height, ColorType::Indexed, Some(palette), &bytes)
}

fn encoded(
    width: u32,
    height: u32,
    color: ColorType,
    palette: Option<Vec<u8>>,
    bytes: &[u8],
) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width, height);
    encoder.set_color(color);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Balanced);
    if let Some(palette) = palette {
        encoder.set_palette(palette);
    }
    let mut writer = encoder.write_header().context(WHOLE)?;
    writer.write_image_data(bytes).context(WHOLE)?;
    writer.finish().context(WHOLE)?;
    Ok(file)
}

/// Red, green and blue, line by line.
struct Points {
    width: u32,
    height: u32,
    bytes: Vec<u8>,
}

impl Points {
    fn new(width: u32, height: u32) -> Points {
        let Color(background) = Color::named("background");
        Points { width, height, bytes: background.repeat((width * height) as usize) }
    }

    fn put(&mut self, mark: &Mark) -> Result<(), Infallible> {
        match mark {
            Mark::Rectangle { corner, size, color } => {
                let area = Rectangle::new(point(*corner), Size::new(size.0, size.1));
                self.fill_solid(&area, rgb(*color))
            }
            Mark::Line { points, color, width } => {
                // Piece by piece: the joins of a thick polyline overflow where it is steep.
                let style = PrimitiveStyle::with_stroke(rgb(*color), *width);
                let mut pieces = points.windows(2);
                pieces.try_for_each(|ends| {
                    let piece = Line::new(point(ends[0]), point(ends[1]));
                    piece.into_styled(style).draw(self)
                })
            }
            Mark::Text { text, at, side, look, color } => {
                let style = MonoTextStyle::new(font(*look), rgb(*color));
                let side = if *side == Side::Left { Alignment::Right } else { Alignment::Left };
                Text::with_alignment(text, point(*at), style, side).draw(self).map(|_| ())
            }
            Mark::Cells { corner, size, cells } => self.put_cells(*corner, *size, cells),
        }
    }

    /// As large as the size is.
    fn put_cells(
        &mut self,
        corner: (i32, i32),
        (width, height): (u32, u32),
        cells: &Cells,
    ) -> Result<(), Infallible> {
        let rows = cells.rows();
        let color_at = |x: u32, y: u32| {
            let column = x as usize * cells.columns / width.max(1) as usize;
            let row = y as usize * rows / height.max(1) as usize;
            let cell = cells.cells.get(row * cells.columns + column)?;
            cells.colors.get(usize::from(*cell)).copied()
        };
        let all = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        self.draw_iter(all.filter_map(|(x, y)| {
            let place = Point::new(corner.0 + x as i32, corner.1 + y as i32);
            Some(Pixel(place, rgb(color_at(x, y)?)))
        }))
    }
}

fn font(look: Look) -> &'static MonoFont<'static> {
    match look {
        Look::Title => &FONT_10X20,
        Look::Bold => &FONT_9X15_BOLD,
        Look::Plain => &FONT_9X15,
    }
}

fn point((x, y): (i32, i32)) -> Point {
    Point::new(x, y)
}

fn rgb(Color([red, green, blue]): Color) -> Rgb888 {
    Rgb888::new(red, green, blue)
}

impl OriginDimensions for Points {
    fn size(&self) -> Size {
        Size::new(self.width, self.height)
    }
}

impl DrawTarget for Points {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I>(&mut self, pixels: I) -> Result<(), Infallible>
    where
        I: IntoIterator<Item = Pixel<Rgb888>>,
    {
        for Pixel(Point { x, y }, color) in pixels {
            let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { continue };
            if x < self.width && y < self.height {
                let at = (y as usize * self.width as usize + x as usize) * 3;
                self.bytes[at..at + 3].copy_from_slice(&[color.r(), color.g(), color.b()]);
            }
        }
        Ok(())
    }
}
