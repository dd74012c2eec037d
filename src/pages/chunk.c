#include "pages/chunk.h"

#include <string.h>

static size_t page_in_chunk(const void *address) {
  return ((uintptr_t)address & (LM_CHUNK_BYTES - 1)) >> lm_os.page_shift;
}

static char *address_in_chunk(const struct lm_span *span, size_t page) {
  return lm_span_start(span) + (page << lm_os.page_shift);
}

/* ---- Free runs ---- */

#define CHUNK_WORDS LM_BITMAP_WORDS(LM_CHUNK_MAX_PAGES)

/* The free pages of word `w`; pages that a chunk does not have are used in its map. */
LM_INLINE uint64_t free_word(const struct lm_chunk *chunk, size_t w) {
  return w < CHUNK_WORDS ? ~chunk->used_pages[w] : 0;
}

/* The lowest run of `wanted` free pages, 1 to 64, or LM_BITMAP_NONE. */
static size_t find_run(const struct lm_chunk *chunk, size_t wanted) {
  for (size_t w = 0; w < CHUNK_WORDS; w++) {
    /* A bit of `starts`, and of `more` above it: a run of `length` free pages begins there. */
    uint64_t starts = free_word(chunk, w), more = free_word(chunk, w + 1);
    for (size_t length = 1, step; length < wanted && starts != 0; length += step) {
      step = lm_min(length, wanted - length);
      starts &= starts >> step | more << (64 - step);
      more &= more >> step;
    }
    if (starts != 0) return w * 64 + (size_t)__builtin_ctzll(starts);
  }
  return LM_BITMAP_NONE;
}

/* The length of the longest run of set bits, or `least` if that is more. */
LM_INLINE size_t longest_in_word(uint64_t word, size_t least) {
  while (word != 0) {
    word >>= __builtin_ctzll(word);
    if (word == ~(uint64_t)0) return 64;
    unsigned length = (unsigned)__builtin_ctzll(~word);
    word >>= length;
    least = lm_max(least, length);
  }
  return least;
}

/* The length of the longest free run, LM_CHUNK_RUN_MAX at most. */
static size_t longest_run(const struct lm_chunk *chunk) {
  size_t longest = 0, open = 0; /* open: the run that the words so far end with */
  for (size_t w = 0; w < CHUNK_WORDS && longest < LM_CHUNK_RUN_MAX; w++) {
    uint64_t word = free_word(chunk, w);
    if (word == ~(uint64_t)0) return LM_CHUNK_RUN_MAX;
    longest = lm_max(longest, open + (size_t)__builtin_ctzll(~word));
    longest = longest_in_word(word, longest);
    open = (size_t)__builtin_clzll(~word);
  }
  return lm_min(longest, LM_CHUNK_RUN_MAX);
}

static uint16_t capped_run(size_t length) { return (uint16_t)lm_min(length, LM_CHUNK_RUN_MAX); }

static void add_counts(struct lm_span *span, struct lm_chunk *chunk, int used, int dirty) {
  span->used_count += (uint32_t)used;
  lm_store_relaxed(&chunk->used_count, span->used_count);
  lm_store_relaxed(&chunk->dirty_count, lm_load_relaxed(&chunk->dirty_count) + (uint32_t)dirty);
}

/* Makes free pages accessible; where a purge decommits, only dirty ones are. */
static bool commit_free_pages(const struct lm_span *span, const struct lm_chunk *chunk, size_t page,
                              size_t end) {
  const struct lm_region *region = lm_region_of(chunk);
  if (!region->decommits || lm_bitmap_find_clear(chunk->dirty_pages, page, end) == end)
    return true;
  size_t bytes = (end - page) << lm_os.page_shift;
  return lm_provider_commit(region->provider, address_in_chunk(span, page), bytes) == 0;
}

/* Marks pages as used; returns how many of them were dirty. */
static size_t use_pages(struct lm_span *span, struct lm_chunk *chunk, size_t page, size_t end) {
  size_t reused = lm_bitmap_count(chunk->dirty_pages, page, end);
  lm_bitmap_set(chunk->used_pages, page, end);
  lm_bitmap_set(chunk->dirty_pages, page, end);
  if (reused != 0) lm_bitmap_clear(chunk->aged_pages, page, end);
  add_counts(span, chunk, (int)(end - page), -(int)reused);
  return reused;
}

static void clear_dirty(const struct lm_span *span, const struct lm_chunk *chunk, size_t page,
                        size_t end) {
  while (page < end) {
    size_t from = lm_bitmap_find_set(chunk->dirty_pages, page, end);
    page = lm_bitmap_find_clear(chunk->dirty_pages, from, end);
    memset(address_in_chunk(span, from), 0, (page - from) << lm_os.page_shift);
  }
}

void *lm_chunk_take(struct lm_span *span, size_t page_count, bool clear, size_t *reused,
                    size_t *regretted) {
  struct lm_chunk *chunk = lm_chunk_of_span(span);
  size_t page = find_run(chunk, page_count), end = page + page_count;
  if (page == LM_BITMAP_NONE) {
    chunk->run_limit = (uint16_t)longest_run(chunk);
    return NULL;
  }
  if (!commit_free_pages(span, chunk, page, end)) {
    chunk->run_limit = (uint16_t)(page_count - 1);
    return NULL;
  }
  if (clear) clear_dirty(span, chunk, page, end);
  *regretted = lm_bitmap_count(chunk->early_pages, page, end);
  if (*regretted != 0) lm_bitmap_clear(chunk->early_pages, page, end);
  *reused = use_pages(span, chunk, page, end);
  void *block = address_in_chunk(span, page);
  lm_region_set_block_pages(block, page_count);
  return block;
}

/* The length of the free run around [page, end), no further than matters. */
static size_t run_around(const struct lm_chunk *chunk, size_t page, size_t end) {
  size_t most = LM_CHUNK_RUN_MAX;
  size_t from = lm_bitmap_find_last(chunk->used_pages, page > most ? page - most : 0, page, 0);
  size_t to = lm_bitmap_find_set(chunk->used_pages, end, lm_min(end + most, lm_chunk_pages()));
  return to - from;
}

static void free_pages(struct lm_span *span, struct lm_chunk *chunk, size_t page, size_t end) {
  lm_bitmap_clear(chunk->used_pages, page, end);
  add_counts(span, chunk, -(int)(end - page), (int)(end - page));
  size_t run = run_around(chunk, page, end);
  if (run > chunk->run_limit) chunk->run_limit = capped_run(run);
}

size_t lm_chunk_give(struct lm_span *span, void *block) {
  size_t page = page_in_chunk(block), page_count = lm_region_block_pages(block);
  lm_region_set_block_pages(block, 0);
  free_pages(span, lm_chunk_of(block), page, page + page_count);
  return page_count;
}

bool lm_chunk_resize(struct lm_span *span, void *block, size_t page_count) {
  struct lm_chunk *chunk = lm_chunk_of(block);
  size_t page = page_in_chunk(block), old_end = page + lm_region_block_pages(block);
  size_t end = page + page_count;
  if (end > old_end) {
    if (end > lm_chunk_pages() || lm_bitmap_find_set(chunk->used_pages, old_end, end) != end ||
        !commit_free_pages(span, chunk, old_end, end))
      return false;
    lm_bitmap_clear(chunk->early_pages, old_end, end);
    use_pages(span, chunk, old_end, end);
  } else if (end < old_end) {
    free_pages(span, chunk, end, old_end);
  }
  lm_region_set_block_pages(block, page_count);
  return true;
}

/* ---- Purging ---- */

size_t lm_chunk_purge(struct lm_span *span, bool aged_only, size_t most) {
  struct lm_chunk *chunk = lm_chunk_of_span(span);
  const uint64_t *candidates = aged_only ? chunk->aged_pages : chunk->dirty_pages;
  const struct loam_page_provider *provider = lm_region_of(chunk)->provider;
  size_t end = lm_provider_purges(provider) ? lm_chunk_pages() : 0, purged = 0;
  for (size_t page = 0; purged < most && lm_load_relaxed(&chunk->dirty_count) != 0;) {
    size_t from = lm_bitmap_find_set(candidates, page, end);
    if (from == end) break;
    page = lm_bitmap_find_clear(chunk->used_pages, from, end);
    if (page != from) continue;
    size_t to = lm_bitmap_find_set(chunk->used_pages, from, end);
    page = to = lm_bitmap_find_clear(candidates, from, to);
    size_t bytes = (to - from) << lm_os.page_shift;
    if (lm_provider_purge(provider, address_in_chunk(span, from), bytes) != 0) continue;
    lm_bitmap_clear(chunk->dirty_pages, from, to);
    lm_bitmap_clear(chunk->aged_pages, from, to);
    if (!aged_only) lm_bitmap_set(chunk->early_pages, from, to);
    add_counts(span, chunk, 0, -(int)(to - from));
    purged += to - from;
  }
  return purged;
}

void lm_chunk_age(struct lm_span *span) {
  struct lm_chunk *chunk = lm_chunk_of_span(span);
  for (size_t w = 0; w < LM_BITMAP_WORDS(LM_CHUNK_MAX_PAGES); w++)
    chunk->aged_pages[w] = chunk->dirty_pages[w] & ~chunk->used_pages[w];
  memset(chunk->early_pages, 0, sizeof chunk->early_pages);
}

bool lm_chunk_is_free(const void *address) {
  return !lm_bitmap_test(lm_chunk_of(address)->used_pages, page_in_chunk(address));
}
