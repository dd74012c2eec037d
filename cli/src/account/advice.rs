//! What the figures mean, in words: what is live, what is pinned, what would come back, and what to
//! do about each. The largest part first; what is a twentieth or less is left out.

use crate::account::sums::Account;
use crate::heap::figures::{Class, Figures, Kind};
use crate::numbers;

const SHARE_MIN: f64 = 0.05;

fn bytes(count: u64) -> String {
    numbers::figure(count as f64, "B")
}

fn count(number: u64, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

pub fn of(account: &Account, figures: &Figures) -> Vec<String> {
    let loam = |kind| account.loam.of(kind);
    let given_back = loam(Kind::Idle) + loam(Kind::Depots) + loam(Kind::Dirty);
    let mut parts = vec![
        (loam(Kind::Live), live(account, figures)),
        (loam(Kind::Between), pinned(loam(Kind::Between), figures)),
        (given_back, trim(account, given_back)),
        (loam(Kind::Cached), cached(loam(Kind::Cached))),
        (loam(Kind::Unused), unused(loam(Kind::Unused))),
        (account.others.sum(), others(account)),
    ];
    parts.retain(|(size, _)| *size as f64 > account.resident_bytes as f64 * SHARE_MIN);
    parts.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    parts.into_iter().map(|(_, text)| text).collect()
}

fn live(account: &Account, figures: &Figures) -> String {
    let blocks = figures.live();
    let resident = bytes(account.loam.of(Kind::Live));
    let how_many = count(blocks.count, "block", "blocks");
    let of_these = [
        ("small", figures.small),
        ("middle", figures.middle),
        ("large", figures.large),
        ("huge", figures.huge),
    ];
    let most = of_these.iter().max_by_key(|(_, blocks)| blocks.bytes);
    let kind = most.map_or("", |(name, _)| name);
    format!(
        "{resident} is live: the program has it, in {how_many}, most of it in {kind} ones. If that \
         grows while the work does not, it is a leak; no allocator gives it back. The sizes say of \
         what kind the blocks are."
    )
}

fn pinned(between: u64, figures: &Figures) -> String {
    let largest = |of: fn(&Class) -> u64| figures.classes.iter().max_by_key(|class| of(class));
    let alone = match largest(|class| class.pinned_bytes) {
        Some(class) if class.pinned_bytes * 10 >= between => format!(
            " {} of {} bytes, nearly alone on their pages, keep {} of it.",
            count(class.pinning_count, "block", "blocks"),
            class.block_bytes,
            bytes(class.pinned_bytes),
        ),
        _ => match largest(|class| class.resident.of(Kind::Between)) {
            Some(class) => format!(
                " Most of it is between blocks of {} bytes: {}.",
                class.block_bytes,
                bytes(class.resident.of(Kind::Between))
            ),
            None => String::new(),
        },
    };
    format!(
        "{} is pinned: free, but on pages that blocks in use are on.{alone} The next blocks of \
         these sizes go there. To have it back, allocate what lives long before or apart from what \
         lives short, as in a heap of its own (loam_heap_new).",
        bytes(between)
    )
}

fn trim(account: &Account, given_back: u64) -> String {
    let loam = |kind| bytes(account.loam.of(kind));
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
        "{} is in memory though loam has not used it: parts of huge pages, and of pages that blocks \
         are cut from. If it is much, the system gives huge pages to everybody \
         (transparent_hugepage/enabled is 'always'), or huge_pages=always is set.",
        bytes(unused)
    )
}

fn others(account: &Account) -> String {
    let others = account.others;
    let parts = [
        ("files, as code and data of programs and libraries", others.files),
        (
            "mappings of the program's own, as the arenas of Python or of a virtual machine",
            others.mappings,
        ),
        ("stacks", others.stacks),
        ("the C library's own heap", others.libc_heap),
    ];
    let largest = parts.iter().max_by_key(|(_, size)| *size);
    let (name, size) = largest.copied().unwrap_or(("", 0));
    format!(
        "{} is not loam's; {} of it is in {name}. No allocator changes that.",
        bytes(others.sum()),
        bytes(size)
    )
}
