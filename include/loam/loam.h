/* loam: a general-purpose memory allocator.
 *
 * The one public header. Every function of the malloc family exists here under the prefix
 * `loam_`; the libraries libloam.so, libloam.a and the object loam.o also define the standard
 * names and so replace the C library's allocator of the program that they are loaded into.
 *
 * What holds for all functions, unless a function says otherwise:
 *   - Sizes and alignments are in bytes.
 *   - Thread safety: every function may be called from any thread at any time, and in the child
 *     of a fork. A block may be freed or resized by any thread.
 *   - Blocks are aligned to 16 bytes.
 *   - A size of zero gives a unique block that must be freed like any other.
 *   - A request above PTRDIFF_MAX fails.
 *   - On failure a function that returns a pointer returns NULL and sets errno to ENOMEM. On
 *     success errno is untouched. No function that frees touches errno.
 *   - The caller frees every block with loam_free (or one of its sized forms); blocks of loam_*
 *     and of the standard names are the same blocks and may be mixed freely.
 *   - Freeing or resizing an address that is not a live block ends the program with one line on
 *     standard error (see docs/errors.md).
 *
 * License: MIT OR Apache-2.0
 */
#ifndef LOAM_LOAM_H
#define LOAM_LOAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LOAM_VERSION_MAJOR 0
#define LOAM_VERSION_MINOR 1
#define LOAM_VERSION_PATCH 0
#define LOAM_VERSION "0.1.0"

#if defined(__GNUC__)
#define LOAM_ATTR_MALLOC __attribute__((malloc, warn_unused_result))
#define LOAM_ATTR_RESULT __attribute__((warn_unused_result))
#else
#define LOAM_ATTR_MALLOC
#define LOAM_ATTR_RESULT
#endif

#if defined(__cplusplus)
extern "C" {
#define LOAM_NOEXCEPT noexcept
#else
#define LOAM_NOEXCEPT
#endif

/* The version of the loaded library as "major.minor.patch", static storage. */
const char *loam_version(void) LOAM_NOEXCEPT;

/* ---- Options -------------------------------------------------------------------------------- */

/* A program may define this variable with options of its own, like those of LOAM_OPTIONS
 * (docs/tuning.md lists them):
 *     const char *loam_options = "purge_delay_ms=2000";
 * It is read at start, before the file /etc/loam.conf and the environment's LOAM_OPTIONS, both of
 * which override it. Where loam is preloaded, the program must show it to the loader
 * (-Wl,--export-dynamic-symbol=loam_options); on Windows it is not looked for. */
extern const char *loam_options;

/* Says what an option's value is, and sets it, while the program runs. `get`, unless NULL, gets the
 * value of before as LOAM_OPTIONS would have it, with a zero behind it, in up to `get_size` bytes;
 * 1024 are enough for any. `set`, unless NULL, is the new value as such a text; docs/tuning.md says
 * which options take one at any time, and from when on it counts. Returns 0; ENOENT if there is no
 * such option; EPERM if it is read at start only and `set` is given; ERANGE if `get` has no room;
 * EINVAL if `set` is no value of it. On failure nothing changes. Prints and allocates nothing. The
 * word `never` is the value of a time that does not come; the number 0 is taken for it. */
int loam_control(const char *name, char *get, size_t get_size, const char *set) LOAM_NOEXCEPT;

/* ---- C11 and POSIX -------------------------------------------------------------------------- */

/* A block of at least `size` bytes, contents undefined. C11 7.22.3.4, malloc(3). */
LOAM_ATTR_MALLOC void *loam_malloc(size_t size) LOAM_NOEXCEPT;

/* Gives a block back. NULL does nothing. C11 7.22.3.3, free(3). */
void loam_free(void *block) LOAM_NOEXCEPT;

/* A block of at least `count * size` bytes, all zero; a product that overflows fails. Fresh
 * memory from the system is not touched. C11 7.22.3.2. */
LOAM_ATTR_MALLOC void *loam_calloc(size_t count, size_t size) LOAM_NOEXCEPT;

/* The block with its size changed to `size`; contents are kept up to the smaller of both sizes.
 * NULL as `block` is loam_malloc(size). A `size` of zero frees the block and returns NULL, as
 * glibc does; errno is untouched by it. On failure the old block stays as it was.
 * C11 7.22.3.5, realloc(3). */
LOAM_ATTR_RESULT void *loam_realloc(void *block, size_t size) LOAM_NOEXCEPT;

/* loam_realloc(block, count * size); a product that overflows fails and leaves the block as it
 * was. POSIX.1-2024, reallocarray(3). */
LOAM_ATTR_RESULT void *loam_reallocarray(void *block, size_t count, size_t size) LOAM_NOEXCEPT;

/* A block aligned to `alignment`, which must be a power of two (else NULL and EINVAL, as with glibc
 * from 2.38 on; earlier ones take any, as loam_memalign does). `size` need not be a multiple of it.
 * C17 7.22.3.1, aligned_alloc(3). */
LOAM_ATTR_MALLOC void *loam_aligned_alloc(size_t alignment, size_t size) LOAM_NOEXCEPT;

/* Stores in `*result` a block aligned to `alignment`, a power of two and a multiple of
 * sizeof(void *). Returns 0, EINVAL or ENOMEM; errno and, on failure, `*result` are untouched.
 * POSIX.1-2017, posix_memalign(3). */
LOAM_ATTR_RESULT int loam_posix_memalign(void **result, size_t alignment, size_t size)
    LOAM_NOEXCEPT;

/* Gives back a block of malloc, calloc or realloc whose requested size was `size`. C23 7.24.3.4.
 * The checking build ends the program if `size` cannot be the block's. */
void loam_free_sized(void *block, size_t size) LOAM_NOEXCEPT;

/* Gives back a block of aligned_alloc, requested with `alignment` and `size`. C23 7.24.3.5. */
void loam_free_aligned_sized(void *block, size_t alignment, size_t size) LOAM_NOEXCEPT;

/* ---- Extensions of C libraries -------------------------------------------------------------- */

/* As loam_aligned_alloc, but an alignment that is no power of two is rounded up to one, as every
 * glibc does; NULL and EINVAL if there is none so large. memalign(3). */
LOAM_ATTR_MALLOC void *loam_memalign(size_t alignment, size_t size) LOAM_NOEXCEPT;

/* A block aligned to the OS page size. valloc(3). */
LOAM_ATTR_MALLOC void *loam_valloc(size_t size) LOAM_NOEXCEPT;

/* A block aligned to the OS page size, its size rounded up to whole OS pages. pvalloc(3). */
LOAM_ATTR_MALLOC void *loam_pvalloc(size_t size) LOAM_NOEXCEPT;

/* The number of bytes that may be used in `block`, at least the size requested; 0 for NULL.
 * malloc_usable_size(3). */
size_t loam_malloc_usable_size(void *block) LOAM_NOEXCEPT;

/* Gives empty memory back to the system now, but for about `keep` bytes in each pool: what depots
 * have, pages without a block, and what the calling thread has freed; not what is in the caches of
 * other threads. Returns 1 if memory was given back, else 0. Empty memory goes back by itself after
 * `purge_delay_ms`.
 * malloc_trim(3). */
int loam_malloc_trim(size_t keep) LOAM_NOEXCEPT;

/* Prints statistics as text to standard error, without allocating. loam_stats has the same figures
 * as numbers. malloc_stats(3). */
void loam_malloc_stats(void) LOAM_NOEXCEPT;

/* Writes statistics as XML to `stream`. `options` must be 0. Returns 0, or -1 with errno EINVAL
 * for other options. malloc_info(3). */
int loam_malloc_info(int options, FILE *stream) LOAM_NOEXCEPT;

/* Accepted for compatibility: returns 1 for the parameters that glibc defines and 0 for others,
 * and changes nothing. loam_control has loam's own options. mallopt(3). */
int loam_mallopt(int parameter, int value) LOAM_NOEXCEPT;

/* The same fields, in the same order, as glibc's struct mallinfo2; all in bytes but for the
 * counts. mallinfo(3). */
struct loam_mallinfo2 {
  size_t arena;    /* uordblks + fordblks */
  size_t ordblks;  /* number of free runs of OS pages */
  size_t smblks;   /* always 0 */
  size_t hblks;    /* number of huge blocks, each a mapping of its own */
  size_t hblkhd;   /* bytes in huge blocks */
  size_t usmblks;  /* always 0 */
  size_t fsmblks;  /* always 0 */
  size_t uordblks; /* bytes in other blocks that the program has, as large as they are usable */
  size_t fordblks; /* bytes that are free and have not been given back */
  size_t keepcost; /* of these, those of pages that no block is on: about what malloc_trim(0) would
                      give back if every thread called it */
};

/* The same as int, each field capped at INT_MAX, as glibc's struct mallinfo. */
struct loam_mallinfo {
  int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

struct loam_mallinfo2 loam_mallinfo2(void) LOAM_NOEXCEPT;
struct loam_mallinfo loam_mallinfo(void) LOAM_NOEXCEPT;

/* ---- What servers and runtimes ask for ------------------------------------------------------ */

/* The calling thread has nothing to do for so long: an event loop or a runtime that would sleep.
 * What waits is done meanwhile: empty memory that is due goes back to the system, and of what the
 * thread keeps for its own next calls as much goes to all threads as it would in that time (all of
 * it in half a second). Returns as soon as nothing waits, and no later than a millisecond after the
 * time is up; 1 if it was up first, else 0. With 0 milliseconds nothing is done. */
int loam_thread_idle(unsigned milliseconds) LOAM_NOEXCEPT;

/* Whether moving the block would free a page or a span before long: it stands where little is in
 * use, and there is room where more is. 1 or 0; 0 for NULL, for blocks above some 16 KiB, which
 * have pages of their own, and always in the checking and the hardened build. In constant time, 30
 * to 300 nanoseconds. The block must be the program's, as with loam_malloc_usable_size. */
int loam_should_move(const void *block) LOAM_NOEXCEPT;

/* Moves the block if loam_should_move says so: returns it at its new address, with what it held,
 * all of its usable size, and `block` is free. Else NULL, and nothing is changed. The thread's own
 * free blocks have no part in it, so that the place left is not taken again at once. errno is
 * untouched. */
LOAM_ATTR_RESULT void *loam_move(void *block) LOAM_NOEXCEPT;

/* ---- Statistics ----------------------------------------------------------------------------- */

/* What the process holds, in bytes as blocks are usable and pages are whole. The fields of the JSON
 * of LOAM_OPTIONS=stats=json, in its order; docs/tuning.md explains each. */
struct loam_stats {
  uint64_t resident_bytes, peak_resident_bytes; /* of the whole process; 0: not known */
  uint64_t used_bytes, used_count;              /* blocks that the program has: of these */
  uint64_t small_used_bytes, middle_used_bytes, large_used_bytes, huge_used_bytes;
  uint64_t free_bytes;      /* free and not given back: the sum of the next four */
  uint64_t cached_bytes;    /* in caches of threads; middle blocks in depots, too */
  uint64_t depot_bytes;     /* small blocks in depots: for any thread */
  uint64_t span_free_bytes; /* free small blocks in their spans */
  uint64_t dirty_bytes;     /* pages that nobody uses */
  uint64_t idle_page_bytes; /* pages of spans in use on which all blocks are free */
  uint64_t hole_bytes;      /* such that have been given back */
  uint64_t metadata_bytes;  /* loam's own records, as far as they are in memory */
  uint64_t purged_bytes, purge_count; /* given back since the start, and in how many calls */
  uint64_t region_count, reserved_bytes; /* address space */
  uint64_t free_run_count;  /* runs of OS pages that nobody uses */
  uint64_t heap_live_count, heap_made_count; /* of threads */
};

/* Fills the first `size` bytes of `*stats`, which is sizeof(struct loam_stats) as the caller knows
 * it; a field that this version does not know is 0. Takes a millisecond for each 100 MiB of small
 * blocks, about; allocates nothing and stops nobody: what other threads do meanwhile may be counted
 * in part. */
void loam_stats(struct loam_stats *stats, size_t size) LOAM_NOEXCEPT;

/* The same of all small blocks of one size; counts are of blocks. Of the blocks that have been cut
 * (`carved_count`), the program has `used_count`, and the others are free in one of four places. */
struct loam_class_stats {
  uint64_t block_bytes, span_count, carved_count, used_count;
  uint64_t cache_count;     /* in caches of threads */
  uint64_t depot_count;     /* in depots */
  uint64_t free_count;      /* in their spans */
  uint64_t hole_count;      /* in their spans, on pages that have been given back */
  uint64_t idle_page_count; /* pages on which all blocks are free and that have not been */
};

/* Fills `classes`, the smallest blocks first, with up to `count` of them. Returns how many there
 * are. */
size_t loam_stats_of_classes(struct loam_class_stats *classes, size_t count) LOAM_NOEXCEPT;

/* ---- Heap profiles -------------------------------------------------------------------------- */

/* Takes a profile from here on: which places in the program take memory, and which keep it. Of
 * what is taken, samples are looked at, `bytes` apart on average (0: as the option profile_bytes
 * says, 512 KiB if it does not); what that costs, docs/profile.md says. Threads take part from
 * their next call on that is not of the quickest. A profile that was being taken ends; blocks of it
 * that are in use count in the new one. Returns 0; EINVAL if `bytes` is not 16 to 268435456; ENOSYS
 * where there are no profiles (not Linux). Blocks of first-class heaps are in no profile. */
int loam_profile_start(size_t bytes) LOAM_NOEXCEPT;

/* Looks at no more calls of malloc. Blocks that were sampled are still noticed when they are
 * freed. */
void loam_profile_stop(void) LOAM_NOEXCEPT;

/* Writes what the profile has come to into a file, for `loam prof`; NULL: into the one that the
 * option profile_file names. Returns 0 or an errno; EINVAL if none has been started. Does not
 * allocate. */
int loam_profile_write(const char *path) LOAM_NOEXCEPT;

/* What a program or a language's runtime wants to know of each sample, to keep stacks of its own:
 *
 *   - `taken`: the program gets `block`, which has `size` bytes and stands for `weight` bytes of
 *     all that is taken. What it returns, any word, stays with the block.
 *   - `freed`: the program has freed that block, in any thread; `word` is what `taken` has
 *     returned. Comes once for each call of `taken`. A block that is resized may be one that is
 *     freed and another that is taken, or not.
 *
 * They are called in the midst of a malloc or free, in the thread that called that, with no lock of
 * loam's held: they may call malloc, free and all of loam; what `taken` takes is no sample. They
 * must return, and not throw; errno is what it was after them. They may not touch what is in the
 * block, and `freed` not the block at all. */
struct loam_profile_callbacks {
  void *(*taken)(void *context, void *block, size_t size, size_t weight);
  void (*freed)(void *context, void *word);
  void *context; /* given to each */
};

/* From here on each sample of a profile (loam_profile_start, profile=on) is told to `callbacks`,
 * which are copied, and stay for good; samples of before are not. Returns 0; EINVAL if one of both
 * is NULL; EBUSY if there are some already; ENOSYS where there are no profiles. */
int loam_profile_set_callbacks(const struct loam_profile_callbacks *callbacks) LOAM_NOEXCEPT;

/* ---- Memory from elsewhere ------------------------------------------------------------------ */

/* Where the memory for blocks comes from, if not from the system: callbacks for a first-class heap
 * (loam_heap_new_with_provider) or for the whole process (loam_set_page_provider). loam copies the
 * struct; what its functions and `context` need must live until the heap is destroyed, or as long
 * as the process.
 *
 *   - Sizes are in bytes. Addresses and sizes are multiples of the OS page size.
 *   - A reservation is address space that nobody else uses from `reserve` to `release`, which gets
 *     the same address and size. Most have 64 MiB (8 MiB on 32 bit), aligned to as much; blocks
 *     above half of that have one each. loam's records of one stand at its start, in 256 KiB
 *     (768 KiB in the checking build).
 *   - Reserved memory is not touched before it is committed, and purged memory not before it is
 *     committed again. By then it reads as zero; that is the provider's to see to. Memory that is
 *     committed already may be committed once more, alone or with other memory, when loam has no
 *     use for its contents: both to keep and to clear them is right.
 *   - Memory is readable and writable, by the CPU, from commit to purge or release, and is the
 *     process's own: a child of a fork gets a copy, or must not use it.
 *   - Threads: callbacks come in any thread that allocates or frees anything, several at a time,
 *     for different memory. They must return, and not throw.
 *   - A callback of a heap's is made with a lock of that heap held. It may call loam_malloc, malloc
 *     and their like for ordinary blocks, but nothing that takes a heap or a block of one, nor
 *     loam_malloc_trim, nor statistics, nor fork. A fork of another thread's waits for its end.
 *   - A callback of the process's must not call anything that allocates or frees, and must not use
 *     a lock that a fork could find taken, since it may be made in the midst of one.
 *   - errno is what it was after a callback, whatever that does to it. */
struct loam_page_provider {
  /* An address aligned to `alignment`, a power of two of at least an OS page, below 2^47 (2^48 on
   * AArch64) where a program gets its addresses by itself; NULL if there is none: the request fails
   * with ENOMEM then. What is not aligned ends the program with one line. */
  void *(*reserve)(void *context, size_t size, size_t alignment);

  /* Makes a part of a reservation usable. 0, or another value if it cannot: the request fails with
   * ENOMEM. NULL: memory is usable when it is reserved, and stays so when it is purged. */
  int (*commit)(void *context, void *address, size_t size);

  /* Takes back a part of a reservation, committed or not, that loam does not use for now; its
   * contents are lost. 0, or another value if everything is as it was: loam tries again later.
   * NULL: memory goes back by `release` only. */
  int (*purge)(void *context, void *address, size_t size);

  /* Ends a whole reservation, committed or not. */
  void (*release)(void *context, void *address, size_t size);

  /* Given to each callback. */
  void *context;
};

/* From now on all memory for ordinary blocks, and for heaps without a provider of their own, is
 * reserved by `provider`, which stays for good. Blocks from before stay where they are, and spans
 * that have free blocks serve on; the C library and constructors allocate before main, so that
 * there are some. loam's own records of threads and heaps, some KiB for each, come from the system
 * in any case.
 * Returns 0; EINVAL if `provider`, `reserve` or `release` is NULL; EBUSY if there is a provider for
 * the process already. */
LOAM_ATTR_RESULT int loam_set_page_provider(const struct loam_page_provider *provider)
    LOAM_NOEXCEPT;

/* ---- First-class heaps ---------------------------------------------------------------------- */

/* A heap of its own for blocks that belong together, which can all be freed at once: the memory
 * of one request, document or phase. What differs from the functions above:
 *   - Thread safety: a heap may be used by any number of threads; one works in it at a time, under
 *     the heap's lock. A heap for each thread never waits. In the child of a fork every heap is
 *     what it was at the fork. Ordinary blocks are served as if there were no heaps.
 *   - Its blocks are ordinary blocks: aligned to 16 bytes, measured by loam_malloc_usable_size,
 *     and freed by loam_free, free and loam_free_sized as well as by loam_heap_free, in any thread.
 *     loam_realloc may resize them too, but a block that has to move leaves its heap.
 *   - Memory that is free in a heap serves that heap only, until loam_heap_free_all or
 *     loam_heap_destroy, but for empty spans, which go back by themselves.
 *   - Calling any of these with a heap that has been destroyed ends the program with one line on
 *     standard error, unless another loam_heap_new has been given the same address. So does a
 *     block that is not the given heap's. */
struct loam_heap;

/* A new heap without blocks; NULL with errno ENOMEM if there is no memory for it. To be ended with
 * loam_heap_destroy. Costs about 12 KiB of memory, which later heaps use again, and the spans of
 * the classes it comes to use: at least a page of memory for each. */
LOAM_ATTR_RESULT struct loam_heap *loam_heap_new(void) LOAM_NOEXCEPT;

/* The same, and all memory for its blocks, of whatever size, comes from `provider`, serves no other
 * heap, and has been released when loam_heap_destroy returns. NULL with EINVAL if `provider`, its
 * `reserve` or its `release` is NULL. Calls none of the callbacks: the first block does. */
LOAM_ATTR_RESULT struct loam_heap *
loam_heap_new_with_provider(const struct loam_page_provider *provider) LOAM_NOEXCEPT;

/* As loam_malloc, from the heap. */
LOAM_ATTR_MALLOC void *loam_heap_malloc(struct loam_heap *heap, size_t size) LOAM_NOEXCEPT;

/* As loam_calloc, from the heap. */
LOAM_ATTR_MALLOC void *loam_heap_calloc(struct loam_heap *heap, size_t count, size_t size)
    LOAM_NOEXCEPT;

/* As loam_aligned_alloc, from the heap: NULL and EINVAL unless `alignment` is a power of two. */
LOAM_ATTR_MALLOC void *loam_heap_memalign(struct loam_heap *heap, size_t alignment, size_t size)
    LOAM_NOEXCEPT;

/* As loam_realloc, in the heap that has the block: NULL as `block` is loam_heap_malloc, a `size` of
 * zero frees the block and returns NULL. On failure the block stays as it was. */
LOAM_ATTR_RESULT void *loam_heap_realloc(struct loam_heap *heap, void *block, size_t size)
    LOAM_NOEXCEPT;

/* Gives a block of this heap back. NULL does nothing. */
void loam_heap_free(struct loam_heap *heap, void *block) LOAM_NOEXCEPT;

/* Gives all blocks of the heap back, in time that grows with its spans and large blocks and not
 * with its blocks. From the call on none of them may be used, freed or resized any more; other
 * threads may allocate from the heap meanwhile only if they can do without those blocks, too. */
void loam_heap_free_all(struct loam_heap *heap) LOAM_NOEXCEPT;

/* Gives all blocks back, and the heap. No other thread may be using it. NULL does nothing. */
void loam_heap_destroy(struct loam_heap *heap) LOAM_NOEXCEPT;

/* Called by loam_heap_visit for a block: its address, its usable size, and 1 if it is in use, or 0
 * if it is free memory of the heap's, to be had by the next call. */
typedef void loam_heap_visitor(void *context, void *block, size_t size, int in_use);

/* Calls `visitor` with `context` for each block of the heap, in no particular order; of free memory
 * it reports what has been cut into blocks. No thread may use the heap or free its blocks
 * meanwhile, the visitor neither: it may call loam_malloc and its like, but nothing that takes a
 * heap, nor fork. */
void loam_heap_visit(struct loam_heap *heap, loam_heap_visitor *visitor, void *context)
    LOAM_NOEXCEPT;

#if defined(__cplusplus)
}
#endif
#endif /* LOAM_LOAM_H */
