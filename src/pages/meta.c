#include "pages/meta.h"

#include "base/bits.h"
#include "os/os.h"
#include "os/panic.h"
#include "pages/names.h"
#include "pages/room.h"

struct lm_lock lm_meta_lock = LM_LOCK_INIT(LM_RANK_META);
_Atomic(struct lm_meta_batch *) lm_meta_batches;
static char *batch_next LM_GUARDED_BY(lm_meta_lock), *batch_end LM_GUARDED_BY(lm_meta_lock);

LM_REQUIRES(lm_meta_lock) static void begin_batch(struct lm_meta_batch *batch) {
  lm_names_give(LM_MEMORY_RECORDS, batch, LM_META_BATCH_BYTES);
  batch->next = lm_load_relaxed(&lm_meta_batches);
  lm_store_release(&lm_meta_batches, batch);
  batch_next = (char *)batch + lm_align_up(sizeof *batch, LM_CACHE_LINE_BYTES);
  batch_end = (char *)batch + LM_META_BATCH_BYTES;
}

/* Cuts a record off the batch; NULL if it is too short. */
LM_REQUIRES(lm_meta_lock) static void *cut_record(size_t size, size_t alignment) {
  char *record = (char *)lm_align_up((uintptr_t)batch_next, alignment);
  if (record > batch_end || (size_t)(batch_end - record) < size) return NULL;
  batch_next = record + size;
  lm_assert(batch_next <= batch_end && (uintptr_t)record % alignment == 0);
  return record;
}

static bool map_batch(void **batch) {
  if (lm_os_map(LM_META_BATCH_BYTES, lm_os.page_bytes, batch) == 0) return true;
  return lm_room_make() && lm_os_map(LM_META_BATCH_BYTES, lm_os.page_bytes, batch) == 0;
}

static void *take_record(size_t size, size_t alignment) {
  lm_lock_take(&lm_meta_lock);
  void *fresh, *record = cut_record(size, alignment);
  if (record == NULL && map_batch(&fresh)) {
    begin_batch(fresh);
    record = cut_record(size, alignment);
  }
  lm_lock_free(&lm_meta_lock);
  return record;
}

void *lm_meta_take(size_t size) {
  return take_record(lm_align_up(size, LM_CACHE_LINE_BYTES), LM_CACHE_LINE_BYTES);
}

void *lm_meta_take_pages(size_t size) {
  return take_record(lm_align_up(size, LM_META_PAGE_BYTES), LM_META_PAGE_BYTES);
}
