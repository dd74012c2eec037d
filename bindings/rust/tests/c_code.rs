//! Which malloc C code in the same program gets: loam's with the feature `override`, else the C
//! library's.

#[cfg(feature = "override")]
use std::ffi::c_char;
use std::ffi::c_void;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn loam_malloc(size: usize) -> *mut c_void;
}

#[test]
fn malloc_is_loams_with_the_feature_only() {
    // With the feature both are names of one function. black_box: the compiler takes two externs
    // for two functions.
    let c_malloc = std::hint::black_box(malloc as *const ());
    let own_malloc = std::hint::black_box(loam_malloc as *const ());
    assert_eq!(c_malloc == own_malloc, cfg!(feature = "override"));
    assert!(!loam_malloc::version().is_empty());
}

#[cfg(feature = "override")]
unsafe extern "C" {
    fn strdup(text: *const c_char) -> *mut c_char;
    fn free(block: *mut c_void);
}

#[cfg(feature = "override")]
#[test]
fn the_c_librarys_own_calls_are_served() {
    let text = [b'x'; 99].into_iter().chain([0]).collect::<Vec<u8>>();
    // SAFETY: the text ends with a zero byte; the copy is freed once.
    unsafe {
        let copy = strdup(text.as_ptr().cast());
        assert!(loam_malloc::usable_bytes(copy.cast()) >= 100); // 0 of what is not loam's
        free(copy.cast());
    }
}
