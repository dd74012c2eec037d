//! Recordings of other tools: which one a file is in, its first line says.

use crate::recording::about::Header;
use crate::recording::event::{Block, Entry};
use crate::recording::place::Place;
use crate::recording::writer::Writer;
use crate::trace::call::{Call, Format, Said};
use crate::trace::{memory_replay, mtrace};
use anyhow::{Context, Result, anyhow, bail};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

pub fn import(file: &Path, output: &Path) -> Result<()> {
    let shown = file.display();
    let mut lines = Lines::open(file)?;
    let first = lines.next()?.unwrap_or_default();
    let (mut format, has_times): (Box<dyn Format>, bool) = match () {
        () if memory_replay::is_line(&first) => {
            (Box::new(memory_replay::MemoryReplay), memory_replay::has_times(&first))
        }
        () if mtrace::is_line(&first) => (Box::new(mtrace::Mtrace::default()), false),
        () => bail!("{shown} is a recording of neither Android's memory_replay nor glibc's mtrace"),
    };
    let header = Header { has_times, ..Header::new(file.display().to_string()) };
    let mut line = Some(first);
    write_whole(output, &header, |writer| {
        let mut import = Import { threads: Vec::new(), start_ns: None, time_us: 0, has_times };
        while let Some(text) = line.take() {
            let call = format
                .call(&text)
                .map_err(|cause| anyhow!("{shown} is damaged: line {}: {cause}", lines.number))?;
            if let Some(call) = call {
                import.add(&call, writer)?;
            }
            line = lines.next()?;
        }
        Ok(())
    })
}

/// A recording that is there whole or not at all.
pub fn write_whole<T>(
    output: &Path,
    header: &Header,
    fill: impl FnOnce(&mut Writer) -> Result<T>,
) -> Result<T> {
    let (place, file) = Place::new(output)?;
    let mut writer = Writer::new(file, header).with_context(|| place.cannot_write())?;
    let filled = fill(&mut writer)?;
    writer.finish(None, None).with_context(|| place.cannot_write())?;
    place.keep()?;
    Ok(filled)
}

struct Import {
    /// The tool's numbers, at ours.
    threads: Vec<u64>,
    start_ns: Option<u64>,
    time_us: u64,
    has_times: bool,
}

impl Import {
    fn add(&mut self, call: &Call, writer: &mut Writer) -> Result<()> {
        let thread = self.thread(call.thread)?;
        let time_us = self.time(call);
        match call.what {
            Said::Take { address, entry, size, alignment } => {
                let block = Block { entry, size, alignment, address: None, stack: 0 };
                writer.take(time_us, thread, address, block)
            }
            Said::Resize { from, to, size } => {
                let entry = Entry::Realloc;
                let block = Block { entry, size, alignment: 0, address: None, stack: 0 };
                writer.resize(time_us, thread, (from, to), block)
            }
            Said::Give { address } => writer.give(time_us, thread, address, Entry::Free),
            Said::ThreadEnd => writer.thread_end(time_us, thread),
        }
        .context("cannot write the recording")
    }

    fn thread(&mut self, theirs: u64) -> Result<u32> {
        let known = self.threads.iter().rposition(|&other| other == theirs);
        let at = known.unwrap_or_else(|| {
            self.threads.push(theirs);
            self.threads.len() - 1
        });
        u32::try_from(at).context("too many threads")
    }

    /// Where there are no times, calls are counted.
    fn time(&mut self, call: &Call) -> u64 {
        match call.time_ns.filter(|_| self.has_times) {
            Some(time_ns) => {
                let start_ns = *self.start_ns.get_or_insert(time_ns);
                self.time_us = self.time_us.max(time_ns.saturating_sub(start_ns) / 1000);
            }
            None => self.time_us += u64::from(!self.has_times),
        }
        self.time_us
    }
}

/// The lines of a text file, counted.
struct Lines<'a> {
    path: &'a Path,
    file: BufReader<File>,
    number: usize,
}

impl<'a> Lines<'a> {
    fn open(path: &'a Path) -> Result<Lines<'a>> {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Lines { path, file: BufReader::new(file), number: 0 })
    }

    fn next(&mut self) -> Result<Option<String>> {
        let mut bytes = Vec::new();
        let read = self.file.read_until(b'\n', &mut bytes);
        let read = read.with_context(|| format!("cannot read {}", self.path.display()))?;
        self.number += 1;
        let text = || String::from_utf8_lossy(&bytes).trim_end().to_owned();
        Ok((read > 0).then(text))
    }
}
