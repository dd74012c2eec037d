#include "api/aside.h"

#include <errno.h>

#include "base/bits.h"
#include "config/options.h"
#include "loam/loam.h"
#include "os/os.h"
#include "sizeclass/sizeclass.h"

_Atomic(uint32_t) lm_aside = LM_STEPS_ASIDE ? LM_ASIDE_UNKNOWN : LM_ASIDE_NO;

#if LM_STEPS_ASIDE

/* ---- What the loader has found under the public names, or what is behind loam in a program that
 * is listed; volatile, as the compiler knows what we define. ---- */

#define FOUND(name) __asm__(#name)
extern void *found_malloc(size_t size) FOUND(malloc);
extern void found_free(void *block) FOUND(free);
extern void *found_realloc(void *block, size_t size) FOUND(realloc);
extern size_t found_malloc_usable_size(void *block) FOUND(malloc_usable_size);
static void *(*volatile bound_malloc)(size_t) = found_malloc;
static void (*volatile bound_free)(void *) = found_free;
static void *(*volatile bound_realloc)(void *, size_t) = found_realloc;
static size_t (*volatile bound_malloc_usable_size)(void *) = found_malloc_usable_size;

LM_EXPORT void *found_memalign(size_t alignment, size_t size) FOUND(memalign);
LM_EXPORT void *found_aligned_alloc(size_t alignment, size_t size) FOUND(aligned_alloc);
LM_EXPORT int found_posix_memalign(void **result, size_t alignment, size_t size)
    FOUND(posix_memalign);
static void *(*const volatile bound_memalign)(size_t, size_t) = found_memalign;
static void *(*const volatile bound_aligned_alloc)(size_t, size_t) = found_aligned_alloc;
static int (*volatile bound_posix_memalign)(void **, size_t, size_t) = found_posix_memalign;

/* ---- Whether loam is aside ---- */

/* The address under malloc's name may also be a stub of the program's that leads to loam's malloc:
 * that of a program at a fixed address, which uses it as a value. So the modules are asked. */
LM_COLD bool lm_aside_find(void) {
  uint32_t aside = lm_load_acquire(&lm_aside);
  if (LM_UNLIKELY(aside == LM_ASIDE_UNKNOWN)) {
    bool is = bound_malloc != lm_own_malloc && lm_os_is_defined_in_front("malloc");
    if (is) aside = LM_ASIDE_YES;
    else aside = lm_program_has_operators() ? LM_ASIDE_OPERATORS : LM_ASIDE_NO;
    lm_store_relaxed(&lm_aside, aside);
  }
  return aside != LM_ASIDE_NO && aside != LM_ASIDE_OPERATORS;
}

/* ---- A program that is listed ---- */

static void *(*volatile behind_calloc)(size_t, size_t);

/* False, with nothing done, if there is no whole family behind loam. */
static bool bind_behind(void) {
  void *found[] = {lm_os_definition_behind("malloc"),         lm_os_definition_behind("free"),
                   lm_os_definition_behind("calloc"),         lm_os_definition_behind("realloc"),
                   lm_os_definition_behind("posix_memalign"),
                   lm_os_definition_behind("malloc_usable_size")};
  for (size_t i = 0; i < sizeof found / sizeof found[0]; i++)
    if (found[i] == NULL) return false;
  bound_malloc = (void *(*)(size_t))found[0];
  bound_free = (void (*)(void *))found[1];
  behind_calloc = (void *(*)(size_t, size_t))found[2];
  bound_realloc = (void *(*)(void *, size_t))found[3];
  bound_posix_memalign = (int (*)(void **, size_t, size_t))found[4];
  bound_malloc_usable_size = (size_t(*)(void *))found[5];
  return true;
}

void lm_aside_start_by_options(void) {
  if (lm_options.aside[0] == 0 || lm_is_aside() || !lm_os_is_program(lm_options.aside)) return;
  if (bind_behind()) lm_store_release(&lm_aside, LM_ASIDE_LISTED);
}

void *lm_aside_take_behind(size_t size, bool clear) {
  return clear ? behind_calloc(1, size) : bound_malloc(size);
}

/* ---- By the program's functions ----
 *
 * One that asks loam in turn, under a name that it does not define or for the next function under
 * its own, gets what loam has. */

static LM_THREAD_LOCAL bool is_inside LM_TLS_MODEL = false;

static void *by_posix_memalign(size_t alignment, size_t size) {
  void *block = NULL;
  int error = bound_posix_memalign(&block, lm_max(alignment, sizeof block), size);
  return error == 0 ? block : NULL;
}

static void *public_memalign(size_t alignment, size_t size);
static void *public_aligned_alloc(size_t alignment, size_t size);
static int public_posix_memalign(void **result, size_t alignment, size_t size);

bool lm_aside_take(size_t alignment, size_t size, void **block) {
  if (is_inside) return false;
  is_inside = true;
  bool has = true;
  if (alignment <= LM_GRANULE_BYTES) *block = bound_malloc(size);
  else if (bound_posix_memalign != public_posix_memalign)
    *block = by_posix_memalign(alignment, size);
  else if (bound_memalign != public_memalign) *block = bound_memalign(alignment, size);
  else if (bound_aligned_alloc != public_aligned_alloc)
    *block = bound_aligned_alloc(alignment, lm_align_up(size, alignment));
  else has = false;
  is_inside = false;
  return has;
}

void lm_aside_free(void *block) { bound_free(block); }

bool lm_aside_free_foreign(void *block) {
  if (is_inside || bound_free == lm_own_free) return false;
  is_inside = true;
  bound_free(block);
  is_inside = false;
  return true;
}

bool lm_aside_realloc_foreign(void *block, size_t size, void **result) {
  if (is_inside || bound_realloc == lm_own_realloc) return false;
  is_inside = true;
  *result = bound_realloc(block, size);
  is_inside = false;
  return true;
}

bool lm_aside_size_foreign(void *block, size_t *bytes) {
  if (is_inside || bound_malloc_usable_size == lm_own_malloc_usable_size) return false;
  is_inside = true;
  *bytes = bound_malloc_usable_size(block);
  is_inside = false;
  return true;
}

/* ---- The public names of what derives from others ---- */

static bool is_taken(size_t alignment, size_t size, void **block) {
  return lm_is_aside() && lm_is_power_of_two(alignment) && lm_aside_take(alignment, size, block);
}

static void *public_memalign(size_t alignment, size_t size) {
  void *block;
  if (lm_is_aside() && alignment <= SIZE_MAX / 2 && !lm_is_power_of_two(alignment))
    alignment = alignment == 0 ? 1 : (size_t)2 << lm_log2_floor(alignment);
  return is_taken(alignment, size, &block) ? block : loam_memalign(alignment, size);
}

static void *public_aligned_alloc(size_t alignment, size_t size) {
  void *block;
  return is_taken(alignment, size, &block) ? block : loam_aligned_alloc(alignment, size);
}

static int public_posix_memalign(void **result, size_t alignment, size_t size) {
  void *block;
  if (alignment % sizeof(void *) != 0 || !is_taken(alignment, size, &block))
    return loam_posix_memalign(result, alignment, size);
  if (block == NULL) return ENOMEM;
  *result = block;
  return 0;
}

void *lm_public_valloc(size_t size) {
  void *block;
  return lm_is_aside() && is_taken(lm_os.page_bytes, size, &block) ? block : loam_valloc(size);
}

static void *public_reallocarray(void *block, size_t count, size_t size) {
  size_t bytes;
  if (!lm_is_aside()) return loam_reallocarray(block, count, size);
  if (!__builtin_mul_overflow(count, size, &bytes)) return bound_realloc(block, bytes);
  errno = ENOMEM;
  return NULL;
}

static void public_free_sized(void *block, size_t size) {
  if (lm_is_aside()) bound_free(block);
  else loam_free_sized(block, size);
}

static void public_free_aligned_sized(void *block, size_t alignment, size_t size) {
  if (lm_is_aside()) bound_free(block);
  else loam_free_aligned_sized(block, alignment, size);
}

LM_ALIAS(void *, found_memalign, public_memalign, size_t, size_t)
LM_ALIAS(void *, found_aligned_alloc, public_aligned_alloc, size_t, size_t)
LM_ALIAS(int, found_posix_memalign, public_posix_memalign, void **, size_t, size_t)
LM_ALIAS(void *, valloc, lm_public_valloc, size_t)
LM_ALIAS(void *, reallocarray, public_reallocarray, void *, size_t, size_t)
LM_ALIAS(void, free_sized, public_free_sized, void *, size_t)
LM_ALIAS(void, free_aligned_sized, public_free_aligned_sized, void *, size_t, size_t)

/* ---- The public names of what speaks of a whole heap: that behind loam, if the program is listed.
 * Rarely called. ---- */

static void *behind_if_listed(const char *name) {
  return lm_is_listed() ? lm_os_definition_behind(name) : NULL;
}

static int public_malloc_trim(size_t keep) {
  int (*behind)(size_t) = (int (*)(size_t))behind_if_listed("malloc_trim");
  return behind != NULL ? behind(keep) : loam_malloc_trim(keep);
}

static void public_malloc_stats(void) {
  void (*behind)(void) = (void (*)(void))behind_if_listed("malloc_stats");
  if (behind != NULL) behind();
  else loam_malloc_stats();
}

static int public_malloc_info(int options, FILE *stream) {
  int (*behind)(int, FILE *) = (int (*)(int, FILE *))behind_if_listed("malloc_info");
  return behind != NULL ? behind(options, stream) : loam_malloc_info(options, stream);
}

static int public_mallopt(int parameter, int value) {
  int (*behind)(int, int) = (int (*)(int, int))behind_if_listed("mallopt");
  return behind != NULL ? behind(parameter, value) : loam_mallopt(parameter, value);
}

static struct loam_mallinfo2 public_mallinfo2(void) {
  struct loam_mallinfo2 (*behind)(void) =
      (struct loam_mallinfo2(*)(void))behind_if_listed("mallinfo2");
  return behind != NULL ? behind() : loam_mallinfo2();
}

static struct loam_mallinfo public_mallinfo(void) {
  struct loam_mallinfo (*behind)(void) =
      (struct loam_mallinfo(*)(void))behind_if_listed("mallinfo");
  return behind != NULL ? behind() : loam_mallinfo();
}

LM_ALIAS(int, malloc_trim, public_malloc_trim, size_t)
LM_ALIAS(void, malloc_stats, public_malloc_stats, void)
LM_ALIAS(int, malloc_info, public_malloc_info, int, FILE *)
LM_ALIAS(int, mallopt, public_mallopt, int, int)
LM_ALIAS(struct loam_mallinfo2, mallinfo2, public_mallinfo2, void)
LM_ALIAS(struct loam_mallinfo, mallinfo, public_mallinfo, void)

/* ---- glibc's names of these ----
 *
 * What interposes a public one asks for these when it wants the next: that is loam's own. */

static bool is_asked_for_next(void) { return lm_is_aside() && !lm_is_listed(); }

static void *libc_memalign(size_t alignment, size_t size) {
  return is_asked_for_next() ? loam_memalign(alignment, size)
                       : LM_BY_NAME(public_memalign)(alignment, size);
}

static void *libc_valloc(size_t size) {
  return is_asked_for_next() ? loam_valloc(size) : LM_BY_NAME(lm_public_valloc)(size);
}

static int libc_posix_memalign(void **result, size_t alignment, size_t size) {
  return is_asked_for_next() ? loam_posix_memalign(result, alignment, size)
                       : LM_BY_NAME(public_posix_memalign)(result, alignment, size);
}

LM_ALIAS(void *, __libc_memalign, libc_memalign, size_t, size_t)
LM_ALIAS(void *, __libc_valloc, libc_valloc, size_t)
LM_ALIAS(int, __posix_memalign, libc_posix_memalign, void **, size_t, size_t)
LM_ALIAS(void *, __libc_reallocarray, loam_reallocarray, void *, size_t, size_t)

#endif
