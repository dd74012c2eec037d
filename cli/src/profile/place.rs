//! Places in a program: in code of a file, or with names of their own.

use crate::profile::known::{Known, Language};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Code of a file, in memory.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Module {
    pub start: u64,
    pub end: u64,
    /// Addresses in memory less those in the file.
    pub bias: u64,
    /// In hexadecimal; empty: it has none.
    pub build_id: String,
    pub path: PathBuf,
    /// Where that is from here, as of a process in a container.
    pub file: PathBuf,
}

/// Where a function will go on, in the file that it is in, so that it is the same in every process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    pub module: Option<Arc<Module>>,
    /// In the file, or in memory if it is in none.
    pub address: u64,
    /// What no file tells.
    pub known: Option<Arc<Known>>,
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

#[cfg(test)]
mod tests {
    use super::*;

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
