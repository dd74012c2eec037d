/* First-class heaps: the public functions. include/loam/loam.h documents each. */
#include <errno.h>
#include <string.h>

#include "api/checking.h"
#include "central/put.h"
#include "central/shared.h"
#include "central/take.h"
#include "large/large.h"
#include "large/owned.h"
#include "loam/loam.h"
#include "os/misuse.h"

/* Takes the lock of a heap that has not been destroyed. */
LM_LOCKS_UNCHECKED static void enter_heap(struct loam_heap *heap, const char *call, void *caller) {
  lm_lock_take(&heap->central.lock);
  if (LM_LIKELY(heap->live)) return;
  lm_lock_free(&heap->central.lock);
  lm_misuse_heap(heap, call, caller);
}

LM_LOCKS_UNCHECKED static void leave_heap(struct loam_heap *heap) {
  lm_lock_free(&heap->central.lock);
}

static bool is_of(struct loam_heap *heap, const void *block) {
  uint32_t tag = lm_tag_of(block);
  if (lm_tag_is_shared(tag)) return lm_shared_of(block) == heap;
  return lm_owned_heap(lm_checked_raw(block)) == heap;
}

/* Ends the program unless the heap has the block. */
static void check_owner(struct loam_heap *heap, void *block, const char *call, void *caller) {
  if (LM_LIKELY(is_of(heap, block))) return;
  if (lm_region_holds((uintptr_t)block) && lm_large_is_free(block))
    lm_misuse_double_free(block, caller);
  lm_misuse_not_of_heap(block, call, caller);
}

/* ---- Taking ---- */

/* The lock is held. */
static void *take_in_heap(struct loam_heap *heap, size_t alignment, size_t size, bool clear) {
  size_t class_index = 0;
  if (alignment > LM_GRANULE_BYTES) class_index = lm_sizeclass_of_aligned(alignment, size);
  else if (size <= lm_classed_max_bytes) class_index = lm_sizeclass_of(lm_max(size, 1));
  if (class_index == 0)
    return lm_large_take(heap->central.pool, size, lm_max(alignment, lm_os.page_bytes), clear);
  bool zero;
  void *block = lm_central_take_one(&heap->central, class_index, &zero);
  return block != NULL && clear && !zero ? memset(block, 0, size) : block;
}

/* The lock is held. What is in no span of the heap's must be remembered. */
static void *take_owned(struct loam_heap *heap, size_t alignment, size_t size, bool clear) {
  void *block = take_in_heap(heap, alignment, size, clear);
  if (block == NULL || lm_tag_is_shared(lm_tag_of(block)) || lm_owned_add(heap, block))
    return block;
  lm_large_give(&lm_empty_cache, block);
  return NULL;
}

struct request {
  size_t alignment, size;
  bool clear;
  const char *call;
  void *caller;
};

static void *take_from_heap(struct loam_heap *heap, const struct request *request) {
  void *block = NULL;
  enter_heap(heap, request->call, request->caller);
  if (request->size <= LM_REQUEST_MAX_BYTES / 2 && request->alignment <= PTRDIFF_MAX / 2)
    block = take_owned(heap, request->alignment,
                       lm_checked_room(request->size, request->alignment), request->clear);
  /* Before a fork can see it. */
  block = lm_checked_finish(block, request->size, request->alignment);
  leave_heap(heap);
  if (block == NULL) errno = ENOMEM;
  return block;
}

static struct loam_heap *begin_heap(const struct loam_page_provider *provider) {
  lm_process_start();
  struct loam_heap *heap = lm_shared_begin(provider);
  if (heap == NULL) errno = ENOMEM;
  return heap;
}

LM_EXPORT struct loam_heap *loam_heap_new(void) { return begin_heap(NULL); }

LM_EXPORT struct loam_heap *
loam_heap_new_with_provider(const struct loam_page_provider *provider) {
  if (lm_provider_is_complete(provider)) return begin_heap(provider);
  errno = EINVAL;
  return NULL;
}

LM_EXPORT void *loam_heap_malloc(struct loam_heap *heap, size_t size) {
  struct request request = {1, size, false, "heap_malloc", LM_CALLER()};
  return take_from_heap(heap, &request);
}

LM_EXPORT void *loam_heap_calloc(struct loam_heap *heap, size_t count, size_t size) {
  struct request request = {1, 0, true, "heap_calloc", LM_CALLER()};
  if (__builtin_mul_overflow(count, size, &request.size)) {
    errno = ENOMEM;
    return NULL;
  }
  return take_from_heap(heap, &request);
}

LM_EXPORT void *loam_heap_memalign(struct loam_heap *heap, size_t alignment, size_t size) {
  struct request request = {alignment, size, false, "heap_memalign", LM_CALLER()};
  if (!lm_is_power_of_two(alignment)) {
    errno = EINVAL;
    return NULL;
  }
  return take_from_heap(heap, &request);
}

/* ---- Giving back ---- */

static void give_one(void *block, const char *call, void *caller) {
  void *raw = lm_checked_retire(block, call, caller);
  if (lm_tag_is_shared(lm_tag_of(raw))) lm_shared_free(raw, caller);
  else if (!lm_large_give(&lm_empty_cache, raw)) lm_misuse_double_free(block, caller);
}

LM_EXPORT void loam_heap_free(struct loam_heap *heap, void *block) {
  if (block == NULL) return;
  check_owner(heap, block, "heap_free", LM_CALLER());
  give_one(block, "heap_free", LM_CALLER());
}

static void retire_block_in(void *raw) {
  void *block = lm_checked_block_in(raw);
  if (block != NULL) lm_checked_retire(block, "heap_free_all", NULL);
}

static void retire_block(void *unused, void *raw, size_t bytes, bool in_use) {
  (void)unused;
  (void)bytes;
  if (in_use) retire_block_in(raw);
}

/* The lock is held. */
static void give_all(struct loam_heap *heap) {
  void *block;
  if (LM_CHECKING || LM_HARDENED_FREES) lm_shared_visit(heap, retire_block, NULL);
  lm_shared_give_all(heap);
  while ((block = lm_owned_first(heap)) != NULL) {
    retire_block_in(block);
    lm_large_give(&lm_empty_cache, block);
  }
}

LM_EXPORT void loam_heap_free_all(struct loam_heap *heap) {
  enter_heap(heap, "heap_free_all", LM_CALLER());
  give_all(heap);
  leave_heap(heap);
}

LM_EXPORT void loam_heap_destroy(struct loam_heap *heap) {
  if (heap == NULL) return;
  enter_heap(heap, "heap_destroy", LM_CALLER());
  give_all(heap);
  heap->live = false;
  leave_heap(heap);
  lm_shared_end(heap);
}

/* ---- Resizing ---- */

/* The block where it is, or its pages moved; NULL if it must be copied. The checking build copies
 * always, so that whoever kept the old address is found out, and so does a hardened one. */
static void *resize_in_place(struct loam_heap *heap, void *block, size_t old_bytes, size_t size) {
  if (LM_CHECKING || LM_HARDENED_FREES || size > LM_REQUEST_MAX_BYTES / 2) return NULL;
  if (size <= old_bytes && size > old_bytes / 2) return block;
  if (old_bytes <= lm_classed_max_bytes || size <= lm_classed_max_bytes) return NULL;
  lm_lock_take(&heap->central.lock);
  void *moved = lm_large_resize(heap->central.pool, block, size, true);
  lm_lock_free(&heap->central.lock);
  return moved;
}

static void *resize_in_heap(struct loam_heap *heap, void *block, const struct request *request) {
  size_t old_bytes = lm_checked_usable_bytes(block, request->caller);
  void *resized = resize_in_place(heap, block, old_bytes, request->size);
  if (resized != NULL) return resized;
  void *copy = take_from_heap(heap, request);
  if (copy == NULL) return NULL;
  memcpy(copy, block, lm_min(old_bytes, request->size));
  give_one(block, "heap_realloc", request->caller);
  return copy;
}

LM_EXPORT void *loam_heap_realloc(struct loam_heap *heap, void *block, size_t size) {
  struct request request = {1, size, false, "heap_realloc", LM_CALLER()};
  if (block == NULL) return take_from_heap(heap, &request);
  check_owner(heap, block, "heap_realloc", LM_CALLER());
  if (size != 0) return resize_in_heap(heap, block, &request);
  give_one(block, "heap_realloc", LM_CALLER());
  return NULL;
}

/* ---- Visiting ---- */

struct visit {
  loam_heap_visitor *visitor;
  void *context;
};

static void visit_block(void *context, void *raw, size_t bytes, bool in_use) {
  const struct visit *visit = context;
  void *block = in_use ? lm_checked_block_in(raw) : raw;
  if (block == NULL) return;
  if (LM_CHECKING && in_use) bytes = lm_checked_usable_bytes(block, NULL);
  visit->visitor(visit->context, block, bytes, in_use);
}

LM_EXPORT void loam_heap_visit(struct loam_heap *heap, loam_heap_visitor *visitor,
                               void *context) {
  struct visit visit = {visitor, context};
  enter_heap(heap, "heap_visit", LM_CALLER());
  lm_shared_visit(heap, visit_block, &visit);
  for (struct lm_owned *record = heap->owned; record != NULL; record = record->next_of_heap)
    visit_block(&visit, record->block, lm_raw_usable_bytes(record->block), true);
  leave_heap(heap);
}
