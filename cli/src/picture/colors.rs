//! The colours of the pages, as pictures have them that stand alone: in light.

const STYLES: [&str; 2] = [include_str!("colors.css"), include_str!("map.css")];

/// Red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color(pub [u8; 3]);

impl Color {
    /// By its name in the styles; black if there is none.
    pub fn named(name: &str) -> Color {
        let found = STYLES.iter().find_map(|style| in_style(style, name));
        found.unwrap_or(Color([0; 3]))
    }

    /// Of a part of a bar.
    pub fn of_part(name: &str) -> Color {
        // Pages hatch it.
        if name == "other" { Color::named("rule") } else { Color::named(&format!("m-{name}")) }
    }

    /// Of pages of which so many hundredths are in use; 0 is what nobody uses.
    pub fn of_fullness(hundredths: u8) -> Color {
        Color::named(match hundredths {
            0 => "background",
            1..=10 => "m-pinned",
            11..=35 => "m-low",
            36..=65 => "m-half",
            66..=90 => "m-most",
            _ => "m-full",
        })
    }

    /// As SVG has it.
    pub fn hex(self) -> String {
        let Color([red, green, blue]) = self;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

/// Light comes first.
fn in_style(style: &str, name: &str) -> Option<Color> {
    let (_, rest) = style.split_once(&format!("--{name}: #"))?;
    let number = u32::from_str_radix(rest.get(..6)?, 16).ok()?;
    let [_, red, green, blue] = number.to_be_bytes();
    Some(Color([red, green, blue]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_the_pages_in_light() {
        assert_eq!(Color::named("background").hex(), "#ffffff");
        assert_eq!(Color::of_part("pinned"), Color::of_fullness(10));
        let names = ["ink", "faint", "rule", "panel", "m-free", "m-cached", "m-rest", "m-own"];
        let all: Vec<Color> = names.map(Color::named).to_vec();
        assert!(all.iter().all(|color| *color != Color([0; 3])), "{all:?}");
        assert_ne!(Color::of_fullness(11), Color::of_fullness(10));
    }
}
