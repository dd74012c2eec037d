#include "pages/meta.h"

#include "base/bits.h"
#include "os/os.h"
#include "pages/region.h"

#define BATCH_BYTES (256 * LM_KIB)

struct lm_lock lm_meta_lock = LM_LOCK_INIT(LM_RANK_META);
static char *batch_next, *batch_end; /* under the lock */

void *lm_meta_take(size_t size) {
  size = lm_align_up(size, LM_CACHE_LINE_BYTES);
  lm_lock_take(&lm_meta_lock);
  void *record = NULL;
  if ((size_t)(batch_end - batch_next) < size) {
    void *fresh;
    if (lm_region_map_memory(BATCH_BYTES, lm_os.page_bytes, &fresh) == 0) {
      batch_next = fresh;
      batch_end = batch_next + BATCH_BYTES;
    }
  }
  if ((size_t)(batch_end - batch_next) >= size) {
    record = batch_next;
    batch_next += size;
  }
  lm_lock_free(&lm_meta_lock);
  return record;
}
