//! What we measure on, and what others take of it meanwhile.

use crate::bench::judge::results::Machine;
use crate::bench::measure::c_library;
use std::fs;

/// What is known about this machine; `taken_by_others` is for the end.
pub fn describe() -> Machine {
    let uname = nix::sys::utsname::uname().ok();
    let kernel = uname.map(|name| {
        format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy())
    });
    Machine {
        processor: processor(),
        processor_count: std::thread::available_parallelism().map_or(1, usize::from),
        memory_kib: memory_kib().unwrap_or(0),
        kernel: kernel.unwrap_or_else(|| "unknown".into()),
        system: system().unwrap_or_else(|| "unknown".into()),
        libc: c_library::version().unwrap_or_else(|| "unknown".into()),
        huge_pages: huge_pages(),
        taken_by_others: None,
    }
}

fn processor() -> String {
    model_of(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
}

fn model_of(text: &str) -> String {
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let model = model.map(str::trim).filter(|model| !model.is_empty());
    model.map_or_else(|| std::env::consts::ARCH.into(), str::to_owned)
}

fn memory_kib() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse().ok())
}

fn system() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned()).filter(|name| !name.is_empty())
}

/// The word in brackets.
fn huge_pages() -> Option<String> {
    let text = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// Processor time, summed over processors, at a moment.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Of all processes, and stolen by other virtual machines.
    busy: f64,
    total: f64,
    /// Of this process and all that it has waited for.
    own: f64,
}

pub fn now() -> Option<Moment> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; the guests' are in user already.
    let total: f64 = ticks.iter().take(8).sum();
    let idle: f64 = ticks.get(3)? + ticks.get(4)?;
    let tick_s = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok()??;
    #[allow(clippy::cast_precision_loss)] // a hundred or a thousand
    let per_second = tick_s as f64;
    Some(Moment {
        busy: (total - idle) / per_second,
        total: total / per_second,
        own: own_seconds()?,
    })
}

fn own_seconds() -> Option<f64> {
    use nix::sys::resource::{UsageWho, getrusage};
    let seconds = |who| {
        let usage = getrusage(who).ok()?;
        let of = |time: nix::sys::time::TimeVal| {
            #[allow(clippy::cast_precision_loss)] // seconds since we began
            let seconds = time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
            seconds
        };
        Some(of(usage.user_time()) + of(usage.system_time()))
    };
    Some(seconds(UsageWho::RUSAGE_SELF)? + seconds(UsageWho::RUSAGE_CHILDREN)?)
}

/// The share of all processors' time that went to others between two moments, 0 to 1.
pub fn taken_by_others(before: Moment, after: Moment) -> Option<f64> {
    let total = after.total - before.total;
    let others = (after.busy - before.busy) - (after.own - before.own);
    (total > 0.0).then(|| (others / total).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_without_a_name_is_one_of_its_kind() {
        assert_eq!(model_of("processor\t: 0\nmodel name\t: Example 9000\n"), "Example 9000");
        for text in ["", "model name\t: \n", "model name\t:\n"] {
            assert_eq!(model_of(text), std::env::consts::ARCH);
        }
    }

    #[test]
    fn what_we_take_ourselves_is_not_taken_by_others() {
        let before = Moment { busy: 10.0, total: 100.0, own: 5.0 };
        let after = Moment { busy: 70.0, total: 200.0, own: 45.0 };
        let share = taken_by_others(before, after).expect("time has passed");
        assert!((share - 0.2).abs() < 1e-9);
        assert!(taken_by_others(before, before).is_none());
    }
}
