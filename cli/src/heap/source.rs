//! Memory of a process, wherever it is.

use anyhow::Result;
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    File(PathBuf),
    /// The C library's own heap, grown by brk.
    Heap,
    Stack,
    Anonymous,
    /// As the kernel calls it.
    Other(String),
}

#[derive(Debug, Clone)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub name: Name,
    pub is_accessible: bool,
    /// `None` where the system does not say: of cores.
    pub resident_bytes: Option<u64>,
}

impl Mapping {
    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

pub struct Thread {
    pub id: u32,
    /// `None` where it is not kept.
    pub name: Option<String>,
    /// Where its stack is, if that can be told.
    pub stack_pointer: Option<u64>,
    /// It waits in the kernel, not in the midst of what it does.
    pub is_waiting: bool,
}

/// What is read of the whole process.
pub struct Process {
    /// Its number, or the file that was read.
    pub title: String,
    /// Its own, or that of the file.
    pub name: String,
    /// `None` where it is not kept.
    pub pid: Option<u64>,
    pub is_live: bool,
    /// By address.
    pub mappings: Vec<Mapping>,
    pub threads: Vec<Thread>,
    pub resident_bytes: Option<u64>,
    pub peak_bytes: Option<u64>,
}

pub trait Source {
    fn process(&self) -> &Process;

    /// Fills the buffer with what is there.
    fn read(&self, address: u64, buffer: &mut [u8]) -> Result<()>;

    /// Whether each page from the address on is in memory; of a core, whether anything is on it.
    fn resident(&self, address: u64, count: usize, page_bytes: u64) -> Result<Vec<bool>>;

    fn bytes(&self, address: u64, count: usize) -> Result<Vec<u8>> {
        let mut buffer = vec![0; count];
        self.read(address, &mut buffer)?;
        Ok(buffer)
    }
}
