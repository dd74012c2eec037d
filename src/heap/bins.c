#include "heap/bins.h"

#include "heap/remote.h"
#include "heap/transfer.h"
#include "heap/visit.h"
#include "os/misuse.h"
#include "os/panic.h"

/* ---- Room ---- */

/* So many frees its bin takes, or has taken, since its room was last opened. */
static size_t frees_opened(const struct lm_heap *heap, size_t class_index) {
  if (!lm_bin_is_bounded(heap, class_index)) return LM_FREES_PER_LOOK;
  size_t frees = lm_classes[class_index].bin_frees;
  return lm_max(frees >> (LM_ROOM_STEPS - heap->room_steps[class_index]), 1);
}

int16_t lm_bin_open_room(struct lm_heap *heap, size_t class_index) {
  uint8_t *steps = &heap->room_steps[class_index];
  if (!lm_bins_bound_all(heap)) *steps = LM_ROOM_STEPS;
  else if (*steps > 0) *steps -= 1;
  return (int16_t)frees_opened(heap, class_index);
}

bool lm_bin_open_further(struct lm_heap *heap, size_t class_index) {
  if (heap->room_steps[class_index] == LM_ROOM_STEPS) return false;
  size_t opened = frees_opened(heap, class_index);
  heap->room_steps[class_index]++;
  heap->frees_left[class_index] = (int16_t)(frees_opened(heap, class_index) - opened);
  lm_heap_forget_sum(heap, class_index);
  return true;
}

/* ---- Reserves ---- */

static void set_reserve(struct lm_heap *heap, size_t class_index, struct lm_block *first) {
  heap->reserves[class_index] = first != LM_NO_BLOCK ? first : NULL;
  if (first != LM_NO_BLOCK) return;
  lm_bitmap_clear(heap->seen_reserves, class_index, class_index + 1);
  lm_bitmap_clear(heap->spare_reserves, class_index, class_index + 1);
}

void lm_bin_store_reserve(struct lm_heap *heap, size_t class_index) {
  lm_assert(heap->reserves[class_index] == NULL);
  lm_bitmap_set(heap->spare_reserves, class_index, class_index + 1);
  set_reserve(heap, class_index, heap->bins[class_index]);
  heap->bins[class_index] = LM_NO_BLOCK;
  lm_heap_forget_sum(heap, class_index);
}

/* Unless blocks of the class are being freed in bulk. */
static void open_room_anew(struct lm_heap *heap, size_t class_index) {
  int16_t *left = &heap->frees_left[class_index];
  if (*left >= 0) *left = lm_bin_open_room(heap, class_index);
}

/* What follows a block of a list is one, or the list's end. */
LM_INLINE void check_next(const struct lm_block *next, size_t class_index) {
  if (LM_UNLIKELY(!lm_is_block(next) && next != LM_NO_BLOCK))
    lm_misuse_broken_link(lm_classes[class_index].block_bytes);
}

/* Of a reserve that a tick has seen malloc takes so many blocks at a time, so that the next tick
 * finds what was not needed meanwhile. Each costs a cache miss. */
#define RESERVE_PART_BLOCKS 16

/* Moves the first blocks of the class's reserve into its bin, which is empty. */
static void load_part_of_reserve(struct lm_heap *heap, size_t class_index) {
  struct lm_block *first = heap->reserves[class_index], *last = first;
  for (size_t i = 1; i < RESERVE_PART_BLOCKS && lm_is_block(lm_block_next(last)); i++)
    last = lm_block_next(last);
  struct lm_block *rest = lm_block_next(last);
  check_next(rest, class_index);
  lm_block_link(last, LM_NO_BLOCK);
  heap->bins[class_index] = first;
  set_reserve(heap, class_index, rest);
}

void *lm_bin_take_reserve(struct lm_heap *heap, size_t class_index) {
  lm_assert(heap->reserves[class_index] != NULL && !lm_is_block(heap->bins[class_index]));
  heap->bulk.bytes_since_refill = 0;
  heap->bulk.parts_since_refill = 0;
  lm_heap_forget_sum(heap, class_index);
  bool of_guests = !lm_bitmap_test(heap->spare_reserves, class_index);
  if (of_guests) heap->guests_left[class_index] = lm_guests_per_refill(heap, class_index);
  if (!of_guests && lm_bitmap_test(heap->seen_reserves, class_index)) {
    load_part_of_reserve(heap, class_index);
  } else {
    heap->bins[class_index] = heap->reserves[class_index];
    set_reserve(heap, class_index, LM_NO_BLOCK);
  }
  open_room_anew(heap, class_index);
  return lm_heap_pop(heap, class_index);
}

void lm_bin_age(struct lm_heap *heap, size_t class_index) {
  if (heap->bins[class_index] == LM_NO_BLOCK) return;
  /* A reserve of guests alone makes room. */
  if (heap->reserves[class_index] != NULL && !lm_transfer_give(heap, class_index)) return;
  lm_bin_store_reserve(heap, class_index);
  open_room_anew(heap, class_index);
}

/* ---- Blocks that go back into their spans ---- */

void lm_bin_start_draining(struct lm_heap *heap, size_t class_index) {
  lm_bitmap_set(heap->drain.classes, class_index, class_index + 1);
  if (!heap->drain.goes_on) heap->drain.next_class = class_index;
  heap->drain.goes_on = true;
}

/* A guest that goes home costs as much as so many of the heap's own blocks. */
#define GUEST_COST 2

#define GIVEN_AT_ONCE 8 /* blocks whose spans' records are fetched at the same time */

/* Puts blocks of a bin that has guests back. */
static LM_NOINLINE void give_home(struct lm_heap *heap, size_t class_index,
                                  struct lm_block **blocks, size_t count) {
  for (size_t i = 0; i < count; i++) __builtin_prefetch(&lm_span_record_of(blocks[i])->owner);
  for (size_t i = 0; i < count; i++) {
    const struct lm_span *span = lm_span_of(blocks[i]);
    if (lm_load_relaxed(&span->owner) == heap) lm_heap_give_to_span(heap, class_index, blocks[i]);
    else if (heap->visits.underway) lm_remote_free_now(blocks[i]); /* which does not enter it */
    else lm_remote_free(heap, blocks[i], class_index);
  }
}

/* Takes up to `most` blocks off the front of a list, GIVEN_AT_ONCE of them at most. */
static size_t take_off(struct lm_block **list, size_t class_index, size_t most,
                       struct lm_block **blocks) {
  struct lm_block *block = *list;
  size_t count = 0;
  for (; lm_is_block(block) && count < lm_min(most, GIVEN_AT_ONCE);
       block = lm_block_next(block)) {
    __builtin_prefetch(lm_span_record_of(block), 1);
    blocks[count++] = block;
  }
  check_next(block, class_index);
  *list = block;
  return count;
}

/* Puts up to `most` blocks of the reserve back, GIVEN_AT_ONCE of them at most, or, if there is
 * none, of the bin if it has no room or `all` are to go. Returns how many: 0 if none is left. */
static LM_NOINLINE size_t give_some(struct lm_heap *heap, size_t class_index, size_t most,
                                    bool all) {
  struct lm_block *blocks[GIVEN_AT_ONCE];
  size_t count;
  if (heap->reserves[class_index] != NULL) {
    struct lm_block *reserve = heap->reserves[class_index];
    count = take_off(&reserve, class_index, most, blocks);
    set_reserve(heap, class_index, reserve);
  } else {
    /* In a visit its thread may be using the bin. */
    if (heap->visits.underway || (!all && heap->frees_left[class_index] >= 0)) return 0;
    count = take_off(&heap->bins[class_index], class_index, most, blocks);
    lm_heap_forget_sum(heap, class_index);
    if (count == 0) lm_bin_end_guests(heap, class_index);
  }
  bool may_have_guests = heap->visits.underway || heap->has_guests[class_index];
  if (LM_UNLIKELY(may_have_guests)) give_home(heap, class_index, blocks, count);
  else
    for (size_t i = 0; i < count; i++) lm_heap_give_to_span(heap, class_index, blocks[i]);
  return count;
}

void lm_heap_flush_bin(struct lm_heap *heap, size_t class_index) {
  while (give_some(heap, class_index, GIVEN_AT_ONCE, true) != 0) {}
}

bool lm_bins_empty(struct lm_heap *heap, size_t most) {
  for (size_t i = 1; i < LM_CLASS_COUNT && most != 0; i++)
    for (size_t given = 1; given != 0 && most != 0; most -= lm_min(most, given))
      given = give_some(heap, i, most, true);
  return most == 0;
}

#define BLOCKS_PER_STEP 32
bool lm_bins_empty_within(struct lm_heap *heap, size_t steps, size_t *effort) {
  for (; steps > 0 && *effort > 0; steps--) {
    size_t held_before = lm_heap_held_pages(heap);
    if (!lm_bins_empty(heap, BLOCKS_PER_STEP)) return false;
    lm_heap_spend_on_step(heap, held_before, effort);
  }
  return true;
}

void lm_heap_send_guests(struct lm_heap *heap) {
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    if (heap->has_guests[i]) {
      heap->guests_left[i] = 0;
      heap->frees_left[i] = LM_NO_FREES_LEFT;
      lm_heap_forget_sum(heap, i);
      lm_bin_start_draining(heap, i);
    } else {
      lm_bin_end_guests(heap, i);
    }
  }
}

void lm_heap_flush_guests(struct lm_heap *heap) {
  for (size_t i = 1; i < LM_CLASS_COUNT; i++)
    if (heap->has_guests[i]) lm_heap_flush_bin(heap, i);
}

LM_NOINLINE void lm_bins_drain(struct lm_heap *heap, size_t most) {
  while (most > 0) {
    size_t cost = heap->has_guests[heap->drain.next_class] ? GUEST_COST : 1;
    size_t given = give_some(heap, heap->drain.next_class, lm_max(most / cost, 1), false);
    most -= lm_min(most, given * cost);
    if (given != 0) continue;
    lm_bitmap_clear(heap->drain.classes, heap->drain.next_class, heap->drain.next_class + 1);
    size_t next = lm_bitmap_find_set(heap->drain.classes, 0, LM_CLASS_COUNT);
    if (next == LM_CLASS_COUNT) {
      heap->drain.goes_on = heap->drain.fast = false;
      return;
    }
    heap->drain.next_class = next;
  }
}
