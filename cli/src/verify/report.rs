//! What verify found, as data. Serialised, this is the JSON that docs/command.md describes.

use crate::process::binding::Binding;
use nix::sys::signal::Signal;
use serde::Serialize;

/// Raised when a field changes its meaning or goes; new fields do not raise it.
pub const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
pub struct Report {
    pub schema: u32,
    /// The verdict: everything is loam's.
    pub loam: bool,
    pub verdict: String,
    pub program: String,
    /// Of the process, or of the program's file.
    pub name: String,
    /// `None` for a program that was started for the purpose.
    pub pid: Option<i32>,
    pub started: Started,
    pub linkage: Linkage,
    /// The module that is loam, where one is loaded.
    pub library: Option<String>,
    pub findings: Vec<Finding>,
    pub entry_points: Vec<EntryPointRow>,
    pub modules: Vec<ModuleRow>,
    /// `None` where the program was not run.
    pub run: Option<RunReport>,
}

/// What was proven: what is, or what would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Started {
    /// In the environment that was given; or only read.
    AsItIs,
    /// As `loam run` does.
    Preloaded,
}

/// What was counted while the program ran.
#[derive(Debug, Default, Serialize)]
pub struct RunReport {
    /// Of its exit; `None` where a signal ended it.
    pub status: Option<i32>,
    pub signal: Option<&'static str>,
    /// Beside the first one, in all of its processes.
    pub threads: usize,
    /// Forked, and followed.
    pub children: usize,
    /// Programs that it, or a child, became: not followed.
    pub executed: usize,
    pub calls: Vec<CallRow>,
}

/// Calls of one function by another.
#[derive(Debug, Serialize)]
pub struct CallRow {
    pub name: &'static str,
    pub symbol: &'static str,
    pub target_module: String,
    /// `None` for operators of a C++ runtime, which call malloc.
    pub loam: Option<bool>,
    pub caller: CallerPart,
    /// Where the caller is; `None` for code in no module.
    pub module: Option<String>,
    /// `None` where no name is known.
    pub function: Option<String>,
    pub count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallerPart {
    Program,
    Library,
    Libc,
    /// Another function of the malloc family.
    EntryPoint,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Linkage {
    Dynamic,
    Static,
}

/// Something to know; a failure unless it is a note.
#[derive(Debug, Serialize)]
pub struct Finding {
    pub kind: FindingKind,
    pub is_failure: bool,
    pub module: Option<String>,
    pub entry_points: Vec<&'static str>,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// No module of the process is loam.
    NotLoaded,
    /// A preload cannot reach the program at all.
    Unreachable,
    /// A sanitizer's runtime serves allocation.
    Sanitizer,
    /// The executable defines entry points itself.
    OwnMalloc,
    /// The option `aside` lists the program.
    Aside,
    /// Another library comes before loam in the order of lookup.
    AheadOfLoam,
    /// Loam does not define the entry point and another module does.
    NotCovered,
    /// A library looks in itself and its own libraries first.
    Deepbind,
    /// The program holds loam under its own names alone: as the global allocator of Rust code.
    GlobalAllocator,
    /// A reference leads past loam for another reason.
    BoundElsewhere,
    /// A library linked with -Bsymbolic looks in itself first.
    Symbolic,
    /// A library lives in a namespace of its own (dlmopen).
    Namespace,
    /// A reference goes to code that belongs to no module.
    Hooked,
    /// Strdup's allocation cannot be followed into the C library.
    StrdupUnknown,
    /// The executable has neither a symbol table to look into nor loam's note.
    Stripped,
    /// A static program holds another allocator beside loam.
    OtherAllocator,
    /// A module for Windows imports the function from one that is not loam. As a note: it imports
    /// a function whose result is of the C runtime's heap.
    Imported,
    /// While it ran, calls went to functions that are not loam's.
    PastLoam,
    /// A script: as a note, its interpreter was inspected; as a failure, the programs that it
    /// starts were not.
    Script,
    /// A program that starts others: as a note, what it has become was inspected; as a failure,
    /// nothing was.
    Launcher,
    /// A note: it may open modules in a way that leads past loam.
    OpensModules,
    /// A note: a library defines malloc, though nothing seen resolves to it.
    DefinesMalloc,
}

/// To what a lookup from the program resolves.
#[derive(Debug, Serialize)]
pub struct EntryPointRow {
    pub name: &'static str,
    pub symbol: &'static str,
    /// The defining module; `None` where no module defines it.
    pub module: Option<String>,
    /// The module that hands the work on to loam, where one stands in between.
    pub via: Option<String>,
    /// `None` where no module defines it.
    pub loam: Option<bool>,
}

#[derive(Debug, Serialize)]
pub struct ModuleRow {
    pub path: String,
    pub role: Role,
    pub result: ModuleResult,
    pub references: Vec<Reference>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Program,
    Library,
    Loam,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModuleResult {
    Loam,
    Other,
    NoReferences,
}

/// A slot of a module that holds the address of an entry point.
#[derive(Debug, Serialize)]
pub struct Reference {
    pub name: &'static str,
    pub symbol: &'static str,
    /// Where in the process's memory the slot lies, in hexadecimal.
    pub slot: String,
    pub binding: Binding,
    pub target_module: Option<String>,
    pub target_symbol: Option<String>,
    pub via: Option<String>,
    /// `None` where the slot does not call an entry point: unbound or reassigned.
    pub loam: Option<bool>,
}

impl CallRow {
    pub fn is_past_loam(&self) -> bool {
        self.loam == Some(false)
    }
}

impl Finding {
    /// Whether it says that the programs in question were not looked at.
    pub fn is_not_followed(&self) -> bool {
        self.is_failure && matches!(self.kind, FindingKind::Script | FindingKind::Launcher)
    }
}

impl RunReport {
    /// As a shell has it. 0 of one that became another program.
    fn exit_status(&self) -> u8 {
        const SIGNALED: i32 = 128;
        let signal = self.signal.and_then(|name| name.parse::<Signal>().ok());
        let status = self.status.or(signal.map(|signal| SIGNALED + signal as i32));
        status.and_then(|status| u8::try_from(status).ok()).unwrap_or(0)
    }
}

impl Report {
    /// Of the command: a program that is run on loam passes its own on.
    pub fn status(&self) -> u8 {
        match &self.run {
            _ if !self.loam => 1,
            Some(run) => run.exit_status(),
            None => 0,
        }
    }

    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }
}
