//! What glibc's mtrace writes: `@ ./program:[0x4011d0] + 0x55d0c0 0x64` for a block that is taken,
//! `-` for one that is freed, `<` and `>` for one that is resized.

use crate::recording::event::Entry;
use crate::trace::call::{Call, Format, Said, hexadecimal};
use anyhow::{Context, Result, bail};

#[derive(Default)]
pub struct Mtrace {
    /// Of a resize, until the line with the new place comes.
    resized: Option<u64>,
}

pub fn is_line(line: &str) -> bool {
    line == "= Start" || line.starts_with("@ ")
}

impl Format for Mtrace {
    fn call(&mut self, line: &str) -> Result<Option<Call>> {
        if line.is_empty() || line.starts_with("= ") {
            return Ok(None);
        }
        // The caller's file may have spaces in its name; what happened stands at the end.
        let words: Vec<&str> = line.split_whitespace().collect();
        let mark = words.iter().rposition(|word| matches!(*word, "+" | "-" | "<" | ">" | "!"));
        let mark = mark.context("it says nothing that is known")?;
        let number = |at: usize| hexadecimal(words.get(mark + at).context("a number is missing")?);
        let address = number(1)?;
        let entry = Entry::Malloc;
        let what = match words[mark] {
            "+" => Said::Take { address, entry, size: number(2)?, alignment: 0 },
            "-" => Said::Give { address },
            "<" => {
                self.resized = Some(address);
                return Ok(None);
            }
            ">" => match self.resized.take() {
                Some(from) => Said::Resize { from, to: address, size: number(2)? },
                None => bail!("a block's new place without its old one"),
            },
            _ => return Ok(None), // a resize that failed
        };
        Ok(Some(Call { thread: 0, time_ns: None, what }))
    }
}
