#include "report/lists.h"

#include "central/span_life.h"
#include "thread/cache.h"

/* What is read here its owner may be writing: a pointer is read at once, whatever it is. */
static struct lm_block *read_link(struct lm_block *const *link) {
  return __atomic_load_n(link, __ATOMIC_RELAXED);
}

/* ---- Lists. The lock of tags is held ---- */

/* Whether the address is of a span of the class. */
static bool is_of_class(const void *address, size_t class_index) {
  return lm_region_holds((uintptr_t)address) &&
         lm_load_relaxed(&lm_span_record_of(address)->tag) == class_index;
}

/* Whether a block's words may be read. The calling thread's lists are whole. */
static bool is_readable(const void *block, bool own) {
  return own || !lm_region_of(block)->decommits;
}

static size_t count_list(const struct lm_block *block, size_t class_index, bool own) {
  size_t count = 0, most = 2u * lm_list_blocks[class_index];
  while (block != LM_NO_BLOCK && count < most && (uintptr_t)block % LM_GRANULE_BYTES == 0 &&
         is_of_class(block, class_index)) {
    count++;
    if (!is_readable(block, own)) break;
    block = lm_link_of(block, read_link(&block->next));
  }
  return count;
}

/* Blocks that go home together, by their tags. */
static void add_homeward(const struct lm_cache *cache, struct lm_class_figures *classes) {
  size_t count = __atomic_load_n(&cache->homeward.count, __ATOMIC_RELAXED);
  for (size_t i = 0; i < lm_min(count, LM_HOMEWARD_COUNT); i++) {
    const struct lm_block *block = read_link(&cache->homeward.blocks[i]);
    if (!lm_region_holds((uintptr_t)block)) continue;
    uint32_t tag = lm_load_relaxed(&lm_span_record_of(block)->tag);
    if (tag < LM_CLASS_COUNT) classes[tag].cache_count++;
  }
}

void lm_lists_add_cache(const struct lm_cache *cache, bool own, struct lm_class_figures *classes) {
  lm_lock_take(&lm_tags_lock);
  for (size_t i = 1; i < LM_CLASS_COUNT; i++)
    classes[i].cache_count += count_list(read_link(&cache->lists[i]), i, own);
  add_homeward(cache, classes);
  lm_lock_free(&lm_tags_lock);
}

void lm_lists_add_depot(struct lm_central *central, struct lm_class_figures *classes) {
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    if (lm_load_relaxed(&central->classes[i].list_count) == 0) continue;
    lm_lock_take(&central->lock);
    struct lm_block *first = central->classes[i].lists;
    for (; first != NULL && first != LM_NO_BLOCK; first = lm_list_next(first))
      classes[i].depot_count += count_list(first, i, true);
    lm_lock_free(&central->lock);
  }
}

/* ---- Spans. The pool's lock is held ---- */

static void mark_listed(const struct lm_span *span, uint64_t *is_free) {
  size_t block_bytes = lm_classes[span->class_index].block_bytes, carved = span->extended_count;
  const char *start = lm_span_start(span);
  const struct lm_block *block = read_link(&span->free_list);
  for (size_t left = carved; left > 0 && block != LM_NO_BLOCK; left--) {
    size_t offset = (size_t)((const char *)block - start), index = offset / block_bytes;
    if (index >= carved || index * block_bytes != offset) return;
    lm_bitmap_set(is_free, index, index + 1);
    block = lm_link_of(block, read_link(&block->next));
  }
}

uint64_t lm_lists_idle_pages(const struct lm_span *span) {
  uint64_t is_free[LM_BITMAP_WORDS(LM_SPAN_BLOCKS_MAX)] = {0}, idle = 0;
  size_t block_bytes = lm_classes[span->class_index].block_bytes, carved = span->extended_count;
  size_t page_count = lm_min(carved * block_bytes >> lm_os.page_shift, 64);
  if (span->free_list == LM_NO_BLOCK || carved > LM_SPAN_BLOCKS_MAX) return 0;
  mark_listed(span, is_free);
  for (size_t page = 0; page < page_count; page++) {
    size_t first = (page << lm_os.page_shift) / block_bytes;
    size_t end = (((page + 1) << lm_os.page_shift) - 1) / block_bytes + 1;
    end = lm_min(end, carved);
    if (lm_bitmap_find_clear(is_free, first, end) == end) idle |= (uint64_t)1 << page;
  }
  return idle & ~span->hole_pages;
}
