//! What the figures mean, in words: what is live, what is pinned, what would come back, and what to
//! do about each. The largest part first; what is a twentieth or less is left out.
//! `glibc_advice` has the words for glibc's heap.

use crate::account::glibc_advice;
use crate::account::sums::Account;
use crate::account::words::{Parts, bytes, keepers, live, others};
use crate::heap::figures::{Allocator, Figures, Kind};

const SHARE_MIN: f64 = 0.05;

pub fn of(account: &Account, figures: &Figures) -> Vec<String> {
    match &figures.allocator {
        Allocator::Loam => largest(account, of_loam(account, figures)),
        Allocator::Glibc(glibc) => {
            let parts = glibc_advice::parts(account, figures, glibc);
            let last = glibc_advice::last(account, figures, glibc);
            largest(account, parts).into_iter().chain(last).collect()
        }
    }
}

fn largest(account: &Account, mut parts: Parts) -> Vec<String> {
    parts.retain(|(size, _)| *size as f64 > account.resident_bytes as f64 * SHARE_MIN);
    parts.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    parts.into_iter().map(|(_, text)| text).collect()
}

fn of_loam(account: &Account, figures: &Figures) -> Parts {
    let loam = |kind| account.heap.of(kind);
    let given_back = loam(Kind::Idle) + loam(Kind::Depots) + loam(Kind::Dirty);
    vec![
        (loam(Kind::Live), live(account, figures)),
        (loam(Kind::Beside), beside(loam(Kind::Beside), figures)),
        (given_back, trim(account, given_back)),
        (loam(Kind::Cached), cached(loam(Kind::Cached))),
        (loam(Kind::Unused), unused(loam(Kind::Unused))),
        (loam(Kind::Profile), profile(loam(Kind::Profile))),
        (account.others.sum(), others(account, "loam's", "the C library's own heap")),
    ]
}

fn beside(beside: u64, figures: &Figures) -> String {
    format!(
        "{} is free beside blocks, on the pages that these pin: {}. The next blocks of these sizes \
         go there. To have it back, allocate what lives long before or apart from what lives \
         short, as in a heap of its own (loam_heap_new).",
        bytes(beside),
        keepers(beside, figures),
    )
}

fn trim(account: &Account, given_back: u64) -> String {
    let loam = |kind| bytes(account.heap.of(kind));
    format!(
        "{} would come back by a trim: {} of pages that nobody uses, {} of free pages in spans, {} \
         in depots. It goes back by itself while any thread allocates, after \
         purge_delay_ms; before a long rest call malloc_trim(0), or start the process with \
         LOAM_OPTIONS=background=on.",
        bytes(given_back),
        loam(Kind::Dirty),
        loam(Kind::Idle),
        loam(Kind::Depots),
    )
}

fn cached(cached: u64) -> String {
    format!(
        "{} is in caches of threads: free blocks for their next calls. A thread that goes on \
         calling gives back what it does not need, and with malloc_trim(0) all that its own cache \
         has; one that sleeps keeps it. The option heap_cache_bytes bounds what all keep.",
        bytes(cached)
    )
}

fn unused(unused: u64) -> String {
    format!(
        "{} is in memory though loam has not used it: parts of huge pages. If it is much, the system gives huge pages to everybody \
         (transparent_hugepage/enabled is 'always'), or huge_pages=always is set.",
        bytes(unused)
    )
}

fn profile(profile: u64) -> String {
    format!(
        "{} is the profile's own: each small sample stands there, and its place elsewhere is kept. \
         Samples farther apart take less (loam prof --start PID --every BYTES).",
        bytes(profile)
    )
}
