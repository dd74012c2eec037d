//! The loam memory allocator.
//!
//! As the allocator of Rust code:
//!
//! ```
//! #[global_allocator]
//! static GLOBAL: loam_malloc::Loam = loam_malloc::Loam;
//!
//! fn main() {
//!     let numbers: Vec<u64> = (0..1000).collect();
//!     assert!(loam_malloc::usable_bytes(numbers.as_ptr().cast()) >= 8000);
//! }
//! ```
//!
//! With the feature `override`, C code in the same program is on loam as well: the crate then
//! defines `malloc`, its family and C++'s operators new and delete. Use it in programs, not in
//! libraries: a program has one malloc. It needs no more than a dependency and one use:
//!
//! ```toml
//! [dependencies]
//! loam-malloc = { version = "0.1", features = ["override"] }
//! ```
//!
//! ```
//! use loam_malloc as _; // an unused crate is not linked
//! ```
//!
//! On musl this makes static programs scale whose malloc would be one lock.
//!
//! A [`Heap`] is memory of its own for what belongs together, and is given back at once.

#![no_std]

mod heap;
mod options;

pub use heap::Heap;
pub use options::{OptionError, option, set_option};

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Every block has at least this alignment.
const BLOCK_ALIGNMENT: usize = 16;

unsafe extern "C" {
    fn loam_malloc(size: usize) -> *mut c_void;
    fn loam_calloc(count: usize, size: usize) -> *mut c_void;
    fn loam_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn loam_aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    fn loam_free(block: *mut c_void);
    fn loam_malloc_usable_size(block: *mut c_void) -> usize;
    fn loam_malloc_trim(keep: usize) -> c_int;
    fn loam_thread_idle(milliseconds: c_uint) -> c_int;
    fn loam_should_move(block: *const c_void) -> c_int;
    fn loam_version() -> *const c_char;
}

/// The allocator, for `#[global_allocator]`.
#[derive(Debug, Default, Clone, Copy)]
pub struct Loam;

// SAFETY: blocks are those of loam's C functions, which never unwind, are aligned as asked for, and
// stay where they are until they are given back.
unsafe impl GlobalAlloc for Loam {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= BLOCK_ALIGNMENT {
            // SAFETY: any size may be asked for.
            unsafe { loam_malloc(layout.size()) }.cast()
        } else {
            // SAFETY: a layout's alignment is a power of two.
            unsafe { loam_aligned_alloc(layout.align(), layout.size()) }.cast()
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= BLOCK_ALIGNMENT {
            // SAFETY: any size may be asked for.
            return unsafe { loam_calloc(1, layout.size()) }.cast();
        }
        // SAFETY: the caller's promise is passed on.
        let block = unsafe { self.alloc(layout) };
        if !block.is_null() {
            // SAFETY: the block has as many bytes as the layout.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        // SAFETY: the block is one of loam's, as the caller promises.
        unsafe { loam_free(block.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if layout.align() <= BLOCK_ALIGNMENT {
            // SAFETY: the block is one of loam's and the size is not 0, as the caller promises.
            return unsafe { loam_realloc(block.cast(), new_size) }.cast();
        }
        // SAFETY: the caller promises that the new size makes a layout with this alignment.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        // SAFETY: the new layout's size is not 0, as the caller promises.
        let copy = unsafe { self.alloc(new_layout) };
        if !copy.is_null() {
            // SAFETY: both blocks have these bytes, and a new block overlaps no other.
            unsafe { copy.copy_from_nonoverlapping(block, layout.size().min(new_size)) };
            // SAFETY: the caller gives up the old block.
            unsafe { self.dealloc(block, layout) };
        }
        copy
    }
}

/// The bytes that may be used in a block of loam's, at least as many as were asked for; 0 for null.
/// Any other address ends the program with a message.
pub fn usable_bytes(block: *const u8) -> usize {
    // SAFETY: the function looks at loam's own records only, whatever the address.
    unsafe { loam_malloc_usable_size(block.cast_mut().cast()) }
}

/// Gives empty memory back to the system now, but for about `keep_bytes`; says whether there was
/// any. By itself loam does it after half a second.
///
/// ```
/// loam_malloc::trim(0);
/// ```
pub fn trim(keep_bytes: usize) -> bool {
    // SAFETY: it may be called at any time.
    unsafe { loam_malloc_trim(keep_bytes) != 0 }
}

/// The calling thread has nothing to do for so long: what waits is done meanwhile, no longer than a
/// millisecond beyond. Says whether the time was up first.
///
/// ```
/// loam_malloc::thread_idle(core::time::Duration::from_millis(5));
/// ```
pub fn thread_idle(time: core::time::Duration) -> bool {
    let milliseconds = c_uint::try_from(time.as_millis()).unwrap_or(c_uint::MAX);
    // SAFETY: it may be called at any time.
    unsafe { loam_thread_idle(milliseconds) != 0 }
}

/// Whether a value whose block this is should be put into a new one before the block is freed: it
/// stands where little is in use, and there is room where more is. False for what is no block.
///
/// # Safety
///
/// The block, if it is one, is not given back meanwhile.
pub unsafe fn should_move(block: *const u8) -> bool {
    // SAFETY: the caller's promise is passed on.
    unsafe { loam_should_move(block.cast()) != 0 }
}

/// The version of the allocator, as `major.minor.patch`.
///
/// ```
/// assert_eq!(loam_malloc::version(), env!("CARGO_PKG_VERSION"));
/// ```
pub fn version() -> &'static str {
    // SAFETY: the text is constant and ends with a zero byte.
    unsafe { CStr::from_ptr(loam_version()) }.to_str().unwrap_or_default()
}
