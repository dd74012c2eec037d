//! The figures as comma-separated values: a line for each row, metric and allocator.

use crate::bench::judge::comparison::{ComparedMetric, ComparedRow, Comparison, Entry};
use crate::bench::show::form::Form;
use crate::bench::show::wording;
use anyhow::Result;

pub struct Csv;

const HEAD: &str = "row,metric,unit,allocator,runs,median,mean,stddev,min,max,ratio,ratio_low,\
                    ratio_high,verdict\n";

impl Form for Csv {
    fn show(&self, comparison: &Comparison) -> Result<String> {
        let mut out = HEAD.to_owned();
        for row in &comparison.rows {
            for compared in &row.metrics {
                compared.entries.iter().for_each(|entry| out += &line(row, compared, entry));
            }
        }
        Ok(out)
    }
}

fn line(row: &ComparedRow, compared: &ComparedMetric, entry: &Entry) -> String {
    let cell = row.row.cell(entry.allocator);
    let values: Vec<f64> = cell
        .map(|cell| cell.values(compared.name).map(|(_, value)| value).collect())
        .unwrap_or_default();
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let interval = entry.ratio.and_then(|ratio| ratio.interval);
    let verdict = match compared.is_judged {
        true => wording::verdict(entry, compared.name, compared.metric),
        false => String::new(),
    };
    let fields = [
        quoted(&row.row.name),
        quoted(compared.name),
        quoted(&compared.metric.unit),
        quoted(entry.allocator),
        values.len().to_string(),
        number(entry.summary.map(|all| all.median)),
        number(mean(&values)),
        number(deviation(&values)),
        number(entry.summary.map(|all| all.lowest)),
        number(entry.summary.map(|all| all.highest)),
        number(entry.ratio.map(|ratio| ratio.value)),
        number(interval.map(|ends| ends.low)),
        number(interval.map(|ends| ends.high)),
        quoted(&verdict),
    ];
    fields.join(",") + "\n"
}

#[allow(clippy::cast_precision_loss)] // counts of runs
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Of the values as a sample.
#[allow(clippy::cast_precision_loss)] // counts of runs
fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// As RFC 4180 has it. A text that a table's program would take for a formula gets a quote first.
fn quoted(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    let text = format!("{}{text}", if is_formula { "'" } else { "" });
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::synthetic;

    #[test]
    fn every_line_has_the_heads_fields() {
        let results = synthetic::command(1);
        let text = Csv.show(&Comparison::new(&results, "glibc").unwrap()).unwrap();
        let plain = |line: &str| {
            let outside: String = line.split('"').step_by(2).collect();
            outside.matches(',').count()
        };
        assert!(text.lines().count() > 20);
        for line in text.lines() {
            assert_eq!(plain(line), HEAD.matches(',').count(), "{line}");
        }
        assert!(text.contains("ghostscript,wall,s,loam,10,"), "{text}");
    }

    #[test]
    fn figures_are_those_of_the_runs() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(deviation(&[1.0, 3.0]), Some(2f64.sqrt()));
        assert_eq!((mean(&[]), deviation(&[1.0])), (None, None));
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=1+1"), "'=1+1");
    }
}
