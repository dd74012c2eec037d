#include "central/holes.h"

#include "central/span_life.h"
#include "central/spans.h"
#include "config/options.h"
#include "os/panic.h"
#include "pages/pool_take.h"

static size_t bytes_of_blocks(const struct lm_span *span) {
  return lm_classes[span->class_index].block_bytes;
}

/* The carved blocks that reach onto pages [from, to): [first, end). */
struct block_range {
  size_t first, end;
};
static struct block_range blocks_on(const struct lm_span *span, size_t from, size_t to) {
  size_t block_bytes = bytes_of_blocks(span);
  size_t end = ((to << lm_os.page_shift) - 1) / block_bytes + 1;
  return (struct block_range){(from << lm_os.page_shift) / block_bytes,
                              lm_min(end, span->extended_count)};
}

/* The pages onto which a block reaches, as bits. */
static uint64_t pages_of_block(const struct lm_span *span, size_t index) {
  size_t block_bytes = bytes_of_blocks(span);
  return lm_bitmap_mask(0, index * block_bytes >> lm_os.page_shift,
                        lm_pages_of((index + 1) * block_bytes));
}

/* Calls for each run of pages in the set: [from, to). */
#define FOR_EACH_RUN(pages, from, to)                                                  \
  for (size_t from = lm_bitmap_find_set(&(pages), 0, 64),                              \
              to = lm_bitmap_find_clear(&(pages), from, 64);                           \
       from < 64; from = lm_bitmap_find_set(&(pages), to, 64),                         \
              to = lm_bitmap_find_clear(&(pages), from, 64))

/* Free blocks, on the list or in holes. Returns the list's last one. */
static struct lm_block *find_free(const struct lm_span *span, struct lm_block *list,
                                  lm_block_set is_free) {
  FOR_EACH_RUN(span->hole_pages, from, to) {
    struct block_range range = blocks_on(span, from, to);
    lm_bitmap_set(is_free, range.first, range.end);
  }
  return lm_span_mark_listed(span, list, is_free);
}

/* Pages with carved blocks only, all of them free; of which no more will be carved. */
static uint64_t find_empty_pages(const struct lm_span *span, const lm_block_set is_free) {
  uint64_t pages = 0;
  size_t carved_bytes = span->extended_count * bytes_of_blocks(span);
  bool whole = span->extended_count == span->capacity;
  size_t end = whole ? lm_pages_of(carved_bytes) : carved_bytes >> lm_os.page_shift;
  for (size_t page = 0; page < end; page++) {
    struct block_range range = blocks_on(span, page, page + 1);
    if (lm_bitmap_find_clear(is_free, range.first, range.end) == range.end)
      pages |= (uint64_t)1 << page;
  }
  return pages;
}

/* Pages that were used before the span began, and of which no block has been carved. */
static uint64_t find_unused_pages(const struct lm_span *span) {
  return span->dirty_pages & ~lm_span_carved_pages(span);
}

/* Gives pages back, and returns those of which the system has taken. */
static uint64_t purge_pages(struct lm_span *span, uint64_t pages, size_t *effort) {
  char *start = lm_span_start(span);
  uint64_t given = 0;
  FOR_EACH_RUN(pages, from, to) {
    lm_spend_effort(effort, LM_PURGE_CALL_EFFORT + (to - from));
    if (lm_pool_purge_unused(start + (from << lm_os.page_shift), start + (to << lm_os.page_shift)))
      given |= lm_bitmap_mask(0, from, to);
  }
  return given;
}

/* ---- A span that is away ---- */

/* What its free blocks are, while others may put more. */
struct away {
  struct lm_span *span;
  struct lm_block *first, *last; /* its list, or LM_NO_BLOCK */
  size_t listed_count, hole_count; /* blocks; of all holes */
  uint64_t hole_pages, given_pages;
};

/* Takes the span off its list. The lock is held. */
static void take_away(struct lm_span *span, struct away *away) {
  struct lm_central_class *class = &span->central->classes[span->class_index];
  *away = (struct away){.span = span,
                        .first = span->free_list,
                        .last = LM_NO_BLOCK,
                        .listed_count = lm_span_listed_count(span),
                        .hole_count = span->hole_block_count,
                        .hole_pages = span->hole_pages};
  lm_assert(away->listed_count <= class->free_count);
  class->free_count -= (uint32_t)away->listed_count;
  if (class->kept == span) class->kept = NULL;
  lm_span_list_remove(lm_central_list_of(span), span);
  span->free_list = LM_NO_BLOCK;
  span->state = LM_SPAN_AWAY;
  span->central->away_count++;
}

/* Puts it where it belongs. The lock is held. */
static void bring_back(struct away *away, struct lm_span **ended) {
  struct lm_span *span = away->span;
  struct lm_central_class *class = &span->central->classes[span->class_index];
  lm_assert(span->state == LM_SPAN_AWAY && span->central->away_count != 0);
  span->central->away_count--;
  span->hole_pages = away->hole_pages;
  span->hole_block_count = (uint16_t)away->hole_count;
  span->dirty_pages &= ~away->given_pages;
  if (away->first != LM_NO_BLOCK) {
    lm_block_link(away->last, span->free_list);
    span->free_list = away->first;
  }
  class->free_count += (uint32_t)away->listed_count;
  lm_central_list_span(span->central, span, true, ended);
  if (span->state == LM_SPAN_AWAY) return; /* it is to end */
  lm_span_list_remove(lm_central_list_of(span), span);
  lm_span_list_push_back(lm_central_list_of(span), span);
}

/* Links the free blocks in the order of their addresses, but for those of holes. */
static void link_free(struct away *away, const lm_block_set is_free) {
  const struct lm_span *span = away->span;
  size_t block_bytes = bytes_of_blocks(span), listed_count = 0, hole_count = 0;
  char *start = lm_span_start(span);
  struct lm_block *last = NULL;
  for (size_t index = lm_bitmap_find_set(is_free, 0, span->extended_count);
       index < span->extended_count;
       index = lm_bitmap_find_set(is_free, index + 1, span->extended_count)) {
    if ((pages_of_block(span, index) & away->hole_pages) != 0) {
      hole_count++;
      continue;
    }
    struct lm_block *block = (struct lm_block *)(start + index * block_bytes);
    if (last == NULL) away->first = block;
    else lm_block_link(last, block);
    last = block;
    listed_count++;
  }
  if (last == NULL) away->first = LM_NO_BLOCK;
  else lm_block_link(last, LM_NO_BLOCK);
  away->last = last;
  away->listed_count = listed_count;
  away->hole_count = hole_count;
}

/* Each free block may cost a cache miss, so many as much as a page that is purged. */
#define BLOCKS_PER_EFFORT 8

/* Makes the holes of a span that is away. Returns how many pages went. */
static size_t make_holes(struct away *away, size_t *effort) {
  lm_block_set is_free = {0};
  struct lm_span *span = away->span;
  lm_assert(span->state == LM_SPAN_AWAY);
  lm_spend_effort(effort, away->listed_count / BLOCKS_PER_EFFORT + 1);
  away->last = find_free(span, away->first, is_free);
  uint64_t empty = find_empty_pages(span, is_free) & ~away->hole_pages;
  uint64_t unused = find_unused_pages(span);
  if ((empty | unused) == 0) return 0;
  away->given_pages = purge_pages(span, empty | unused, effort);
  lm_assert((away->given_pages & ~(empty | unused)) == 0);
  away->hole_pages |= away->given_pages & empty;
  size_t free_count = away->listed_count + away->hole_count;
  link_free(away, is_free);
  lm_assert(away->listed_count + away->hole_count == free_count);
  (void)free_count;
  return (size_t)lm_bit_count(away->given_pages);
}

/* The same of a span that is on a list of a central whose lock is held, and given up meanwhile. */
LM_LOCKS_UNCHECKED static size_t make_holes_in(struct lm_central *central, struct lm_span *span,
                                               size_t *effort) {
  struct away away;
  struct lm_span *ended = NULL;
  take_away(span, &away);
  lm_lock_free(&central->lock);
  size_t page_count = make_holes(&away, effort);
  lm_lock_take(&central->lock);
  span->changed &= (uint8_t)~LM_CHANGED_SINCE_HOLES;
  bring_back(&away, &ended);
  lm_lock_free(&central->lock);
  lm_central_end_all(ended);
  lm_lock_take(&central->lock);
  return page_count;
}

#define QUIET_WAIT_MAX 64 /* looks */

/* Makes pages of a hole accessible, where a purge decommits. */
static bool commit_hole(const struct lm_span *span, uint64_t pages) {
  const struct lm_region *region = lm_region_of(span);
  if (LM_LIKELY(!region->decommits)) return true;
  FOR_EACH_RUN(pages, from, to) {
    char *start = lm_span_start(span) + (from << lm_os.page_shift);
    if (lm_provider_commit(region->provider, start, (to - from) << lm_os.page_shift) != 0)
      return false;
  }
  return true;
}

bool lm_holes_fill(struct lm_span *span) {
  lm_assert(span->hole_pages != 0);
  if (span->quiet_looks > span->quiet_wait) { /* the first since looks have made them */
    span->quiet_looks = 0;
    span->quiet_wait = (uint8_t)lm_min(span->quiet_wait * 2 + 1, QUIET_WAIT_MAX);
  }
  size_t page = (size_t)__builtin_ctzll(span->hole_pages);
  uint64_t filled = pages_of_block(span, blocks_on(span, page, page + 1).first);
  filled = (filled | (uint64_t)1 << page) & span->hole_pages;
  if (!commit_hole(span, filled)) return false;
  span->hole_pages &= ~filled;
  size_t last = 63 - (size_t)__builtin_clzll(filled);
  struct block_range range = blocks_on(span, page, last + 1);
  for (size_t index = range.end; index-- > range.first;) {
    uint64_t pages = pages_of_block(span, index);
    if ((pages & filled) == 0 || (pages & span->hole_pages) != 0) continue;
    char *start = lm_span_start(span) + index * bytes_of_blocks(span);
    struct lm_block *block = (struct lm_block *)start;
    lm_block_link(block, span->free_list);
    span->free_list = block;
    lm_assert(span->hole_block_count != 0);
    span->hole_block_count--;
    span->central->classes[span->class_index].free_count++;
  }
  return true;
}

/* ---- By the clock ---- */

/* A span of which less is free has hardly a page without a block. */
#define SPARSE_FRACTION 4

static bool is_sparse(const struct lm_span *span) {
  size_t free_count = (size_t)span->extended_count - span->used_count;
  return free_count * SPARSE_FRACTION >= span->extended_count || find_unused_pages(span) != 0;
}

/* Whether the span's holes are to be made: nothing has changed in it for some looks. */
static bool is_quiet(struct lm_span *span) {
  bool quiet = (span->changed & LM_CHANGED_SINCE_LOOK) == 0;
  bool waits = !lm_pressed(LM_PRESSURE_MUCH);
  span->changed &= (uint8_t)~LM_CHANGED_SINCE_LOOK;
  if (!quiet) span->quiet_looks = 0;
  if (!quiet || (span->changed & LM_CHANGED_SINCE_HOLES) == 0 || !is_sparse(span)) return false;
  if (span->quiet_looks < span->quiet_wait && waits) {
    span->quiet_looks++;
    return false;
  }
  span->quiet_looks = (uint8_t)(span->quiet_wait + 1);
  return true;
}

/* As if its holes had been made. */
static void pass_by(struct lm_span *span) {
  span->changed = 0;
  span->quiet_looks = (uint8_t)(span->quiet_wait + 1);
}

/* Looked at before others get the lock. */
#define LOOKS_AT_ONCE 32

/* Adds to `*page_count`. */
static bool look_in(struct lm_central *central, struct lm_span_list *list, uint16_t round,
                    enum lm_holes_kind kind, size_t *effort, size_t *page_count) {
  struct lm_span *span;
  bool more = true;
  lm_lock_take(&central->lock);
  for (size_t i = 1; *effort != 0; i++) {
    more = (span = list->first) != NULL && span->look_round != round;
    if (!more) break;
    span->look_round = round;
    lm_span_list_remove(list, span);
    lm_span_list_push_back(list, span);
    lm_spend_effort(effort, 1);
    bool due = kind == LM_HOLES_ALL ? (span->changed & LM_CHANGED_SINCE_HOLES) != 0
                                    : kind == LM_HOLES_DUE && is_quiet(span);
    if (kind == LM_HOLES_NONE) pass_by(span);
    if (due && lm_provider_purges(lm_region_of(span)->provider))
      *page_count += make_holes_in(central, span, effort);
    if (i % LOOKS_AT_ONCE == 0) {
      lm_lock_free(&central->lock);
      lm_lock_take(&central->lock);
    }
  }
  lm_lock_free(&central->lock);
  return more;
}

bool lm_holes_look(struct lm_central *central, size_t class_index, uint16_t round,
                   enum lm_holes_kind kind, size_t *effort, size_t *page_count) {
  struct lm_central_class *class = &central->classes[class_index];
  if (kind != LM_HOLES_ALL && LM_OPTION(holes) != LM_HOLES_ON) return false;
  return look_in(central, &class->usable, round, kind, effort, page_count) ||
         look_in(central, &class->roomy, round, kind, effort, page_count);
}
