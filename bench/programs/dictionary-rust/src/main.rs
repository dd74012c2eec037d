//! dictionary-rust: what bench/programs/dictionary.cpp does, in Rust.
//!
//! The benchmark by which users of Swift's Static Linux SDK found that musl's malloc does not
//! scale ("Performance penalty from the Static Linux SDK", Swift forums); they had it from Rust.
//!
//!     dictionary-rust 1 [threads 1] [lookups 4000000] [entries 50000]
//!     dictionary-rust 2 [threads 1] [dictionaries 60] [entries of each 5000]
//!
//! Version 1: a dictionary from arrays of 32 integers to integers is built; then all threads look
//! up entries of it, each time with a newly made array as the key; then half of it is removed.
//! Version 2: each thread has dictionaries of its own, from strings to arrays. It builds one by
//! appending to arrays found by newly made strings, removes half of it, and drops it; then the
//! next. The work does not depend on the number of threads, it is shared out among them.
//!
//! Prints the operations on dictionaries per second; what is found must be what was put in.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

const KEY_LENGTH: usize = 32;
const APPENDS_PER_ENTRY: usize = 20;

/// Hashing as usual in Rust, but the same in every run.
type Dictionary<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// What was put in was not found.
struct Lost(usize);

fn make_key(number: usize) -> Vec<usize> {
    vec![number; KEY_LENGTH]
}

fn make_name(number: usize) -> String {
    format!("a name that is allocated, number {number}")
}

/// Runs `body(thread)` in as many threads; the sum of what they return.
fn in_threads(
    count: usize,
    body: impl Fn(usize) -> Result<usize, Lost> + Sync,
) -> Result<usize, Lost> {
    let body = &body;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|t| scope.spawn(move || body(t))).collect();
        let mut sum = 0;
        for thread in threads {
            match thread.join() {
                Ok(part) => sum += part?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(sum)
    })
}

/// Operations and a checksum, or what was lost.
fn version_one(threads: usize, lookups: usize, entries: usize) -> Result<(usize, usize), Lost> {
    let mut numbers: Dictionary<Vec<usize>, usize> = Dictionary::default();
    for i in 0..entries {
        numbers.insert(make_key(i), i);
    }
    let share = lookups / threads;
    let mut sum = in_threads(threads, |thread| {
        let mut part = 0;
        for i in thread * share..(thread + 1) * share {
            let wanted = i % entries;
            match numbers.get(&make_key(wanted)) {
                Some(&found) if found == wanted => part += found,
                _ => return Err(Lost(wanted)),
            }
        }
        Ok(part)
    })?;
    for i in (0..entries).step_by(2) {
        sum += usize::from(numbers.remove(&make_key(i)).is_some());
    }
    Ok((entries + share * threads + entries.div_ceil(2), sum))
}

fn use_lists(entries: usize) -> Result<usize, Lost> {
    let mut lists: Dictionary<String, Vec<usize>> = Dictionary::default();
    let mut sum = 0;
    for i in 0..entries * APPENDS_PER_ENTRY {
        lists.entry(make_name(i % entries)).or_default().push(i);
    }
    for i in (0..entries).step_by(2) {
        match lists.remove(&make_name(i)).as_deref() {
            Some([first, .., last]) if *first == i => sum += last,
            _ => return Err(Lost(i)),
        }
    }
    Ok(sum)
}

fn version_two(
    threads: usize,
    dictionaries: usize,
    entries: usize,
) -> Result<(usize, usize), Lost> {
    let share = dictionaries / threads;
    let sum = in_threads(threads, |_| (0..share).map(|_| use_lists(entries)).sum())?;
    let operations = entries * APPENDS_PER_ENTRY + 2 * entries.div_ceil(2);
    Ok((share * threads * operations, sum))
}

/// Argument `index` as a number of at least 1, `otherwise` if it is not there, `None` if wrong.
fn argument(arguments: &[String], index: usize, otherwise: usize) -> Option<usize> {
    match arguments.get(index) {
        None => Some(otherwise),
        Some(text) => text.parse().ok().filter(|&number| number > 0),
    }
}

fn run(arguments: &[String]) -> Option<Result<(usize, usize), Lost>> {
    let threads = argument(arguments, 2, 1)?;
    match argument(arguments, 1, 1)? {
        1 => Some(version_one(
            threads,
            argument(arguments, 3, 4_000_000)?,
            argument(arguments, 4, 50_000)?,
        )),
        2 => {
            Some(version_two(threads, argument(arguments, 3, 60)?, argument(arguments, 4, 5_000)?))
        }
        _ => None,
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let start = Instant::now();
    match run(&arguments) {
        Some(Ok((operations, check))) => {
            let seconds = start.elapsed().as_secs_f64();
            let rate = operations as f64 / seconds / 1e6;
            println!(
                "dictionary-rust: {seconds:.3} s, {rate:.2} M ops/s, {operations} ops, \
                 check {check:016x}"
            );
            ExitCode::SUCCESS
        }
        Some(Err(Lost(entry))) => {
            eprintln!("dictionary-rust: entry {entry} is lost");
            ExitCode::FAILURE
        }
        None => {
            eprintln!("usage: dictionary-rust 1|2 [THREADS [AMOUNT [ENTRIES]]]");
            ExitCode::FAILURE
        }
    }
}
