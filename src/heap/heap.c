/* The heap's slow paths: where a bin's blocks come from and where a span's go. */
#include "heap/heap.h"

#include "heap/bins.h"
#include "heap/budget.h"
#include "heap/holes.h"
#include "heap/inspect.h"
#include "heap/large_cache.h"
#include "heap/middle.h"
#include "heap/orphan.h"
#include "heap/remote.h"
#include "heap/span_life.h"
#include "heap/spares.h"
#include "heap/transfer.h"
#include "heap/visit.h"
#include "heap/watch.h"
#include "os/panic.h"
#include "pages/meta.h"

struct lm_heap lm_empty_heap = {
    .bins = {[0 ... LM_BIN_COUNT - 1] = LM_NO_BLOCK},
    .tag = LM_TAG_NO_HEAP, .free_tag = LM_TAG_NO_HEAP, .pool = &lm_pools[0],
    .visits = {.entered = 1}}; /* nobody enters it alone */

_Static_assert(offsetof(struct lm_heap, middle) + offsetof(struct lm_middle, cached) <=
                   LM_META_PAGE_BYTES,
               "what a thread with a few small blocks needs is on the first page");

/* Reading the clock costs as much as the rest of a refill, so that only some look at it. */
#define REFILLS_PER_TICK 8

/* So many parts of the inbox are looked through for a block before the heap grows, and one more for
 * each time that it has grown while messages waited: no call pays for hundreds of messages at once,
 * and yet they do not pile up. */
#define PARTS_PER_REFILL 2

/* A span grows by a page, by more where pages were used before, and later by a quarter of what it
 * has: by then its class is in demand, and for so long no other blocks are looked for. */
#define CARVE_FRESH_BYTES 4096
#define CARVE_USED_BYTES (16 * LM_KIB)
#define CARVE_AT_ONCE_BYTES (8 * LM_KIB) /* so that no call pays for all */
#define EXTEND_FRACTION 4

/* A spare of blocks up to this is carved anew: its list has them in the order in which they were
 * freed, in which malloc would meet a cache miss with each. */
#define RECARVED_MAX_BYTES 512

/* A class borrows so much, or so many blocks, before it gets its first span, which costs a page at
 * least. */
#define BORROW_BYTES 4096
#define BORROW_MIN_COUNT 4
/* A class up to this, which is at most half a page, borrows its first blocks of one that is further
 * above it. */
#define STARTER_MAX_BYTES 2048

/* A heap of more slices has a sentinel, if it can: a span of a class whose bin is not bounded, and
 * whose own blocks go into it. When a quarter of it is left, the program may be about to free the
 * others as well, and all bins go back into their spans. */
#define SENTINEL_SLICES 8
#define SENTINEL_FRACTION 4

/* A heap of so many lets its pool's regions have huge pages, where everybody gets them. */
#define HUGE_MIN_SLICES (LM_POOL_HUGE_MIN_BYTES >> LM_SLICE_SHIFT)

/* ---- Guests ---- */

/* Smaller blocks have so many others in their slice that to send one home costs little, while one
 * that stays is no longer found on the fast path of free. */
#define FIRST_GUEST_CLASS (512 / LM_GRANULE_BYTES)
#define GUESTS_PER_REFILL 32
/* But what owners who do not run are sent, nobody uses until they do. */
#define UNANSWERED_GUEST_BYTES (8 * LM_KIB)
#define UNANSWERED_GUESTS_MIN 4

uint8_t lm_guests_per_refill(const struct lm_heap *heap, size_t class_index) {
  if (LM_LIKELY(!lm_remote_is_unanswered(heap)))
    return class_index >= FIRST_GUEST_CLASS ? GUESTS_PER_REFILL : 0;
  size_t count = UNANSWERED_GUEST_BYTES / lm_classes[class_index].block_bytes;
  return (uint8_t)lm_min(lm_max(count, UNANSWERED_GUESTS_MIN), UINT8_MAX);
}

/* The class's bin and reserve are empty, and malloc asks for its blocks: it may have guests. Who
 * only frees never gets here, and sends all blocks home. */
static void admit_guests(struct lm_heap *heap, size_t class_index) {
  heap->bulk.parts_since_refill = 0;
  heap->bulk.bytes_since_refill = 0;
  heap->guests_left[class_index] = lm_guests_per_refill(heap, class_index);
  heap->has_guests[class_index] = false;
}

/* ---- A span's life ---- */

/* A span, on none of the heap's lists, is its own from here on. */
static void add_span(struct lm_heap *heap, struct lm_span *span) {
  size_t class_index = span->class_index;
  lm_assert(lm_load_relaxed(&span->owner) == heap);
  heap->span_counts[class_index]++;
  size_t slices_before = heap->slice_count;
  heap->slice_count += span->slice_count;
  if (LM_UNLIKELY(slices_before < HUGE_MIN_SLICES && heap->slice_count >= HUGE_MIN_SLICES))
    lm_pool_accept_huge(heap->pool);
  lm_learning_note_used(&heap->spares.learning, heap->slice_count);
  lm_span_set_tag(span, heap->tag | (uint32_t)class_index);
}

static void unset_sentinel(struct lm_heap *heap) {
  if (heap->bulk.sentinel == NULL) return;
  lm_span_set_tag(heap->bulk.sentinel, heap->tag | heap->bulk.sentinel->class_index);
  heap->bulk.sentinel = NULL;
}

/* `span` has just been retired: its blocks are young, and likely to be freed with others. */
static void set_sentinel(struct lm_heap *heap, struct lm_span *span) {
  if (heap->slice_count <= SENTINEL_SLICES || span->state != LM_SPAN_FULL) return;
  bool bounded = lm_bin_is_bounded(heap, span->class_index);
  const struct lm_span *sentinel = heap->bulk.sentinel;
  bool same_class = sentinel != NULL && sentinel->class_index == span->class_index;
  if (!bounded || same_class) unset_sentinel(heap);
  if (bounded) return;
  heap->bulk.sentinel = span;
  lm_span_set_tag(span, heap->tag | LM_TAG_SENTINEL | span->class_index);
}

/* Faster than other bins are put back, since all may be freed before long. */
void lm_heap_drain_all(struct lm_heap *heap) {
  if (heap->visits.underway) return;
  bool all = lm_bins_are_many() || lm_budget_exceeded();
  heap->bulk.fallen_count = 0;
  unset_sentinel(heap);
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    if (heap->span_counts[i] == 0) continue;
    if (lm_bin_slices(heap, i) > LM_UNBOUNDED_SLICES && !all) continue;
    heap->frees_left[i] = LM_NO_FREES_LEFT;
    heap->room_steps[i] = 0;
    lm_bin_start_draining(heap, i);
  }
  heap->drain.fast = heap->drain.goes_on;
}

void lm_heap_drop_span(struct lm_heap *heap, struct lm_span *span) {
  lm_assert(heap->span_counts[span->class_index] != 0 && span->slice_count <= heap->slice_count);
  heap->slice_count -= span->slice_count;
  if (span == heap->bulk.sentinel) heap->bulk.sentinel = NULL;
  if (span == heap->newest) heap->newest = NULL;
  if (--heap->span_counts[span->class_index] == 0) heap->borrowed_counts[span->class_index] = 0;
}

/* Slices for a new span: a spare's of another class, or the pool's. NULL if out of memory. */
static char *take_slices(struct lm_heap *heap, size_t slice_count, uint64_t *dirty_pages) {
  struct lm_span *spare = lm_spares_take_any(heap, slice_count);
#if LM_HARDENED_GUARDS
  if (spare != NULL) lm_span_unguard(spare);
#endif
  if (spare == NULL) {
    lm_learning_note_asked(&heap->spares.learning, slice_count, LM_SLICE_SHIFT);
    lm_holes_note_growth(heap, slice_count);
    struct lm_region *own_region = heap->newest != NULL ? lm_region_of(heap->newest) : NULL;
    return lm_pool_take_slices(heap->pool, slice_count, heap->tag, own_region, dirty_pages);
  }
  size_t touched_pages = lm_pages_of(lm_span_touched_bytes(spare));
  *dirty_pages = spare->dirty_pages | lm_bitmap_mask(0, 0, touched_pages);
  return lm_span_start(spare);
}

/* A new span for the heap, on none of its lists, without blocks. */
static struct lm_span *new_span(struct lm_heap *heap, size_t class_index) {
  const struct lm_class *class = &lm_classes[class_index];
  uint64_t dirty_pages;
  char *start = take_slices(heap, class->slice_count, &dirty_pages);
  if (start == NULL) return NULL;
  uint64_t written_pages = lm_span_written_pages(lm_span_record_of(start)); /* by the last one */
  struct lm_span *span = lm_span_begin(start, heap, class_index, class->slice_count);
  span->capacity = class->block_count;
#if LM_HARDENED_GUARDS
  lm_span_guard(span);
#endif
  span->dirty_pages = dirty_pages;
  span->written_pages = dirty_pages & written_pages;
  add_span(heap, span);
  heap->newest = span;
  return span;
}

/* Whether the page at `offset` was written to before, so that it costs no fault. */
static bool is_written_at(const struct lm_span *span, size_t offset) {
  return (span->written_pages >> (offset >> lm_os.page_shift) & 1) != 0;
}

/* How many bytes from there on are in pages of the set. */
static size_t bytes_in_pages(uint64_t pages, size_t offset) {
  size_t page = offset >> lm_os.page_shift;
  uint64_t others = ~pages >> page;
  size_t end = others == 0 ? 64 : page + (size_t)__builtin_ctzll(others);
  return end == page ? 0 : (end << lm_os.page_shift) - offset;
}

/* Whether all pages of the bytes at `offset`, which were never carved, read as zero. */
static bool reads_as_zero(const struct lm_span *span, size_t offset, size_t bytes) {
  size_t from = offset >> lm_os.page_shift, to = lm_pages_of(offset + bytes);
  return (span->dirty_pages & lm_bitmap_mask(0, from, to)) == 0;
}

/* How many blocks to carve next, at `offset`: of pages that were written to before what is left up
 * to carve_limit, a part at a time. Another page costs a fault when it is written to for the first
 * time: the first block in it goes alone and the others up to its end with the next call, so that
 * not malloc but who uses the block has the fault. */
static size_t carve_count(const struct lm_span *span, size_t offset, size_t block_bytes) {
  if (is_written_at(span, offset)) {
    size_t part = lm_max(CARVE_AT_ONCE_BYTES / block_bytes, 1);
    return lm_min(span->carve_limit - span->extended_count, part);
  }
  size_t offset_in_page = offset & (CARVE_FRESH_BYTES - 1);
  if (offset_in_page < block_bytes) return 1;
  size_t count = lm_max((CARVE_FRESH_BYTES - offset_in_page) / block_bytes, 1);
  return lm_min(count, (size_t)(span->capacity - span->extended_count));
}

#if LM_HARDENED_LINKS || LM_HARDENED_ORDER

/* Puts all but the first of the blocks that have just been carved before what is in the class's
 * bin, in random order. */
LM_INLINE void link_carved(struct lm_heap *heap, size_t class_index, char *first, size_t count,
                           size_t block_bytes) {
  uint16_t order[CARVE_AT_ONCE_BYTES / LM_GRANULE_BYTES];
  struct lm_block *next = heap->bins[class_index];
  for (size_t i = 1; i < count; i++) {
    size_t other = LM_HARDENED_ORDER ? 1 + lm_heap_random(heap) % i : i;
    if (other != i) order[i] = order[other];
    order[other] = (uint16_t)i;
  }
  for (size_t i = count; i-- > 1;) {
    struct lm_block *block = (struct lm_block *)(first + order[i] * block_bytes);
    lm_block_link(block, next);
    next = block;
  }
  heap->bins[class_index] = next;
}

#else

LM_INLINE void link_carved(struct lm_heap *heap, size_t class_index, char *first, size_t count,
                           size_t block_bytes) {
  struct lm_block **link = &heap->bins[class_index], *rest = *link;
  for (size_t i = 1; i < count; i++) {
    struct lm_block *block = (struct lm_block *)(first + i * block_bytes);
    *link = block;
    link = &block->next;
  }
  *link = rest;
}

#endif

/* Carves blocks for the current span's bin and returns one more. The bin was empty, but a page
 * provider may have freed some since. */
static void *carve(struct lm_heap *heap, struct lm_span *span, bool *zero) {
  size_t block_bytes = lm_classes[span->class_index].block_bytes;
  size_t offset = span->extended_count * block_bytes;
  lm_assert(span->extended_count < span->capacity);
  *zero = !is_written_at(span, offset) && reads_as_zero(span, offset, block_bytes);
  char *first = lm_span_start(span) + offset;
  size_t count = carve_count(span, offset, block_bytes);
  link_carved(heap, span->class_index, first, count, block_bytes);
  span->extended_count = (uint16_t)(span->extended_count + count);
  span->used_count += (uint32_t)count;
  return first;
}

/* Makes the pages accessible that blocks up to `limit` are carved of. */
static bool commit_blocks(struct lm_span *span, size_t limit) {
  const struct lm_region *region = lm_region_of(span);
  if (!region->decommits) return true;
  size_t block_bytes = lm_classes[span->class_index].block_bytes;
  /* A page that blocks were carved of has been committed whole, and is not committed again. */
  size_t from = lm_align_up(span->extended_count * block_bytes, lm_os.page_bytes);
  size_t to = lm_align_up(limit * block_bytes, lm_os.page_bytes);
  if (from == to) return true;
  return lm_provider_commit(region->provider, lm_span_start(span) + from, to - from) == 0;
}

/* Lets the current span grow, and returns a block; NULL if its memory cannot be committed. */
static void *extend(struct lm_heap *heap, struct lm_span *span, bool *zero) {
  size_t block_bytes = lm_classes[span->class_index].block_bytes;
  size_t offset = span->extended_count * block_bytes;
  /* Longer blocks get no link, and cost malloc no fault. */
  uint64_t pages = block_bytes <= CARVE_FRESH_BYTES ? span->written_pages : span->dirty_pages;
  size_t used_count = bytes_in_pages(pages, offset) / block_bytes;
  size_t more = span->extended_count / EXTEND_FRACTION;
  if (used_count != 0)
    more = lm_min(lm_max(more, CARVE_USED_BYTES / block_bytes), used_count - 1);
  size_t limit = lm_min(span->extended_count + 1 + more, span->capacity);
  if (!commit_blocks(span, limit)) return NULL;
  span->carve_limit = (uint16_t)limit;
  return carve(heap, span, zero);
}

/* Whether there is room in the span, though it has no block on its free_list. */
static bool can_grow(const struct lm_span *span) {
  return span->extended_count < span->capacity || span->hole_pages != 0;
}

/* Puts a span that was current on the list where it belongs. */
static void list_span(struct lm_heap *heap, struct lm_span *span) {
  span->state = LM_SPAN_USABLE;
  span->look_at_count = 0;
  if (span->free_list != LM_NO_BLOCK) {
    lm_span_list_push_front(&heap->usable[span->class_index], span);
  } else if (can_grow(span)) {
    lm_span_list_push_back(&heap->usable[span->class_index], span);
  } else {
    /* Usable again once an eighth of it is free, so that a refill is worth its while. */
    span->state = LM_SPAN_FULL;
    span->look_at_count = span->capacity - lm_max(1, span->capacity / 8);
    lm_span_list_push_front(&heap->full[span->class_index], span);
  }
}

/* The heap's current span of the class, whose bin is empty, is current no longer. */
static void retire_current(struct lm_heap *heap, size_t class_index) {
  struct lm_span *span = heap->current[class_index];
  if (span == NULL) return;
  heap->current[class_index] = NULL;
  list_span(heap, span);
  set_sentinel(heap, span);
}

void lm_bin_retire_current(struct lm_heap *heap, size_t class_index) {
  const struct lm_span *span = heap->current[class_index];
  if (span != NULL && span->free_list != LM_NO_BLOCK) retire_current(heap, class_index);
}

/* Fills the current span's empty bin with the span's free blocks, those of a hole if it has no
 * others, and takes one; NULL if it has none. */
static void *load_bin(struct lm_heap *heap, struct lm_span *span) {
  lm_assert(!lm_is_block(heap->bins[span->class_index]));
  if (LM_UNLIKELY(span->free_list == LM_NO_BLOCK)) lm_holes_fill(span);
  heap->bins[span->class_index] = span->free_list;
  span->free_list = LM_NO_BLOCK;
  span->used_count = (uint32_t)span->extended_count - span->hole_block_count;
  return lm_heap_pop(heap, span->class_index);
}

/* Makes a span of the heap's that is on no list the current one. */
static void make_current(struct lm_heap *heap, struct lm_span *span) {
  lm_assert(heap->current[span->class_index] == NULL);
  if (span == heap->bulk.sentinel) unset_sentinel(heap);
  span->state = LM_SPAN_CURRENT;
  span->look_at_count = 0;
  heap->current[span->class_index] = span;
}

/* Most of what the heap has used is free, and bins hold much of that as yet. They may keep it if
 * the heap needs it again soon, and all together not too much. */
static void heap_falls(struct lm_heap *heap) {
  heap->spares.learning.fell = true;
  heap->bulk.fallen_count = 0;
  for (size_t i = 1; i < LM_CLASS_COUNT; i++)
    heap->bulk.fallen_count += lm_min(lm_bin_slices(heap, i), LM_UNBOUNDED_SLICES);
  lm_budget_report(heap);
  if (!lm_spares_cover(heap)) lm_heap_drain_all(heap);
}

LM_NOINLINE bool lm_heap_look_at_fallen(struct lm_heap *heap, struct lm_span *span) {
  size_t class_index = span->class_index;
  struct lm_span_list *usable = &heap->usable[class_index];
  lm_assert((span->state == LM_SPAN_CURRENT) == (span == heap->current[class_index]));
  lm_assert(span->state <= LM_SPAN_FULL && lm_load_relaxed(&span->owner) == heap);
  if (span->state == LM_SPAN_CURRENT) heap->current[class_index] = NULL;
  else if (span->state == LM_SPAN_FULL) lm_span_list_remove(&heap->full[class_index], span);
  else lm_span_list_remove(usable, span);
  size_t few = span->capacity / SENTINEL_FRACTION;
  bool is_sentinel = span == heap->bulk.sentinel, ended = span->used_count == 0;
  bool falls = is_sentinel && span->used_count <= few;
  if (ended) {
    lm_heap_drop_span(heap, span);
    falls |= lm_spares_give(heap, span);
  } else {
    span->state = LM_SPAN_USABLE;
    span->look_at_count = is_sentinel && span->used_count > few ? (uint32_t)few : 0;
    lm_span_list_push_front(usable, span);
  }
  if (falls) heap_falls(heap);
  return ended;
}

/* ---- malloc's slow path ---- */

/* A free block of a span, which becomes the current one; NULL if none has any. */
static void *take_from_usable(struct lm_heap *heap, size_t class_index) {
  struct lm_span *span = heap->current[class_index];
  if (span != NULL && span->free_list != LM_NO_BLOCK) return load_bin(heap, span);
  span = heap->usable[class_index].first;
  if (span == NULL || span->free_list == LM_NO_BLOCK) {
    span = lm_orphan_adopt(heap, class_index);
    bool as_it_is = lm_classes[class_index].block_bytes > RECARVED_MAX_BYTES;
    if (span == NULL && as_it_is) span = lm_spares_take(heap, class_index);
    if (span == NULL) return NULL;
    add_span(heap, span);
  } else {
    lm_span_list_remove(&heap->usable[class_index], span);
  }
  retire_current(heap, class_index);
  make_current(heap, span);
  return load_bin(heap, span);
}

/* Whether the span has blocks to carve in a page that one was carved of already. */
static bool has_begun_page(const struct lm_span *span) {
  if (span == NULL || span->extended_count == span->capacity) return false;
  size_t block_bytes = lm_classes[span->class_index].block_bytes;
  size_t offset = span->extended_count * block_bytes;
  size_t offset_in_page = offset & (CARVE_FRESH_BYTES - 1);
  return offset_in_page >= block_bytes && offset_in_page + block_bytes <= CARVE_FRESH_BYTES &&
         !is_written_at(span, offset);
}

/* A class without a span gets its first blocks out of the span of this one, which has twice as
 * large blocks at most: a thread that wants a few blocks of many classes touches few pages. */
static size_t starter_of(size_t class_index) {
  size_t block_bytes = lm_classes[class_index].block_bytes;
  if (block_bytes > STARTER_MAX_BYTES) return class_index;
  if (block_bytes <= LM_KEEP_MAX_BYTES) return lm_sizeclass_of(LM_KEEP_MAX_BYTES);
  return lm_sizeclass_of((size_t)2 << lm_log2_floor(block_bytes - 1));
}

/* The first class with free blocks that cost no page whose blocks are not larger than `most_bytes`;
 * `class_index` if there is none. */
static size_t find_lender(const struct lm_heap *heap, size_t class_index, size_t most_bytes) {
  for (size_t lender = class_index + 1; lender < LM_CLASS_COUNT; lender++) {
    if (lm_classes[lender].block_bytes > most_bytes) break;
    bool has_blocks = lm_is_block(heap->bins[lender]) || heap->reserves[lender] != NULL;
    if (has_blocks || has_begun_page(heap->current[lender])) return lender;
  }
  return class_index;
}

/* Takes a part of the inbox; false if that is all. */
static bool collect_some(struct lm_heap *heap, size_t *effort) {
  bool more = lm_remote_collect_within(heap, 1, effort);
  if (!more) heap->early_growths = 0;
  return more;
}

/* A block that was freed, by other threads or before; NULL if there is none, at least not in the
 * part of the inbox that was looked through, as far as the effort does. */
static void *take_freed(struct lm_heap *heap, size_t class_index, size_t *effort) {
  size_t parts = PARTS_PER_REFILL + heap->early_growths;
  do {
    bool more = collect_some(heap, effort);
    void *block = lm_heap_pop(heap, class_index);
    if (block == NULL) block = take_from_usable(heap, class_index);
    if (block != NULL || !more) return block;
  } while (--parts > 0 && *effort > 0);
  heap->early_growths++;
  return NULL;
}

/* A block of a hole of the current span, or one that is carved of it or of another; NULL if out of
 * memory. */
static void *grow(struct lm_heap *heap, size_t class_index, bool *zero) {
  struct lm_span *span = heap->current[class_index];
  if (span == NULL || !can_grow(span)) {
    span = heap->usable[class_index].first;
    lm_assert(span == NULL || can_grow(span)); /* it would have been taken from */
    if (span != NULL) lm_span_list_remove(&heap->usable[class_index], span);
    else span = new_span(heap, class_index);
    if (span == NULL) return NULL;
    retire_current(heap, class_index);
    make_current(heap, span);
  }
  return span->hole_pages != 0 ? load_bin(heap, span) : extend(heap, span, zero);
}

/* Out of the reserve that a transfer has filled. Who always finds one must see the clock, too. */
static void *take_transferred_small(struct lm_heap *heap, size_t class_index) {
  void *block = lm_bin_take_reserve(heap, class_index);
  if (++heap->tick.refill_count % REFILLS_PER_TICK == 0) lm_heap_tick(heap);
  return block;
}

static void *take_slow(struct lm_heap *heap, size_t class_index, bool *zero) {
  *zero = false;
  lm_inspect_empty_bin(heap, class_index);
  if (heap->reserves[class_index] != NULL) return lm_bin_take_reserve(heap, class_index);
  heap->frees_left[class_index] = lm_bin_open_room(heap, class_index);
  lm_watch_bin(heap);
  if (LM_UNLIKELY(heap->bulk.fallen_count != 0)) { /* it may only have looked like a fall */
    heap->bulk.fallen_count = 0;
    lm_budget_tick(heap);
  }
  admit_guests(heap, class_index);
  if (LM_UNLIKELY(lm_load_relaxed(&lm_transfers_in_use)) && lm_transfer_take(heap, class_index))
    return take_transferred_small(heap, class_index);
  size_t effort = lm_purge_effort();
  if (heap->early_growths != 0) collect_some(heap, &effort);
  struct lm_span *span = heap->current[class_index];
  if (span != NULL && span->extended_count < span->carve_limit) return carve(heap, span, zero);
  if (++heap->tick.refill_count % REFILLS_PER_TICK == 0 || LM_UNLIKELY(heap->tick.visits_others))
    lm_heap_tick(heap);
  void *block = take_freed(heap, class_index, &effort);
  if (block == NULL) block = grow(heap, class_index, zero);
  if (LM_LIKELY(block != NULL || heap->early_growths == 0)) return block;
  heap->early_growths = 0;
  lm_remote_collect(heap);
  return take_slow(heap, class_index, zero);
}

void *lm_heap_take_slow(struct lm_heap *heap, size_t class_index, bool *zero) {
  lm_heap_enter(heap);
  void *block = take_slow(heap, class_index, zero);
  lm_heap_leave(heap);
  return block;
}

/* The heap has been entered: until then a visit may take current spans away. It is a thread's, so
 * that lm_classes has been filled. */
static void *borrow(struct lm_heap *heap, size_t class_index) {
  size_t block_bytes = lm_classes[class_index].block_bytes, starter = starter_of(class_index);
  size_t most = lm_max(BORROW_BYTES / block_bytes, BORROW_MIN_COUNT);
  uint8_t *count = &heap->borrowed_counts[class_index];
  if (*count >= lm_min(most, UINT8_MAX)) return NULL;
  size_t most_bytes = block_bytes + lm_max(block_bytes / 4, LM_GRANULE_BYTES);
  bool starts = *count < BORROW_MIN_COUNT;
  if (starts) most_bytes = lm_max(most_bytes, lm_classes[starter].block_bytes);
  size_t lender = find_lender(heap, class_index, most_bytes);
  if (lender == class_index && starts && heap->span_counts[starter] == 0) lender = starter;
  if (lender == class_index) return NULL;
  *count += 1;
  lm_heap_forget_sum(heap, lender);
  void *block = lm_heap_pop(heap, lender);
  bool zero;
  if (block != NULL) return block;
  if (heap->reserves[lender] != NULL) return lm_bin_take_reserve(heap, lender);
  if (heap->span_counts[lender] == 0) return take_slow(heap, lender, &zero);
  return carve(heap, heap->current[lender], &zero);
}

void *lm_heap_borrow(struct lm_heap *heap, size_t class_index) {
  lm_heap_enter(heap);
  bool may = heap->span_counts[class_index] == 0 && !lm_orphan_waits(class_index);
  void *block = may ? borrow(heap, class_index) : NULL;
  lm_heap_leave(heap);
  return block;
}

/* ---- free's slow paths ---- */

/* ---- Frees beyond the bin's room ---- */

/* When bins have taken such a part of the heap's share since malloc last found one empty, its
 * thread may be about to sleep. The second holds if the heaps' budget is spent then. Each takes so
 * much in any case: with less, a thread that takes as much as it frees would fall now and then. */
#define BULK_FRACTION 4
#define BULK_FRACTION_SPENT 8
#define SHARE_MIN_BYTES LM_MIB

/* A bounded bin was full, and takes some more frees: the heap falls if that is much. */
static void note_bulk(struct lm_heap *heap, size_t class_index) {
  size_t thread_count = lm_max(lm_load_relaxed(&lm_pool_thread_count), 1);
  size_t share = lm_max(LM_OPTION(heap_cache_bytes) / thread_count, SHARE_MIN_BYTES);
  size_t limit = share / BULK_FRACTION_SPENT, before = heap->bulk.bytes_since_refill;
  size_t frees = (size_t)heap->frees_left[class_index];
  heap->bulk.bytes_since_refill += frees * lm_classes[class_index].block_bytes;
  if (heap->bulk.bytes_since_refill < limit) return;
  /* The budget is read once, since others write to it. */
  bool spent = before < limit && lm_budget_exceeded();
  if (!spent && heap->bulk.bytes_since_refill < share / BULK_FRACTION) return;
  heap->bulk.bytes_since_refill = 0;
  heap_falls(heap);
}

/* Frees a block when the bin has taken as many as it had room for. If it is bounded, what is in it
 * becomes its reserve, or stays where that is of guests alone. If there is another one already,
 * malloc has not needed it while the bin took the last ones: blocks are being freed in bulk, and
 * keep spans that would be empty. Then they go into their spans, and so do those that follow until
 * malloc has found the bin and the reserve empty. */
static LM_NOINLINE void free_when_full(struct lm_heap *heap, size_t class_index,
                                       struct lm_block *block) {
  bool bounded = lm_bin_is_bounded(heap, class_index);
  if (bounded && lm_bin_open_further(heap, class_index)) {
    /* There is room. */
  } else if (!bounded || !lm_bitmap_test(heap->spare_reserves, class_index)) {
    if (bounded && heap->reserves[class_index] == NULL) lm_bin_store_reserve(heap, class_index);
    else if (bounded) lm_bitmap_set(heap->spare_reserves, class_index, class_index + 1);
    heap->frees_left[class_index] = lm_bin_open_room(heap, class_index);
    lm_heap_forget_sum(heap, class_index);
  } else {
    heap->frees_left[class_index] = LM_NO_FREES_LEFT;
    heap->room_steps[class_index] = 0;
    lm_bin_start_draining(heap, class_index);
    lm_heap_give_to_span(heap, class_index, block);
  }
  if (heap->frees_left[class_index] >= 0) {
    heap->frees_left[class_index]--;
    lm_heap_push(heap, class_index, block);
    if (bounded) note_bulk(heap, class_index);
  }
  lm_watch_full_bin(heap);
}

/* Leaves the heap, which a free alone has entered, or others around it. */
LM_INLINE void leave(struct lm_heap *heap, bool alone) {
  if (alone) lm_heap_leave_at_last(heap);
  else lm_heap_leave(heap);
}

static LM_NOINLINE void free_and_leave_when_full(struct lm_heap *heap, size_t class_index,
                                                 struct lm_block *block, bool alone) {
  free_when_full(heap, class_index, block);
  leave(heap, alone);
}

/* What follows a free now and then; the heap is left. Apart, so that the free itself saves no
 * registers. */
static LM_NOINLINE void free_and_go_on(struct lm_heap *heap, bool ended, bool alone) {
  size_t drained_class = heap->drain.next_class;
  size_t drained_count = heap->drain.fast ? LM_DRAINED_FAST : LM_DRAINED_BY_CALL;
  if (heap->drain.goes_on) lm_bins_drain(heap, drained_count);
  if (drained_class != heap->drain.next_class) lm_watch_bin(heap);
  /* A thread that only frees must see the clock, too. */
  if (ended) lm_heap_tick(heap);
  leave(heap, alone);
}

static LM_NOINLINE void free_and_look(struct lm_heap *heap, struct lm_span *span, bool alone) {
  free_and_go_on(heap, lm_heap_look_at_fallen(heap, span), alone);
}

/* The heap has been entered, and is left. */
LM_INLINE void free_entered(struct lm_heap *heap, size_t class_index, struct lm_block *block,
                            bool alone) {
  if (LM_UNLIKELY(heap->frees_left[class_index] == -1)) {
    free_and_leave_when_full(heap, class_index, block, alone);
    return;
  }
  heap->frees_left[class_index] = LM_NO_FREES_LEFT; /* free counts on */
  struct lm_span *span = lm_span_of_own(block);
  lm_span_put(span, class_index, block);
  if (LM_UNLIKELY(span->used_count == span->look_at_count)) free_and_look(heap, span, alone);
  else if (LM_UNLIKELY(heap->drain.goes_on)) free_and_go_on(heap, false, alone);
  else leave(heap, alone);
}

/* In the midst of another call, whose page provider frees; or the heap is parked. */
static LM_COLD void free_nested(struct lm_heap *heap, size_t class_index, struct lm_block *block) {
  lm_heap_enter(heap);
  free_entered(heap, class_index, block, false);
}

void lm_heap_free_beyond(struct lm_heap *heap, size_t class_index, struct lm_block *block) {
  if (LM_LIKELY(lm_heap_enter_alone(heap))) free_entered(heap, class_index, block, true);
  else free_nested(heap, class_index, block);
}

void lm_heap_free_to_sentinel(struct lm_heap *heap, struct lm_block *block) {
  lm_heap_enter(heap);
  const struct lm_span *span = lm_span_of_own(block);
  if (lm_heap_give_to_span(heap, span->class_index, block)) lm_heap_tick(heap);
  lm_heap_leave(heap);
}

bool lm_heap_put_back(struct lm_heap *heap, struct lm_span *span, struct lm_block *first,
                      struct lm_block *last, size_t count) {
  if (LM_UNLIKELY(span->class_index == LM_CLASS_MIDDLE)) {
    lm_middle_put_back(heap, first, count);
    return false;
  }
  if (LM_UNLIKELY(count > span->used_count)) lm_misuse_double_free(first, NULL);
  lm_block_link(last, span->free_list);
  span->free_list = first;
  span->used_count -= (uint32_t)count;
  /* A current span stays, empty or not: malloc asks for its blocks next. */
  if (span->state == LM_SPAN_CURRENT) return false;
  return span->used_count <= span->look_at_count && lm_heap_look_at_fallen(heap, span);
}

void lm_heap_own(struct lm_heap *heap, struct lm_span *span) {
  if (span->class_index == LM_CLASS_MIDDLE) {
    lm_middle_own(heap, span);
    return;
  }
  add_span(heap, span);
  list_span(heap, span);
}
