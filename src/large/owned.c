#include "large/owned.h"

#include "os/panic.h"
#include "pages/meta.h"

#define OWNED_BUCKET_BITS 14 /* of which only pages in use cost memory */
struct lm_lock lm_owned_lock = LM_LOCK_INIT(LM_RANK_OWNED);
_Atomic(size_t) lm_owned_count;
static struct lm_owned *owned_by_address[1 << OWNED_BUCKET_BITS] LM_GUARDED_BY(lm_owned_lock);
static struct lm_owned *unused_owned LM_GUARDED_BY(lm_owned_lock);

static struct lm_owned **owned_bucket_of(const void *block) {
  uintptr_t page = (uintptr_t)block >> lm_os.page_shift;
  return &owned_by_address[lm_hash(page, OWNED_BUCKET_BITS)];
}

/* Where the record is linked from; what that points to is NULL if there is none. Lock held. */
static struct lm_owned **find_owned(const void *block) {
  struct lm_owned **link = owned_bucket_of(block);
  while (*link != NULL && (*link)->block != block) link = &(*link)->next;
  return link;
}

void lm_owned_insert(struct lm_owned *record, void *block) {
  lm_assert(record->heap != NULL && block != NULL);
  record->block = block;
  lm_lock_take(&lm_owned_lock);
  struct lm_owned **bucket = owned_bucket_of(block), *first = record->heap->owned;
  record->next = *bucket;
  *bucket = record;
  record->previous_of_heap = NULL;
  record->next_of_heap = first;
  if (first != NULL) first->previous_of_heap = record;
  record->heap->owned = record;
  lm_store_relaxed(&lm_owned_count, lm_load_relaxed(&lm_owned_count) + 1);
  lm_lock_free(&lm_owned_lock);
}

struct lm_owned *lm_owned_remove_slow(const void *block) {
  lm_lock_take(&lm_owned_lock);
  struct lm_owned **link = find_owned(block), *record = *link;
  if (record != NULL) {
    lm_assert(lm_load_relaxed(&lm_owned_count) != 0);
    *link = record->next;
    struct lm_owned *next = record->next_of_heap, *previous = record->previous_of_heap;
    if (next != NULL) next->previous_of_heap = previous;
    if (previous != NULL) previous->next_of_heap = next;
    else record->heap->owned = next;
    lm_store_relaxed(&lm_owned_count, lm_load_relaxed(&lm_owned_count) - 1);
  }
  lm_lock_free(&lm_owned_lock);
  return record;
}

static struct lm_owned *new_owned(void) {
  lm_lock_take(&lm_owned_lock);
  struct lm_owned *record = unused_owned;
  if (record != NULL) unused_owned = record->next;
  lm_lock_free(&lm_owned_lock);
  return record != NULL ? record : lm_meta_take(sizeof *record);
}

void lm_owned_end(struct lm_owned *record) {
  lm_lock_take(&lm_owned_lock);
  record->next = unused_owned;
  unused_owned = record;
  lm_lock_free(&lm_owned_lock);
}

bool lm_owned_add(struct loam_heap *heap, void *block) {
  struct lm_owned *record = new_owned();
  if (record == NULL) return false;
  record->heap = heap;
  lm_owned_insert(record, block);
  return true;
}

struct loam_heap *lm_owned_heap(const void *block) {
  if (lm_load_relaxed(&lm_owned_count) == 0) return NULL;
  lm_lock_take(&lm_owned_lock);
  struct lm_owned *record = *find_owned(block);
  struct loam_heap *heap = record != NULL ? record->heap : NULL;
  lm_lock_free(&lm_owned_lock);
  return heap;
}

void *lm_owned_first(struct loam_heap *heap) {
  lm_lock_take(&lm_owned_lock);
  void *block = heap->owned != NULL ? heap->owned->block : NULL;
  lm_lock_free(&lm_owned_lock);
  return block;
}
