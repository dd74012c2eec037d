//! One line for each stack, the outermost function first; and the picture of them.

use crate::arguments::ProfFigure;
use crate::numbers;
use crate::profile::stacks::{Stack, chosen, name_of};
use crate::profile::written::Profile;
use anyhow::{Result, anyhow};
use inferno::flamegraph;
use std::collections::BTreeMap;

pub fn lines(stacks: &[Stack], by: ProfFigure) -> Vec<String> {
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    for stack in stacks {
        let names = stack.frames().rev().map(|frame| frame.function.replace(';', ":"));
        let names = names.collect::<Vec<_>>().join(";");
        *sums.entry(names).or_default() += chosen(&stack.sums, by).bytes;
    }
    sums.into_iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(names, bytes)| format!("{names} {bytes}"))
        .collect()
}

pub fn draw(lines: &[String], profile: &Profile, by: ProfFigure) -> Result<Vec<u8>> {
    let mut options = flamegraph::Options::default();
    let sum = chosen(&profile.total, by);
    let bytes = numbers::bytes(sum.bytes.unsigned_abs());
    options.title = format!("{}: {} bytes by stack", profile.title(), name_of(by));
    options.subtitle =
        Some(format!("{bytes} in {} blocks, from {} samples", sum.count, sum.samples));
    options.count_name = "bytes".to_owned();
    let mut picture = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut picture)
        .map_err(|cause| anyhow!("cannot draw the stacks: {cause}"))?;
    Ok(picture)
}
