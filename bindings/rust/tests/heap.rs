//! First-class heaps: blocks, values, threads, and what ends with a heap.

use loam_malloc::{Heap, usable_bytes};
use std::alloc::Layout;

fn heap() -> Heap {
    Heap::new().expect("there is memory for a heap")
}

fn layout(size: usize, alignment: usize) -> Layout {
    Layout::from_size_align(size, alignment).expect("a valid layout")
}

#[test]
fn blocks_are_aligned_grow_and_are_given_back() {
    let heap = heap();
    for alignment in [1, 8, 16, 32, 64, 4096, 1 << 20] {
        let mut current = layout(100, alignment);
        let mut block = heap.allocate_zeroed(current).expect("there is memory");
        for size in [5000, 1 << 20, 60, 0] {
            // SAFETY: the block is of this heap, has this layout, and is used no more after it has
            // been given back.
            unsafe {
                let kept = current.size().min(60);
                assert!((0..kept).all(|index| *block.as_ptr().add(index) == 0));
                block = heap.reallocate(block, current, size).expect("there is memory");
                current = layout(size, alignment);
            }
            assert_eq!(block.addr().get() % alignment, 0);
            assert!(usable_bytes(block.as_ptr()) >= size);
        }
        // SAFETY: the same.
        unsafe { heap.deallocate(block, current) };
    }
}

#[test]
fn what_cannot_be_had_is_none_and_leaves_the_block() {
    let heap = heap();
    let too_large = layout(isize::MAX as usize - 100, 1);
    assert!(heap.allocate(too_large).is_none());
    assert!(heap.allocate_zeroed(too_large).is_none());
    for alignment in [1, 64] {
        let small = layout(100, alignment);
        let block = heap.allocate(small).expect("there is memory");
        for size in [usize::MAX, isize::MAX as usize - 100] {
            // SAFETY: the block is of this heap, has this layout, and is given back once.
            assert!(unsafe { heap.reallocate(block, small, size) }.is_none());
        }
        // SAFETY: the same.
        unsafe { heap.deallocate(block, small) };
    }
}

#[test]
fn values_stay_until_all_is_freed() {
    #[repr(align(128))]
    struct Wide(u64);
    let mut heap = heap();
    for round in 0..100 {
        let numbers: Vec<&mut u64> =
            (0..1000).map(|number| heap.alloc(number).expect("there is memory")).collect();
        let wide = heap.alloc(Wide(round)).map_err(|_| "no memory").expect("there is memory");
        assert_eq!(std::ptr::from_ref(wide).addr() % 128, 0);
        assert_eq!(wide.0, round);
        assert!(numbers.iter().map(|number| **number).eq(0..1000));
        heap.free_all();
    }
}

#[test]
fn many_threads_use_one_heap() {
    let heap = heap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let heap = &heap;
            scope.spawn(move || {
                let values: Vec<&mut [u64; 10]> = (0..2000)
                    .map(|number| heap.alloc([thread * 2000 + number; 10]).expect("memory"))
                    .collect();
                for (number, value) in values.iter().enumerate() {
                    assert!(value.iter().all(|item| *item == thread * 2000 + number as u64));
                }
            });
        }
    });
}

#[test]
fn a_heap_ends_in_another_thread() {
    let heap = heap();
    let text = heap.alloc(*b"of this heap").expect("there is memory");
    assert_eq!(text, b"of this heap");
    std::thread::spawn(move || drop(heap)).join().expect("the thread ends");
}

#[cfg(target_os = "linux")] // where there is /proc
#[test]
fn a_dropped_heaps_memory_serves_the_next() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/statm").expect("it can be read");
        status.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0usize)
    };
    let one_heap = || {
        let heap = heap();
        for _ in 0..100 {
            heap.alloc([1u8; 10_000]).expect("there is memory");
        }
    };
    (0..10).for_each(|_| one_heap());
    let before = resident();
    (0..1000).for_each(|_| one_heap()); // 1 GB, if nothing went back
    assert!(resident() < before + 10_000, "{before} pages, then {}", resident());
}
