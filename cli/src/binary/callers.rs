//! Which functions of a static program call certain others: found in its machine code, as a
//! linked program has no relocations left.

use anyhow::{Context, Result, bail};
use object::read::{Object, ObjectSection, ObjectSymbol};
use object::{Architecture, SectionKind, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Where each call or jump stands, and where it leads, of code and its address.
type CallsOf = fn(&[u8], u64) -> Vec<(u64, u64)>;

/// The names of functions with a direct call or jump to one of the addresses, without those that
/// begin there. An error for processors whose calls are not known here.
pub fn of(path: &Path, targets: &BTreeSet<u64>) -> Result<BTreeSet<String>> {
    let data = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let file = object::File::parse(&*data).with_context(|| path.display().to_string())?;
    let calls: CallsOf = match file.architecture() {
        Architecture::X86_64 | Architecture::I386 => x86_calls,
        Architecture::Aarch64 => aarch64_calls,
        _ => bail!("calls of this processor cannot be read"),
    };
    let functions: BTreeMap<u64, &str> = file
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text)
        .filter_map(|symbol| Some((symbol.address(), symbol.name().ok()?)))
        .collect();
    let mut callers = BTreeSet::new();
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let code = section.data().with_context(|| path.display().to_string())?;
        for (from, to) in calls(code, section.address()) {
            if !targets.contains(&to) {
                continue;
            }
            if let Some((begin, name)) = functions.range(..=from).next_back()
                && !targets.contains(begin)
            {
                callers.insert((*name).to_owned());
            }
        }
    }
    Ok(callers)
}

/// Instructions begin anywhere, so every byte may be one. That four bytes behind it lead to one
/// of a few addresses by chance is next to impossible.
fn x86_calls(code: &[u8], address: u64) -> Vec<(u64, u64)> {
    const CALL: u8 = 0xe8;
    const JUMP: u8 = 0xe9;
    let call = |(at, bytes): (usize, &[u8])| {
        let &[CALL | JUMP, a, b, c, d] = bytes else { return None };
        let from = address + at as u64;
        let distance = i64::from(i32::from_le_bytes([a, b, c, d]));
        Some((from, (from + 5).wrapping_add_signed(distance)))
    };
    code.windows(5).enumerate().filter_map(call).collect()
}

fn aarch64_calls(code: &[u8], address: u64) -> Vec<(u64, u64)> {
    let call = |(at, bytes): (usize, &[u8])| {
        let word = u32::from_le_bytes(bytes.try_into().ok()?);
        // bl and b: six bits of operation, 26 of distance in words.
        if word & 0x7c00_0000 != 0x1400_0000 {
            return None;
        }
        let from = address + 4 * at as u64;
        let distance = i64::from((word << 6).cast_signed() >> 4);
        Some((from, from.wrapping_add_signed(distance)))
    };
    code.chunks_exact(4).enumerate().filter_map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_lead_forward_and_back() {
        let code = [0x90, 0xe8, 0x02, 0, 0, 0, 0xe9, 0xf5, 0xff, 0xff, 0xff];
        assert_eq!(x86_calls(&code, 0x1000), [(0x1001, 0x1008), (0x1006, 0x1000)]);
        // bl .+8; nop; b .-8
        let code = [2, 0, 0, 0x94, 0x1f, 0x20, 0x03, 0xd5, 0xfe, 0xff, 0xff, 0x17];
        assert_eq!(aarch64_calls(&code, 0x1000), [(0x1000, 0x1008), (0x1008, 0x1000)]);
    }
}
