//! The geometric means of a suite in one picture: two bars for each allocator, time and memory.

use crate::bench::judge::comparison::{AspectTotal, Comparison, Total};
use crate::bench::show::canvas::{Canvas, Look, Paint, Picture, ticks};
use crate::numbers;
use crate::picture::letters::shortened;
use anyhow::Result;
use plotters::style::text_anchor::HPos;

const WIDTH: i32 = 640;
const NAME_END: i32 = 106;
const BARS_START: i32 = 114;
const BARS_END: i32 = 580;
const TOP: i32 = 30;
const GROUP_HEIGHT: i32 = 34;
const BAR_HEIGHT: i32 = 12;
const TEXT: Look = Look::new(13, Paint::Ink);
const SMALL: Look = Look::new(11, Paint::Faint);
const ASPECTS: [(&str, Paint); 2] = [("time", Paint::Series(0)), ("memory", Paint::Series(1))];

/// The bars of `names` over what `rows` names, above 1 where the baseline is better.
pub fn show(comparison: &Comparison, names: &[&str], rows: &str) -> Result<String> {
    let baseline = comparison.baseline;
    let totals: Vec<&Total> = names
        .iter()
        .filter_map(|name| comparison.totals.iter().find(|total| total.allocator == *name))
        .collect();
    let told: Vec<String> = totals.iter().map(|total| said(total)).collect();
    let bottom = TOP + GROUP_HEIGHT * totals.len() as i32;
    let picture = Picture {
        width: WIDTH,
        height: bottom + 24,
        title: format!("Time and memory of {rows}, NAME / {baseline}, geometric means"),
        description: format!("More than 1: {baseline} is better. {}.", told.join("; ")),
    };
    let highest = totals.iter().flat_map(|total| means(total)).flatten().fold(1.0, f64::max);
    let ticks = ticks(highest, 4);
    let last = ticks.last().copied().unwrap_or(1.0);
    let x =
        |value: f64| BARS_START + (value / last * f64::from(BARS_END - BARS_START)).round() as i32;
    picture.draw(|canvas| {
        legend(canvas, baseline)?;
        for tick in &ticks {
            canvas.line(&[(x(*tick), TOP), (x(*tick), bottom)], Paint::Rule, 1)?;
            canvas.text(&tick.to_string(), (x(*tick), bottom + 12), HPos::Center, SMALL)?;
        }
        for (at, total) in totals.iter().enumerate() {
            let top = TOP + GROUP_HEIGHT * at as i32 + 4;
            let name = shortened(total.allocator, 14);
            canvas.text(&name, (NAME_END, top + BAR_HEIGHT), HPos::Right, TEXT)?;
            for (bar, (mean, (_, paint))) in means(total).iter().zip(ASPECTS).enumerate() {
                let Some(mean) = mean else { continue };
                let top = top + (BAR_HEIGHT + 1) * bar as i32;
                let corners = [(BARS_START, top), (x(*mean), top + BAR_HEIGHT)];
                canvas.rectangle(corners, paint)?;
                let at = (x(*mean) + 4, top + BAR_HEIGHT / 2);
                canvas.text(&numbers::ratio(*mean), at, HPos::Left, SMALL)?;
            }
        }
        canvas.line(&[(x(1.0), TOP - 6), (x(1.0), bottom)], Paint::Ink, 2)?;
        for (at, text) in told.iter().enumerate() {
            let top = TOP + GROUP_HEIGHT * at as i32;
            canvas.tip([(0, top), (WIDTH, top + GROUP_HEIGHT)], text.clone())?;
        }
        Ok(())
    })
}

fn legend(canvas: &Canvas, baseline: &str) -> Result<()> {
    let mut left = BARS_START;
    for (name, paint) in ASPECTS {
        canvas.rectangle([(left, 6), (left + BAR_HEIGHT, 6 + BAR_HEIGHT)], paint)?;
        canvas.text(name, (left + BAR_HEIGHT + 5, 12), HPos::Left, SMALL)?;
        left += 80;
    }
    let direction = format!("1 = {}; longer takes more", shortened(baseline, 14));
    canvas.text(&direction, (BARS_END, 12), HPos::Right, SMALL)
}

fn means(total: &Total) -> [Option<f64>; 2] {
    [&total.time, &total.memory].map(|total| total.mean.map(|mean| mean.value))
}

fn said(total: &Total) -> String {
    let one = |total: &AspectTotal| {
        total.mean.map_or_else(|| "no figure".into(), |mean| numbers::ratio(mean.value))
    };
    format!("{}: time {}, memory {}", total.allocator, one(&total.time), one(&total.memory))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::synthetic;

    #[test]
    fn each_allocator_has_its_two_bars_and_the_figures_are_told() {
        let results = synthetic::suite(1);
        let comparison = Comparison::new(&results, "loam").expect("a comparison");
        let names: Vec<&str> = comparison.totals.iter().map(|total| total.allocator).collect();
        let svg = show(&comparison, &names, "all rows").expect("a picture");
        for name in names.iter().filter(|name| !name.contains('<')) {
            assert!(svg.contains(&shortened(name, 14)), "{name} in\n{svg}");
        }
        assert!(svg.contains("More than 1: loam is better"), "{svg}");
        assert!(!svg.contains("<script"));
    }
}
