//! What tells a recording from another one of the same program.

use crate::recording::about::Header;
use std::path::Path;

pub struct Origin {
    /// As the user calls it.
    pub file: String,
    /// With its arguments, where they are known.
    pub program: String,
    /// What it allocated with, and when: nothing of what the recording does not say.
    pub made: String,
}

impl Origin {
    pub fn of(path: &Path, header: &Header) -> Origin {
        let program = match &header.arguments[..] {
            [] => header.program.clone(),
            words => words.join(" "),
        };
        Origin { file: path.display().to_string(), program, made: made(header) }
    }
}

/// An imported recording has no time when it was made, and names no allocator.
fn made(header: &Header) -> String {
    let Some(started) = &header.started else { return String::new() };
    let allocator = header.allocator.as_deref().unwrap_or("the malloc that it has by itself");
    let started = started.trim_end_matches('Z').replace('T', " ");
    format!("with {allocator}, {started} UTC")
}

/// Of all recordings of a page.
pub fn title(origins: &[&Origin]) -> String {
    let programs: Vec<&str> = origins.iter().map(|one| one.program.as_str()).collect();
    match programs[..] {
        [one] => format!("Recording of {one}"),
        [first, second] if first == second => format!("Two recordings of {first}"),
        _ => format!("Recordings of {}", programs.join(" | ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(allocator: Option<&str>) -> Header {
        Header {
            arguments: vec!["server".to_owned(), "-p".to_owned()],
            started: Some("2026-11-26T09:12:03Z".to_owned()),
            allocator: allocator.map(str::to_owned),
            ..Header::new("/usr/bin/server".to_owned())
        }
    }

    #[test]
    fn what_a_recording_does_not_say_is_left_out() {
        let of = |header: &Header| Origin::of(Path::new("new/a.trace"), header);
        let (own, other) = (of(&header(None)), of(&header(Some("/lib/x.so"))));
        assert_eq!((&*own.file, &*own.program), ("new/a.trace", "server -p"));
        assert_eq!(own.made, "with the malloc that it has by itself, 2026-11-26 09:12:03 UTC");
        assert_eq!(other.made, "with /lib/x.so, 2026-11-26 09:12:03 UTC");
        let imported = of(&Header::new("text".to_owned()));
        assert_eq!((&*imported.program, &*imported.made), ("text", ""));
        assert_eq!(title(&[&own]), "Recording of server -p");
        assert_eq!(title(&[&own, &other]), "Two recordings of server -p");
        assert_eq!(title(&[&own, &imported]), "Recordings of server -p | text");
    }
}
