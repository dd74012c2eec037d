/* A span's beginning, growth and end. Blocks are carved a page at a time, in the order of their
 * addresses, as they are asked for: a program touches no page before it has a use for it. */
#include "central/span_life.h"

#include "central/central.h"
#include "os/misuse.h"
#include "os/panic.h"
#include "pages/pool_take.h"

/* ---- Guards ---- */

#if LM_HARDENED_GUARDS

static char *guard_page(const struct lm_span *span) {
  return lm_span_start(span) + ((size_t)span->slice_count << LM_SLICE_SHIFT) - lm_os.page_bytes;
}

static void guard(struct lm_span *span) {
  size_t block_bytes = lm_classes[span->class_index].block_bytes;
  char *page = guard_page(span);
  size_t count = (size_t)(page - lm_span_start(span)) / block_bytes;
  bool dear = count + span->capacity / LM_SPAN_GUARD_FRACTION < span->capacity;
  span->guarded = false;
  if (dear || lm_region_of(span)->provider != NULL || lm_os_guard(page, lm_os.page_bytes) != 0)
    return;
  span->capacity = (uint16_t)lm_min(count, span->capacity);
  span->guarded = true;
}

static void unguard(struct lm_span *span) {
  if (span->guarded) lm_os_unguard(guard_page(span), lm_os.page_bytes);
  span->guarded = false;
}

#else

static void guard(struct lm_span *span) { (void)span; }
static void unguard(struct lm_span *span) { (void)span; }

#endif

/* ---- Begin and end ---- */

struct lm_span *lm_span_begin(struct lm_central *central, size_t class_index) {
  const struct lm_class *class = &lm_classes[class_index];
  uint64_t dirty_pages;
  char *start = lm_pool_take_slices(central->pool, class->slice_count, &dirty_pages);
  if (start == NULL) return NULL;
  struct lm_span *span = lm_span_record_of(start);
  lm_assert(span->state == LM_SPAN_NONE);
  for (size_t i = 0; i < class->slice_count; i++) span[i].head_distance = (uint8_t)i;
  span->free_list = LM_NO_BLOCK;
  span->next = span->previous = NULL;
  span->central = central;
  span->dirty_pages = dirty_pages;
  span->hole_pages = 0;
  span->used_count = span->extended_count = 0;
  span->capacity = class->block_count;
  span->class_index = (uint8_t)class_index;
  span->slice_count = class->slice_count;
  span->hole_block_count = span->committed_count = span->unsorted_count = 0;
  span->changed = LM_CHANGED;
  span->look_round = span->quiet_looks = span->quiet_wait = 0;
  span->state = LM_SPAN_AWAY;
  guard(span);
  lm_span_set_tag(span, central->tag_bits | (uint32_t)class_index);
  return span;
}

void lm_span_end(struct lm_span *span) {
  lm_assert(span->state != LM_SPAN_NONE && span->head_distance == 0);
  unguard(span);
  lm_span_set_tag(span, 0);
  span->state = LM_SPAN_NONE;
  uint64_t written = lm_span_carved_pages(span);
  if (lm_region_of(span)->decommits) {
    size_t bytes = (size_t)span->committed_count * lm_classes[span->class_index].block_bytes;
    written |= lm_bitmap_mask(0, 0, lm_min(lm_pages_of(bytes), 64));
  }
  uint64_t dirty = span->dirty_pages | (written & ~span->hole_pages);
  lm_pool_give_slices(lm_span_start(span), span->slice_count, dirty);
}

/* ---- Free blocks ---- */

struct lm_block *lm_span_mark_listed(const struct lm_span *span, struct lm_block *list,
                                     lm_block_set is_free) {
  size_t block_bytes = lm_classes[span->class_index].block_bytes;
  const char *start = lm_span_start(span);
  struct lm_block *last = LM_NO_BLOCK;
  for (struct lm_block *block = list; block != LM_NO_BLOCK; block = lm_block_next(block)) {
    size_t index = ((uintptr_t)block - (uintptr_t)start) / block_bytes;
    if (LM_UNLIKELY(!lm_is_block(block) || index >= span->extended_count))
      lm_misuse_broken_link(block_bytes);
    if (LM_UNLIKELY(lm_bitmap_test(is_free, index))) lm_misuse_double_free(block, NULL);
    lm_bitmap_set(is_free, index, index + 1);
    last = block;
  }
  return last;
}

void lm_span_sort_listed(struct lm_span *span) {
  size_t block_bytes = lm_classes[span->class_index].block_bytes;
  char *start = lm_span_start(span);
  lm_block_set is_free = {0};
  lm_span_mark_listed(span, span->free_list, is_free);
  span->free_list = LM_NO_BLOCK;
  span->unsorted_count = 0;
  for (size_t word = LM_BITMAP_WORDS(span->extended_count); word-- > 0;)
    for (uint64_t left = is_free[word]; left != 0;) {
      size_t bit = 63 - (size_t)__builtin_clzll(left);
      struct lm_block *block = (struct lm_block *)(start + (64 * word + bit) * block_bytes);
      lm_block_link(block, span->free_list);
      span->free_list = block;
      left &= ~((uint64_t)1 << bit);
    }
}

/* ---- Carving ---- */

#define CARVE_FRESH_BYTES 4096
#define CARVE_USED_BYTES (16 * LM_KIB) /* at once, so that no call pays for all */

/* Whether all pages of the bytes at `offset`, which were never carved, read as zero. */
static bool reads_as_zero(const struct lm_span *span, size_t offset, size_t bytes) {
  size_t from = offset >> lm_os.page_shift, to = lm_pages_of(offset + bytes);
  return (span->dirty_pages & lm_bitmap_mask(0, from, to)) == 0;
}

/* How many blocks to carve next, at `offset`. A fresh page costs a fault when it is first written
 * to: the first block in it goes alone and the others up to its end with the next call, so that
 * not malloc but who uses the block has the fault. */
static size_t carve_count(const struct lm_span *span, size_t offset, size_t block_bytes) {
  if ((span->dirty_pages >> (offset >> lm_os.page_shift) & 1) != 0)
    return lm_max(CARVE_USED_BYTES / block_bytes, 1);
  size_t offset_in_page = offset & (CARVE_FRESH_BYTES - 1);
  if (offset_in_page < block_bytes) return 1;
  return lm_max((CARVE_FRESH_BYTES - offset_in_page) / block_bytes, 1);
}

/* Where a purge decommits: makes the pages accessible that blocks up to `limit` are carved of. */
static bool commit_blocks(struct lm_span *span, size_t limit) {
  const struct lm_region *region = lm_region_of(span);
  if (LM_LIKELY(!region->decommits) || limit <= span->committed_count) return true;
  size_t block_bytes = lm_classes[span->class_index].block_bytes;
  /* A page that blocks were carved of has been committed whole, and is not committed again. */
  size_t from = lm_align_up(span->committed_count * block_bytes, lm_os.page_bytes);
  size_t to = lm_align_up(limit * block_bytes, lm_os.page_bytes);
  if (from != to &&
      lm_provider_commit(region->provider, lm_span_start(span) + from, to - from) != 0)
    return false;
  span->committed_count = (uint16_t)limit;
  return true;
}

/* Links the blocks behind the first that has just been carved; in a hardened build in random order.
 */
static struct lm_block *link_carved(struct lm_span *span, char *first, size_t count,
                                    size_t block_bytes) {
  struct lm_block *next = LM_NO_BLOCK;
#if LM_HARDENED_ORDER
  uint16_t order[CARVE_USED_BYTES / LM_GRANULE_BYTES];
  for (size_t i = 1; i < count; i++) {
    size_t other = 1 + lm_central_random(span->central) % i;
    if (other != i) order[i] = order[other];
    order[other] = (uint16_t)i;
  }
  for (size_t i = count; i-- > 1;) {
    struct lm_block *block = (struct lm_block *)(first + order[i] * block_bytes);
    lm_block_link(block, next);
    next = block;
  }
#else
  (void)span;
  for (size_t i = count; i-- > 1;) {
    struct lm_block *block = (struct lm_block *)(first + i * block_bytes);
    lm_block_link(block, next);
    next = block;
  }
#endif
  return next;
}

size_t lm_span_carve(struct lm_span *span, size_t most, struct lm_block **rest, bool *zero) {
  size_t block_bytes = lm_classes[span->class_index].block_bytes;
  size_t offset = span->extended_count * block_bytes;
  lm_assert(lm_span_has_room(span));
  size_t count = lm_min(carve_count(span, offset, block_bytes), most);
  count = lm_min(count, (size_t)(span->capacity - span->extended_count));
  if (!commit_blocks(span, span->extended_count + count)) return 0;
  *zero = reads_as_zero(span, offset, block_bytes);
  *rest = link_carved(span, lm_span_start(span) + offset, count, block_bytes);
  span->extended_count = (uint16_t)(span->extended_count + count);
  span->used_count = (uint16_t)(span->used_count + count);
  lm_assert(span->extended_count <= span->capacity);
  lm_assert(span->used_count <= span->extended_count);
  span->changed = LM_CHANGED;
  return count;
}
