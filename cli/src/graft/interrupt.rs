//! SIGINT, SIGTERM and SIGHUP end the work between two steps, so that nothing is left half done.

use anyhow::{Context, Result, bail};
use std::sync::atomic::{AtomicBool, Ordering};

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

pub fn listen() -> Result<()> {
    ctrlc::set_handler(|| IS_INTERRUPTED.store(true, Ordering::Relaxed))
        .context("cannot listen for interrupts")
}

/// An error if the user wants the work to end.
pub fn check() -> Result<()> {
    if IS_INTERRUPTED.load(Ordering::Relaxed) {
        bail!("interrupted: everything is as it was");
    }
    Ok(())
}
