#include "pages/tags.h"

#include "base/bits.h"
#include "os/os.h"
#include "os/panic.h"
#include "pages/names.h"

static lm_tag no_tag; /* always 0 */
struct lm_tags lm_tags = {&no_tag, 0};
struct lm_lock lm_tags_lock = LM_LOCK_INIT(LM_RANK_TAGS);

void lm_tags_start(void) {
  void *table; /* of LM_TAGS_WORDS words */
  if (lm_os_address_space_limit() != UINT64_MAX) return;
  if (lm_os_reserve_zero(LM_TAGS_WORDS * sizeof(lm_tag), &table) != 0) return;
  lm_names_give(LM_MEMORY_RECORDS, table, LM_TAGS_WORDS * sizeof(lm_tag));
  lm_tags.table = table;
  lm_tags.multiplier = LM_TAGS_MULTIPLIER;
}

int lm_tags_commit(uintptr_t region, size_t region_bytes) {
  lm_assert(region % LM_REGION_BYTES == 0 && region_bytes % LM_SLICE_BYTES == 0);
  if (lm_tags.multiplier == 0) return 0;
  return lm_os_commit(&lm_tags.table[region >> LM_SLICE_SHIFT],
                      (region_bytes >> LM_SLICE_SHIFT) * sizeof(lm_tag));
}

void lm_tags_clear(uintptr_t region, size_t region_bytes) {
  for (size_t i = 0; i < region_bytes; i += LM_SLICE_BYTES) lm_tags_write((void *)(region + i), 0);
}

/* Unmaps all tags but the first page of them and those of the blocks that there are: a free that
 * has read the multiplier may be about to read the tag of its block, whenever it goes on. */
static void release_table(void) {
  lm_tag *tags = lm_tags.table;
  size_t page_tags = lm_os.page_bytes / sizeof(lm_tag);
  uintptr_t start = page_tags;
  for (uintptr_t tag = page_tags; tag <= LM_TAGS_WORDS; tag += page_tags) {
    bool kept = tag == LM_TAGS_WORDS ||
                lm_region_map_has_blocks(tag << LM_SLICE_SHIFT, page_tags << LM_SLICE_SHIFT);
    if (!kept) continue;
    if (tag > start) lm_os_release(tags + start, (tag - start) * sizeof(lm_tag));
    start = tag + page_tags;
  }
}

bool lm_tags_give_up(void) {
  if (lm_tags.multiplier == 0) return false;
  lm_lock_take(&lm_tags_lock);
  if (lm_tags.multiplier != 0) {
    /* A free that has read the multiplier already may still read the tag of its block, which is
     * kept, or the first tag, which is kept too: it is what a null pointer or the new multiplier
     * leads to. */
    lm_tags.multiplier = 0;
    atomic_thread_fence(memory_order_seq_cst);
    release_table();
  }
  lm_lock_free(&lm_tags_lock);
  return true;
}
