//! Loam as the global allocator: sizes, alignments, growth, threads.

use loam_malloc::{Loam, should_move, thread_idle, usable_bytes};
use std::alloc::{GlobalAlloc, Layout};

#[global_allocator]
static GLOBAL: Loam = Loam;

#[test]
fn boxes_are_blocks_of_loam() {
    let boxed = Box::new([7u8; 100]);
    assert!(usable_bytes(boxed.as_ptr()) >= 100); // 0 of what is not loam's
}

#[test]
fn null_has_no_bytes() {
    assert_eq!(usable_bytes(std::ptr::null()), 0);
}

#[test]
fn vectors_keep_their_contents_while_they_grow() {
    let mut numbers = Vec::new();
    for number in 0..300_000u32 {
        numbers.push(number);
    }
    assert!(numbers.iter().copied().eq(0..300_000));
}

#[test]
fn alignment_holds_for_every_call() {
    for alignment in [1, 8, 16, 32, 64, 4096, 1 << 20] {
        let layout = Layout::from_size_align(100, alignment).expect("a valid layout");
        // SAFETY: sizes are not 0, and each block is given back with its last layout.
        unsafe {
            let block = Loam.alloc_zeroed(layout);
            assert!(!block.is_null() && block.addr() % alignment == 0);
            assert!((0..100).all(|index| *block.add(index) == 0));
            block.write_bytes(0x5a, 100);
            let grown = Loam.realloc(block, layout, 5000);
            assert!(!grown.is_null() && grown.addr() % alignment == 0);
            assert!((0..100).all(|index| *grown.add(index) == 0x5a));
            Loam.dealloc(grown, Layout::from_size_align_unchecked(5000, alignment));
        }
    }
}

#[test]
fn blocks_are_freed_by_other_threads() {
    let (sender, receiver) = std::sync::mpsc::channel::<Vec<u8>>();
    let consumer = std::thread::spawn(move || receiver.iter().map(|block| block.len()).sum());
    let mut sent_bytes = 0;
    for length in 1..2000 {
        sent_bytes += length;
        sender.send(vec![1; length]).expect("the consumer listens");
    }
    drop(sender);
    let received_bytes: usize = consumer.join().expect("the consumer ends");
    assert_eq!(received_bytes, sent_bytes);
}

#[test]
fn an_idle_thread_comes_back_and_a_full_page_stays() {
    thread_idle(std::time::Duration::from_millis(2));
    let boxed = Box::new([7u8; 100]);
    // SAFETY: the box lives on.
    assert!(!unsafe { should_move(boxed.as_ptr().wrapping_add(1 << 40)) });
    assert_eq!(boxed[99], 7);
}
