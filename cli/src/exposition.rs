//! Metrics as text: <https://prometheus.io/docs/instrumenting/exposition_formats/>, and OpenMetrics
//! (<https://prometheus.io/docs/specs/om/open_metrics_spec/>), which adds units and an end.

use std::fmt::Display;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Prometheus,
    OpenMetrics,
}

/// A metric that goes up and down.
pub struct Gauge {
    pub name: &'static str,
    pub help: &'static str,
}

impl Gauge {
    /// Where there is one, the name ends in it.
    fn unit(&self) -> Option<&'static str> {
        let last = self.name.rsplit('_').next()?;
        ["bytes", "seconds"].into_iter().find(|unit| *unit == last)
    }
}

pub struct Exposition {
    format: Format,
    text: String,
}

impl Exposition {
    pub fn new(format: Format) -> Exposition {
        Exposition { format, text: String::new() }
    }

    /// Its samples follow.
    pub fn begin(&mut self, gauge: &Gauge) {
        let Gauge { name, help } = gauge;
        self.text += &format!("# HELP {name} {help}\n# TYPE {name} gauge\n");
        if let (Format::OpenMetrics, Some(unit)) = (self.format, gauge.unit()) {
            self.text += &format!("# UNIT {name} {unit}\n");
        }
    }

    pub fn sample(&mut self, gauge: &Gauge, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", quoted(value))).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.text += &format!("{}{labels} {value}\n", gauge.name);
    }

    pub fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text += "# EOF\n";
        }
        self.text
    }
}

fn quoted(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAUGE: Gauge = Gauge { name: "loam_x_bytes", help: "What there is." };

    fn written(format: Format) -> String {
        let mut exposition = Exposition::new(format);
        exposition.begin(&GAUGE);
        exposition.sample(&GAUGE, &[("process", "a\"b\\c\nd"), ("pid", "7")], 12);
        exposition.sample(&GAUGE, &[], 0.5);
        exposition.finish()
    }

    #[test]
    fn what_is_in_labels_stays_in_them_and_open_metrics_has_units_and_an_end() {
        let text = written(Format::Prometheus);
        let expected = "# HELP loam_x_bytes What there is.\n# TYPE loam_x_bytes gauge\n\
                        loam_x_bytes{process=\"a\\\"b\\\\c\\nd\",pid=\"7\"} 12\nloam_x_bytes 0.5\n";
        assert_eq!(text, expected);
        let text = written(Format::OpenMetrics);
        assert!(text.contains("# UNIT loam_x_bytes bytes\n") && text.ends_with("\n# EOF\n"));
    }
}
