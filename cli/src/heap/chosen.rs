//! The process or file that was asked for.

use crate::heap::core::Core;
use crate::heap::live::Live;
use crate::heap::source::Source;
use anyhow::{Result, anyhow};
use std::ffi::OsStr;
use std::path::Path;

/// A number is a process; a file whose name is one needs a path: `./4711`.
pub fn open(target: &OsStr) -> Result<Box<dyn Source>> {
    match target.to_str().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(number) if !number.is_empty() => {
            let pid = number.parse().map_err(|_| anyhow!("there is no process {number}"))?;
            Ok(Box::new(Live::open(pid)?))
        }
        _ => Ok(Box::new(Core::open(Path::new(target))?)),
    }
}
