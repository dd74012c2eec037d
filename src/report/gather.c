#include "report/gather.h"

#include "central/shared.h"
#include "central/span_life.h"
#include "pages/huge.h"
#include "pages/mappings.h"
#include "pages/meta.h"
#include "pages/runs.h"
#include "report/lists.h"
#include "thread/cache.h"

static size_t bytes_of_pages(size_t page_count) { return page_count << lm_os.page_shift; }

static void sum_block(struct lm_sum *sum, size_t bytes) {
  sum->count++;
  sum->bytes += bytes;
}

/* ---- Spans ---- */

/* The pages of which blocks were carved and that have not been given back. */
static uint64_t carved_pages(const struct lm_span *span) {
  size_t carved = lm_pages_of(span->extended_count * lm_classes[span->class_index].block_bytes);
  return lm_bitmap_mask(0, 0, lm_min(carved, 64)) & ~span->hole_pages;
}

static void sum_span(const struct lm_span *span, struct lm_figures *figures,
                     enum lm_figures_depth depth) {
  struct lm_class_figures *class = &figures->classes[span->class_index];
  uint64_t carved = carved_pages(span);
  class->span_count++;
  class->carved_count += span->extended_count;
  class->used_count += span->used_count;
  class->hole_count += span->hole_block_count;
  figures->hole_bytes += bytes_of_pages(lm_bit_count(span->hole_pages));
  figures->dirty_bytes += bytes_of_pages(lm_bit_count(span->dirty_pages & ~carved));
  if (depth == LM_FIGURES_ALL) class->idle_page_count += lm_bit_count(lm_lists_idle_pages(span));
}

/* ---- Middle and large blocks in regions ---- */

/* Adds the block that begins on the page, if one does, and returns how many pages to go on by. */
static size_t sum_pages(struct lm_region *region, size_t page, struct lm_figures *figures) {
  uint32_t entry = lm_load_relaxed(&region->block_pages[page]);
  size_t page_count = entry & ~(LM_BLOCK_CACHED | LM_BLOCK_GUARDED);
  size_t bytes = bytes_of_pages(page_count);
  if (page_count == 0 || page_count > LM_REGION_MAX_PAGES) return 1;
  if ((entry & LM_BLOCK_CACHED) != 0) figures->cached_bytes += bytes;
  else sum_block(bytes <= LM_MIDDLE_MAX_BYTES ? &figures->middle : &figures->large, bytes);
  return page_count;
}

/* ---- Regions ---- */

/* Of what a span is if one begins on the page. */
static bool begins_span(const struct lm_span *span) {
  return span->state != LM_SPAN_NONE && span->slice_count != 0 &&
         span->class_index < LM_CLASS_COUNT;
}

/* Adds what stands on a used page, and returns how many pages to go on by. */
static size_t sum_used(struct lm_region *region, size_t page, struct lm_figures *figures,
                       enum lm_figures_depth depth) {
  struct lm_span *span = &region->spans[lm_slice_of_page(page)];
  if (page % lm_pages_per_slice() != 0 || !begins_span(span))
    return sum_pages(region, page, figures);
  sum_span(span, figures, depth);
  return span->slice_count * lm_pages_per_slice();
}

static void sum_region(struct lm_region *region, struct lm_figures *figures,
                       enum lm_figures_depth depth) {
  size_t end = region->bytes >> lm_os.page_shift;
  size_t header_bytes = (size_t)region->first_slice << LM_SLICE_SHIFT;
  figures->region_count++;
  figures->reserved_bytes += region->bytes;
  figures->dirty_bytes += bytes_of_pages(region->dirty_page_count);
  for (size_t page = header_bytes >> lm_os.page_shift; page < end;) {
    size_t used = lm_bitmap_find_set(region->used_pages, page, end);
    figures->free_run_count += used != page;
    if (used < end) page = used + sum_used(region, used, figures, depth);
    else page = used;
  }
  if (depth != LM_FIGURES_ALL) return;
  figures->metadata_bytes += lm_os_resident_bytes(region, header_bytes);
  if (lm_tags.multiplier != 0) figures->metadata_bytes += LM_REGION_SLICES * sizeof(lm_tag);
#if LM_OS_TELLS_USAGE
  lm_os_add_usage(region, region->bytes, &figures->usage);
#endif
}

/* The lock is given back after each region, so that who waits for it does not wait for all. One
 * that ends meanwhile lets the last one of the directory take its place: it is left out then. */
static void sum_pool(struct lm_pool *pool, struct lm_figures *figures,
                     enum lm_figures_depth depth) {
  for (size_t number = 0;; number++) {
    lm_lock_take(&pool->lock);
    bool there = number < lm_load_relaxed(&pool->region_count);
    if (there) sum_region(pool->directory[number], figures, depth);
    if (!there) {
      figures->purged_bytes += pool->purged_page_count << lm_os.page_shift;
      figures->purge_count += pool->purge_count;
    }
    lm_lock_free(&pool->lock);
    if (!there) return;
  }
}

/* ---- Caches and depots ---- */

static void sum_lists(struct lm_figures *figures, const struct lm_cache *own) {
  const struct lm_cache *cache = lm_load_acquire(&lm_caches_made);
  for (; cache != NULL; cache = cache->next_made)
    lm_lists_add_cache(cache, cache == own, figures->classes);
  for (uint32_t i = 0; i < lm_central_count; i++)
    if (lm_central_if_made(i) != NULL)
      lm_lists_add_depot(lm_central_if_made(i), figures->classes);
  lm_lock_take(&lm_caches_lock);
  figures->heap_live_count = lm_load_relaxed(&lm_pool_thread_count);
  figures->heap_made_count = lm_cache_made_count;
  lm_lock_free(&lm_caches_lock);
}

static void sum_blocks(struct lm_sum *sum, size_t count, size_t block_bytes) {
  sum->count += count;
  sum->bytes += count * block_bytes;
}

/* To a span all blocks are in use that are not on its own list. */
static void sum_classes(struct lm_figures *figures) {
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    struct lm_class_figures *class = &figures->classes[i];
    size_t bytes = lm_classes[i].block_bytes, away = class->cache_count + class->depot_count;
    size_t taken = lm_min(class->used_count + class->hole_count, class->carved_count);
    class->free_count = class->carved_count - taken;
    class->used_count -= lm_min(class->used_count, away);
    sum_blocks(&figures->small, class->used_count, bytes);
    sum_blocks(&figures->cached, class->cache_count, bytes);
    sum_blocks(&figures->in_depots, class->depot_count, bytes);
    sum_blocks(&figures->listed, class->free_count, bytes);
    figures->idle_bytes += bytes_of_pages(class->idle_page_count);
  }
}

static void sum_huge(struct lm_figures *figures) {
  lm_lock_take(&lm_huge_lock);
  figures->huge.count = lm_huge_totals.count;
  figures->huge.bytes = lm_huge_totals.bytes;
  lm_lock_free(&lm_huge_lock);
  lm_lock_take(&lm_mappings_lock);
  figures->dirty_bytes += lm_mappings_kept_bytes;
  lm_lock_free(&lm_mappings_lock);
}

static void sum_rest(struct lm_figures *figures) {
  const struct lm_meta_batch *batch = lm_load_acquire(&lm_meta_batches);
  for (; batch != NULL; batch = batch->next)
    figures->metadata_bytes += lm_os_resident_bytes(batch, LM_META_BATCH_BYTES);
  lm_os_read_residency(&figures->residency);
#if LM_OS_TELLS_USAGE
  lm_huge_add_usage(&figures->usage);
#endif
}

void lm_figures_gather(struct lm_figures *figures, enum lm_figures_depth depth,
                       const struct lm_cache *own) {
  *figures = (struct lm_figures){0};
  for (struct lm_pool *pool = lm_pools; pool != NULL; pool = lm_pool_next(pool))
    sum_pool(pool, figures, depth);
  sum_lists(figures, own);
  sum_huge(figures);
  sum_classes(figures);
  if (depth == LM_FIGURES_ALL) sum_rest(figures);
}
