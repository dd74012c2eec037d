//! Numbers as people read them: three significant digits, with the unit that suits their size.

/// A unit and the ones its values are shown in: from which value on, divided by what, called what.
/// The first that fits from the top is taken.
type Steps = &'static [(f64, f64, &'static str)];

const SECONDS: Steps =
    &[(1.0, 1.0, "s"), (1e-3, 1e-3, "ms"), (1e-6, 1e-6, "µs"), (0.0, 1e-9, "ns")];
const MILLISECONDS: Steps =
    &[(1e3, 1e3, "s"), (1.0, 1.0, "ms"), (1e-3, 1e-3, "µs"), (0.0, 1e-6, "ns")];
const MICROSECONDS: Steps =
    &[(1e6, 1e6, "s"), (1e3, 1e3, "ms"), (1.0, 1.0, "µs"), (0.0, 1e-3, "ns")];
const NANOSECONDS: Steps = &[(1e9, 1e9, "s"), (1e6, 1e6, "ms"), (1e3, 1e3, "µs"), (0.0, 1.0, "ns")];
const BYTES: Steps = &[
    (1099511627776.0, 1099511627776.0, "TiB"),
    (1073741824.0, 1073741824.0, "GiB"),
    (1048576.0, 1048576.0, "MiB"),
    (1024.0, 1024.0, "KiB"),
    (0.0, 1.0, "B"),
];
const KIBIBYTES: Steps = &[
    (1073741824.0, 1073741824.0, "TiB"),
    (1048576.0, 1048576.0, "GiB"),
    (1024.0, 1024.0, "MiB"),
    (0.0, 1.0, "KiB"),
];
const MEBIBYTES: Steps = &[(1024.0, 1024.0, "GiB"), (0.0, 1.0, "MiB")];
const PER_SECOND: Steps =
    &[(1e9, 1e9, "G/s"), (1e6, 1e6, "M/s"), (1e4, 1e3, "k/s"), (0.0, 1.0, "/s")];
const PLAIN: Steps = &[(1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"), (0.0, 1.0, "")];

/// How values of about one size are shown.
#[derive(Debug, Clone)]
pub struct Scale {
    divisor: f64,
    unit: String,
}

impl Scale {
    /// The one that suits a value.
    pub fn of(value: f64, unit: &str) -> Scale {
        let steps = match unit {
            "s" => SECONDS,
            "ms" => MILLISECONDS,
            "us" | "µs" => MICROSECONDS,
            "ns" => NANOSECONDS,
            "B" => BYTES,
            "KiB" => KIBIBYTES,
            "MiB" => MEBIBYTES,
            "/s" => PER_SECOND,
            "" => PLAIN,
            _ => return Scale { divisor: 1.0, unit: unit.into() },
        };
        let first = (0.0, 1.0, unit);
        let fits = |step: &&(f64, f64, &'static str)| value.abs() >= step.0;
        // Zero is shown in the unit it came in.
        let chosen = if value == 0.0 { None } else { steps.iter().find(fits) };
        let (_, divisor, unit) = chosen.map_or(first, |step| *step);
        Scale { divisor, unit: unit.into() }
    }

    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// The value in this scale's unit.
    pub fn apply(&self, value: f64) -> f64 {
        value / self.divisor
    }

    fn with_unit(&self, number: String) -> String {
        match self.unit.as_str() {
            "" => number,
            unit => format!("{number} {unit}"),
        }
    }
}

/// `1.23 s`, `45.6 MiB`.
pub fn figure(value: f64, unit: &str) -> String {
    let scale = Scale::of(value, unit);
    let is_count = scale.unit.is_empty() && value.fract() == 0.0;
    scale.with_unit(if is_count { format!("{value:.0}") } else { digits(scale.apply(value)) })
}

/// `1.23 MiB`, and `-` for none.
pub fn bytes(count: u64) -> String {
    match count {
        0 => "-".to_owned(),
        count => figure(count as f64, "B"),
    }
}

/// `1.23 ± 0.04 s`: both in one unit, with as many digits behind the point.
pub fn figure_and_spread(value: f64, spread: f64, unit: &str) -> String {
    let scale = Scale::of(value, unit);
    let value = scale.apply(value);
    let decimals = decimals_of(value);
    let spread =
        if spread == 0.0 { "0".to_owned() } else { format!("{:.decimals$}", scale.apply(spread)) };
    scale.with_unit(format!("{value:.decimals$} ± {spread}"))
}

/// Three significant digits, and all those before the point.
pub fn digits(value: f64) -> String {
    let decimals = decimals_of(value);
    format!("{value:.decimals$}")
}

fn decimals_of(value: f64) -> usize {
    let size = value.abs();
    if size == 0.0 || !size.is_finite() {
        return 0;
    }
    // 9.996 is shown as 10.0, not as 10.00.
    let magnitude = (size * (1.0 + 0.5e-3)).log10().floor();
    if magnitude >= 2.0 { 0 } else { (2.0 - magnitude).min(9.0) as usize }
}

/// `1.18`, `0.85`, `12.3`, `140`: a ratio; two digits behind the point near 1.
pub fn ratio(value: f64) -> String {
    match value {
        small if small < 0.0995 => format!("{small:.3}"),
        near if near < 9.995 => format!("{near:.2}"),
        large if large < 99.95 => format!("{large:.1}"),
        huge => format!("{huge:.0}"),
    }
}

/// `12 %`, `3.4 %`: the share's size, whatever its sign.
pub fn percent(share: f64) -> String {
    format!("{} %", percent_digits(share))
}

/// The same without the sign, for the first of two.
pub fn percent_digits(share: f64) -> String {
    let percent = (share * 100.0).abs();
    if percent >= 9.95 { format!("{percent:.0}") } else { format!("{percent:.1}") }
}

/// `12 s`, `3 min 20 s`, `2 h 5 min`: how long something took.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    match whole {
        0..60 => figure(seconds, "s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit_that_suits() {
        let cases = [
            (1.2345, "s", "1.23 s"),
            (0.012345, "s", "12.3 ms"),
            (0.0000123, "s", "12.3 µs"),
            (123.456, "s", "123 s"),
            (512.0, "KiB", "512 KiB"),
            (46_712.0, "KiB", "45.6 MiB"),
            (3_145_728.0, "KiB", "3.00 GiB"),
            (3_221_225_472.0, "KiB", "3.00 TiB"),
            (1_649_267_441_664.0, "B", "1.50 TiB"),
            (1_234.0, "", "1234"),
            (12.0, "", "12"),
            (123_456.0, "", "123 k"),
            (1_234_567.0, "/s", "1.23 M/s"),
            (9.996, "ms", "10.0 ms"),
            (0.0, "KiB", "0 KiB"),
            (0.0, "", "0"),
            (42.0, "widgets", "42.0 widgets"),
        ];
        for (value, unit, text) in cases {
            assert_eq!(figure(value, unit), text);
        }
    }

    #[test]
    fn spreads_have_the_figures_digits() {
        assert_eq!(figure_and_spread(1.2345, 0.0412, "s"), "1.23 ± 0.04 s");
        assert_eq!(figure_and_spread(46_712.0, 100.0, "KiB"), "45.6 ± 0.1 MiB");
        assert_eq!(figure_and_spread(46_712.0, 0.0, "KiB"), "45.6 ± 0 MiB");
    }

    #[test]
    fn ratios_and_percents_are_short() {
        for (value, text) in [(1.184, "1.18"), (0.0512, "0.051"), (12.34, "12.3"), (140.2, "140")] {
            assert_eq!(ratio(value), text);
        }
        assert_eq!(percent(-0.1234), "12 %");
        assert_eq!(percent(0.034), "3.4 %");
    }

    #[test]
    fn durations_are_in_two_units_at_most() {
        assert_eq!(duration(12.34), "12.3 s");
        assert_eq!(duration(200.0), "3 min 20 s");
        assert_eq!(duration(7_530.0), "2 h 5 min");
    }
}
