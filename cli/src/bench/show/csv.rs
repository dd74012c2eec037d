//! The figures as comma-separated values: a line for each row, metric and allocator.

use crate::bench::judge::comparison::{ComparedMetric, ComparedRow, Comparison, Entry};
use crate::bench::show::form::Form;
use crate::bench::show::wording;
use anyhow::Result;
use statrs::statistics::{Data, Distribution};

pub struct Csv;

const HEAD: [&str; 14] = [
    "row",
    "metric",
    "unit",
    "allocator",
    "runs",
    "median",
    "mean",
    "stddev",
    "min",
    "max",
    "ratio",
    "ratio_low",
    "ratio_high",
    "verdict",
];

impl Form for Csv {
    fn show(&self, comparison: &Comparison) -> Result<String> {
        let mut out = csv::Writer::from_writer(Vec::new());
        out.write_record(HEAD)?;
        for row in &comparison.rows {
            for compared in &row.metrics {
                for entry in &compared.entries {
                    out.write_record(record(row, compared, entry))?;
                }
            }
        }
        Ok(String::from_utf8(out.into_inner()?)?)
    }
}

fn record(row: &ComparedRow, compared: &ComparedMetric, entry: &Entry) -> [String; HEAD.len()] {
    let cell = row.row.cell(entry.allocator);
    let values: Vec<f64> = cell
        .map(|cell| cell.values(compared.name).map(|(_, value)| value).collect())
        .unwrap_or_default();
    let runs = values.len().to_string();
    let data = Data::new(values);
    let number = |value: Option<f64>| {
        value.filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
    };
    let interval = entry.ratio.and_then(|ratio| ratio.interval);
    let verdict = match compared.is_judged {
        true => wording::verdict(entry, compared.name, compared.metric),
        false => String::new(),
    };
    [
        no_formula(&row.row.name),
        no_formula(compared.name),
        no_formula(&compared.metric.unit),
        no_formula(entry.allocator),
        runs,
        number(entry.summary.map(|all| all.median)),
        number(data.mean()),
        number(data.std_dev()),
        number(entry.summary.map(|all| all.lowest)),
        number(entry.summary.map(|all| all.highest)),
        number(entry.ratio.map(|ratio| ratio.value)),
        number(interval.map(|ends| ends.low)),
        number(interval.map(|ends| ends.high)),
        no_formula(&verdict),
    ]
}

/// A text that a table's program would take for a formula gets a quote first.
fn no_formula(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    format!("{}{text}", if is_formula { "'" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::synthetic;

    #[test]
    fn every_line_has_the_heads_fields() {
        let results = synthetic::command(1);
        let text = Csv.show(&Comparison::new(&results, "glibc").unwrap()).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap(), HEAD.as_slice());
        let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert!(records.len() > 20);
        assert!(text.contains("ghostscript,wall,s,loam,7,"), "{text}");
        for record in records {
            let [low, mean, high] = [8, 6, 9].map(|i| record[i].parse::<f64>().unwrap_or(0.0));
            assert!(low <= mean && mean <= high, "{record:?}");
        }
    }

    #[test]
    fn no_text_is_a_formula() {
        assert_eq!(no_formula("=1+1"), "'=1+1");
        assert_eq!(no_formula("a=b"), "a=b");
    }
}
