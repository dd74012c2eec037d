//! What the figures of a heap of glibc's mean, and what to do: a leak, arenas, survivors that pin, a
//! trim, or loam.

use crate::account::malloc::Malloc;
use crate::account::sums::Account;
use crate::account::words::{Parts, bytes, count, keepers, live, others};
use crate::heap::figures::{Figures, Glibc, Heap, Keeper, Kind};

pub fn parts(account: &Account, figures: &Figures, glibc: &Glibc) -> Parts {
    let heap = |kind| account.heap.of(kind);
    vec![
        (heap(Kind::Live), live(account, figures)),
        (heap(Kind::Beside), beside(heap(Kind::Beside), figures)),
        (glibc.counted.trim_bytes, trim(glibc)),
        (free_in_arenas(figures), arenas(figures)),
        (heap(Kind::Cached), cached(heap(Kind::Cached), glibc)),
        (account.others.sum(), others(account, "malloc's", "what others have taken by brk")),
    ]
}

fn beside(beside: u64, figures: &Figures) -> String {
    format!(
        "{} is free beside blocks, on the pages that these pin: {}. malloc uses it again, and no \
         trim gives it back while these live: survivors among what has gone. Allocate what lives \
         long before or apart from what lives short; on loam blocks of one size stand together.",
        bytes(beside),
        keepers(beside, figures),
    )
}

fn trim(glibc: &Glibc) -> String {
    format!(
        "{} would come back by malloc_trim(0): whole pages that are free between blocks and at the \
         top of the main arena. glibc by itself gives back only a top; call it after a peak, or \
         lower MALLOC_TRIM_THRESHOLD_.",
        bytes(glibc.counted.trim_bytes)
    )
}

fn is_threads(heap: &&Heap) -> bool {
    matches!(heap.keeper, Keeper::Arena { index: 1.., .. })
}

/// In memory of arenas but the main one, without what is live; nothing of few arenas.
fn free_in_arenas(figures: &Figures) -> u64 {
    const FEW: usize = 2;
    let arenas: Vec<&Heap> = figures.heaps.iter().filter(is_threads).collect();
    let free = arenas.iter().map(|heap| heap.resident.sum() - heap.resident.of(Kind::Live));
    if arenas.len() < FEW { 0 } else { free.sum() }
}

fn arenas(figures: &Figures) -> String {
    let arenas: Vec<&Heap> = figures.heaps.iter().filter(is_threads).collect();
    let resident = arenas.iter().map(|heap| heap.resident.sum()).sum();
    let idle = arenas
        .iter()
        .filter(|heap| matches!(heap.keeper, Keeper::Arena { thread_count: 0, .. }))
        .count();
    let unused = match idle {
        0 => String::new(),
        _ => format!(", {} of them without a thread", idle),
    };
    format!(
        "{} of threads{unused} have {} in memory, {} of it not live. What is free in one is of no \
         use to another. MALLOC_ARENA_MAX=2 in the environment (mallopt: M_ARENA_MAX) lets threads \
         share two.",
        count(arenas.len() as u64, "arena", "arenas"),
        bytes(resident),
        bytes(free_in_arenas(figures))
    )
}

fn cached(cached: u64, glibc: &Glibc) -> String {
    format!(
        "{} is in {}: free blocks for the next calls of these threads, which no trim gives back.",
        bytes(cached),
        count(glibc.counted.tcache_count, "tcache", "tcaches")
    )
}

/// What is said in any case: whose malloc is in front, what it would be on loam, and of a runtime
/// whose tool knows the rest.
pub fn last(account: &Account, figures: &Figures, glibc: &Glibc) -> Vec<String> {
    let Some(malloc) = Malloc::of(account, figures) else { return Vec::new() };
    let there = &malloc.on_loam;
    let here = account.resident_bytes;
    let end = match here {
        here if here > there.high_bytes => "It would be less there.",
        here if here < there.low_bytes => "It would not be less there.",
        _ => "Whether it would be less there, a run says.",
    };
    let on_loam = format!(
        "On loam it would have {} to {} in memory, and here {}: {}. {end}",
        bytes(there.low_bytes),
        bytes(there.high_bytes),
        bytes(here),
        there.reason
    );
    let words = [glibc.wrapper.clone(), Some(on_loam), glibc.start.clone(), glibc.runtime.clone()];
    words.into_iter().flatten().collect()
}
