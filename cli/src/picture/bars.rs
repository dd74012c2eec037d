//! Rows of bars, which a page shows without scripts: a name, parts that have a colour each, a figure.

use crate::numbers;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Row {
    pub name: String,
    pub parts: Vec<Part>,
    pub figure: String,
    /// What the map of the address space shows when this row is chosen.
    pub content: Option<usize>,
}

#[derive(Debug, Serialize)]
pub struct Part {
    /// Of the whole width.
    pub percent: f64,
    /// The name of the colour, as the style has it.
    pub color: &'static str,
    pub tip: String,
}

/// What of a row is what, and how it is called.
pub struct Amount {
    pub name: &'static str,
    pub color: &'static str,
    pub bytes: u64,
}

/// The parts of a bar that is as long as their sum is of the longest.
pub fn parts(amounts: &[Amount], longest_bytes: u64) -> Vec<Part> {
    let there = amounts.iter().filter(|amount| amount.bytes != 0);
    let part = |amount: &Amount| Part {
        percent: percent(amount.bytes, longest_bytes),
        color: amount.color,
        tip: format!("{}: {}", amount.name, numbers::bytes(amount.bytes)),
    };
    there.map(part).collect()
}

/// As exact as a page has points.
pub fn percent(part: u64, whole: u64) -> f64 {
    (part as f64 * 100_000.0 / (whole as f64).max(1.0)).round() / 1000.0
}

pub fn sum(amounts: &[Amount]) -> u64 {
    amounts.iter().map(|amount| amount.bytes).sum()
}

/// `4.38 KiB in 40 blocks`.
pub fn in_blocks(bytes: u64, count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} in {count} block{plural}", numbers::figure(bytes as f64, "B"))
}

/// The sizes from one power of two to the next: `65 to 128 bytes`.
pub fn name_of_sizes(power: u32) -> String {
    let (low, high) = ((1_u64 << power >> 1) + 1, 1_u64 << power);
    match power {
        0 => "1 byte".to_owned(),
        1..=9 => format!("{low} to {high} bytes"),
        _ => format!("to {}", numbers::figure(high as f64, "B")),
    }
}

/// The least power of two that is not below the size.
pub fn power_of(size: u64) -> u32 {
    size.max(1).checked_next_power_of_two().map_or(63, u64::trailing_zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_what_they_stand_for() {
        let amounts = [
            Amount { name: "live", color: "full", bytes: 1024 },
            Amount { name: "free", color: "free", bytes: 0 },
            Amount { name: "pinned", color: "pinned", bytes: 3072 },
        ];
        let parts = parts(&amounts, 2 * sum(&amounts));
        let shown: Vec<_> = parts.iter().map(|part| (part.percent, &*part.tip)).collect();
        assert_eq!(shown, [(12.5, "live: 1.00 KiB"), (37.5, "pinned: 3.00 KiB")]);
    }

    #[test]
    fn sizes_are_named_by_their_power_of_two() {
        for (size, name) in [
            (0, "1 byte"),
            (1, "1 byte"),
            (2, "2 to 2 bytes"),
            (100, "65 to 128 bytes"),
            (128, "65 to 128 bytes"),
            (1025, "to 2.00 KiB"),
            (u64::MAX, "to 8388608 TiB"),
        ] {
            assert_eq!(name_of_sizes(power_of(size)), name);
        }
    }
}
