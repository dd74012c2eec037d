//! The processor's counter as time: what it says between two looks at the clock is between them.

use nix::libc;
use std::fs;

/// A counter that runs evenly and is the same on all processors; else the clock is read.
pub fn has_counter() -> bool {
    if cfg!(target_arch = "aarch64") {
        return true;
    }
    if !cfg!(target_arch = "x86_64") {
        return false;
    }
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |wanted| flags.split_whitespace().any(|flag| flag == wanted);
    has("constant_tsc") && has("nonstop_tsc") && has("rdtscp")
}

pub fn counter(has_counter: bool) -> u64 {
    if has_counter { processors_counter() } else { clock_ns() }
}

#[cfg(target_arch = "x86_64")]
fn processors_counter() -> u64 {
    // SAFETY: every processor of this kind has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
fn processors_counter() -> u64 {
    let value;
    // SAFETY: Linux lets programs read it.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) value) };
    value
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn processors_counter() -> u64 {
    clock_ns()
}

fn clock_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills in what it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// The last two looks at counter and clock, both since the recording's begin.
#[derive(Debug)]
pub struct Time {
    has_counter: bool,
    start: (u64, u64),
    before: (u64, u64),
    now: (u64, u64),
}

impl Time {
    pub fn new(has_counter: bool, start_counter: u64) -> Time {
        Time { has_counter, start: (start_counter, clock_ns()), before: (0, 0), now: (0, 0) }
    }

    pub fn look(&mut self) {
        let (counter, clock) = (counter(self.has_counter), clock_ns());
        let now = (counter.saturating_sub(self.start.0), clock.saturating_sub(self.start.1));
        // Two that are too near tell little of the counter's pace.
        if now.1 > self.now.1 + 100_000 {
            self.before = self.now;
        }
        self.now = now;
    }

    pub fn us(&self, counter: u64) -> u64 {
        let counts = self.now.0.saturating_sub(self.before.0).max(1) as f64;
        let pace_ns = (self.now.1 - self.before.1) as f64 / counts;
        let since = counter as f64 - self.before.0 as f64;
        ((self.before.1 as f64 + since * pace_ns) / 1000.0).max(0.0) as u64
    }

    pub fn now_us(&self) -> u64 {
        self.now.1 / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_put_between_two_looks_at_the_clock() {
        let time =
            Time { has_counter: true, start: (0, 0), before: (1000, 10_000), now: (3000, 50_000) };
        assert_eq!((time.us(1000), time.us(2000), time.us(3000)), (10, 30, 50));
        assert_eq!((time.us(4000), time.us(0)), (70, 0));
    }

    #[test]
    fn time_goes_on_as_the_clock_does() {
        let has_counter = has_counter();
        let mut time = Time::new(has_counter, counter(has_counter));
        time.look();
        std::thread::sleep(std::time::Duration::from_millis(5));
        time.look();
        let us = time.us(counter(has_counter) - time.start.0);
        assert!(us >= 5000 && us.abs_diff(time.now_us()) < 1_000_000, "{us}");
    }
}
