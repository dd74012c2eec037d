//! What a program started by `run` must inherit, and Rust's runtime changes before main: it
//! ignores SIGPIPE. The disposition that we were started with is noted before that happens.

use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::sync::atomic::{AtomicBool, Ordering};

/// Written once, before main and before there are threads.
static SIGPIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_sigpipe() {
    // SAFETY: all zero is a valid sigaction, and with no new action the call only fills it in.
    let ignored = unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut old) == 0
            && old.sa_sigaction == libc::SIG_IGN
    };
    SIGPIPE_WAS_IGNORED.store(ignored, Ordering::Relaxed);
}

// SAFETY: entries of .init_array are functions of this type, called once, before main.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE_SIGPIPE: extern "C" fn() = note_sigpipe;

/// Puts SIGPIPE back to what it was when the command was started.
pub fn restore_sigpipe() -> nix::Result<()> {
    let handler = if SIGPIPE_WAS_IGNORED.load(Ordering::Relaxed) {
        SigHandler::SigIgn
    } else {
        SigHandler::SigDfl
    };
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    // SAFETY: neither disposition runs a handler of ours.
    unsafe { sigaction(Signal::SIGPIPE, &action) }.map(drop)
}
