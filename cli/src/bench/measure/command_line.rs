//! Commands as text: words split as a shell does, and the placeholders in them.

use anyhow::{Result, bail};
use std::ffi::OsString;
use std::path::Path;

/// The words of a command, split as a shell does; nothing else that a shell does is done.
pub fn split(text: &str) -> Result<Vec<OsString>> {
    match shlex::split(text) {
        Some(words) if !words.is_empty() => Ok(words.into_iter().map(OsString::from).collect()),
        Some(_) => bail!("an empty command"),
        None => bail!("a quote without its other one: {text}"),
    }
}

/// A command as a shell would take it. Placeholders stand there unquoted, to be readable.
pub fn shown(words: &[OsString]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-{}".contains(c);
    let quoted = |word: &OsString| {
        let word = word.to_string_lossy().replace('\0', "");
        if !word.is_empty() && word.chars().all(is_plain) {
            return word;
        }
        // The only error is a zero byte, and there is none.
        shlex::try_quote(&word).map(|quoted| quoted.into_owned()).unwrap_or_default()
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// What placeholders stand for.
#[derive(Debug, Clone, Default)]
pub struct Placeholders {
    pairs: Vec<(&'static str, OsString)>,
}

impl Placeholders {
    pub fn set(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.pairs.retain(|(other, _)| *other != name);
        self.pairs.push((name, value.into()));
    }

    /// The text with each `{name}` replaced. Braces around other words stay.
    pub fn fill(&self, text: &str) -> String {
        self.pairs.iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("{{{name}}}"), &value.to_string_lossy())
        })
    }

    pub fn fill_words(&self, words: &[OsString]) -> Vec<OsString> {
        let fill = |word: &OsString| match word.to_str() {
            Some(text) => self.fill(text).into(),
            None => word.clone(),
        };
        words.iter().map(fill).collect()
    }
}

/// Whether any word holds a placeholder.
pub fn mentions(words: &[OsString], name: &str) -> bool {
    let pattern = format!("{{{name}}}");
    words.iter().any(|word| word.to_string_lossy().contains(&pattern))
}

/// Whether a file or command that something needs is there.
pub fn is_there(name: &str) -> bool {
    if name.contains('/') {
        return Path::new(name).exists();
    }
    crate::process::launch::find(name.as_ref()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_as_a_shell_does() {
        let words = split("sh -c 'a  b' \"c d\" e\\ f").expect("well formed");
        assert_eq!(words, ["sh", "-c", "a  b", "c d", "e f"]);
        assert!(split("sh -c 'open").is_err());
        assert!(split("  ").is_err());
        assert_eq!(split(&shown(&words)).expect("well formed"), words);
    }

    #[test]
    fn placeholders_are_replaced_and_other_braces_stay() {
        let mut placeholders = Placeholders::default();
        placeholders.set("port", "1");
        placeholders.set("port", "7000");
        assert_eq!(placeholders.fill("--port={port} {x} {{port}}"), "--port=7000 {x} {7000}");
    }
}
