//! Numbers in as few bytes as they need: seven bits a byte, the lowest first, the eighth bit where
//! more follow (LEB128). Signed ones lose their sign to the lowest bit (zigzag).

use anyhow::{Context, Result, bail};

pub fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The difference of two numbers, with its sign.
pub fn put_difference(bytes: &mut Vec<u8>, number: u64, from: u64) {
    let difference = number.wrapping_sub(from).cast_signed();
    put(bytes, ((difference << 1) ^ (difference >> 63)).cast_unsigned());
}

/// Bytes that are taken from the front.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn byte(&mut self) -> Result<u8> {
        let (&first, rest) = self.0.split_first().context("a column ends early")?;
        self.0 = rest;
        Ok(first)
    }

    pub fn number(&mut self) -> Result<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut number = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        bail!("a number does not end")
    }

    pub fn difference(&mut self, from: u64) -> Result<u64> {
        let number = self.number()?;
        Ok(from.wrapping_add((number >> 1) ^ (number & 1).wrapping_neg()))
    }

    pub fn take(&mut self, count: usize) -> Result<Cursor<'a>> {
        let (taken, rest) = self.0.split_at_checked(count).context("a column ends early")?;
        self.0 = rest;
        Ok(Cursor(taken))
    }

    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_small_ones_are_small() {
        let numbers = [0, 1, 127, 128, 300, 1 << 35, u64::MAX - 1, u64::MAX];
        let mut bytes = Vec::new();
        for number in numbers {
            put(&mut bytes, number);
            put_difference(&mut bytes, number, 1000);
        }
        let mut cursor = Cursor(&bytes);
        for number in numbers {
            assert_eq!(cursor.number().unwrap(), number);
            assert_eq!(cursor.difference(1000).unwrap(), number);
        }
        assert!(cursor.is_at_end() && cursor.number().is_err());
        let mut small = Vec::new();
        put(&mut small, 100);
        put_difference(&mut small, 990, 1000);
        assert_eq!(small.len(), 2);
        assert!(Cursor(&[0xff; 12]).number().is_err());
    }
}
