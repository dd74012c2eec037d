//! Names for addresses: functions, also those compiled into others, with files and lines.

use crate::profile::debug_link;
use crate::profile::known::Language;
use crate::profile::written::{Module, Place};
use addr2line::{Loader, demangle_auto};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    pub function: String,
    pub line: Option<(String, u32)>,
    /// Of the C library, or of that of the language.
    pub is_systems: bool,
    pub language: Language,
}

impl Frame {
    pub fn unnamed(text: &str) -> Frame {
        Frame {
            function: text.to_owned(),
            line: None,
            is_systems: false,
            language: Language::Native,
        }
    }

    /// Somewhere in the function: line 0.
    pub fn without_line_number(&self) -> Frame {
        let line = self.line.as_ref().map(|(file, _)| (file.clone(), 0));
        Frame { line, ..self.clone() }
    }

    /// `session_open`, as long as a line has room for.
    pub fn short_function(&self) -> String {
        const LONGEST: usize = 60;
        let mut function: String = self.function.chars().take(LONGEST).collect();
        if function.len() < self.function.len() {
            function.push('…');
        }
        function
    }

    /// `src/server.c:42`: the last two parts of the path are enough to find the file. Without a
    /// number for line 0.
    pub fn place(&self) -> Option<String> {
        let (file, line) = self.line.as_ref()?;
        let parts: Vec<&str> = file.rsplit('/').take(2).collect();
        let parts = parts.into_iter().rev().filter(|part| !part.is_empty());
        let file = parts.collect::<Vec<_>>().join("/");
        Some(if *line == 0 { file } else { format!("{file}:{line}") })
    }

    /// `session_open  src/server.c:42`
    pub fn shown(&self) -> String {
        let function = self.short_function();
        self.place().map_or(function.clone(), |place| format!("{function}  {place}"))
    }
}

/// Knows each module's names once it has been asked for one.
#[derive(Default)]
pub struct Symbols {
    modules: HashMap<PathBuf, Option<Loader>>,
    frames: HashMap<(PathBuf, u64), Arc<[Frame]>>,
}

impl Symbols {
    /// The functions at a place, the innermost first: one, and those that it was compiled into.
    pub fn frames(&mut self, place: &Place) -> Arc<[Frame]> {
        if let Some(known) = &place.known {
            let frame = Frame::unnamed(&known.function);
            let (line, language) = (known.line.clone(), known.language);
            return [Frame { line, language, is_systems: known.is_systems(), ..frame }].into();
        }
        let Some(module) = &place.module else {
            return [Frame::unnamed(&format!("{:#x}", place.address))].into();
        };
        let key = (module.path.clone(), place.address);
        if let Some(known) = self.frames.get(&key) {
            return known.clone();
        }
        let loader =
            self.modules.entry(module.path.clone()).or_insert_with(|| load(module)).as_ref();
        // The call is before the address that it returns to.
        let frames = loader.and_then(|loader| find(loader, place.address.wrapping_sub(1)));
        let frames =
            frames.unwrap_or_else(|| vec![Frame::unnamed(&in_file(module, place.address))]);
        let is_systems = is_systems(&module.path);
        let frames: Arc<[Frame]> =
            frames.into_iter().map(|frame| Frame { is_systems, ..frame }).collect();
        self.frames.insert(key, frames.clone());
        frames
    }
}

/// `libc.so.6`, `ld-linux-x86-64.so.2`, `libstdc++.so.6.0.30`
fn is_systems(path: &Path) -> bool {
    const NAMES: [&str; 7] =
        ["libc", "ld", "libpthread", "libstdc++", "libc++", "libc++abi", "libgcc_s"];
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split(".so").next().unwrap_or_default();
    // With a processor, a C library or a version behind: `libc-2.31.so`, `ld-musl-x86_64.so.1`.
    let is_named = |known: &&str| match stem.strip_prefix(*known) {
        Some(rest) => rest.is_empty() || rest.starts_with('-') || rest.starts_with(".musl"),
        None => false,
    };
    name.contains(".so") && NAMES.iter().any(is_named)
}

fn in_file(module: &Module, address: u64) -> String {
    let name = module.path.file_name().unwrap_or(module.path.as_os_str());
    format!("{}+{address:#x}", name.display())
}

/// What was stripped off the file, where distributions put it, or else the file.
fn load(module: &Module) -> Option<Loader> {
    let stripped_off = module.build_id.get(2..).map(|rest| {
        let folder = &module.build_id[..2];
        PathBuf::from(format!("/usr/lib/debug/.build-id/{folder}/{rest}.debug"))
    });
    let stripped_off = stripped_off.filter(|path| path.is_file());
    let stripped_off = stripped_off.or_else(|| debug_link::file_of(&module.file));
    let candidates = stripped_off.iter().map(PathBuf::as_path).chain([module.file.as_path()]);
    candidates.filter(|path| path.is_file()).find_map(|path: &Path| Loader::new(path).ok())
}

fn find(loader: &Loader, address: u64) -> Option<Vec<Frame>> {
    let mut found = Vec::new();
    if let Ok(mut frames) = loader.find_frames(address) {
        while let Ok(Some(frame)) = frames.next() {
            let Some(function) = frame.function else { continue };
            let line = frame.location.and_then(|place| Some((place.file?.to_owned(), place.line?)));
            let Ok(name) = function.demangle() else { continue };
            // Of a language without mangled names there may be some, too: loam's operators.
            let name = demangle_auto(name, None);
            found.push(Frame { line, ..Frame::unnamed(&name) });
        }
    }
    if found.is_empty() {
        let symbol = loader.find_symbol(address)?;
        let name = demangle_auto(Cow::Borrowed(symbol), None);
        found.push(Frame::unnamed(&name));
    }
    for frame in &mut found {
        frame.function.truncate(without_part(&frame.function).len());
    }
    Some(found)
}

/// `read.constprop.0`, as compilers call a function that they have made of another one.
fn without_part(name: &str) -> &str {
    const PARTS: [&str; 6] = [".constprop.", ".part.", ".isra.", ".cold", ".lto_priv.", ".llvm."];
    PARTS.iter().fold(name, |name, part| name.find(part).map_or(name, |at| &name[..at]))
}
