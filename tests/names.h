/* The names under test. TEST_PREFIXED makes a program call loam_* instead of the standard names,
 * for allocators that are linked in beside the C library's (ThreadSanitizer builds). */
#ifndef LOAM_TESTS_NAMES_H
#define LOAM_TESTS_NAMES_H

#include "check.h"
#include <loam/loam.h>
#include <malloc.h>

/* Newer than the C library's headers, or in no C library: resolved by the preloaded library. */
TEST_EXTERN_C void free_sized(void *block, size_t size) __attribute__((weak));
TEST_EXTERN_C void free_aligned_sized(void *block, size_t alignment, size_t size)
    __attribute__((weak));

#if !defined(TEST_PREFIXED)
#pragma weak loam_malloc
#pragma weak loam_free
#pragma weak loam_calloc
#pragma weak loam_realloc
#pragma weak loam_reallocarray
#pragma weak loam_aligned_alloc
#pragma weak loam_posix_memalign
#pragma weak loam_free_sized
#pragma weak loam_free_aligned_sized
#pragma weak loam_memalign
#pragma weak loam_valloc
#pragma weak loam_pvalloc
#pragma weak loam_malloc_usable_size
#pragma weak loam_malloc_trim
#pragma weak loam_malloc_stats
#pragma weak loam_malloc_info
#pragma weak loam_mallopt
#pragma weak loam_mallinfo
#pragma weak loam_mallinfo2
#pragma weak loam_control
#pragma weak loam_stats
#pragma weak loam_stats_of_classes
#pragma weak loam_profile_start
#pragma weak loam_profile_stop
#pragma weak loam_profile_write
#pragma weak loam_profile_set_callbacks
#pragma weak loam_thread_idle
#pragma weak loam_should_move
#pragma weak loam_move
#pragma weak loam_set_page_provider
#pragma weak loam_heap_new
#pragma weak loam_heap_new_with_provider
#pragma weak loam_heap_malloc
#pragma weak loam_heap_calloc
#pragma weak loam_heap_memalign
#pragma weak loam_heap_realloc
#pragma weak loam_heap_free
#pragma weak loam_heap_free_all
#pragma weak loam_heap_destroy
#pragma weak loam_heap_visit
#else
#define malloc loam_malloc
#define free loam_free
#define calloc loam_calloc
#define realloc loam_realloc
#define malloc_usable_size loam_malloc_usable_size
#endif
#if defined(TEST_PREFIXED) || defined(_WIN32) /* where the C runtime has none of these */
#define aligned_alloc loam_aligned_alloc
#define free_sized loam_free_sized
#define malloc_trim loam_malloc_trim
#endif

#endif
