/*
 * live: counts the bytes that a program asked for and has not freed, as a preloaded library around
 * the C library's own malloc. What no allocator can go below is the peak of this count.
 *
 * Counts exactly the requested sizes: no headers, no rounding (only pvalloc's, which is part of
 * its contract). The peak stands in the file $LOAM_BENCH_LIVE/PID: 8 bytes, native order. The file
 * is mapped and written at each new peak, so it is right however the process ends. A forked child
 * has a file of its own; a program started by exec in the same process goes on in the same file,
 * which then has the larger peak. Without the variable nothing is written.
 *
 *   LOAM_BENCH_LIVE=FOLDER LD_PRELOAD=build/bench/liblive.so PROGRAM
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* glibc's allocator under its second names. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

/* Before each block. A pointer without a right mark is not ours and is left to the C library. */
struct header {
    size_t size;   /* bytes, as requested */
    size_t mark;   /* bytes from the start of the C library's block to ours, ^ address ^ MARK */
};

enum { HEADER_BYTES = sizeof(struct header), DISTANCE_MAX_LOG2 = 30 };

static const size_t MARK = (size_t)0x6c6f616d6c697665;

/*
 * live: added to by any thread. peak: the largest value of live that any thread saw, raised by
 * any thread; it moves once, in the constructor, from early_peak to the mapped file. Relaxed
 * throughout: they order nothing else.
 */
static _Atomic uint64_t live, early_peak;
static _Atomic(_Atomic uint64_t *) peak = &early_peak;
static char folder[PATH_MAX - 32];

static void raise_peak(uint64_t value)
{
    _Atomic uint64_t *place = atomic_load_explicit(&peak, memory_order_relaxed);
    uint64_t before = atomic_load_explicit(place, memory_order_relaxed);
    while (before < value &&
           !atomic_compare_exchange_weak_explicit(place, &before, value, memory_order_relaxed,
                                                  memory_order_relaxed))
        continue;
}

/* `added` may be negative, modulo 2^64. */
static void count(uint64_t added)
{
    uint64_t before = atomic_fetch_add_explicit(&live, added, memory_order_relaxed);
    if ((int64_t)added > 0)
        raise_peak(before + added);
}

/* Moves the peak to this process's file. Takes no locks: it runs in forked children, too. */
static void open_file(void)
{
    char path[PATH_MAX];
    if (!folder[0])
        return;
    snprintf(path, sizeof path, "%s/%ld", folder, (long)getpid());
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return;
    void *place = MAP_FAILED;
    if (ftruncate(file, sizeof(uint64_t)) == 0)
        place = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (place == MAP_FAILED)
        return;
    atomic_store(&peak, (_Atomic uint64_t *)place);
    raise_peak(atomic_load(&early_peak));
    raise_peak(atomic_load(&live));
}

/* The child's peak is its own: it starts at what was live at the fork. */
static void start_child(void)
{
    int before = errno;
    atomic_store(&peak, &early_peak);
    atomic_store(&early_peak, 0);
    open_file();
    errno = before;
}

__attribute__((constructor)) static void start(void)
{
    const char *named = getenv("LOAM_BENCH_LIVE");
    if (!named || strlen(named) >= sizeof folder)
        return;
    strcpy(folder, named);
    open_file();
    pthread_atfork(NULL, NULL, start_child);
}

/* ---- headers --------------------------------------------------------------------------------- */

static struct header *header(const void *block)
{
    return (struct header *)block - 1;
}

static size_t mark_of(const void *block, size_t distance)
{
    return distance ^ (uintptr_t)block ^ MARK;
}

/* Bytes from the C library's block to this one; 0 if this is not one of ours. */
static size_t distance_of(const void *block)
{
    if ((uintptr_t)block % HEADER_BYTES)
        return 0;
    size_t distance = mark_of(block, header(block)->mark);
    return distance >> DISTANCE_MAX_LOG2 || (distance & (distance - 1)) ? 0 : distance;
}

/* Makes a block of `size` bytes at a distance into the C library's block. */
static void *wrap(void *raw, size_t distance, size_t size)
{
    if (!raw)
        return NULL;
    char *block = (char *)raw + distance;
    *header(block) = (struct header){.size = size, .mark = mark_of(block, distance)};
    return block;
}

/* The C library's block of one of ours, which is then no longer one. */
static void *unwrap(void *block, size_t distance)
{
    header(block)->mark = 0;
    return (char *)block - distance;
}

static void *counted(void *block, size_t size)
{
    if (block)
        count(size);
    return block;
}

static int too_large(size_t size, size_t distance)
{
    if (size <= PTRDIFF_MAX - distance)
        return 0;
    errno = ENOMEM;
    return 1;
}

static void *allocate_aligned(size_t alignment, size_t size)
{
    size_t distance = alignment < HEADER_BYTES ? HEADER_BYTES : alignment;
    if (distance >> DISTANCE_MAX_LOG2 || too_large(size, distance)) {
        errno = ENOMEM;
        return NULL;
    }
    return counted(wrap(__libc_memalign(distance, size + distance), distance, size), size);
}

/* ---- the family ------------------------------------------------------------------------------ */

EXPORT void *malloc(size_t size)
{
    if (too_large(size, HEADER_BYTES))
        return NULL;
    return counted(wrap(__libc_malloc(size + HEADER_BYTES), HEADER_BYTES, size), size);
}

EXPORT void *calloc(size_t number, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(number, size, &bytes))
        bytes = SIZE_MAX;
    if (too_large(bytes, HEADER_BYTES))
        return NULL;
    return counted(wrap(__libc_calloc(1, bytes + HEADER_BYTES), HEADER_BYTES, bytes), bytes);
}

EXPORT void free(void *block)
{
    if (!block)
        return;
    size_t distance = distance_of(block);
    if (distance) {
        count(-(uint64_t)header(block)->size);
        block = unwrap(block, distance);
    }
    __libc_free(block);
}

EXPORT void free_sized(void *block, size_t size)
{
    (void)size;
    free(block);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    (void)alignment, (void)size;
    free(block);
}

EXPORT size_t malloc_usable_size(void *block)
{
    return block && distance_of(block) ? header(block)->size : 0;
}

/* A block with an alignment is copied to one without: realloc promises none. */
static void *move(void *block, size_t distance, size_t size)
{
    size_t old = header(block)->size;
    void *moved = wrap(__libc_malloc(size + HEADER_BYTES), HEADER_BYTES, size);
    if (!moved)
        return NULL;
    memcpy(moved, block, old < size ? old : size);
    __libc_free(unwrap(block, distance));
    return moved;
}

EXPORT void *realloc(void *block, size_t size)
{
    if (!block)
        return malloc(size);
    size_t distance = distance_of(block);
    if (!distance)
        return __libc_realloc(block, size);
    if (size == 0) {
        free(block);
        return NULL;
    }
    if (too_large(size, HEADER_BYTES))
        return NULL;
    size_t old = header(block)->size;
    void *moved;
    if (distance != HEADER_BYTES) {
        moved = move(block, distance, size);
    } else {
        moved = wrap(__libc_realloc(header(block), size + HEADER_BYTES), HEADER_BYTES, size);
    }
    if (moved)
        count((uint64_t)size - old);
    return moved;
}

#include "family.h"
