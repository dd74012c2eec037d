//! Breakpoints that many threads can pass at once. The first instruction of each function is
//! copied to a page nearby, with a jump back behind it; a thread that has hit the breakpoint goes
//! on in the copy. Nothing is ever taken back for a step, so that no call is missed.

use crate::process::modules::{Module, Process};
use crate::process::trace::Stopped;
use anyhow::{Context, Result, anyhow, bail};
use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, Instruction, InstructionBlock,
};
use std::collections::HashMap;

const TRAP: u8 = 0xcc;
const BITS: u32 = 64;
const INSTRUCTION_MAX_BYTES: usize = 15;
/// Of a page, for one function: an instruction, which may become longer, and a jump.
const COPY_BYTES: u64 = 64;

#[derive(Default)]
pub struct Breakpoints {
    /// From a function's address to that of the copy.
    copies: HashMap<u64, u64>,
}

impl Breakpoints {
    /// Puts breakpoints at functions of a module of a program that has not begun to run.
    pub fn set(
        &mut self,
        stopped: &Stopped,
        process: &Process,
        module: &Module,
        functions: &[u64],
    ) -> Result<()> {
        if functions.is_empty() {
            return Ok(());
        }
        let bytes = functions.len() as u64 * COPY_BYTES;
        let place = gap_below(stopped.pid(), module.start, bytes)
            .with_context(|| format!("no room for breakpoints in {}", module.path.display()))?;
        stopped.map_code(place, bytes)?;
        for (index, &function) in functions.iter().enumerate() {
            let copy = place + index as u64 * COPY_BYTES;
            let code =
                copied(&process.read_bytes(function, INSTRUCTION_MAX_BYTES)?, function, copy)
                    .with_context(|| format!("no breakpoint can be set at {function:#x}"))?;
            stopped.write_code(copy, &code)?;
            stopped.write_code(function, &[TRAP])?;
            self.copies.insert(function, copy);
        }
        Ok(())
    }

    /// Which function a thread that has stopped behind a trap is about to begin, and where it is
    /// to go on.
    pub fn hit(&self, behind_trap: u64) -> Option<(u64, u64)> {
        let function = behind_trap.wrapping_sub(1);
        self.copies.get(&function).map(|copy| (function, *copy))
    }
}

/// The first instruction of a function for another address, and a jump to the second.
fn copied(bytes: &[u8], function: u64, copy: u64) -> Result<Vec<u8>> {
    let first = Decoder::with_ip(BITS, bytes, function, DecoderOptions::NONE).decode();
    if first.is_invalid() {
        bail!("an unknown instruction");
    }
    let back = Instruction::with_branch(Code::Jmp_rel32_64, first.next_ip())
        .map_err(|cause| anyhow!("{cause}"))?;
    let instructions = [first, back];
    let block = InstructionBlock::new(&instructions, copy);
    let encoded = BlockEncoder::encode(BITS, block, BlockEncoderOptions::NONE)
        .map_err(|cause| anyhow!("{cause}"))?;
    if encoded.code_buffer.len() as u64 > COPY_BYTES {
        bail!("its first instruction is too long");
    }
    Ok(encoded.code_buffer)
}

/// Free addresses below a module, near enough for its relative addresses.
fn gap_below(pid: i32, module: u64, bytes: u64) -> Result<u64> {
    const REACH_BYTES: u64 = 1 << 30;
    const LOWEST: u64 = 1 << 20;
    let page_bytes = procfs::page_size();
    let bytes = bytes.next_multiple_of(page_bytes);
    let mut maps: Vec<(u64, u64)> = procfs::process::Process::new(pid)?
        .maps()?
        .iter()
        .map(|map| map.address)
        .filter(|(start, _)| *start <= module)
        .collect();
    maps.sort_unstable();
    let mut below = maps.iter().rev().skip(1).map(|(_, end)| *end).chain([LOWEST]);
    for (start, _) in maps.iter().rev() {
        let free_from = below.next().unwrap_or(LOWEST).max(LOWEST);
        let place = start.saturating_sub(bytes);
        if place >= free_from && module - place < REACH_BYTES {
            return Ok(place);
        }
    }
    bail!("no free addresses within {REACH_BYTES} bytes below it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_addresses_stay_what_they_were() {
        // mov rax, [rip+0x10]
        let code =
            [0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90];
        let moved = copied(&code, 0x40_0000, 0x30_0000).unwrap();
        assert_eq!(moved[..7], [0x48, 0x8b, 0x05, 0x10, 0, 0x10, 0]);
        // jmp to 0x400007, from 0x300007
        assert_eq!(moved[7], 0xe9);
        assert_eq!(moved[8..12], 0x000f_fffb_i32.to_le_bytes());
    }
}
