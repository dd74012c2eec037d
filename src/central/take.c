#include "central/take.h"

#include "central/depot.h"
#include "central/holes.h"
#include "central/span_life.h"
#include "central/spans.h"
#include "os/misuse.h"
#include "os/panic.h"

/* What follows a block of a list is one, or the list's end. */
LM_INLINE void check_next(const struct lm_block *next, size_t class_index) {
  if (LM_UNLIKELY(!lm_is_block(next) && next != LM_NO_BLOCK))
    lm_misuse_broken_link(lm_classes[class_index].block_bytes);
}

/* Whether the blocks on free_list are sorted before some are taken. What a program frees in any
 * order it takes again in that order otherwise, and what it takes one after the other is far apart.
 * Each block that is put pays for two that are sorted at most. */
static bool is_to_be_sorted(const struct lm_span *span) {
  return !LM_HARDENED_ORDER && span->unsorted_count > span->extended_count / 2;
}

/* Takes up to `want` blocks off the span's free_list and puts them before `rest`. Returns the first
 * of all. */
static struct lm_block *take_listed(struct lm_span *span, size_t want, struct lm_block *rest,
                                    size_t *count) {
  lm_assert(want != 0 && span->free_list != LM_NO_BLOCK);
  lm_assert(span->state == LM_SPAN_USABLE || span->state == LM_SPAN_ROOMY);
  size_t taken = 1, listed = lm_span_listed_count(span);
  if (listed > want && is_to_be_sorted(span)) lm_span_sort_listed(span);
  struct lm_block *first = span->free_list, *last = first, *next = lm_block_next(last);
  if (listed <= want && rest == LM_NO_BLOCK) { /* all of them, without looking at each */
    taken = listed;
    next = LM_NO_BLOCK;
  } else {
    for (; taken < want && lm_is_block(next); taken++) {
      last = next;
      next = lm_block_next(last);
    }
    check_next(next, span->class_index);
    lm_block_link(last, rest);
  }
  struct lm_central_class *class = &span->central->classes[span->class_index];
  lm_assert(taken <= class->free_count);
  class->free_count -= (uint32_t)taken;
  span->free_list = next;
  span->take_number = ++span->central->take_count;
  if (next == LM_NO_BLOCK) span->unsorted_count = 0;
  span->used_count = (uint16_t)(span->used_count + taken);
  span->changed = LM_CHANGED;
  *count += taken;
  return first;
}

/* A span that is on a list has changed, and may belong on another. */
static void list_anew(struct lm_central *central, struct lm_span *span) {
  lm_span_list_remove(lm_central_list_of(span), span);
  lm_central_list_span(central, span, true, NULL);
}

void *lm_central_take_of(struct lm_central *central, struct lm_span *span) {
  size_t count = 0;
  struct lm_central_class *class = &central->classes[span->class_index];
  if (span == class->kept) class->kept = NULL;
  void *block = take_listed(span, 1, LM_NO_BLOCK, &count);
  if (span->free_list == LM_NO_BLOCK) list_anew(central, span);
  return block;
}

/* Carves blocks of a span that has room, or fills one of its holes. The lock is held. */
static void *grow_span(struct lm_central *central, struct lm_span *span, size_t want,
                       struct lm_block **rest, size_t *count, bool *zero) {
  size_t offset = span->extended_count * (size_t)lm_classes[span->class_index].block_bytes;
  void *first = lm_span_start(span) + offset;
  if (span->hole_pages != 0) {
    if (!lm_holes_fill(span)) return NULL;
    first = take_listed(span, want, LM_NO_BLOCK, count);
    *rest = lm_block_next(first);
  } else if ((*count = lm_span_carve(span, want, rest, zero)) == 0) {
    return NULL;
  }
  if (span->free_list != LM_NO_BLOCK || !lm_span_has_room(span)) list_anew(central, span);
  return first;
}

/* In one call spans of which few blocks are free are looked at up to so many. */
#define SPANS_PER_TAKE 8

/* The lock is held. NULL if no span of the class has anything. */
static void *take_of_spans(struct lm_central *central, size_t class_index, size_t want,
                           struct lm_block **rest, size_t *count, bool *zero) {
  struct lm_central_class *class = &central->classes[class_index];
  struct lm_block *blocks = LM_NO_BLOCK;
  struct lm_span *span;
  lm_depot_learn(class, class_index);
  *count = 0;
  *zero = false;
  want = lm_min(want, LM_CENTRAL_BLOCKS_AT_ONCE);
  for (int i = 0; i < SPANS_PER_TAKE && *count < want; i++) {
    if ((span = class->usable.first) == NULL) break;
    if (span == class->kept) class->kept = NULL;
    blocks = take_listed(span, want - *count, blocks, count);
    if (span->free_list == LM_NO_BLOCK) list_anew(central, span);
  }
  if (blocks != LM_NO_BLOCK) {
    *rest = lm_block_next(blocks);
    return blocks;
  }
  span = class->roomy.first;
  return span != NULL ? grow_span(central, span, want, rest, count, zero) : NULL;
}

/* Blocks of a span that has just begun and is on no list. One of which none can be carved is not
 * listed: a program that goes on asking while memory is refused would have ever more of them. The
 * lock is held. False if the span is to end. */
static bool carve_new(struct lm_central *central, struct lm_span *span, size_t want,
                      struct lm_block **rest, size_t *count, bool *zero) {
  lm_assert(span->central == central && span->extended_count == 0);
  span->take_number = ++central->take_count;
  *count = lm_span_carve(span, lm_min(want, LM_CENTRAL_BLOCKS_AT_ONCE), rest, zero);
  if (*count == 0) return false;
  lm_central_list_span(central, span, true, NULL);
  return true;
}

/* NULL if out of memory. No lock is held. */
static void *take_of_new(struct lm_central *central, size_t class_index, size_t want,
                         struct lm_block **rest, size_t *count, bool *zero) {
  struct lm_span *span = lm_span_begin(central, class_index);
  if (span == NULL) return NULL;
  lm_lock_take(&central->lock);
  bool carved = carve_new(central, span, want, rest, count, zero);
  lm_lock_free(&central->lock);
  if (LM_LIKELY(carved)) return lm_span_start(span);
  lm_span_end(span);
  return NULL;
}

/* What is free in others' spans, before this central grows: as much as a list at least. */
LM_LOCKS_UNCHECKED static void *take_of_others(struct lm_central *central, size_t class_index,
                                               size_t want, struct lm_block **rest,
                                               size_t *count) {
  _Atomic(uintptr_t) *word = &lm_central_words[class_index];
  struct lm_central_walk walk = {lm_load_relaxed(word), 0, NULL};
  struct lm_central *other;
  bool zero;
  void *block = NULL;
  while (block == NULL && (other = lm_central_enter_next(&walk, central)) != NULL) {
    struct lm_central_class *class = &other->classes[class_index];
    if (class->free_count >= lm_list_blocks[class_index])
      block = take_of_spans(other, class_index, want, rest, count, &zero);
    if (class->free_count >= lm_list_blocks[class_index]) lm_central_note(word, other);
    else if (block == NULL) lm_central_unnote(word, other);
    lm_central_leave(other);
  }
  return block;
}

/* What the central has ready. */
static void *take_of_own(struct lm_central *central, size_t class_index, size_t want,
                         struct lm_block **rest, size_t *count, bool *zero) {
  lm_lock_take(&central->lock);
  void *block = lm_depot_pop(central, class_index, want, count);
  if (block != NULL) *rest = lm_block_next(block);
  else if (central->classes[class_index].usable.first != NULL)
    block = take_of_spans(central, class_index, want, rest, count, zero);
  lm_lock_free(&central->lock);
  return block;
}

/* Lists of others' depots, and blocks of others' spans. */
static void *take_of_elsewhere(struct lm_central *central, size_t class_index, size_t want,
                            struct lm_block **rest, size_t *count) {
  struct lm_block *list = lm_depot_take_elsewhere(central, class_index, want, count);
  if (list == NULL) return take_of_others(central, class_index, want, rest, count);
  *rest = lm_block_next(list);
  return list;
}

void *lm_central_take(struct lm_central *central, size_t class_index, size_t want,
                      struct lm_block **rest, size_t *count, bool *zero) {
  lm_assert(lm_class_is_small(class_index) && want != 0);
  *zero = false;
  void *block = take_of_own(central, class_index, want, rest, count, zero);
  if (LM_LIKELY(block != NULL)) return block;
  *zero = false;
  if (lm_classes[class_index].block_bytes >= LM_ELSEWHERE_MIN_BYTES)
    block = take_of_elsewhere(central, class_index, want, rest, count);
  if (block != NULL) return block;
  lm_lock_take(&central->lock);
  block = take_of_spans(central, class_index, want, rest, count, zero);
  lm_lock_free(&central->lock);
  return block != NULL ? block : take_of_new(central, class_index, want, rest, count, zero);
}

void *lm_central_take_one(struct lm_central *central, size_t class_index, bool *zero) {
  struct lm_block *rest;
  size_t count;
  void *block = take_of_spans(central, class_index, 1, &rest, &count, zero);
  if (LM_LIKELY(block != NULL)) return block;
  struct lm_span *span = lm_span_begin(central, class_index);
  if (span == NULL) return NULL;
  if (carve_new(central, span, 1, &rest, &count, zero)) return lm_span_start(span);
  lm_span_end(span);
  return NULL;
}
