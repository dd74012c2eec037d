//! Names that no file tells: of lines of an interpreter's program, and of code that was made while
//! the program ran.

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
        let known = Known::parse("12 3 9 größe a /tmp/a b.py", Language::Python).unwrap();
        assert_eq!(known, Known::python("größe a".as_bytes(), b"/tmp/a b.py", 12, 3));
        assert_eq!(Known::parse("12 3 99 f a.py", Language::Python), None);
        assert_eq!(
            Known::parse("12 3 3 größe a.py", Language::Python),
            None,
            "in the middle of a character"
        );
    }
}
