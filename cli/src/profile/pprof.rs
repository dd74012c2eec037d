//! The format of pprof: a gzipped protocol buffer, profile.proto of google/pprof. Few of its fields
//! are needed, and all of them are numbers, texts and messages of these.

use crate::arguments::ProfFigure;
use crate::profile::call::Call;
use crate::profile::passing;
use crate::profile::rows::{Grouping, Row, rows};
use crate::profile::stacks::{Stack, chosen, figures, name_of};
use crate::profile::symbols::Frame;
use crate::profile::written::{Module, Place, Profile};
use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::io::Write;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A message as it is written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn numbers(&mut self, field: u64, values: impl IntoIterator<Item = u64>) {
        let mut packed = Message::default();
        values.into_iter().for_each(|value| packed.varint(value));
        self.bytes(field, &packed.0);
    }
}

/// Things that are written once, and named by a number from 1 on.
struct Table<Key> {
    numbers: HashMap<Key, u64>,
    messages: Vec<Message>,
}

impl<Key: Hash + Eq> Table<Key> {
    fn new() -> Table<Key> {
        Table { numbers: HashMap::new(), messages: Vec::new() }
    }

    /// The number, and whether it is a new one.
    fn number(&mut self, key: Key) -> (u64, bool) {
        let next = self.numbers.len() as u64 + 1;
        let number = *self.numbers.entry(key).or_insert(next);
        (number, number == next)
    }
}

struct Writer {
    texts: HashMap<String, u64>,
    in_order: Vec<String>,
    mappings: Table<Arc<Module>>,
    functions: Table<(String, String, u32)>,
    locations: Table<(Option<Place>, Vec<Frame>)>,
}

impl Writer {
    /// The first text is the empty one.
    fn text(&mut self, text: &str) -> u64 {
        if let Some(number) = self.texts.get(text) {
            return *number;
        }
        let number = self.in_order.len() as u64;
        self.in_order.push(text.to_owned());
        self.texts.insert(text.to_owned(), number);
        number
    }

    fn mapping(&mut self, module: &Arc<Module>) -> u64 {
        let (number, is_new) = self.mappings.number(module.clone());
        if is_new {
            let (path, build_id) = (module.path.display().to_string(), module.build_id.clone());
            let mut message = Message::default();
            message.number(1, number);
            message.number(2, module.start);
            message.number(3, module.end);
            message.number(4, module.start.wrapping_sub(module.bias));
            message.number(5, self.text(&path));
            message.number(6, self.text(&build_id));
            [7, 8, 9, 10].iter().for_each(|has| message.number(*has, 1));
            self.mappings.messages.push(message);
        }
        number
    }

    /// `line`: the one that it begins with, or 0.
    fn function(&mut self, frame: &Frame, line: u32) -> u64 {
        let file = frame.line.as_ref().map(|(file, _)| file.clone()).unwrap_or_default();
        let (number, is_new) = self.functions.number((frame.function.clone(), file.clone(), line));
        if is_new {
            let name = self.text(&frame.function);
            let mut message = Message::default();
            message.number(1, number);
            message.number(2, name);
            message.number(3, name);
            message.number(4, self.text(&file));
            message.number(5, u64::from(line));
            self.functions.messages.push(message);
        }
        number
    }

    fn location(&mut self, call: &Call) -> u64 {
        let Call { place, frames } = call;
        let (number, is_new) = self.locations.number((place.clone(), frames.clone()));
        if is_new {
            let module = place.as_ref().and_then(|place| place.module.as_ref());
            let bias = module.map_or(0, |module| module.bias);
            let mut message = Message::default();
            message.number(1, number);
            if let Some(module) = module {
                let mapping = self.mapping(module);
                message.number(2, mapping);
            }
            if let Some(place) = place.as_ref().filter(|place| !place.is_python()) {
                message.number(3, place.address.wrapping_add(bias));
            }
            let known = place.as_ref().and_then(|place| place.known.as_ref());
            let function_line = known.map_or(0, |known| known.function_line);
            for frame in frames {
                let mut line = Message::default();
                line.number(1, self.function(frame, function_line));
                line.number(2, frame.line.as_ref().map_or(0, |(_, line)| u64::from(*line)));
                message.bytes(4, &line.0);
            }
            self.locations.messages.push(message);
        }
        number
    }

    fn value_type(&mut self, kind: &str, unit: &str) -> Message {
        let mut message = Message::default();
        message.number(1, self.text(kind));
        message.number(2, self.text(unit));
        message
    }
}

/// As Go and others call them.
fn kind_of(figure: ProfFigure) -> &'static str {
    match figure {
        ProfFigure::Taken => "alloc",
        ProfFigure::Live => "inuse",
        other => name_of(other),
    }
}

/// An expression for the functions that are seen through wherever they are: pprof leaves them out, so
/// that what it says first is what the places are here.
fn seen_through(stacks: &[Stack]) -> String {
    let rows = rows(stacks, Grouping::lines(ProfFigure::Taken));
    let places: HashSet<&Frame> = rows.iter().map(Row::frame).collect();
    let (mut within, mut without) = (HashSet::new(), HashSet::new());
    for stack in stacks {
        let place = stack.frames().position(|frame| places.contains(frame)).unwrap_or(0);
        for (at, frame) in stack.frames().enumerate() {
            let names = if at < place { &mut within } else { &mut without };
            names.insert(passing::without_arguments(&frame.function));
        }
    }
    let mut names: Vec<String> = within.difference(&without).map(|name| escaped(name)).collect();
    names.sort();
    names.join("|")
}

/// For expressions of Go's.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if r"\.+*?()|[]{}^$".contains(letter) {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

/// What pprof shows unless it is told otherwise, and of when it is.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    pub by: ProfFigure,
    /// `None` where that is not known, as of a file.
    pub at: Option<SystemTime>,
}

impl Shown {
    pub const INUSE: Shown = Shown { by: ProfFigure::Live, at: None };
}

pub fn encode(profile: &Profile, stacks: &[Stack], shown: Shown) -> Result<Vec<u8>> {
    let mut writer = Writer {
        texts: HashMap::new(),
        in_order: Vec::new(),
        mappings: Table::new(),
        functions: Table::new(),
        locations: Table::new(),
    };
    let mut whole = Message::default();
    writer.text("");
    // The last one is what pprof shows unless it is told otherwise.
    let figures: Vec<ProfFigure> = figures(profile).into_iter().rev().collect();
    for figure in &figures {
        for (what, unit) in [("objects", "count"), ("space", "bytes")] {
            let message = writer.value_type(&format!("{}_{what}", kind_of(*figure)), unit);
            whole.bytes(1, &message.0);
        }
    }
    for stack in stacks {
        let mut sample = Message::default();
        let locations = stack.calls.iter().map(|call| writer.location(call));
        sample.numbers(1, locations.collect::<Vec<_>>());
        let sums = figures.iter().map(|figure| chosen(&stack.sums, *figure));
        let values = sums.flat_map(|sum| [sum.count, sum.bytes]);
        sample.numbers(2, values.map(i64::cast_unsigned));
        whole.bytes(2, &sample.0);
    }
    let period = writer.value_type("space", "bytes");
    let default = writer.text(&format!("{}_space", kind_of(shown.by)));
    let seen_through = writer.text(&seen_through(stacks));
    let tables = [
        (3, writer.mappings.messages),
        (4, writer.locations.messages),
        (5, writer.functions.messages),
    ];
    for (field, messages) in tables {
        messages.iter().for_each(|message| whole.bytes(field, &message.0));
    }
    writer.in_order.iter().for_each(|text| whole.bytes(6, text.as_bytes()));
    whole.number(7, seen_through);
    if let Some(since) = shown.at.and_then(|at| at.duration_since(UNIX_EPOCH).ok()) {
        whole.number(9, since.as_nanos() as u64);
    }
    whole.bytes(11, &period.0);
    whole.number(12, profile.sample_bytes);
    whole.number(14, default);
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&whole.0).context("cannot pack the profile")?;
    packed.finish().context("cannot pack the profile")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_the_format_has_them() {
        let mut message = Message::default();
        message.number(1, 150);
        message.bytes(2, b"testing");
        message.numbers(4, [3, 270, 86942]);
        let expected = b"\x08\x96\x01\x12\x07testing\x22\x06\x03\x8e\x02\x9e\xa7\x05";
        assert_eq!(message.0, expected);
    }
}
