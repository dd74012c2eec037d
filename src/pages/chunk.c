#include "pages/chunk.h"

#include <string.h>

#include "os/panic.h"

static size_t page_in_chunk(const void *address) {
  return ((uintptr_t)address & (LM_CHUNK_BYTES - 1)) >> lm_os.page_shift;
}

static char *address_in_chunk(const struct lm_span *span, size_t page) {
  return lm_span_start(span) + (page << lm_os.page_shift);
}

/* ---- Free runs ---- */

#define CHUNK_WORDS LM_BITMAP_WORDS(LM_CHUNK_MAX_PAGES)
#define EVERY_BYTE UINT64_C(0x0101010101010101)
_Static_assert(CHUNK_WORDS == sizeof(uint64_t), "run_limits has a byte for each word");
_Static_assert(LM_CHUNK_RUN_MAX < 0x80, "a byte of run_limits has a bit to spare");

/* The free pages of word `w`; pages that a chunk does not have are used in its map. */
LM_INLINE uint64_t free_word(const struct lm_chunk *chunk, size_t w) {
  return w < CHUNK_WORDS ? ~chunk->used_pages[w] : 0;
}

LM_INLINE size_t run_limit_of_word(const struct lm_chunk *chunk, size_t w) {
  return (chunk->run_limits >> (w * 8)) & 0xff;
}

LM_INLINE void set_run_limit(struct lm_chunk *chunk, size_t w, size_t limit) {
  chunk->run_limits ^= (uint64_t)(run_limit_of_word(chunk, w) ^ limit) << (w * 8);
}

LM_INLINE void raise_run_limit(struct lm_chunk *chunk, size_t w, size_t limit) {
  if (run_limit_of_word(chunk, w) < limit) set_run_limit(chunk, w, limit);
}

/* The pages of word `w` at which `wanted` free pages begin, 1 to 64. */
LM_INLINE uint64_t run_starts(const struct lm_chunk *chunk, size_t w, size_t wanted) {
  /* A bit of `starts`, and of `more` above it: a run of `length` free pages begins there. */
  uint64_t starts = free_word(chunk, w), more = free_word(chunk, w + 1);
  for (size_t length = 1, step; length < wanted && starts != 0; length += step) {
    step = lm_min(length, wanted - length);
    starts &= starts >> step | more << (64 - step);
    more &= more >> step;
  }
  return starts;
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

/* The length of the longest run that begins in word `w`, LM_CHUNK_RUN_MAX at most. */
static size_t longest_run_from(const struct lm_chunk *chunk, size_t w) {
  uint64_t word = free_word(chunk, w), next = free_word(chunk, w + 1);
  if (word == ~(uint64_t)0) return LM_CHUNK_RUN_MAX;
  size_t last = (size_t)__builtin_clzll(~word); /* the run that the word ends with */
  if (last != 0) last += next == ~(uint64_t)0 ? 64 : (size_t)__builtin_ctzll(~next);
  return lm_min(longest_in_word(word, last), LM_CHUNK_RUN_MAX);
}

/* The lowest run of `wanted` free pages, 1 to LM_CHUNK_RUN_MAX, or LM_BITMAP_NONE. Words that
 * cannot have it are passed over; those that turn out not to are told apart from then on. */
static size_t find_run(struct lm_chunk *chunk, size_t wanted) {
  const uint64_t high_bits = EVERY_BYTE << 7;
  for (;;) {
    /* A byte's high bit stays if its limit is not below what is wanted. */
    uint64_t fitting = ((chunk->run_limits | high_bits) - wanted * EVERY_BYTE) & high_bits;
    if (LM_UNLIKELY(fitting == 0)) return LM_BITMAP_NONE;
    size_t w = (size_t)__builtin_ctzll(fitting) / 8;
    uint64_t starts = run_starts(chunk, w, wanted);
    if (LM_LIKELY(starts != 0)) return w * 64 + (size_t)__builtin_ctzll(starts);
    set_run_limit(chunk, w, longest_run_from(chunk, w));
  }
}

/* No longer run of free pages is in the chunk, as far as is known of its words. */
static uint16_t highest_run_limit(const struct lm_chunk *chunk) {
  size_t highest = 0;
  for (size_t w = 0; w < CHUNK_WORDS; w++) highest = lm_max(highest, run_limit_of_word(chunk, w));
  return (uint16_t)highest;
}

/* ---- Bits of a block's pages ---- */

/* A run of 1 to 64 pages: bits of one word of a map, and of the next. */
struct page_mask {
  size_t word;
  uint64_t low, high;
};

LM_INLINE struct page_mask page_mask_of(size_t page, size_t page_count) {
  uint64_t run = ~(uint64_t)0 >> (64 - page_count);
  size_t bit = page % 64;
  return (struct page_mask){page / 64, run << bit, run >> 1 >> (63 - bit)};
}

LM_INLINE void set_pages(uint64_t *map, const struct page_mask *mask) {
  map[mask->word] |= mask->low;
  if (mask->high != 0) map[mask->word + 1] |= mask->high;
}

LM_INLINE void clear_pages(uint64_t *map, const struct page_mask *mask) {
  map[mask->word] &= ~mask->low;
  if (mask->high != 0) map[mask->word + 1] &= ~mask->high;
}

/* How many of the mask's pages are set: mostly none, or all that it has. */
LM_INLINE size_t count_pages(const uint64_t *map, const struct page_mask *mask,
                             size_t page_count) {
  uint64_t low = map[mask->word] & mask->low;
  uint64_t high = mask->high != 0 ? map[mask->word + 1] & mask->high : 0;
  if ((low | high) == 0) return 0;
  if (low == mask->low && high == mask->high) return page_count;
  return lm_bit_count(low) + lm_bit_count(high);
}

static void add_counts(struct lm_span *span, struct lm_chunk *chunk, int used, int dirty) {
  uint32_t dirty_count = lm_load_relaxed(&chunk->dirty_count) + (uint32_t)dirty;
  span->used_count += (uint32_t)used;
  lm_store_relaxed(&chunk->used_count, span->used_count);
  lm_store_relaxed(&chunk->dirty_count, dirty_count);
  lm_assert((size_t)span->used_count + dirty_count <= lm_chunk_pages());
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

/* Marks up to 64 free pages as used, the first ones of a run; returns how many were dirty. */
static size_t use_pages(struct lm_span *span, struct lm_chunk *chunk, size_t page,
                        size_t page_count) {
  struct page_mask mask = page_mask_of(page, page_count);
  size_t reused = count_pages(chunk->dirty_pages, &mask, page_count);
  lm_assert(count_pages(chunk->used_pages, &mask, page_count) == 0);
  set_pages(chunk->used_pages, &mask);
  if (reused != page_count) set_pages(chunk->dirty_pages, &mask);
  if (reused != 0) clear_pages(chunk->aged_pages, &mask);
  add_counts(span, chunk, (int)page_count, -(int)reused);
  /* What is left of the run begins behind it. */
  size_t w = page / 64, end_word = (page + page_count) / 64;
  if (end_word != w && end_word < CHUNK_WORDS) {
    size_t limit = run_limit_of_word(chunk, w);
    if (limit < LM_CHUNK_RUN_MAX) limit -= page_count;
    raise_run_limit(chunk, end_word, limit);
  }
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
    chunk->run_limit = highest_run_limit(chunk);
    return NULL;
  }
  if (!commit_free_pages(span, chunk, page, end)) {
    chunk->run_limit = (uint16_t)(page_count - 1);
    return NULL;
  }
  if (clear) clear_dirty(span, chunk, page, end);
  struct page_mask mask = page_mask_of(page, page_count);
  *regretted = count_pages(chunk->early_pages, &mask, page_count);
  if (LM_UNLIKELY(*regretted != 0)) clear_pages(chunk->early_pages, &mask);
  *reused = use_pages(span, chunk, page, page_count);
  void *block = address_in_chunk(span, page);
  lm_region_set_block_pages(block, page_count);
  return block;
}

/* Where the free run begins that goes on before `page`, or `page`. */
static size_t run_begin(const struct lm_chunk *chunk, size_t page) {
  size_t w = page / 64;
  uint64_t used = chunk->used_pages[w] & (((uint64_t)1 << (page % 64)) - 1);
  while (used == 0 && w > 0) used = chunk->used_pages[--w];
  return used == 0 ? 0 : w * 64 + 64 - (size_t)__builtin_clzll(used);
}

/* Where the free run ends that goes on at `page`; no further than a run's length matters. */
static size_t run_end(const struct lm_chunk *chunk, size_t page) {
  size_t w = page / 64;
  if (w == CHUNK_WORDS) return page;
  uint64_t used = chunk->used_pages[w] & ~(uint64_t)0 << (page % 64);
  if (used == 0 && ++w < CHUNK_WORDS) used = chunk->used_pages[w];
  return used == 0 ? lm_min(w + 1, CHUNK_WORDS) * 64 : w * 64 + (size_t)__builtin_ctzll(used);
}

/* Frees up to 64 pages. */
static void free_pages(struct lm_span *span, struct lm_chunk *chunk, size_t page,
                       size_t page_count) {
  struct page_mask mask = page_mask_of(page, page_count);
  lm_assert(count_pages(chunk->used_pages, &mask, page_count) == page_count);
  clear_pages(chunk->used_pages, &mask);
  add_counts(span, chunk, -(int)page_count, (int)page_count);
  size_t begin = run_begin(chunk, page);
  size_t run = lm_min(run_end(chunk, page + page_count) - begin, LM_CHUNK_RUN_MAX);
  raise_run_limit(chunk, begin / 64, run);
  if (run > chunk->run_limit) chunk->run_limit = (uint16_t)run;
}

size_t lm_chunk_give(struct lm_span *span, void *block) {
  size_t page = page_in_chunk(block), page_count = lm_region_block_pages(block);
  lm_region_set_block_pages(block, 0);
  free_pages(span, lm_chunk_of(block), page, page_count);
  return page_count;
}

bool lm_chunk_resize(struct lm_span *span, void *block, size_t page_count, size_t *regretted) {
  struct lm_chunk *chunk = lm_chunk_of(block);
  size_t page = page_in_chunk(block), old_end = page + lm_region_block_pages(block);
  size_t end = page + page_count;
  *regretted = 0;
  if (end > old_end) {
    if (end > lm_chunk_pages() || lm_bitmap_find_set(chunk->used_pages, old_end, end) != end ||
        !commit_free_pages(span, chunk, old_end, end))
      return false;
    *regretted = lm_bitmap_count(chunk->early_pages, old_end, end);
    lm_bitmap_clear(chunk->early_pages, old_end, end);
    use_pages(span, chunk, old_end, end - old_end);
  } else if (end < old_end) {
    free_pages(span, chunk, end, old_end - end);
  }
  lm_region_set_block_pages(block, page_count);
  return true;
}

/* ---- Purging ---- */

/* Purges free pages of the map, which are dirty, until `most` or more are purged or the effort is
 * used up. */
static size_t purge_in_map(struct lm_span *span, const uint64_t *map, size_t most,
                           size_t *effort) {
  struct lm_chunk *chunk = lm_chunk_of_span(span);
  const struct lm_region *region = lm_region_of(chunk);
  const struct loam_page_provider *provider = region->provider;
  size_t end = lm_provider_purges(provider) ? lm_chunk_pages() : 0, purged = 0;
  for (size_t page = 0; purged < most && *effort != 0;) {
    if (lm_load_relaxed(&chunk->dirty_count) == 0) break;
    size_t from = lm_bitmap_find_set(map, page, end);
    if (from == end) break;
    page = lm_bitmap_find_clear(chunk->used_pages, from, end);
    if (page != from) continue;
    size_t to = lm_bitmap_find_set(chunk->used_pages, from, end);
    page = to = lm_provider_purge_end(map, chunk->dirty_pages, from, to, region->decommits);
    size_t bytes = (to - from) << lm_os.page_shift;
    size_t count = lm_bitmap_count(chunk->dirty_pages, from, to);
    lm_spend_effort(effort, count + LM_PURGE_CALL_EFFORT);
    lm_bitmap_clear(chunk->aged_pages, from, to); /* tried once in a round */
    if (lm_provider_purge(provider, address_in_chunk(span, from), bytes) != 0) continue;
    if (map == chunk->dirty_pages)
      lm_bitmap_add(chunk->early_pages, chunk->dirty_pages, from, to);
    lm_bitmap_clear(chunk->dirty_pages, from, to);
    add_counts(span, chunk, 0, -(int)count);
    purged += count;
  }
  return purged;
}

size_t lm_chunk_purge(struct lm_span *span, size_t most, size_t *effort) {
  return purge_in_map(span, lm_chunk_of_span(span)->dirty_pages, most, effort);
}

bool lm_chunk_age(struct lm_span *span, size_t *effort) {
  struct lm_chunk *chunk = lm_chunk_of_span(span);
  purge_in_map(span, chunk->aged_pages, SIZE_MAX, effort);
  if (*effort == 0) return false;
  for (size_t w = 0; w < LM_BITMAP_WORDS(LM_CHUNK_MAX_PAGES); w++)
    chunk->aged_pages[w] = chunk->dirty_pages[w] & ~chunk->used_pages[w];
  memset(chunk->early_pages, 0, sizeof chunk->early_pages);
  return true;
}

bool lm_chunk_is_free(const void *address) {
  return !lm_bitmap_test(lm_chunk_of(address)->used_pages, page_in_chunk(address));
}
