//! The text of Android's memory_replay: `186: malloc 0xb6038060 20`, with the times of the call's
//! begin and end behind it, or without.

use crate::recording::event::Entry;
use crate::trace::call::{Call, Format, Said, hexadecimal};
use anyhow::{Context, Result, bail};

pub struct MemoryReplay;

/// The words behind the address, without the times.
fn argument_count(function: &str) -> Option<usize> {
    match function {
        "malloc" => Some(1),
        "calloc" | "memalign" | "realloc" => Some(2),
        "free" | "thread_done" => Some(0),
        _ => None,
    }
}

pub fn is_line(line: &str) -> bool {
    let Some((thread, rest)) = line.split_once(": ") else { return false };
    let function = rest.split(' ').next().unwrap_or_default();
    thread.parse::<u64>().is_ok() && argument_count(function).is_some()
}

pub fn has_times(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let arguments = words.get(1).and_then(|function| argument_count(function));
    arguments.is_some_and(|count| words.len() > 3 + count)
}

impl Format for MemoryReplay {
    fn call(&mut self, line: &str) -> Result<Option<Call>> {
        if line.is_empty() {
            return Ok(None);
        }
        let (thread, rest) = line.split_once(": ").context("no thread")?;
        let thread = thread.parse().with_context(|| format!("{thread:?} is no thread"))?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let function = *words.first().context("no function")?;
        let count = argument_count(function)
            .with_context(|| format!("{function:?} is no function that is known"))?;
        let address = hexadecimal(words.get(1).context("no address")?)?;
        let number = |at: usize| -> Result<u64> {
            let word = *words.get(2 + at).context("a number is missing")?;
            word.parse().with_context(|| format!("{word:?} is no number"))
        };
        let time_ns = if words.len() > 2 + count { Some(number(count)?) } else { None };
        let take = |entry, size, alignment| Said::Take { address, entry, size, alignment };
        let what = match function {
            "malloc" => take(Entry::Malloc, number(0)?, 0),
            "calloc" => {
                let size =
                    number(0)?.checked_mul(number(1)?).context("a size beyond all memory")?;
                take(Entry::Calloc, size, 0)
            }
            "memalign" => take(Entry::Memalign, number(1)?, power_of_two(number(0)?)?),
            "realloc" => {
                let from = hexadecimal(words.get(2).context("no address")?)?;
                resize(from, address, number(1)?)
            }
            "free" => Said::Give { address },
            _ => Said::ThreadEnd,
        };
        let is_nothing = address == 0 && !matches!(what, Said::ThreadEnd | Said::Give { .. });
        Ok((!is_nothing).then_some(Call { thread, time_ns, what }))
            .map(|call| call.filter(|call| call.what != Said::Give { address: 0 }))
    }
}

fn resize(from: u64, to: u64, size: u64) -> Said {
    match (from, to) {
        (0, address) => Said::Take { address, entry: Entry::Realloc, size, alignment: 0 },
        (address, 0) if size == 0 => Said::Give { address },
        (from, to) => Said::Resize { from, to, size },
    }
}

fn power_of_two(alignment: u64) -> Result<u64> {
    if alignment != 0 && !alignment.is_power_of_two() {
        bail!("{alignment} is no alignment");
    }
    Ok(alignment)
}
