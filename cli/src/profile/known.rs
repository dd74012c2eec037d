//! Places that have their names with them, since no file tells them: lines of an interpreter's
//! program, and code that was made while the program ran.

use crate::profile::written::Place;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Language {
    #[default]
    Native,
    Python,
    /// Made while the program ran.
    Jit,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Known {
    pub language: Language,
    pub function: String,
    pub line: Option<(String, u32)>,
    /// The line that the function begins with, or 0.
    pub function_line: u32,
}

/// Of an interpreter's program, as the library marks them among addresses (src/profile/python.h).
const MARK: u64 = 1 << 63;
const ENTRY: u64 = 1 << 62;

/// The lines of Python that a profile has, by number.
pub type Lines = HashMap<u64, Arc<Known>>;
/// What was made while the program ran and has a name, by the addresses that stacks have of it.
pub type Codes = HashMap<u64, Arc<Known>>;

/// `None` if it is an address.
pub fn line_at(word: u64, lines: &Lines) -> Option<Place> {
    if word & MARK == 0 {
        return None;
    }
    let known = lines.get(&(word & !(MARK | ENTRY)))?.clone();
    Some(Place { module: None, address: word & ENTRY, known: Some(known) })
}

impl Known {
    pub fn python(function: &[u8], file: &[u8], line: u32, function_line: u32) -> Known {
        Known {
            language: Language::Python,
            function: text(function),
            line: (line != 0).then(|| (text(file), line)),
            function_line,
        }
    }

    /// `LINE FUNCTION_LINE BYTES FUNCTION FILE`: the number is that of the function's name, and both
    /// may have blanks. No line is 0.
    pub fn parse(text: &str, language: Language) -> Option<Known> {
        let words: Vec<&str> = text.splitn(4, ' ').collect();
        let [line, function_line, bytes, names] = words[..] else { return None };
        let (function, file) = names.split_at_checked(bytes.parse().ok()?)?;
        let file = file.strip_prefix(' ')?.as_bytes();
        let (line, function_line) = (line.parse().ok()?, function_line.parse().ok()?);
        let known = Known::python(function.as_bytes(), file, line, function_line);
        Some(Known { language, ..known })
    }

    /// The same again.
    pub fn write(&self) -> String {
        let Known { function, line, function_line, .. } = self;
        let (file, line) = line.as_ref().map_or(("", 0), |(file, line)| (file.as_str(), *line));
        format!("{line} {function_line} {} {function} {file}", function.len())
    }
}

impl Known {
    /// Node's own modules have names such as `node:fs` where others have files.
    pub fn is_systems(&self) -> bool {
        let is_nodes = |(file, _): &(String, u32)| file.starts_with("node:");
        self.language == Language::Jit && self.line.as_ref().is_some_and(is_nodes)
    }
}

impl Place {
    /// Of Python: the evaluator was called for it.
    pub fn is_entry(&self) -> bool {
        self.is_python() && self.address & ENTRY != 0
    }

    pub fn is_python(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.language == Language::Python)
    }
}

/// What is known is written once, when it is met.
#[derive(Default)]
pub struct Numbered {
    numbers: HashMap<Arc<Known>, u64>,
    codes: HashSet<u64>,
    /// The records.
    pub text: String,
}

impl Numbered {
    /// What stands for the place among addresses, if it has a name with it.
    pub fn word(&mut self, place: &Place) -> Option<u64> {
        let known = place.known.as_ref()?;
        if !place.is_python() {
            if self.codes.insert(place.address) {
                self.text += &format!("code {:#x} {}\n", place.address, known.write());
            }
            return Some(place.address);
        }
        let next = self.numbers.len() as u64 + 1;
        let number = *self.numbers.entry(known.clone()).or_insert(next);
        if number == next {
            self.text += &format!("line {number} {}\n", known.write());
        }
        Some(MARK | (place.address & ENTRY) | number)
    }
}

/// What would end a line of a file, or move a terminal's cursor, is left out.
fn text(bytes: &[u8]) -> String {
    let shown = |one: char| if one.is_control() { '?' } else { one };
    String::from_utf8_lossy(bytes).chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_blanks_are_told_apart_by_length() {
        let known = Known::parse("12 3 8 größe a /tmp/a b.py", Language::Python).unwrap();
        assert_eq!(known, Known::python("größe a".as_bytes(), b"/tmp/a b.py", 12, 3));
        assert_eq!(Known::parse("12 3 99 f a.py", Language::Python), None);
        assert_eq!(
            Known::parse("12 3 4 größe a.py", Language::Python),
            None,
            "in the middle of a character"
        );
    }

    #[test]
    fn a_line_is_written_as_it_was_read() {
        let known = Arc::new(Known::parse("12 3 5 f g h a.py", Language::Python).unwrap());
        let lines = Lines::from([(7, known.clone())]);
        let entry = line_at(MARK | ENTRY | 7, &lines).unwrap();
        let inner = line_at(MARK | 7, &lines).unwrap();
        assert!(entry.is_entry() && !inner.is_entry());
        assert_eq!(line_at(7, &lines), None);
        assert_eq!(
            line_at(MARK | 8, &lines),
            None,
            "a stack that makes no sense may have any word"
        );
        let mut numbered = Numbered::default();
        assert_eq!(numbered.word(&entry), Some(MARK | ENTRY | 1));
        assert_eq!(numbered.word(&inner), Some(MARK | 1));
        assert_eq!(numbered.text, "line 1 12 3 5 f g h a.py\n");
    }
}
