//! Words that are the same whosever heap it is.

use crate::account::sums::Account;
use crate::heap::figures::{Class, Figures, Kind};
use crate::numbers;

/// Sentences, each with how much it is about.
pub type Parts = Vec<(u64, String)>;

pub fn bytes(count: u64) -> String {
    numbers::figure(count as f64, "B")
}

pub fn count(number: u64, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

pub fn live(account: &Account, figures: &Figures) -> String {
    let blocks = figures.live();
    let resident = bytes(account.heap.of(Kind::Live));
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

/// The sizes of the blocks beside which most is free, as far as it is a tenth of the whole; the
/// first one in any case.
pub fn keepers(beside: u64, figures: &Figures) -> String {
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

pub fn others(account: &Account, whose: &str, libc_heap: &'static str) -> String {
    let others = account.others;
    let parts = [
        ("files, as code and data of programs and libraries", others.files),
        (
            "mappings of the program's own, as the arenas of Python or of a virtual machine",
            others.mappings,
        ),
        ("stacks", others.stacks),
        (libc_heap, others.libc_heap),
    ];
    let largest = parts.iter().max_by_key(|(_, size)| *size);
    let (name, size) = largest.copied().unwrap_or(("", 0));
    format!(
        "{} is not {whose}; {} of it is in {name}. No allocator changes that.",
        bytes(others.sum()),
        bytes(size)
    )
}
