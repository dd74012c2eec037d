#include "central/move.h"

#include "central/span_life.h"
#include "central/spans.h"
#include "central/take.h"

/* Of the spans with free blocks so many are compared (docs/decisions/moving.md). */
#define SPANS_COMPARED 8

/* One that is fuller than seven eighths stays as it is. */
static bool has_much_room(const struct lm_span *span) {
  return span->used_count * (size_t)8 <= span->capacity * (size_t)7;
}

/* The fullest of the first spans with free blocks, if that is fuller than `span`; else NULL. Others
 * that are sparse go behind all, so that the next calls see other ones. The lock is held. */
static struct lm_span *find_fuller(struct lm_span_list *usable, const struct lm_span *span) {
  struct lm_span *fullest = NULL, *last = usable->last, *next;
  size_t used_count = span->used_count, compared = 0;
  for (struct lm_span *other = usable->first; other != NULL && compared < SPANS_COMPARED;
       other = next, compared++) {
    next = other != last ? other->next : NULL;
    if (other->used_count > used_count) {
      fullest = other;
      used_count = other->used_count;
    } else if (has_much_room(other)) {
      lm_span_list_remove(usable, other);
      lm_span_list_push_back(usable, other);
    }
  }
  return fullest;
}

/* The span to which the block is to be moved, or NULL. The lock of its central is held. */
static struct lm_span *target_of(const struct lm_span *span, const void *block) {
  if (!lm_span_has_carved_at(span, block) || !has_much_room(span)) return NULL;
  return find_fuller(&span->central->classes[span->class_index].usable, span);
}

bool lm_move_is_worth(const void *block) {
  const struct lm_span *span = lm_span_of(block);
  struct lm_central *central = span->central; /* does not change while the block is the program's */
  lm_lock_take(&central->lock);
  bool worth = target_of(span, block) != NULL;
  lm_lock_free(&central->lock);
  return worth;
}

void *lm_move_target(const void *block) {
  const struct lm_span *span = lm_span_of(block);
  struct lm_central *central = span->central;
  lm_lock_take(&central->lock);
  struct lm_span *target = target_of(span, block);
  void *free_block = target != NULL ? lm_central_take_of(central, target) : NULL;
  lm_lock_free(&central->lock);
  return free_block;
}
