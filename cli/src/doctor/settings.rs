//! What a process was started with that bears on its memory.

use crate::heap::source::{Name, Process};
use serde::Serialize;
use std::fs;

#[derive(Default, Serialize)]
pub struct Settings {
    /// LOAM_OPTIONS of its environment, which may not be all that is set; `None` if that cannot be
    /// read.
    pub options: Option<String>,
    /// It runs Python.
    pub is_python: bool,
    /// Python takes the memory of all objects by malloc.
    pub is_pythons_malloc: bool,
}

impl Settings {
    pub fn of(process: &Process) -> Settings {
        let number = process.pid.filter(|_| process.is_live);
        let environment = number.and_then(|pid| fs::read(format!("/proc/{pid}/environ")).ok());
        Settings::found(process, environment.as_deref())
    }

    fn found(process: &Process, environment: Option<&[u8]>) -> Settings {
        let value = |name: &str| {
            let entries = environment?.split(|byte| *byte == 0);
            let mut values = entries.filter_map(|entry| {
                let text = str::from_utf8(entry).ok()?;
                text.strip_prefix(name)?.strip_prefix('=')
            });
            values.next().map(str::to_owned)
        };
        Settings {
            options: environment.map(|_| value("LOAM_OPTIONS").unwrap_or_default()),
            is_python: process.mappings.iter().any(|mapping| is_python(&mapping.name)),
            is_pythons_malloc: value("PYTHONMALLOC")
                .is_some_and(|value| value.starts_with("malloc")),
        }
    }

    /// Of an option, what was last said.
    pub fn option(&self, name: &str) -> Option<&str> {
        let entries = self.options.as_deref()?.split([',', ' ']);
        entries.rev().find_map(|entry| entry.trim().strip_prefix(name)?.strip_prefix('='))
    }
}

fn is_python(name: &Name) -> bool {
    let Name::File(path) = name else { return false };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("libpython3") || name.starts_with("python3")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::source::Mapping;

    fn process(path: &str) -> Process {
        let mapping = Mapping {
            start: 0,
            end: 1,
            offset: 0,
            name: Name::File(path.into()),
            is_accessible: true,
            resident_bytes: None,
        };
        Process {
            title: String::new(),
            name: String::new(),
            pid: None,
            is_live: true,
            mappings: vec![mapping],
            threads: Vec::new(),
            resident_bytes: None,
            peak_bytes: None,
        }
    }

    #[test]
    fn what_was_said_last_of_an_option_counts() {
        let environment =
            b"A=1\0LOAM_OPTIONS=background=on,purge_delay_ms=5,purge_delay_ms=never\0";
        let settings = Settings::found(&process("/usr/bin/cat"), Some(environment));
        assert_eq!(settings.option("purge_delay_ms"), Some("never"));
        assert_eq!((settings.option("delay_ms"), settings.is_python), (None, false));
    }

    #[test]
    fn python_is_known_by_its_files() {
        let environment = b"PYTHONMALLOC=malloc\0";
        let settings = Settings::found(&process("/usr/bin/python3.11"), Some(environment));
        assert!(settings.is_python && settings.is_pythons_malloc);
        assert!(!Settings::found(&process("/usr/bin/python3.11"), None).is_pythons_malloc);
    }
}
