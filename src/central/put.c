#include "central/put.h"

#include "central/span_life.h"
#include "central/spans.h"
#include "os/misuse.h"
#include "os/panic.h"

/* What does not change from block to block of a class. */
struct putting {
  uint32_t inverse, shift; /* lm_class_block_at */
  size_t class_index;
  void *caller;
  bool keeps; /* one empty span of the class */
  struct lm_span *ended;
};
static void put_class(struct putting *putting, size_t class_index) {
  putting->inverse = lm_classes[class_index].inverse;
  putting->shift = lm_classes[class_index].shift;
  putting->class_index = class_index;
}

/* What follows the first block that is free in a span, or the last that is used. */
static LM_NOINLINE void list_after_put(struct lm_central *central, struct lm_span *span,
                                       struct putting *putting) {
  if (span->state == LM_SPAN_AWAY) return;
  lm_span_list_remove(lm_central_list_of(span), span);
  lm_central_list_span(central, span, putting->keeps, &putting->ended);
}

static LM_COLD LM_NORETURN void fail_put(const struct lm_span *span, const struct lm_block *block,
                                         const struct putting *putting) {
  if (span->class_index != putting->class_index)
    lm_misuse_broken_link(lm_classes[putting->class_index].block_bytes);
  if (!lm_span_has_carved_at(span, block)) lm_misuse_not_a_start(block, "free", putting->caller);
  lm_misuse_double_free(block, putting->caller);
}

/* Behind the link of a block that was put stands what no other has: it is still free if that says
 * so, and none of its span's have been taken since. */
struct put_block {
  struct lm_block link;
  uint64_t mark;
};
_Static_assert(sizeof(struct put_block) <= LM_GRANULE_BYTES, "the smallest block");

/* The marks of two numbers differ in more than two neighbouring bytes, and in the lowest four: a
 * program that writes to a part of an old one does not make the new one of it. */
#define MARK_STEP UINT64_C(0x9e3779b97f4a7c15)

LM_INLINE uint64_t mark_of(const struct lm_central *central, const struct lm_span *span,
                           const struct lm_block *block) {
  return (central->put_key ^ (uintptr_t)block) + span->take_number * MARK_STEP;
}

/* The span's central's lock is held. A block that is none of the span's, or free already, ends the
 * program. */
LM_INLINE void put_one(struct lm_central *central, struct lm_span *span, struct lm_block *block,
                       struct putting *putting) {
  struct lm_block *before = span->free_list;
  uint64_t mark = mark_of(central, span, block);
  size_t offset = ((uintptr_t)block & (LM_SLICE_BYTES - 1)) +
                  ((size_t)lm_span_record_of(block)->head_distance << LM_SLICE_SHIFT);
  uint32_t product = (uint32_t)offset * putting->inverse;
  uint32_t index = product >> putting->shift | product << (32 - putting->shift);
  bool good = index < span->extended_count && block != before && span->used_count != 0 &&
              span->class_index == putting->class_index &&
              ((struct put_block *)block)->mark != mark;
  if (LM_UNLIKELY(!good)) fail_put(span, block, putting);
  lm_block_link(block, before);
  ((struct put_block *)block)->mark = mark;
  span->free_list = block;
  span->changed = LM_CHANGED;
  span->unsorted_count++;
  if (LM_UNLIKELY(--span->used_count == 0 || before == LM_NO_BLOCK))
    list_after_put(central, span, putting);
}

/* Blocks have been put into spans of the central. */
static void note_put(struct lm_central *central, size_t class_index, uint32_t refused_count) {
  struct lm_central_class *class = &central->classes[class_index];
  class->refused_count += refused_count;
  if (class->free_count >= lm_list_blocks[class_index])
    lm_central_note(&lm_central_words[class_index], central);
}

/* What a list is put for; blocks of all classes may come together where they are freed in bulk. */
enum put_reason { PUT_ONE_CLASS, PUT_REFUSED, PUT_IN_BULK };

/* The next block is of another class, as it may be in bulk only. */
static LM_NOINLINE void change_class(struct lm_central *central, size_t class_index,
                                     struct putting *putting) {
  note_put(central, putting->class_index, 0);
  put_class(putting, class_index);
}

/* While blocks are out their span's central does not change. */
LM_INLINE void put_some(struct lm_block *const *blocks, size_t count, enum put_reason reason,
                        void *caller) {
  struct putting putting = {.caller = caller, .keeps = reason != PUT_IN_BULK};
  struct lm_span *span = lm_span_of(blocks[0]);
  put_class(&putting, span->class_index);
  for (size_t i = 0; i < count;) {
    struct lm_central *central = span->central;
    size_t from = i;
    lm_lock_take(&central->lock);
    do {
      if (reason == PUT_IN_BULK && LM_UNLIKELY(span->class_index != putting.class_index))
        change_class(central, span->class_index, &putting);
      central->classes[putting.class_index].free_count++;
      put_one(central, span, blocks[i], &putting);
      if (++i == count) break;
      span = lm_span_of(blocks[i]);
    } while (span->central == central);
    note_put(central, putting.class_index, reason == PUT_REFUSED ? (uint32_t)(i - from) : 0);
    lm_lock_free(&central->lock);
  }
  lm_central_end_all(putting.ended);
}

void lm_central_put_blocks(struct lm_block *const *blocks, size_t count) {
  put_some(blocks, count, PUT_IN_BULK, NULL);
}

void lm_central_put(struct lm_block *block, void *caller) {
  put_some(&block, 1, PUT_ONE_CLASS, caller);
}

#define PUT_AT_ONCE 32 /* blocks whose spans' records are fetched at the same time */

void lm_central_put_list(struct lm_block *first, bool refused) {
  struct lm_block *blocks[PUT_AT_ONCE];
  const struct lm_region *region = NULL; /* that the last block was in */
  while (lm_is_block(first)) {
    size_t count = 0;
    for (; count < PUT_AT_ONCE && lm_is_block(first); first = lm_block_next(first)) {
      if (LM_UNLIKELY(lm_region_of(first) != region)) {
        region = lm_region_of(first);
        if (!lm_region_holds((uintptr_t)first)) lm_misuse_broken_link(0);
      }
      __builtin_prefetch(lm_span_record_of(first), 1);
      blocks[count++] = first;
    }
    if (refused) put_some(blocks, count, PUT_REFUSED, NULL);
    else put_some(blocks, count, PUT_ONE_CLASS, NULL);
  }
}
