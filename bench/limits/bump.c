/*
 * bump: the allocator that no other can beat in calls, as a preloaded library.
 *
 * malloc moves a pointer through a chunk of its thread; free does nothing. What it leaves is the
 * work of the program itself and the price of fresh memory: a program that reuses little memory
 * much may run faster on an allocator that reuses it too, since its blocks stay in the cache and
 * it needs no more OS pages.
 *
 * All memory comes from one reservation of at most 6 GiB. When that is used up, malloc returns
 * null with ENOMEM. Memory is never used twice, so all of it is zero when it is handed out.
 *
 *   LD_PRELOAD=build/bench/libbump.so PROGRAM
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define RARE __attribute__((noinline, cold))

enum {
    HEADER_BYTES = sizeof(size_t),   /* before each block: the bytes it has */
    GRAIN_BYTES = 16,                /* alignment of every block */
    CHUNK_BYTES = 64 * 1024,         /* what a thread takes at once */
    DIRECT_BYTES = CHUNK_BYTES / 8,  /* larger blocks do not come from chunks */
    LINE_BYTES = 64,                 /* of the cache: what those share with nobody */
    HUGE_PAGE_BYTES = 2 * 1024 * 1024,
};

static const size_t REGION_BYTES = (size_t)6 << 30, REGION_BYTES_MIN = (size_t)64 << 20;

/*
 * The region: `next` moves from its start to its end. Zero until the first call; written by any
 * thread. Addresses of blocks, not of headers: the header of the block at `next` lies below it.
 */
static _Atomic uintptr_t region_next, region_end;

/* This thread's chunk: the next block starts at `at`, and its bytes end at or below `end`. */
static _Thread_local struct {
    uintptr_t at, end;
} chunk __attribute__((tls_model("initial-exec")));

static size_t *header(const void *block)
{
    return (size_t *)block - 1;
}

/* Bytes from a block to the next one; 0 if that is not a number. */
static size_t stride(size_t size)
{
    return size > PTRDIFF_MAX ? 0 : (size + HEADER_BYTES + GRAIN_BYTES - 1) & -(size_t)GRAIN_BYTES;
}

static size_t whole_lines(size_t bytes)
{
    return (bytes + LINE_BYTES - 1) & -(size_t)LINE_BYTES;
}

static void *finish(uintptr_t at, size_t bytes)
{
    void *block = (void *)at;
    *header(block) = bytes - HEADER_BYTES;
    return block;
}

/* Reserves the region, or less of it where the address space is limited. */
static RARE void reserve(void)
{
    size_t bytes = REGION_BYTES;
    void *memory = MAP_FAILED;
    for (; memory == MAP_FAILED && bytes >= REGION_BYTES_MIN; bytes /= 2)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return;
    bytes *= 2;
    uintptr_t end = (uintptr_t)memory + bytes, none = 0;
    uintptr_t start = ((uintptr_t)memory + HUGE_PAGE_BYTES - 1) & -(uintptr_t)HUGE_PAGE_BYTES;
    madvise((void *)start, end - start, MADV_HUGEPAGE);   /* a page fault per 2 MiB, if granted */
    if (!atomic_compare_exchange_strong(&region_end, &none, end))
        munmap(memory, bytes);   /* another thread was faster */
    else
        atomic_store(&region_next, start + GRAIN_BYTES);
}

/* The start of `bytes` bytes, a multiple of 16, at an address of that alignment; 0 if none left. */
static uintptr_t take(size_t bytes, size_t alignment)
{
    if (!atomic_load(&region_end))
        reserve();
    uintptr_t next, start, end = atomic_load(&region_end);
    do {
        while ((next = atomic_load(&region_next)) == 0)
            if (!end)
                return 0;
        start = (next + alignment - 1) & -(uintptr_t)alignment;
        if (start >= end || bytes > end - start)
            return 0;
    } while (!atomic_compare_exchange_weak(&region_next, &next, start + bytes));
    return start;
}

static RARE void *allocate_slow(size_t size, size_t alignment)
{
    size_t bytes = stride(size);
    uintptr_t start = 0;
    if (alignment < LINE_BYTES)
        alignment = LINE_BYTES;
    if (bytes >= DIRECT_BYTES || (bytes && alignment >= DIRECT_BYTES)) {
        start = take(whole_lines(bytes), alignment);
    } else if (bytes && (start = take(CHUNK_BYTES, alignment))) {
        chunk.at = start + bytes;
        chunk.end = start + CHUNK_BYTES;
    }
    if (!start) {
        errno = ENOMEM;
        return NULL;
    }
    return finish(start, bytes);
}

static inline __attribute__((always_inline)) void *allocate(size_t size)
{
    size_t bytes = stride(size);
    uintptr_t at = chunk.at;
    if (LIKELY(bytes - 1 < chunk.end - at)) {
        chunk.at = at + bytes;
        return finish(at, bytes);
    }
    return allocate_slow(size, GRAIN_BYTES);
}

static void *allocate_aligned(size_t alignment, size_t size)
{
    if (alignment <= GRAIN_BYTES)
        return allocate(size);
    size_t bytes = stride(size);
    uintptr_t at = (chunk.at + alignment - 1) & -alignment;
    if (bytes && at >= chunk.at && at < chunk.end && bytes <= chunk.end - at) {
        chunk.at = at + bytes;
        return finish(at, bytes);
    }
    return allocate_slow(size, alignment);
}

/* ---- C and POSIX ---------------------------------------------------------------------------- */

EXPORT void *malloc(size_t size)
{
    return allocate(size);
}

EXPORT void free(void *block)
{
    (void)block;
}

EXPORT void free_sized(void *block, size_t size)
{
    (void)block, (void)size;
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    (void)block, (void)alignment, (void)size;
}

EXPORT size_t malloc_usable_size(void *block)
{
    return block ? *header(block) : 0;
}

EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX;
    return allocate(bytes);   /* fresh memory is zero */
}

/*
 * True if the block could be grown where it is, because it is the last of this thread's chunk and
 * stays a small one, or the last of the region. What is not from a chunk takes whole cache lines.
 */
static int grow_in_place(void *block, size_t size)
{
    size_t old = *header(block) + HEADER_BYTES, bytes = stride(size);
    uintptr_t at = (uintptr_t)block;
    if (old < DIRECT_BYTES) {
        if (at + old != chunk.at || !bytes || bytes >= DIRECT_BYTES || bytes > chunk.end - at)
            return 0;
        chunk.at = at + bytes;
    } else {
        uintptr_t last = at + whole_lines(old), room = atomic_load(&region_end) - at;
        if (!bytes || bytes > room || whole_lines(bytes) > room ||
            !atomic_compare_exchange_strong(&region_next, &last, at + whole_lines(bytes)))
            return 0;
    }
    *header(block) = bytes - HEADER_BYTES;
    return 1;
}

EXPORT void *realloc(void *block, size_t size)
{
    if (!block)
        return allocate(size);
    size_t old = *header(block);
    if (size == 0)
        return NULL;
    if (size <= old || grow_in_place(block, size))
        return block;
    void *moved = allocate(size);
    return moved ? memcpy(moved, block, old) : NULL;
}

#include "family.h"

EXPORT int malloc_trim(size_t pad)
{
    (void)pad;
    return 0;
}

/* ---- C++: operators new and delete under their mangled names -------------------------------- */

typedef struct nothrow nothrow_t;

/* When nothing is left, the C++ library's own operator calls malloc once more, and throws. */
#define NEXT(name, ...) ((void *(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

#define DEFINE_NEW(kind)                                                                       \
    EXPORT void *_Zn##kind##m(size_t size)                                                     \
    {                                                                                          \
        void *block = allocate(size);                                                          \
        return LIKELY(block) ? block : NEXT(_Zn##kind##m, size_t)(size);                       \
    }                                                                                          \
    EXPORT void *_Zn##kind##mRKSt9nothrow_t(size_t size, const nothrow_t *nothrow)             \
    {                                                                                          \
        (void)nothrow;                                                                         \
        return allocate(size);                                                                 \
    }                                                                                          \
    EXPORT void *_Zn##kind##mSt11align_val_t(size_t size, size_t alignment)                    \
    {                                                                                          \
        void *block = allocate_aligned(alignment, size);                                       \
        return LIKELY(block) ? block : NEXT(_Zn##kind##m, size_t)(SIZE_MAX);                   \
    }                                                                                          \
    EXPORT void *_Zn##kind##mSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment,      \
                                                           const nothrow_t *nothrow)           \
    {                                                                                          \
        (void)nothrow;                                                                         \
        return allocate_aligned(alignment, size);                                              \
    }

#define DEFINE_DELETE(name)                                                                    \
    EXPORT void name(void *block)                                                              \
    {                                                                                          \
        (void)block;                                                                           \
    }

DEFINE_NEW(w)
DEFINE_NEW(a)
/* Their further arguments, sizes and alignments, are left in the registers they came in. */
DEFINE_DELETE(_ZdlPv)
DEFINE_DELETE(_ZdlPvm)
DEFINE_DELETE(_ZdlPvRKSt9nothrow_t)
DEFINE_DELETE(_ZdlPvSt11align_val_t)
DEFINE_DELETE(_ZdlPvmSt11align_val_t)
DEFINE_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DEFINE_DELETE(_ZdaPv)
DEFINE_DELETE(_ZdaPvm)
DEFINE_DELETE(_ZdaPvRKSt9nothrow_t)
DEFINE_DELETE(_ZdaPvSt11align_val_t)
DEFINE_DELETE(_ZdaPvmSt11align_val_t)
DEFINE_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)
