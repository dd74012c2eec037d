//! What is whole of a recording that was cut off, as a recording.

use crate::failure::complain;
use crate::numbers;
use crate::recording::salvage::{Salvage, Saved};
use crate::trace::import::write_whole;
use anyhow::Result;
use std::path::Path;

pub fn recover(file: &Path, output: &Path) -> Result<()> {
    let salvage = Salvage::open(file)?;
    let header = salvage.header().clone();
    let saved = write_whole(output, &header, |writer| salvage.copy_to(writer))?;
    complain(said(&saved, file, header.has_times));
    Ok(())
}

fn said(saved: &Saved, file: &Path, has_times: bool) -> String {
    let Saved { events, span_us, bytes, file_bytes, is_whole } = *saved;
    let shown = file.display();
    let count = numbers::figure(events as f64, "");
    let span = match has_times {
        true => format!(" of the first {}", numbers::duration(span_us as f64 / 1e6)),
        false => String::new(),
    };
    let sizes = format!("{} of {}", numbers::bytes(bytes), numbers::bytes(file_bytes));
    let end = match is_whole {
        true => "all of them: it was not cut off".to_owned(),
        false => format!("it is whole up to byte {bytes}"),
    };
    format!("{count} events{span} saved of {shown} ({sizes}): {end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_and_where_it_was_cut_is_said() {
        let saved = Saved {
            events: 1200,
            span_us: 2_500_000,
            bytes: 2048,
            file_bytes: 4096,
            is_whole: false,
        };
        let path = Path::new("x.trace");
        assert_eq!(
            said(&saved, path, true),
            "1200 events of the first 2.50 s saved of x.trace (2.00 KiB of 4.00 KiB): it is whole up to byte 2048"
        );
        let whole = Saved { is_whole: true, ..saved };
        assert_eq!(
            said(&whole, path, false),
            "1200 events saved of x.trace (2.00 KiB of 4.00 KiB): all of them: it was not cut off"
        );
    }
}
