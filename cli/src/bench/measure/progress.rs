//! How far the measurement is: a bar with the time left on a terminal, else a line per row.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::Duration;

pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
}

const TICK: Duration = Duration::from_millis(200);

impl Progress {
    /// `steps`: runs to be made, the warm-up left out.
    pub fn new(steps: usize) -> Progress {
        let is_terminal = std::io::stderr().is_terminal();
        let bar = if is_terminal {
            let bar = ProgressBar::new(u64::try_from(steps).unwrap_or(u64::MAX));
            let template = "{bar:30} {pos}/{len}  {elapsed} gone, {eta} left  {msg}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.enable_steady_tick(TICK);
            bar
        } else {
            ProgressBar::hidden()
        };
        Progress { bar, is_terminal }
    }

    pub fn show(&self, row: &str, allocator: &str) {
        self.bar.set_message(format!("{row}, {allocator}"));
    }

    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// Steps that will not be made.
    pub fn drop_steps(&self, steps: usize) {
        self.bar.inc(u64::try_from(steps).unwrap_or(0));
    }

    /// A line that stays.
    pub fn line(&self, text: &str) {
        if self.is_terminal {
            self.bar.suspend(|| say(text));
        } else {
            say(text);
        }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Where standard error is closed there is nobody to tell.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
