//! The format of speedscope.app, which shows stacks in a browser; by its schema,
//! https://www.speedscope.app/file-format-schema.json. One profile for each figure.

use crate::arguments::ProfFigure;
use crate::profile::stacks::{Stack, chosen, figures, name_of};
use crate::profile::symbols::Frame as Named;
use crate::profile::written::Profile;
use anyhow::{Context, Result};
use serde::Serialize;
use std::collections::HashMap;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'profile> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: &'profile str,
    exporter: String,
    active_profile_index: usize,
    shared: Shared<'profile>,
    profiles: Vec<Sampled>,
}

#[derive(Serialize)]
struct Shared<'profile> {
    frames: Vec<Frame<'profile>>,
}

#[derive(Serialize)]
struct Frame<'profile> {
    name: &'profile str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'profile str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    /// Numbers of frames, the outermost first.
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

/// Frames that are written once.
#[derive(Default)]
struct Frames<'profile> {
    numbers: HashMap<&'profile Named, usize>,
    frames: Vec<Frame<'profile>>,
}

impl<'profile> Frames<'profile> {
    fn number(&mut self, frame: &'profile Named) -> usize {
        let frames = &mut self.frames;
        *self.numbers.entry(frame).or_insert_with(|| {
            let (file, line) = match &frame.line {
                Some((file, line)) => (Some(file.as_str()), Some(*line)),
                None => (None, None),
            };
            frames.push(Frame { name: &frame.function, file, line });
            frames.len() - 1
        })
    }
}

fn sampled<'profile>(
    stacks: &'profile [Stack],
    by: ProfFigure,
    frames: &mut Frames<'profile>,
) -> Sampled {
    let weight = |stack: &Stack| u64::try_from(chosen(&stack.sums, by).bytes).unwrap_or(0);
    let shown: Vec<&Stack> = stacks.iter().filter(|stack| weight(stack) != 0).collect();
    let mut numbers =
        |stack: &&'profile Stack| stack.frames().rev().map(|frame| frames.number(frame)).collect();
    let samples = shown.iter().map(&mut numbers).collect();
    let weights: Vec<u64> = shown.iter().map(|stack| weight(stack)).collect();
    Sampled {
        kind: "sampled",
        name: name_of(by),
        unit: "bytes",
        start_value: 0,
        end_value: weights.iter().sum(),
        samples,
        weights,
    }
}

pub fn encode(profile: &Profile, stacks: &[Stack], by: ProfFigure) -> Result<Vec<u8>> {
    let mut frames = Frames::default();
    let all = figures(profile);
    let profiles = all.iter().map(|by| sampled(stacks, *by, &mut frames)).collect();
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        name: &profile.process,
        exporter: format!("loam {}", env!("CARGO_PKG_VERSION")),
        active_profile_index: all.iter().position(|one| *one == by).unwrap_or(0),
        shared: Shared { frames: frames.frames },
        profiles,
    };
    serde_json::to_vec(&file).context("cannot write JSON")
}
