//! Classes of what a chunk holds: one for each length up to 1032 bytes, and then eight for each
//! doubling.

use crate::heap::figures::Class;

pub const EXACT_MAX_BYTES: u64 = 1032;
const EXACT: u64 = 64;
const DOUBLINGS: u64 = 23;

pub fn classes() -> Vec<Class> {
    let exact = (0..EXACT).map(|index| 24 + index * 16);
    let steps = (0..DOUBLINGS * 8).map(|step| (9 + step % 8) << (7 + step / 8));
    let class = |block_bytes| Class { block_bytes, ..Class::default() };
    exact.chain(steps).map(class).collect()
}

/// That of what a chunk of a heap holds, 24 bytes at least.
pub fn class_of(usable_bytes: u64) -> u16 {
    if usable_bytes <= EXACT_MAX_BYTES {
        return (usable_bytes.saturating_sub(24) / 16) as u16;
    }
    let last = usable_bytes - 1;
    let doubling = u64::from(last.ilog2());
    let step = (doubling - 10) * 8 + (last >> (doubling - 3) & 7);
    (EXACT + step.min(DOUBLINGS * 8 - 1)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_what_is_of_it_and_the_one_below_does_not() {
        let classes = classes();
        for bytes in (24..1 << 20).step_by(8).filter(|bytes| bytes % 16 == 8) {
            let class = usize::from(class_of(bytes));
            assert!(classes[class].block_bytes >= bytes, "{bytes}");
            assert!(class == 0 || classes[class - 1].block_bytes < bytes, "{bytes}");
            assert!(bytes > EXACT_MAX_BYTES || classes[class].block_bytes == bytes);
        }
    }
}
