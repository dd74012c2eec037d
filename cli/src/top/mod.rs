//! `loam top`: the memory of processes, live on the terminal.

mod sample; // what is seen of a process at one time
#[cfg(test)]
mod synthetic; // made-up samples
mod view; // what is drawn of it

use crate::arguments::TopArguments;
use crate::failure::{Failure, USAGE};
use anyhow::Context;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use sample::{History, Sample};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub fn top(arguments: &TopArguments) -> Result<ExitCode, Failure> {
    if !std::io::stdout().is_terminal() {
        return Err(Failure::new(USAGE, "top draws on a terminal; 'loam stats' prints figures"));
    }
    let mut histories = Vec::new();
    for &pid in &arguments.pids {
        histories.push(History::new(pid, Sample::take(pid)?));
    }
    // The terminal is as it was again, whatever happens.
    let mut terminal = ratatui::try_init().context("cannot draw on the terminal")?;
    let outcome = watch(&mut terminal, &mut histories, arguments.every);
    ratatui::restore();
    outcome?;
    Ok(ExitCode::SUCCESS)
}

fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    histories: &mut [History],
    every: Duration,
) -> anyhow::Result<()> {
    loop {
        terminal
            .draw(|frame| view::draw(frame, histories))
            .context("cannot draw on the terminal")?;
        let due = Instant::now() + every;
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            if !event::poll(left).context("cannot read the keyboard")? {
                break;
            }
            match event::read().context("cannot read the keyboard")? {
                Event::Key(key) if is_end(key.code, key.modifiers) => return Ok(()),
                Event::Resize(..) => break,
                _ => {}
            }
        }
        for history in histories.iter_mut() {
            history.add(Sample::take(history.pid)?);
        }
    }
}

fn is_end(code: KeyCode, modifiers: KeyModifiers) -> bool {
    let is_interrupt = code == KeyCode::Char('c') && modifiers.contains(KeyModifiers::CONTROL);
    is_interrupt || matches!(code, KeyCode::Char('q') | KeyCode::Esc)
}
