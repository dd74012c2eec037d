//! The memory of a running process.

use crate::binary::elf::Image;
use anyhow::{Context, Result};
use std::fs::File;
use std::os::unix::fs::FileExt;

pub struct Memory {
    file: File,
}

impl Memory {
    /// Of a file /proc/PID/mem.
    pub fn new(file: File) -> Memory {
        Memory { file }
    }

    pub fn read_bytes(&self, address: u64, count: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.read_into(&mut bytes, address)?;
        Ok(bytes)
    }

    /// A pointer of the process at an address.
    pub fn read_pointer(&self, address: u64, image: &Image) -> Result<u64> {
        let architecture = image.architecture;
        let width_bytes = architecture.pointer_bytes() as usize;
        let mut bytes = [0; 8];
        self.read_into(&mut bytes[..width_bytes], address)?;
        if architecture.is_little_endian {
            return Ok(u64::from_le_bytes(bytes));
        }
        bytes.rotate_right(8 - width_bytes);
        Ok(u64::from_be_bytes(bytes))
    }

    fn read_into(&self, bytes: &mut [u8], address: u64) -> Result<()> {
        self.file
            .read_exact_at(bytes, address)
            .with_context(|| format!("cannot read the process's memory at {address:#x}"))
    }
}
