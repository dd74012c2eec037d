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
        (loam(Kind::Beside), beside(loam(Kind::Beside), figures)),
        (given_back, trim(account, given_back)),
        (loam(Kind::Cached), cached(loam(Kind::Cached))),
        (loam(Kind::Unused), unused(loam(Kind::Unused))),
        (loam(Kind::Profile), profile(loam(Kind::Profile))),
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

fn beside(beside: u64, figures: &Figures) -> String {
    format!(
        "{} is free beside blocks, on the pages that these pin: {}. The next blocks of these sizes \
         go there. To have it back, allocate what lives long before or apart from what lives \
         short, as in a heap of its own (loam_heap_new).",
        bytes(beside),
        keepers(beside, figures),
    )
}

/// The sizes of the blocks beside which most is free, as far as it is a tenth of the whole; the
/// first one in any case.
fn keepers(beside: u64, figures: &Figures) -> String {
    const MOST: usize = 3;
    let beside_of = |class: &Class| class.resident.of(Kind::Beside);
    let mut classes: Vec<&Class> = figures.classes.iter().collect();
    classes.sort_by_key(|class| std::cmp::Reverse(beside_of(class)));
    let shown = classes.iter().filter(|class| beside_of(class) * 10 >= beside).count();
    let keeps = |class: &&Class| {
        let verb = if class.live_count == 1 { "keeps" } else { "keep" };
        format!(
            "{} of {} bytes {verb} {} in memory, {} of it free",
            count(class.live_count, "block", "blocks"),
            class.block_bytes,
            bytes(class.resident.pinned()),
            bytes(beside_of(class)),
        )
    };
    classes.iter().take(shown.clamp(1, MOST)).map(keeps).collect::<Vec<_>>().join("; ")
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
