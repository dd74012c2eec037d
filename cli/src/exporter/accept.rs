//! Which of the two formats a scraper would rather have (RFC 9110, 12.5.1).

use crate::exposition::Format;

/// Without a word, or with one that leaves the choice, Prometheus' own, which all read.
pub fn format(accept: Option<&str>) -> Format {
    let ranges = accept.unwrap_or_default().split(',');
    let mut wanted = [0.0_f64; 2];
    for (kind, quality) in ranges.filter_map(range) {
        let of = match kind {
            "application/openmetrics-text" => &mut wanted[0],
            "text/plain" => &mut wanted[1],
            _ => continue,
        };
        *of = of.max(quality);
    }
    let [open_metrics, plain] = wanted;
    match open_metrics > 0.0 && open_metrics >= plain {
        true => Format::OpenMetrics,
        false => Format::Prometheus,
    }
}

/// The kind, and how much it is wanted. An older OpenMetrics is not written.
fn range(text: &str) -> Option<(&str, f64)> {
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next()?;
    let mut quality = 1.0;
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name.trim() {
            "q" => quality = value.trim().parse().ok()?,
            "version" if kind.ends_with("openmetrics-text") && value.trim() != "1.0.0" => {
                return None;
            }
            _ => {}
        }
    }
    Some((kind, quality))
}

pub fn name(format: Format) -> &'static str {
    match format {
        Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_open_metrics_first_gets_it_and_all_others_the_older_format() {
        // As versions of Prometheus ask.
        for words in [
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;\
             q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "application/openmetrics-text; version=1.0.0; q=0.6, text/plain; q=0.5",
        ] {
            assert_eq!(format(Some(words)), Format::OpenMetrics, "{words}");
        }
        for words in [
            "",
            "*/*",
            "text/html",
            "text/plain;version=0.0.4",
            "application/openmetrics-text;version=0.0.1",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=0.4,text/plain;q=0.5",
            "application/openmetrics-text;q=x",
        ] {
            assert_eq!(format(Some(words)), Format::Prometheus, "{words}");
        }
        assert_eq!(format(None), Format::Prometheus);
    }
}
