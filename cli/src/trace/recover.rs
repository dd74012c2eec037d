//! What is whole of a recording that was cut off, as a recording.

use crate::recording::salvage::Salvage;
use crate::trace::import::write_whole;
use anyhow::Result;
use std::path::Path;

pub fn recover(file: &Path, output: &Path) -> Result<()> {
    let salvage = Salvage::open(file)?;
    let header = salvage.header().clone();
    write_whole(output, &header, |writer| salvage.copy_to(writer))
}
