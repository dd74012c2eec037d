//! The page of all processes, with the largest first.

use crate::exporter::fleet::Fleet;
use crate::exporter::read::Reading;
use crate::numbers;
use crate::picture::page::{self, Template};
use anyhow::Result;
use serde::Serialize;

const TEMPLATE: Template = Template { html: include_str!("page.html"), scripts: &[] };

#[derive(Serialize)]
struct Page {
    title: &'static str,
    answer: String,
    unreadable_count: usize,
    waiting_count: usize,
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    pid: i32,
    name: String,
    resident: String,
    live: String,
    beside: String,
    cached: String,
    has_profile: bool,
}

impl Line {
    fn of(reading: &Reading) -> Line {
        let state = |name| numbers::bytes(reading.state(name));
        Line {
            pid: reading.pid,
            name: reading.name.clone(),
            resident: numbers::bytes(reading.resident_bytes),
            live: state("live"),
            beside: state("beside"),
            cached: state("cached"),
            has_profile: reading.has_profile,
        }
    }
}

pub fn render(fleet: &Fleet) -> Result<String> {
    let mut readings: Vec<&Reading> = fleet.readings().collect();
    readings.sort_by_key(|reading| std::cmp::Reverse(reading.resident_bytes));
    let sum = readings.iter().map(|reading| reading.resident_bytes).sum();
    let noun = if readings.len() == 1 { "process" } else { "processes" };
    let page = Page {
        title: if fleet.with_glibc() { "Processes on loam or glibc" } else { "Processes on loam" },
        answer: match readings.len() {
            0 => "No process of this user is on an allocator that is read.".to_owned(),
            count => format!("{count} {noun}, {} in memory.", numbers::bytes(sum)),
        },
        unreadable_count: fleet.unreadable_count(),
        waiting_count: fleet.waiting_count,
        lines: readings.into_iter().map(Line::of).collect(),
    };
    page::render(&TEMPLATE, &page)
}
