//! What was found, as a page of text.

use crate::doctor::findings::{BYTES_MIN, Finding};
use crate::doctor::report::Report;
use crate::numbers;
use std::fmt::{Result, Write};

const WIDTH: usize = 80;
const CALLERS: usize = 2;

pub fn render(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, report);
    out
}

fn write(out: &mut String, report: &Report) -> Result {
    let mut head = format!("{}: {} in memory", report.title, numbers::bytes(report.resident_bytes));
    if let Some(peak) = report.peak_resident_bytes {
        head += &format!(", at most {}", numbers::bytes(peak));
    }
    if let (Some(used), Some(limit)) = (report.group_used_bytes, report.group_limit_bytes) {
        head += &format!("; its group has {} of {}", numbers::bytes(used), numbers::bytes(limit));
    }
    paragraph(out, &head, "", "")?;
    if report.findings.is_empty() {
        let live = numbers::bytes(report.live_bytes);
        let text = format!(
            "Nothing to say: the program has {live} in blocks, and no one thing holds as much as {}.",
            numbers::bytes(BYTES_MIN)
        );
        writeln!(out)?;
        return paragraph(out, &text, "", "");
    }
    for (at, finding) in report.findings.iter().enumerate() {
        writeln!(out)?;
        write_finding(out, at + 1, finding, report)?;
    }
    if let Some(options) = report.settings.options.as_deref().filter(|text| !text.is_empty()) {
        writeln!(out)?;
        paragraph(out, &format!("Started with LOAM_OPTIONS={options}"), "", "  ")?;
    }
    Ok(())
}

fn write_finding(out: &mut String, number: usize, finding: &Finding, report: &Report) -> Result {
    let Finding { bytes, gives_back_bytes, what, place, callers, advice, .. } = finding;
    let share = *bytes as f64 / (report.resident_bytes as f64).max(1.0);
    let head = format!("{}  {}  {what}", numbers::bytes(*bytes), numbers::percent(share));
    paragraph(out, &head, &format!("{number}. "), "   ")?;
    if let Some(place) = place {
        paragraph(out, &place.shown, "   at ", "     ")?;
        for caller in callers.iter().take(CALLERS) {
            paragraph(out, &caller.shown, "   from ", "     ")?;
        }
    }
    if let (Some(samples), Some(low), Some(high)) =
        (finding.samples, finding.low_bytes, finding.high_bytes)
    {
        let (low, high) = (numbers::bytes(low), numbers::bytes(high));
        paragraph(out, &format!("{low} to {high}, by {samples} samples"), "   ", "   ")?;
    }
    let back = match gives_back_bytes {
        0 => "nothing that malloc decides".to_owned(),
        some => format!("up to {}", numbers::bytes(*some)),
    };
    paragraph(out, &back, "   Gives back: ", "     ")?;
    paragraph(out, &advice.replace("PID", &pid(report)), "   Do: ", "     ")
}

/// Commands are to be copied.
fn pid(report: &Report) -> String {
    report.pid.map_or("PID".to_owned(), |pid| pid.to_string())
}

fn paragraph(out: &mut String, text: &str, first: &str, others: &str) -> Result {
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(first)
        .subsequent_indent(others)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .word_separator(textwrap::WordSeparator::AsciiSpace);
    writeln!(out, "{}", textwrap::fill(text, options))
}
