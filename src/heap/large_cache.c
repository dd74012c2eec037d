#include "heap/large_cache.h"

void *lm_large_cache_take(struct lm_heap *heap, size_t page_count) {
  if (page_count > LM_CACHED_MAX_PAGES) return NULL;
  struct lm_block *block = heap->cached[page_count];
  if (block == NULL) return NULL;
  heap->cached[page_count] = block->next;
  heap->cached_page_count -= page_count;
  lm_pool_show_large(block);
  return block;
}

bool lm_large_cache_put(struct lm_heap *heap, void *address) {
  if (lm_heap_is_empty(heap)) return false;
  size_t page_count = lm_pool_large_pages(address);
  size_t total = (heap->cached_page_count + page_count) << lm_os.page_shift;
  if (page_count == 0 || page_count > LM_CACHED_MAX_PAGES || total > LM_CACHE_BYTES) return false;
  struct lm_block *block = address;
  lm_pool_hide_large(block);
  block->next = heap->cached[page_count];
  heap->cached[page_count] = block;
  heap->cached_page_count += page_count;
  return true;
}

void lm_large_cache_flush(struct lm_heap *heap) {
  if (heap->cached_page_count == 0) return;
  for (size_t page_count = 1; page_count <= LM_CACHED_MAX_PAGES; page_count++) {
    void *block;
    while ((block = lm_large_cache_take(heap, page_count)) != NULL) lm_pool_give_large(block);
  }
}
