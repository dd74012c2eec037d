//! What happened in a program, one call of an allocation function at a time.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Since the recording's begin; never less than that of the event before.
    pub time_us: u64,
    /// From 0, in the order in which threads were first seen.
    pub thread: u32,
    pub what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A block was taken. Its object's number is that of the last one and 1; the first has 0.
    Take { object: u64, block: Block },
    /// A block was resized, wherever it is after that.
    Resize { object: u64, block: Block },
    /// A block was freed.
    Give { object: u64, entry: Entry },
    /// Of a block that is about to be freed or resized, so many bytes had been written to or read:
    /// only of blocks of at least `LARGE_BYTES`.
    Touched { object: u64, bytes: u64 },
    /// The program's resident memory, without what the recording took.
    Resident { bytes: u64 },
    /// What of the memory that the program has mapped itself is resident.
    Mapped { bytes: u64 },
    /// The thread makes no further calls.
    ThreadEnd,
}

/// From this size on, a recording says how much of a block was touched.
pub const LARGE_BYTES: u64 = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    pub entry: Entry,
    /// As asked for, and may be 0.
    pub size: u64,
    /// A power of two; 0 where none was asked for.
    pub alignment: u64,
    /// Where it is, in a recording that has addresses.
    pub address: Option<u64>,
    /// Who asked, in a recording that has stacks (`Stacks::frames`); 0 is unknown.
    pub stack: u32,
}

macro_rules! entries {
    ($($variant:ident = $number:literal $name:literal),* $(,)?) => {
        /// The functions that programs call.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Entry { $($variant = $number),* }

        impl Entry {
            #[cfg(test)]
            pub const ALL: &[Entry] = &[$(Entry::$variant),*];

            /// As C and C++ have it.
            pub fn name(self) -> &'static str {
                match self { $(Entry::$variant => $name),* }
            }

            pub fn from_number(number: u8) -> Option<Entry> {
                match number { $($number => Some(Entry::$variant),)* _ => None }
            }
        }
    };
}

// Numbers stand in files: each keeps its meaning.
entries! {
    Malloc = 0 "malloc",
    Calloc = 1 "calloc",
    Realloc = 2 "realloc",
    ReallocArray = 3 "reallocarray",
    AlignedAlloc = 4 "aligned_alloc",
    PosixMemalign = 5 "posix_memalign",
    Memalign = 6 "memalign",
    Valloc = 7 "valloc",
    Pvalloc = 8 "pvalloc",
    New = 9 "operator new",
    NewArray = 10 "operator new[]",
    Free = 11 "free",
    FreeSized = 12 "free_sized",
    FreeAlignedSized = 13 "free_aligned_sized",
    Delete = 14 "operator delete",
    DeleteArray = 15 "operator delete[]",
    Cfree = 16 "cfree",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_entries_lead_back_to_them() {
        for &entry in Entry::ALL {
            assert_eq!(Entry::from_number(entry as u8), Some(entry));
        }
        assert_eq!(Entry::from_number(Entry::ALL.len() as u8), None);
    }
}
