/* The public functions: arguments are checked here, errno is set here, but for malloc's,
 * which its slow path sets so that the fast one ends in a jump.
 * include/loam/loam.h documents each; override.h gives them their standard names. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "api/aside.h"
#include "api/checking.h"
#include "api/override.h"
#include "base/bits.h"
#include "loam/loam.h"
#include "os/os.h"
#include "report/gather.h"
#include "report/report.h"
#include "thread/lists.h"
#include "thread/tick.h"

LM_INLINE void *or_enomem(void *block) {
  if (LM_UNLIKELY(block == NULL)) errno = ENOMEM;
  return block;
}

/* False, with errno set, if the product overflows. */
LM_INLINE bool multiply(size_t count, size_t size, size_t *product) {
  if (LM_LIKELY(!__builtin_mul_overflow(count, size, product))) return true;
  errno = ENOMEM;
  return false;
}

/* ---- C11 and POSIX ---- */

LM_EXPORT void *loam_malloc(size_t size) { return lm_checked_malloc(size); }

LM_EXPORT void loam_free(void *block) { lm_checked_free(block, LM_CALLER()); }

LM_EXPORT void *loam_calloc(size_t count, size_t size) {
  size_t bytes;
  if (!multiply(count, size, &bytes)) return NULL;
  return or_enomem(lm_checked_calloc(bytes));
}

LM_EXPORT void *loam_realloc(void *block, size_t size) {
  if (block == NULL) return lm_checked_malloc(size);
  if (size == 0) {
    lm_checked_free(block, LM_CALLER());
    return NULL;
  }
  return or_enomem(lm_checked_realloc(block, size, LM_CALLER()));
}

LM_EXPORT void *loam_reallocarray(void *block, size_t count, size_t size) {
  size_t bytes;
  if (!multiply(count, size, &bytes)) return NULL;
  return LM_BY_NAME(loam_realloc)(block, bytes);
}

LM_EXPORT void *loam_aligned_alloc(size_t alignment, size_t size) {
  if (LM_UNLIKELY(!lm_is_power_of_two(alignment))) {
    errno = EINVAL;
    return NULL;
  }
  return or_enomem(lm_checked_memalign(alignment, size));
}

LM_EXPORT int loam_posix_memalign(void **result, size_t alignment, size_t size) {
  if (!lm_is_power_of_two(alignment) || alignment % sizeof(void *) != 0) return EINVAL;
  int errno_before = errno;
  void *block = lm_checked_memalign(alignment, size);
  if (block == NULL) {
    errno = errno_before;
    return ENOMEM;
  }
  *result = block;
  return 0;
}

LM_EXPORT void loam_free_sized(void *block, size_t size) {
  lm_checked_compare_size(block, size, false, LM_CALLER());
  LM_BY_NAME(loam_free)(block);
}

LM_EXPORT void loam_free_aligned_sized(void *block, size_t alignment, size_t size) {
  (void)alignment;
  lm_checked_compare_size(block, size, true, LM_CALLER());
  LM_BY_NAME(loam_free)(block);
}

/* ---- Extensions of C libraries ---- */

LM_EXPORT void *loam_memalign(size_t alignment, size_t size) {
  if (LM_LIKELY(lm_is_power_of_two(alignment)))
    return or_enomem(lm_checked_memalign(alignment, size));
  if (alignment > SIZE_MAX / 2 + 1) { /* no power of two is as large */
    errno = EINVAL;
    return NULL;
  }
  size_t rounded = alignment == 0 ? 1 : (size_t)2 << lm_log2_floor(alignment);
  return or_enomem(lm_checked_memalign(rounded, size));
}

LM_EXPORT void *loam_valloc(size_t size) {
  lm_process_start(); /* finds the OS page size */
  return or_enomem(lm_checked_memalign(lm_os.page_bytes, size));
}

LM_EXPORT void *loam_pvalloc(size_t size) {
  lm_process_start();
  if (size > PTRDIFF_MAX) {
    errno = ENOMEM;
    return NULL;
  }
  size_t rounded = lm_max(lm_align_up(size, lm_os.page_bytes), lm_os.page_bytes);
  return LM_BY_NAME(lm_public_valloc)(rounded);
}

LM_EXPORT size_t loam_malloc_usable_size(void *block) {
  return block == NULL ? 0 : lm_checked_usable_bytes(block, LM_CALLER());
}

LM_EXPORT int loam_malloc_trim(size_t keep) {
  struct lm_cache *cache = LM_THREAD(lm_this_cache);
  lm_process_start();
  if (!lm_cache_is_empty(cache)) lm_cache_flush(cache);
  return lm_tick_trim(keep);
}

#define IDLE_MOST_MS ((uint64_t)24 * 60 * 60 * 1000)

LM_EXPORT int loam_thread_idle(unsigned milliseconds) {
  struct lm_cache *cache = lm_cache_of_thread();
  if (cache == NULL || milliseconds == 0) return 0;
  return lm_tick_idle(cache, lm_min(milliseconds, IDLE_MOST_MS));
}

static void write_to_standard_error(void *context, const char *bytes, size_t length) {
  (void)context;
  lm_os_write(2, bytes, length);
}

LM_EXPORT void loam_malloc_stats(void) {
  lm_process_start();
  lm_report_write(lm_report_print_text, LM_THREAD(lm_this_cache), write_to_standard_error, NULL);
}

struct stream {
  FILE *file;
  bool complete;
};

static void write_to_stream(void *context, const char *bytes, size_t length) {
  struct stream *stream = context;
  stream->complete = fwrite(bytes, 1, length, stream->file) == length;
}

LM_EXPORT int loam_malloc_info(int options, FILE *stream) {
  if (options != 0) {
    errno = EINVAL;
    return -1;
  }
  lm_process_start();
  struct stream output = {stream, false};
  lm_report_write(lm_report_print_xml, LM_THREAD(lm_this_cache), write_to_stream, &output);
  return output.complete ? 0 : -1;
}

LM_EXPORT int loam_mallopt(int parameter, int value) {
  (void)value;
  /* M_MXFAST to M_KEEP and M_ARENA_MAX to M_TRIM_THRESHOLD: all of <malloc.h>. */
  return (parameter >= 1 && parameter <= 4) || (parameter >= -8 && parameter <= -1);
}

LM_EXPORT struct loam_mallinfo2 loam_mallinfo2(void) {
  struct lm_figures figures;
  lm_process_start();
  lm_figures_gather(&figures, LM_FIGURES_SUMS, LM_THREAD(lm_this_cache));
  size_t used_bytes = lm_figures_used_bytes(&figures) - figures.huge.bytes;
  size_t free_bytes = lm_figures_free_bytes(&figures);
  struct loam_mallinfo2 info = {
      .arena = used_bytes + free_bytes,
      .ordblks = figures.free_run_count,
      .hblks = figures.huge.count,
      .hblkhd = figures.huge.bytes,
      .uordblks = used_bytes,
      .fordblks = free_bytes,
      .keepcost = figures.dirty_bytes,
  };
  return info;
}

static int capped(size_t value) { return value > INT_MAX ? INT_MAX : (int)value; }

LM_EXPORT struct loam_mallinfo loam_mallinfo(void) {
  struct loam_mallinfo2 info = loam_mallinfo2();
  struct loam_mallinfo small = {
      .arena = capped(info.arena),       .ordblks = capped(info.ordblks),
      .hblks = capped(info.hblks),       .hblkhd = capped(info.hblkhd),
      .uordblks = capped(info.uordblks), .fordblks = capped(info.fordblks),
      .keepcost = capped(info.keepcost),
  };
  return small;
}

LM_EXPORT const char *loam_version(void) { return LOAM_VERSION; }

/* ---- The standard names ---- */

#if LM_POSIX_NAMES
LM_ALIAS(void *, malloc, loam_malloc, size_t)
LM_ALIAS(void, free, loam_free, void *)
LM_ALIAS(void *, calloc, loam_calloc, size_t, size_t)
LM_ALIAS(void *, realloc, loam_realloc, void *, size_t)
LM_ALIAS(size_t, malloc_usable_size, loam_malloc_usable_size, void *)
LM_ALIAS(void *, pvalloc, loam_pvalloc, size_t)
/* What derives from others, or speaks of the whole heap, under the public names and glibc's: a
 * shared library has these in aside_linux.c. */
#if !LM_STEPS_ASIDE
LM_ALIAS(int, malloc_trim, loam_malloc_trim, size_t)
LM_ALIAS(void, malloc_stats, loam_malloc_stats, void)
LM_ALIAS(int, malloc_info, loam_malloc_info, int, FILE *)
LM_ALIAS(int, mallopt, loam_mallopt, int, int)
LM_ALIAS(struct loam_mallinfo2, mallinfo2, loam_mallinfo2, void)
LM_ALIAS(struct loam_mallinfo, mallinfo, loam_mallinfo, void)
LM_ALIAS(void *, reallocarray, loam_reallocarray, void *, size_t, size_t)
LM_ALIAS(void *, aligned_alloc, loam_aligned_alloc, size_t, size_t)
LM_ALIAS(int, posix_memalign, loam_posix_memalign, void **, size_t, size_t)
LM_ALIAS(void, free_sized, loam_free_sized, void *, size_t)
LM_ALIAS(void, free_aligned_sized, loam_free_aligned_sized, void *, size_t, size_t)
LM_ALIAS(void *, memalign, loam_memalign, size_t, size_t)
LM_ALIAS(void *, valloc, loam_valloc, size_t)
LM_ALIAS(void *, __libc_memalign, loam_memalign, size_t, size_t)
LM_ALIAS(void *, __libc_valloc, loam_valloc, size_t)
LM_ALIAS(int, __posix_memalign, loam_posix_memalign, void **, size_t, size_t)
LM_ALIAS(void *, __libc_reallocarray, loam_reallocarray, void *, size_t, size_t)
#else
#define LM_OWN(name) __attribute__((alias(#name), visibility("hidden")));
__typeof__(loam_malloc) lm_own_malloc LM_OWN(loam_malloc)
__typeof__(loam_free) lm_own_free LM_OWN(loam_free)
__typeof__(loam_calloc) lm_own_calloc LM_OWN(loam_calloc)
__typeof__(loam_realloc) lm_own_realloc LM_OWN(loam_realloc)
__typeof__(loam_malloc_usable_size) lm_own_malloc_usable_size LM_OWN(loam_malloc_usable_size)
#endif

/* The names that glibc exports for those who wrap malloc. */
LM_ALIAS(void *, __libc_malloc, loam_malloc, size_t)
LM_ALIAS(void, __libc_free, loam_free, void *)
LM_ALIAS(void *, __libc_calloc, loam_calloc, size_t, size_t)
LM_ALIAS(void *, __libc_realloc, loam_realloc, void *, size_t)
LM_ALIAS(void *, __libc_pvalloc, loam_pvalloc, size_t)
LM_ALIAS(int, __libc_mallopt, loam_mallopt, int, int)
LM_ALIAS(struct loam_mallinfo, __libc_mallinfo, loam_mallinfo, void)

#if !LM_SHARED
/* What the members of musl's libc.a ask of its malloc; fork's part is in os/fork_linux.c. */
LM_STATIC_ALIAS(void *, __libc_malloc_impl, loam_malloc, size_t)
void __malloc_donate(char *start, char *end);
void __malloc_donate(char *start, char *end) { (void)start, (void)end; }
int __malloc_allzerop(void *block);
int __malloc_allzerop(void *block) {
  (void)block;
  return 0;
}
/* Whether a program has replaced musl's functions. */
int __malloc_replaced = 1, __aligned_alloc_replaced = 1;
#endif
#endif
