#include "heap/holes.h"

#include "config/options.h"
#include "heap/span_life.h"
#include "os/panic.h"

/* A bit for each block of a span. */
typedef uint64_t block_set[LM_BITMAP_WORDS(LM_SPAN_BLOCKS_MAX)];

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

/* Free blocks, on the list or in holes. */
static void find_free(const struct lm_span *span, block_set is_free) {
  size_t block_bytes = bytes_of_blocks(span);
  const char *start = lm_span_start(span);
  const struct lm_block *block = span->free_list;
  for (; lm_is_block(block); block = lm_block_next(block)) {
    size_t index = (size_t)((const char *)block - start) / block_bytes;
    lm_bitmap_set(is_free, index, index + 1);
  }
  FOR_EACH_RUN(span->hole_pages, from, to) {
    struct block_range range = blocks_on(span, from, to);
    lm_bitmap_set(is_free, range.first, range.end);
  }
}

/* Pages with carved blocks only, all of them free; of which no more will be carved. */
static uint64_t find_empty_pages(const struct lm_span *span, const block_set is_free) {
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

/* Links the free blocks that reach onto no hole, in the order of their addresses. */
static void link_free(struct lm_span *span, const block_set is_free) {
  size_t block_bytes = bytes_of_blocks(span), hole_count = 0;
  char *start = lm_span_start(span);
  struct lm_block *last = NULL;
  size_t index = lm_bitmap_find_set(is_free, 0, span->extended_count);
  for (; index < span->extended_count;
       index = lm_bitmap_find_set(is_free, index + 1, span->extended_count)) {
    if ((pages_of_block(span, index) & span->hole_pages) != 0) {
      hole_count++;
      continue;
    }
    struct lm_block *block = (struct lm_block *)(start + index * block_bytes);
    if (last == NULL) span->free_list = block;
    else lm_block_link(last, block);
    last = block;
  }
  if (last == NULL) span->free_list = LM_NO_BLOCK;
  else lm_block_link(last, LM_NO_BLOCK);
  span->hole_block_count = (uint16_t)hole_count;
}

/* Each free block may cost a cache miss, so many as much as a page that is purged. */
#define BLOCKS_PER_EFFORT 8

size_t lm_holes_make(struct lm_span *span, size_t *effort) {
  block_set is_free = {0};
  if (span->free_list == LM_NO_BLOCK || lm_region_of(span)->decommits) return 0;
  lm_spend_effort(effort, (span->extended_count - span->used_count) / BLOCKS_PER_EFFORT);
  find_free(span, is_free);
  uint64_t empty = find_empty_pages(span, is_free) & ~span->hole_pages;
  if (empty == 0) return 0;
  uint64_t given = purge_pages(span, empty, effort);
  span->hole_pages |= given;
  span->dirty_pages &= ~given;
  span->written_pages &= ~given;
  link_free(span, is_free);
  return (size_t)lm_bit_count(given);
}

#define QUIET_WAIT_MAX 64 /* looks */

bool lm_holes_fill(struct lm_span *span) {
  if (span->hole_pages == 0) return false;
  if (span->quiet_looks > span->quiet_wait) { /* the first since looks have made them */
    span->quiet_looks = 0;
    span->quiet_wait = (uint8_t)lm_min(span->quiet_wait * 2 + 1, QUIET_WAIT_MAX);
  }
  size_t page = (size_t)__builtin_ctzll(span->hole_pages);
  uint64_t filled = pages_of_block(span, blocks_on(span, page, page + 1).first);
  filled = (filled | (uint64_t)1 << page) & span->hole_pages;
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
  }
  return true;
}

/* ---- All of a heap's ---- */

size_t lm_holes_make_in(const struct lm_span_list *list) {
  size_t page_count = 0, effort = SIZE_MAX;
  for (struct lm_span *span = list->first; span != NULL; span = span->next)
    page_count += lm_holes_make(span, &effort);
  return page_count;
}

size_t lm_holes_make_all(struct lm_heap *heap) {
  size_t page_count = 0, effort = SIZE_MAX;
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    if (heap->current[i] != NULL) page_count += lm_holes_make(heap->current[i], &effort);
    page_count += lm_holes_make_in(&heap->usable[i]) + lm_holes_make_in(&heap->full[i]);
  }
  return page_count;
}

/* ---- By the clock ---- */

/* A span of which less is free has hardly a page without a block. */
#define SPARSE_FRACTION 4
/* So much effort looks, each of which takes 1, and holes may take: some 5 percent of the time, of a
 * while at most. */
#define CREDIT_PER_MS 256
#define CREDIT_MAX_MS 2000

void lm_holes_begin_round(struct lm_holes *holes) {
  holes->goes_on = LM_OPTION(purge_delay_ms) != 0 && LM_OPTION(holes) == LM_HOLES_ON;
  holes->class_index = 1;
  holes->sparse_count = 0;
  holes->round++;
}

/* As if its holes had been made. */
static void pass_by(struct lm_span *span) {
  span->used_count_seen = (uint16_t)span->used_count;
  span->quiet_looks = (uint8_t)(span->quiet_wait + 1);
}

/* Makes the span's holes if what is used has not changed for some looks. Returns whether a later
 * look may. */
static bool look(struct lm_span *span, size_t *effort) {
  size_t free_count = (size_t)span->extended_count - span->used_count;
  bool some = span->free_list != LM_NO_BLOCK;
  bool sparse = some && free_count >= span->extended_count / SPARSE_FRACTION;
  bool quiet = span->used_count_seen == span->used_count;
  span->used_count_seen = (uint16_t)span->used_count;
  if (!quiet) span->quiet_looks = 0;
  if (!quiet || !sparse) return sparse;
  bool waits = !lm_pressed(LM_PRESSURE_MUCH);
  if (span->quiet_looks > span->quiet_wait && waits) return false; /* they have been made */
  if (span->quiet_looks++ < span->quiet_wait && waits) return true;
  lm_holes_make(span, effort);
  return false;
}

void lm_holes_look(struct lm_holes *holes, struct lm_span_list *list, size_t *effort) {
  struct lm_span *span;
  while (*effort > 0 && (span = list->first) != NULL && span->look_round != holes->round) {
    span->look_round = holes->round;
    lm_spend_effort(effort, 1);
    lm_span_list_remove(list, span);
    lm_span_list_push_back(list, span);
    if (LM_UNLIKELY(holes->inherits)) pass_by(span);
    else if (look(span, effort)) holes->sparse_count++;
  }
}

void lm_holes_earn(struct lm_holes *holes, uint64_t elapsed_ms) {
  size_t earned = (size_t)lm_min(elapsed_ms, CREDIT_MAX_MS) * CREDIT_PER_MS;
  holes->credit = lm_min(holes->credit + earned, CREDIT_MAX_MS * CREDIT_PER_MS);
  if (lm_pressed(LM_PRESSURE_MUCH) && !holes->goes_on) lm_holes_begin_round(holes);
}

/* In the child a round begins that passes by all there is. */
static void notice_fork(struct lm_holes *holes) {
  uint32_t copy_number = lm_os_copy_number();
  if (LM_LIKELY(holes->copy_number == copy_number)) return;
  holes->inherits = holes->copy_number != 0;
  holes->copy_number = copy_number;
  if (holes->inherits) lm_holes_begin_round(holes);
}

bool lm_holes_go_on(struct lm_holes *holes, lm_holes_looker *look_in_class, void *owner,
                    size_t *effort) {
  if (!lm_holes_may_go_on(holes)) return false;
  notice_fork(holes);
  bool saves = lm_pressed(LM_PRESSURE_MUCH);
  size_t most = saves ? *effort : lm_min(holes->credit, *effort), left = most;
  for (; holes->class_index < LM_HOLES_CLASSES; holes->class_index++) {
    look_in_class(owner, holes->class_index, &left);
    if (left == 0) break;
  }
  holes->goes_on = holes->class_index < LM_HOLES_CLASSES;
  holes->inherits &= holes->goes_on;
  holes->credit -= lm_min(holes->credit, most - left);
  lm_spend_effort(effort, most - left);
  return lm_holes_may_go_on(holes);
}

static void look_in_class_of_heap(void *owner, size_t class_index, size_t *effort) {
  struct lm_heap *heap = owner;
  lm_holes_look(&heap->holes, &heap->usable[class_index], effort);
}

bool lm_holes_go_on_in_heap(struct lm_heap *heap, size_t *effort) {
  return lm_holes_go_on(&heap->holes, look_in_class_of_heap, heap, effort);
}

/* ---- By growth ---- */

#define GROWTH_FRACTION 8
#define GROWTH_MIN_SLICES ((size_t)64)
#define CREDIT_PER_SLICE 128 /* about what the holes of one take */

void lm_holes_note_growth(struct lm_heap *heap, size_t slice_count) {
  struct lm_holes *holes = &heap->holes;
  if (holes->goes_on) holes->credit += slice_count * CREDIT_PER_SLICE;
  if (heap->slice_count < lm_max(holes->growth_slices, GROWTH_MIN_SLICES)) return;
  holes->growth_slices =
      heap->slice_count + lm_max(heap->slice_count / GROWTH_FRACTION, GROWTH_MIN_SLICES);
  if (!holes->goes_on) lm_holes_begin_round(holes);
}
