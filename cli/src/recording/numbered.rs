//! Maps whose keys are addresses or numbers of objects: nobody chooses them to collide.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

pub type NumberMap<T> = HashMap<u64, T, SpreadNumbers>;
pub type SpreadNumbers = BuildHasherDefault<ByNumber>;

#[derive(Debug, Clone, Copy, Default)]
pub struct ByNumber(u64);

impl Hasher for ByNumber {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        // The golden ratio spreads numbers; the upper half goes down to where maps look.
        const RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
        let spread = (self.0 ^ number).wrapping_mul(RATIO);
        self.0 = spread ^ (spread >> 32);
    }
}
