//! What was found, as data: the text and the JSON say the same.

use crate::account::advice;
use crate::account::malloc::Malloc;
use crate::account::names::{GLIBC, LOAM, Names};
use crate::account::sums::Account;
use crate::heap::figures::{
    Allocator, Blocks, Class, Figures, Heap, Keeper, Kind, Larger, Resident,
};
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// What the names of the fields mean.
pub const SCHEMA: u32 = 2;

#[derive(Serialize, Deserialize)]
pub struct Report {
    pub schema: u32,
    pub process: String,
    /// `None` where a core does not say.
    pub pid: Option<u64>,
    pub name: String,
    /// Else it is a core, of which those pages are counted that hold anything.
    pub is_live: bool,
    pub resident_bytes: u64,
    pub peak_resident_bytes: Option<u64>,
    #[serde(flatten)]
    pub heap: Whose,
    pub others: Others,
    pub unexplained_bytes: i64,
    /// Live, and beside.
    pub pinned_bytes: u64,
    /// Of a core: what it has not of the files that were mapped.
    pub left_out_bytes: Option<u64>,
    pub blocks: Kinds,
    pub sizes: Vec<Size>,
    pub larger_sizes: Vec<LargerSize>,
    pub heaps: Vec<HeapLine>,
    /// Of glibc's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malloc: Option<Malloc>,
    pub advice: Vec<String>,
}

/// Whose heap it is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Whose {
    Loam(Parts),
    Glibc(Parts),
}

impl Whose {
    fn of(allocator: &Allocator, resident: &Resident) -> Whose {
        match allocator {
            Allocator::Loam => Whose::Loam(Parts::of(resident)),
            Allocator::Glibc(_) => Whose::Glibc(Parts::of(resident)),
        }
    }

    pub fn names(&self) -> &'static Names {
        match self {
            Whose::Loam(_) => &LOAM,
            Whose::Glibc(_) => &GLIBC,
        }
    }
}

impl Deref for Whose {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        match self {
            Whose::Loam(parts) | Whose::Glibc(parts) => parts,
        }
    }
}

/// Resident bytes.
#[derive(Serialize, Deserialize)]
pub struct Parts {
    pub live_bytes: u64,
    pub beside_bytes: u64,
    pub idle_bytes: u64,
    pub cached_bytes: u64,
    pub depot_bytes: u64,
    pub dirty_bytes: u64,
    pub unused_bytes: u64,
    pub metadata_bytes: u64,
    pub profile_bytes: u64,
}

impl Parts {
    fn of(resident: &Resident) -> Parts {
        Parts {
            live_bytes: resident.of(Kind::Live),
            beside_bytes: resident.of(Kind::Beside),
            idle_bytes: resident.of(Kind::Idle),
            cached_bytes: resident.of(Kind::Cached),
            depot_bytes: resident.of(Kind::Depots),
            dirty_bytes: resident.of(Kind::Dirty),
            unused_bytes: resident.of(Kind::Unused),
            metadata_bytes: resident.of(Kind::Metadata),
            profile_bytes: resident.of(Kind::Profile),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub struct Others {
    pub libc_heap_bytes: u64,
    pub stack_bytes: u64,
    pub file_bytes: u64,
    pub mapping_bytes: u64,
}

#[derive(Serialize, Deserialize)]
pub struct Kinds {
    pub small: Count,
    pub middle: Count,
    pub large: Count,
    pub huge: Count,
}

#[derive(Serialize, Deserialize)]
pub struct Count {
    pub count: u64,
    pub bytes: u64,
}

impl From<Blocks> for Count {
    fn from(blocks: Blocks) -> Count {
        Count { count: blocks.count, bytes: blocks.bytes }
    }
}

/// Small blocks of one size.
#[derive(Serialize, Deserialize)]
pub struct Size {
    pub block_bytes: u64,
    pub span_count: u64,
    pub live_count: u64,
    pub cached_count: u64,
    pub depot_count: u64,
    pub free_count: u64,
    pub resident_bytes: u64,
    pub live_bytes: u64,
    pub beside_bytes: u64,
    pub idle_bytes: u64,
    pub pinned_bytes: u64,
}

impl Size {
    fn of(class: &Class) -> Size {
        Size {
            block_bytes: class.block_bytes,
            span_count: class.span_count,
            live_count: class.live_count,
            cached_count: class.cached_count,
            depot_count: class.depot_count,
            free_count: class.free_count,
            resident_bytes: class.resident.sum(),
            live_bytes: class.resident.of(Kind::Live),
            beside_bytes: class.resident.of(Kind::Beside),
            idle_bytes: class.resident.of(Kind::Idle),
            pinned_bytes: class.resident.pinned(),
        }
    }
}

/// Middle, large and huge blocks of one size, with pages of their own.
#[derive(Serialize, Deserialize)]
pub struct LargerSize {
    pub block_bytes: u64,
    pub live_count: u64,
    pub live_bytes: u64,
}

impl LargerSize {
    fn of((size, larger): (&u64, &Larger)) -> LargerSize {
        let Larger { count, resident_bytes } = *larger;
        LargerSize { block_bytes: *size, live_count: count, live_bytes: resident_bytes }
    }
}

#[derive(Serialize, Deserialize)]
pub struct HeapLine {
    pub name: String,
    pub thread_id: Option<u32>,
    pub resident_bytes: u64,
    #[serde(flatten)]
    pub heap: Whose,
}

impl HeapLine {
    fn of(allocator: &Allocator, heap: &Heap) -> HeapLine {
        let thread_id = if let Keeper::Cache(id) = heap.keeper { Some(id) } else { None };
        let resident_bytes = heap.resident.sum();
        let parts = Whose::of(allocator, &heap.resident);
        HeapLine { name: heap.name(), thread_id, resident_bytes, heap: parts }
    }
}

impl Report {
    pub fn of(account: &Account, figures: &Figures) -> Report {
        let others = account.others;
        let is_there = |class: &&Class| class.resident.sum() != 0 || class.span_count != 0;
        let mut sizes: Vec<Size> = figures.classes.iter().filter(is_there).map(Size::of).collect();
        sizes.sort_by_key(|size| std::cmp::Reverse(size.resident_bytes));
        let mut heaps: Vec<HeapLine> =
            figures.heaps.iter().map(|heap| HeapLine::of(&figures.allocator, heap)).collect();
        heaps.retain(|heap| heap.resident_bytes != 0);
        heaps.sort_by_key(|heap| std::cmp::Reverse(heap.resident_bytes));
        Report {
            schema: SCHEMA,
            process: account.title.clone(),
            pid: account.pid,
            name: account.name.clone(),
            is_live: account.is_live,
            resident_bytes: account.resident_bytes,
            peak_resident_bytes: account.peak_bytes,
            heap: Whose::of(&figures.allocator, &account.heap),
            malloc: Malloc::of(account, figures),
            others: Others {
                libc_heap_bytes: others.libc_heap,
                stack_bytes: others.stacks,
                file_bytes: others.files,
                mapping_bytes: others.mappings,
            },
            unexplained_bytes: account.unexplained_bytes,
            pinned_bytes: account.heap.pinned(),
            left_out_bytes: account.left_out_bytes,
            blocks: Kinds {
                small: figures.small.into(),
                middle: figures.middle.into(),
                large: figures.large.into(),
                huge: figures.huge.into(),
            },
            sizes,
            larger_sizes: figures.larger.iter().map(LargerSize::of).collect(),
            heaps,
            advice: advice::of(account, figures),
        }
    }

    /// Resident bytes of each kind, as they are called.
    pub fn parts(&self) -> [(&'static str, u64); 13] {
        let Report { heap, others, .. } = self;
        let names = heap.names();
        [
            ("live: blocks that the program has", heap.live_bytes),
            ("free beside them, on the same pages", heap.beside_bytes),
            (names.idle, heap.idle_bytes),
            (names.cached, heap.cached_bytes),
            (names.depots, heap.depot_bytes),
            (names.dirty, heap.dirty_bytes),
            ("never used: parts of huge pages", heap.unused_bytes),
            (names.records, heap.metadata_bytes),
            ("the profile's own", heap.profile_bytes),
            (names.libc_heap, others.libc_heap_bytes),
            ("stacks", others.stack_bytes),
            ("files: code and data", others.file_bytes),
            ("other mappings", others.mapping_bytes),
        ]
    }
}
