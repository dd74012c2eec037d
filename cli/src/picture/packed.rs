//! Bytes inside a page: deflated, and in letters. Browsers have both ways back.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use std::io::Write;

pub fn bytes(bytes: &[u8]) -> Result<String> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).context("cannot pack a picture")?;
    Ok(STANDARD.encode(packed.finish().context("cannot pack a picture")?))
}

/// JSON that no script element ends within.
pub fn json(data: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(data).context("cannot write JSON")?;
    Ok(text.replace('<', "\\u003c"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::ZlibDecoder;
    use std::io::Read;

    #[test]
    fn what_is_packed_comes_out_again() {
        let data: Vec<u8> = (0..100_000_u32).map(|at| (at / 1000) as u8).collect();
        let text = bytes(&data).unwrap();
        assert!(text.len() < 2000);
        let packed = STANDARD.decode(text).unwrap();
        let mut unpacked = Vec::new();
        ZlibDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, data);
    }

    #[test]
    fn names_do_not_end_the_script() {
        let text = json(&"</script>").unwrap();
        assert!(!text.contains('<'));
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), "</script>");
    }
}
