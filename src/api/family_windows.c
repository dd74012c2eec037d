/* The malloc family of the C runtimes of Windows, msvcrt and UCRT.
 *
 * Each name stands twice: as the function, for what is linked with the runtime statically or
 * through a thunk, and as a pointer `__imp_NAME`, for calls through dllimport. Both win over the
 * import library as long as all of them are here, since then nothing pulls its members in. In the
 * DLL that redirects runtimes (src/redirect) they are a table.
 *
 * C++'s operators are not here: those of a C++ library that is linked statically call malloc, and
 * those of one that is a DLL must keep to its own. */
#include "api/override.h"

#if !LM_NO_OVERRIDE

#include <errno.h>
#include <string.h>

#include "api/checking.h"
#include "api/family_windows.h"
#include "api/foreign.h"
#include "base/bits.h"
#include "loam/loam.h"
#include "os/os.h"
#include "os/runtime_windows.h"

/* WINDOWS_NAME(name, target): `name` is the function `target`, which this file or family.c has. */
#define WINDOWS_NAME(name, target) \
  extern __typeof__(target) lm_name_##name __asm__(LM_SYMBOL(#name)) \
      __attribute__((alias(#target))); \
  extern __typeof__(target) *const lm_import_##name __asm__("__imp_" LM_SYMBOL(#name)); \
  __attribute__((used)) __typeof__(target) *const lm_import_##name = target;

static void *fail(int error) {
  errno = error;
  return NULL;
}

static void *or_fail(void *block) { return block != NULL ? block : fail(ENOMEM); }

/* ---- calloc and _recalloc: the bytes that a block has beyond the request are zero, too, so that
 * _recalloc, which cannot tell them, need not clear them. Of a block that malloc made, those bytes
 * are what they were. ---- */

/* All that the block for `size` bytes will have room for. */
static size_t whole_size(size_t size) {
  if (LM_CHECKING || size == 0 || size > LM_CLASSED_MAX_BYTES) return size;
  lm_process_start(); /* fills the table of classes */
  return size > lm_classed_max_bytes ? size : lm_classes[lm_sizeclass_of(size)].block_bytes;
}

static void *windows_calloc(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return fail(ENOMEM);
  return or_fail(lm_checked_calloc(whole_size(bytes)));
}

static void clear_from(void *block, size_t old_bytes, void *caller) {
  size_t bytes = lm_checked_usable_bytes(block, caller);
  if (bytes > old_bytes) memset((char *)block + old_bytes, 0, bytes - old_bytes);
}

static void *windows_recalloc(void *block, size_t count, size_t size) {
  size_t bytes;
  void *caller = LM_CALLER();
  if (block == NULL) return windows_calloc(count, size);
  if (__builtin_mul_overflow(count, size, &bytes)) return fail(ENOMEM);
  if (bytes == 0) {
    lm_checked_free(block, caller);
    return NULL;
  }
  size_t old_bytes = lm_checked_usable_bytes(block, caller);
  void *result = lm_checked_realloc(block, bytes, caller);
  if (result == NULL) return fail(ENOMEM);
  clear_from(result, lm_min(old_bytes, bytes), caller);
  return result;
}

/* ---- Sizes ---- */

static size_t windows_msize(void *block) {
  if (block != NULL) return lm_checked_usable_bytes(block, LM_CALLER());
  errno = EINVAL;
  return (size_t)-1;
}

static void *windows_expand(void *block, size_t size) {
  if (block == NULL) return fail(EINVAL);
  return size <= lm_checked_usable_bytes(block, LM_CALLER()) ? block : fail(ENOMEM);
}

/* ---- Aligned blocks ----
 *
 * With an offset it is not the block's start that is aligned but the byte at `offset`, and what the
 * program gets may lie inside a block: then the word before it holds where that starts. */

static bool starts_block(const void *address) {
#if LM_CHECKING
  return lm_checked_is_live(address);
#else
  if (lm_guarded_is_in_arena(address)) return lm_guarded_starts(address);
  uint32_t tag = lm_tag_of(address);
  if (!lm_tag_is_small(tag)) return lm_raw_usable_bytes(address) != 0;
  size_t offset = lm_span_offset_of(lm_span_of(address), address);
  return offset % lm_classes[tag & LM_TAG_CLASS_MASK].block_bytes == 0;
#endif
}

static bool is_ours(const void *address) {
  return lm_guarded_is_in_arena(address) || lm_region_holds((uintptr_t)address) ||
         lm_huge_holds(address);
}

/* Where the block of a C runtime's starts that is aligned at `address`: that stands in the last
 * whole word before it. `address` itself if no runtime knows such a block. */
static void *foreign_start(void *address) {
  void *word = (void *)(((uintptr_t)address & ~(sizeof(void *) - 1)) - sizeof(void *));
  void *start = NULL;
  struct lm_os_mapping mapping;
  if (lm_os_find_mapping((uintptr_t)word, &mapping) && mapping.readable) start = *(void **)word;
  return lm_os_is_runtimes(start) ? start : address;
}

/* Where the block starts that _aligned_offset_malloc has given `address` of. */
static void *start_of(void *address) {
  void *start;
  if (address == NULL || starts_block(address)) return address;
  if (!is_ours(address)) return foreign_start(address);
  memcpy(&start, (char *)address - sizeof start, sizeof start);
  return start < address && is_ours(start) && starts_block(start) ? start : address;
}

static bool is_aligned(const void *address, size_t alignment, size_t offset) {
  return (((uintptr_t)address + offset) & (alignment - 1)) == 0;
}

static void *take_aligned(size_t size, size_t alignment, size_t offset, bool clear) {
  size_t lead, bytes;
  if (!lm_is_power_of_two(alignment) || (offset != 0 && offset >= size)) return fail(EINVAL);
  alignment = lm_max(alignment, LM_GRANULE_BYTES);
  lead = -offset & (alignment - 1);
  if (lead != 0 && lead < sizeof(void *)) lead += alignment;
  if (__builtin_add_overflow(size, lead, &bytes)) return fail(ENOMEM);
  char *block = lm_checked_memalign(alignment, clear ? whole_size(bytes) : bytes);
  if (block == NULL) return fail(ENOMEM);
  if (clear) clear_from(block, 0, LM_CALLER());
  if (lead != 0) memcpy(block + lead - sizeof block, &block, sizeof block);
  return block + lead;
}

static void free_aligned(void *address, void *caller) {
  lm_checked_free(start_of(address), caller);
}

static size_t aligned_bytes(void *address, void *caller) {
  char *start = start_of(address);
  return lm_checked_usable_bytes(start, caller) - (size_t)((char *)address - start);
}

static void *resize_aligned(void *address, size_t size, size_t alignment, size_t offset, bool clear,
                            void *caller) {
  if (address == NULL) return take_aligned(size, alignment, offset, clear);
  if (size == 0) {
    free_aligned(address, caller);
    return NULL;
  }
  size_t old_bytes = aligned_bytes(address, caller);
  bool fits = size <= old_bytes && size > old_bytes / 2 && !LM_CHECKING;
  if (fits && lm_is_power_of_two(alignment) && is_aligned(address, alignment, offset)) {
    if (clear) memset((char *)address + size, 0, old_bytes - size);
    return address;
  }
  void *copy = take_aligned(size, alignment, offset, clear);
  if (copy == NULL) return NULL;
  memcpy(copy, address, lm_min(size, old_bytes));
  free_aligned(address, caller);
  return copy;
}

static void *windows_aligned_malloc(size_t size, size_t alignment) {
  return take_aligned(size, alignment, 0, false);
}

static void *windows_aligned_offset_malloc(size_t size, size_t alignment, size_t offset) {
  return take_aligned(size, alignment, offset, false);
}

static void windows_aligned_free(void *address) { free_aligned(address, LM_CALLER()); }

static void *windows_aligned_realloc(void *address, size_t size, size_t alignment) {
  return resize_aligned(address, size, alignment, 0, false, LM_CALLER());
}

static void *windows_aligned_offset_realloc(void *address, size_t size, size_t alignment,
                                            size_t offset) {
  return resize_aligned(address, size, alignment, offset, false, LM_CALLER());
}

static void *windows_aligned_recalloc(void *address, size_t count, size_t size, size_t alignment) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return fail(ENOMEM);
  return resize_aligned(address, bytes, alignment, 0, true, LM_CALLER());
}

static void *windows_aligned_offset_recalloc(void *address, size_t count, size_t size,
                                             size_t alignment, size_t offset) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return fail(ENOMEM);
  return resize_aligned(address, bytes, alignment, offset, true, LM_CALLER());
}

static size_t windows_aligned_msize(void *address, size_t alignment, size_t offset) {
  (void)alignment;
  (void)offset;
  if (address != NULL) return aligned_bytes(address, LM_CALLER());
  errno = EINVAL;
  return (size_t)-1;
}

/* ---- Strings ---- */

#if !LM_REDIRECT
static char *windows_strdup(const char *string) {
  if (string == NULL) return NULL;
  size_t bytes = strlen(string) + 1;
  char *copy = loam_malloc(bytes);
  return copy != NULL ? memcpy(copy, string, bytes) : NULL;
}
#endif

/* ---- The names ---- */

/* NAME(name, function) for each that a runtime's own parts do not make of the others. */
#define WINDOWS_FAMILY(NAME) \
  NAME(malloc, loam_malloc) \
  NAME(free, loam_free) \
  NAME(realloc, loam_realloc) \
  NAME(calloc, windows_calloc) \
  NAME(_recalloc, windows_recalloc) \
  NAME(_msize, windows_msize) \
  NAME(_expand, windows_expand) \
  NAME(_aligned_malloc, windows_aligned_malloc) \
  NAME(_aligned_free, windows_aligned_free) \
  NAME(_aligned_realloc, windows_aligned_realloc) \
  NAME(_aligned_recalloc, windows_aligned_recalloc) \
  NAME(_aligned_msize, windows_aligned_msize) \
  NAME(_aligned_offset_malloc, windows_aligned_offset_malloc) \
  NAME(_aligned_offset_realloc, windows_aligned_offset_realloc) \
  NAME(_aligned_offset_recalloc, windows_aligned_offset_recalloc) \
  /* What the UCRT's own parts call. */ \
  NAME(_malloc_base, loam_malloc) \
  NAME(_free_base, loam_free) \
  NAME(_realloc_base, loam_realloc) \
  NAME(_calloc_base, windows_calloc) \
  NAME(_recalloc_base, windows_recalloc) \
  NAME(_msize_base, windows_msize) \
  NAME(_expand_base, windows_expand)

#if LM_REDIRECT
#define ROW(name, function) {#name, (void *)(uintptr_t)(function)},
const struct lm_windows_function lm_windows_family[] = {WINDOWS_FAMILY(ROW)};
_Static_assert(sizeof lm_windows_family / sizeof *lm_windows_family == LM_WINDOWS_FAMILY_COUNT,
               "all are counted");
#else
WINDOWS_FAMILY(WINDOWS_NAME)
WINDOWS_NAME(strdup, windows_strdup)
WINDOWS_NAME(_strdup, windows_strdup)
#endif

#endif
