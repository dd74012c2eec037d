#include "central/spans.h"

#include "central/span_life.h"
#include "os/panic.h"

/* Whether an empty span stays: one of a class does, if it is the only one with anything free, so
 * that a program that takes and frees a block does not begin and end a span each time. */
static bool is_kept(const struct lm_central_class *class) {
  return class->usable.first == NULL && class->roomy.first == NULL && class->kept == NULL;
}

void lm_central_list_span(struct lm_central *central, struct lm_span *span, bool keeps,
                          struct lm_span **ended) {
  struct lm_central_class *class = &central->classes[span->class_index];
  lm_assert(span->central == central && span->next == NULL && span->previous == NULL);
  lm_assert(span->used_count + span->hole_block_count <= span->extended_count);
  lm_assert((span->hole_pages == 0) == (span->hole_block_count == 0));
  if (span->used_count == 0) {
    if (!keeps || !is_kept(class) || span->free_list == LM_NO_BLOCK || span->hole_pages != 0) {
      lm_assert(lm_span_listed_count(span) <= class->free_count);
      class->free_count -= (uint32_t)lm_span_listed_count(span);
      span->next = *ended;
      *ended = span;
      return;
    }
    class->kept = span;
  }
  if (span->free_list != LM_NO_BLOCK) span->state = LM_SPAN_USABLE;
  else if (lm_span_has_room(span) || span->hole_pages != 0) span->state = LM_SPAN_ROOMY;
  else span->state = LM_SPAN_FULL;
  lm_span_list_push_front(lm_central_list_of(span), span);
}

void lm_central_end_all(struct lm_span *ended) {
  for (struct lm_span *next; ended != NULL; ended = next) {
    lm_assert(ended->used_count == 0);
    next = ended->next;
    lm_span_end(ended);
  }
}

bool lm_central_end_empty(struct lm_central *central, size_t class_index, bool now) {
  struct lm_central_class *class = &central->classes[class_index];
  struct lm_span *ended = NULL;
  lm_lock_take(&central->lock);
  struct lm_span *span = class->kept;
  bool changed = span != NULL && (span->changed & LM_CHANGED_SINCE_LOOK) != 0;
  if (span != NULL && (now || !changed)) {
    lm_assert(span->used_count == 0);
    lm_assert(span->state == LM_SPAN_USABLE);
    class->kept = NULL;
    lm_span_list_remove(&class->usable, span);
    class->free_count -= (uint32_t)lm_span_listed_count(span);
    ended = span;
    ended->next = NULL;
  } else if (span != NULL) {
    span->changed &= (uint8_t)~LM_CHANGED_SINCE_LOOK;
  }
  bool others = class->usable.first != NULL || class->roomy.first != NULL;
  lm_lock_free(&central->lock);
  lm_central_end_all(ended);
  return others;
}
