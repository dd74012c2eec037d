//! First-class heaps.

use core::alloc::Layout;
use core::ffi::c_void;
use core::ptr::NonNull;

use crate::BLOCK_ALIGNMENT;

/// A heap as C knows it, by address only.
#[repr(C)]
struct CHeap {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn loam_heap_new() -> *mut CHeap;
    fn loam_heap_malloc(heap: *mut CHeap, size: usize) -> *mut c_void;
    fn loam_heap_calloc(heap: *mut CHeap, count: usize, size: usize) -> *mut c_void;
    fn loam_heap_memalign(heap: *mut CHeap, alignment: usize, size: usize) -> *mut c_void;
    fn loam_heap_realloc(heap: *mut CHeap, block: *mut c_void, size: usize) -> *mut c_void;
    fn loam_heap_free(heap: *mut CHeap, block: *mut c_void);
    fn loam_heap_free_all(heap: *mut CHeap);
    fn loam_heap_destroy(heap: *mut CHeap);
}

/// A heap of its own for blocks that belong together: the memory of one request, document or phase.
/// All of it is given back at once by [`free_all`](Heap::free_all), or when the heap is dropped.
///
/// Values are placed in it safely with [`alloc`](Heap::alloc): what it returns cannot outlive the
/// heap, nor a `free_all`. Values are *not* dropped with the heap; only their memory is given back.
///
/// ```
/// let mut heap = loam_malloc::Heap::new().expect("there is memory for a heap");
/// for request in 0..3 {
///     let numbers = heap.alloc([request; 1000]).expect("there is memory");
///     numbers[7] += 1;
///     assert_eq!(numbers[7], request + 1);
///     heap.free_all(); // `numbers` cannot be used from here on
/// }
/// ```
///
/// ```compile_fail,E0502
/// let mut heap = loam_malloc::Heap::new().unwrap();
/// let number = heap.alloc(1).unwrap();
/// heap.free_all();
/// println!("{number}");
/// ```
///
/// Blocks by layout, as a `GlobalAlloc` has them, are for collections and foreign code:
///
/// ```
/// use std::alloc::Layout;
///
/// let heap = loam_malloc::Heap::new().expect("there is memory for a heap");
/// let layout = Layout::array::<u32>(100)?;
/// let block = heap.allocate(layout).expect("there is memory");
/// // SAFETY: the block was allocated from this heap with this layout, and is not used again.
/// unsafe { heap.deallocate(block, layout) };
/// # Ok::<(), std::alloc::LayoutError>(())
/// ```
///
/// Threads: a heap may be used by any number of threads; one works in it at a time, under the
/// heap's lock, and others wait. A heap for each thread never waits. In the child of a fork every
/// heap is what it was at the fork. Allocations elsewhere are served as if there were no heaps.
///
/// Memory that is free in a heap serves that heap only, but for empty spans, which go back by
/// themselves. A heap costs about 8 KiB, and at least a page for each size class that it comes to
/// use.
#[derive(Debug)]
pub struct Heap {
    handle: NonNull<CHeap>,
}

// SAFETY: any thread may use and destroy a heap.
unsafe impl Send for Heap {}
// SAFETY: the heap's own lock lets one thread at a time work in it; what needs the heap for itself
// takes it by `&mut self` or by value.
unsafe impl Sync for Heap {}

impl Heap {
    /// A heap without blocks; `None` if there is no memory for it.
    pub fn new() -> Option<Heap> {
        // SAFETY: it may be called at any time.
        NonNull::new(unsafe { loam_heap_new() }).map(|handle| Heap { handle })
    }

    /// Moves a value into the heap, where it stays until the heap is dropped or
    /// [`free_all`](Heap::free_all) is called. It is not dropped. Gives the value back if there is
    /// no memory.
    #[allow(clippy::mut_from_ref)] // each call refers to a block of its own
    pub fn alloc<T>(&self, value: T) -> Result<&mut T, T> {
        match self.allocate(Layout::new::<T>()) {
            Some(block) => {
                let place = block.cast::<T>();
                // SAFETY: the block has the size and alignment of T, is nobody else's, and stays
                // while the heap is borrowed: what gives it back needs the whole heap, or is
                // unsafe.
                unsafe {
                    place.write(value);
                    Ok(&mut *place.as_ptr())
                }
            }
            None => Err(value),
        }
    }

    /// A block of at least the layout's size, contents undefined; `None` if there is no memory.
    /// Any size may be asked for, also 0.
    pub fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        let heap = self.handle.as_ptr();
        // SAFETY: the heap lives, and a layout's alignment is a power of two.
        let block = unsafe {
            if layout.align() <= BLOCK_ALIGNMENT {
                loam_heap_malloc(heap, layout.size())
            } else {
                loam_heap_memalign(heap, layout.align(), layout.size())
            }
        };
        NonNull::new(block.cast())
    }

    /// The same, all zero.
    pub fn allocate_zeroed(&self, layout: Layout) -> Option<NonNull<u8>> {
        if layout.align() <= BLOCK_ALIGNMENT {
            // SAFETY: the heap lives.
            let block = unsafe { loam_heap_calloc(self.handle.as_ptr(), 1, layout.size()) };
            return NonNull::new(block.cast());
        }
        let block = self.allocate(layout)?;
        // SAFETY: the block has as many bytes as the layout.
        unsafe { block.write_bytes(0, layout.size()) };
        Some(block)
    }

    /// Gives one block back, in any thread. A block of another heap ends the program with a
    /// message.
    ///
    /// # Safety
    ///
    /// The block was allocated from this heap, has not been given back since, also not by
    /// [`free_all`](Heap::free_all), and is not used again.
    pub unsafe fn deallocate(&self, block: NonNull<u8>, _layout: Layout) {
        // SAFETY: the heap lives, and the block is one of its own, as the caller promises.
        unsafe { loam_heap_free(self.handle.as_ptr(), block.as_ptr().cast()) }
    }

    /// The block with its size changed to `new_size`, contents kept up to the smaller of both
    /// sizes. `None` if there is no memory, or no layout with that size: the block stays as it was
    /// then.
    ///
    /// # Safety
    ///
    /// As for [`deallocate`](Heap::deallocate), unless the result is `None`. `layout` is the one
    /// that the block has now.
    pub unsafe fn reallocate(
        &self,
        block: NonNull<u8>,
        layout: Layout,
        new_size: usize,
    ) -> Option<NonNull<u8>> {
        let new_layout = Layout::from_size_align(new_size, layout.align()).ok()?;
        if layout.align() <= BLOCK_ALIGNMENT {
            let (heap, old) = (self.handle.as_ptr(), block.as_ptr().cast());
            // SAFETY: the caller's promise. A size of 0 would give the block back.
            return NonNull::new(unsafe { loam_heap_realloc(heap, old, new_size.max(1)) }.cast());
        }
        let copy = self.allocate(new_layout)?;
        // SAFETY: both blocks have these bytes, and a new block overlaps no other.
        unsafe { copy.copy_from_nonoverlapping(block, layout.size().min(new_size)) };
        // SAFETY: the caller gives up the old block.
        unsafe { self.deallocate(block, layout) };
        Some(copy)
    }

    /// Gives all blocks back at once, in time that grows with the heap's memory and not with its
    /// blocks. Pointers from [`allocate`](Heap::allocate) point to nothing from then on.
    pub fn free_all(&mut self) {
        // SAFETY: the heap lives, and nobody else can be using it. References into it have ended.
        unsafe { loam_heap_free_all(self.handle.as_ptr()) }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: nobody else can be using the heap, and this is its end.
        unsafe { loam_heap_destroy(self.handle.as_ptr()) }
    }
}
