#include "heap/orphan.h"

#include "config/options.h"
#include "heap/holes.h"
#include "heap/span_life.h"
#include "os/misuse.h"
#include "os/panic.h"
#include "pages/chunk.h"

struct lm_lock lm_orphan_locks[LM_ORPHAN_CLASSES];
/* By whether they have free blocks; under the class's lock. */
static struct lm_span_list usable_orphans[LM_ORPHAN_CLASSES], full_orphans[LM_ORPHAN_CLASSES];
/* Of those that have. Written under the lock; read without it by heaps that ask whether it is worth
 * taking. */
static _Atomic(uint32_t) usable_counts[LM_ORPHAN_CLASSES];

/* The usable chunk that is to be aged next, by the clock; NULL: none is. Under the chunks' lock. */
static struct lm_span *next_orphan_to_age;

void lm_orphan_start(void) {
  for (size_t i = 0; i < LM_ORPHAN_CLASSES; i++) lm_orphan_locks[i].rank = LM_RANK_ORPHANS;
}

static void count_usable(size_t class_index, int change) {
  uint32_t count = lm_load_relaxed(&usable_counts[class_index]);
  lm_assert(change > 0 || count != 0);
  lm_store_relaxed(&usable_counts[class_index], count + (uint32_t)change);
}

static bool is_usable(const struct lm_span *span) {
  if (span->class_index == LM_CLASS_MIDDLE) return lm_chunk_of_span(span)->run_limit != 0;
  return span->free_list != LM_NO_BLOCK || span->hole_pages != 0;
}

/* The lock is held; the span is as it was when it was last listed. */
static void unlist(struct lm_span *span) {
  size_t class_index = span->class_index;
  bool usable = is_usable(span);
  if (class_index == LM_CLASS_MIDDLE && span == next_orphan_to_age)
    next_orphan_to_age = span->next;
  lm_span_list_remove(usable ? &usable_orphans[class_index] : &full_orphans[class_index], span);
  if (usable) count_usable(class_index, -1);
}

static void list(struct lm_span *span) {
  size_t class_index = span->class_index;
  bool usable = is_usable(span);
  lm_span_list_push_front(usable ? &usable_orphans[class_index] : &full_orphans[class_index], span);
  if (usable) count_usable(class_index, +1);
}

void lm_orphan_leave(struct lm_span *span) {
  size_t class_index = span->class_index;
  lm_assert(span->used_count != 0 && lm_load_relaxed(&span->owner) != NULL);
  lm_lock_take(&lm_orphan_locks[class_index]);
  span->state = LM_SPAN_ORPHAN;
  lm_span_set_tag(span, LM_OWNER_ORPHAN << LM_TAG_OWNER_SHIFT | (uint32_t)class_index);
  lm_store_release(&span->owner, NULL);
  list(span);
  lm_lock_free(&lm_orphan_locks[class_index]);
}

bool lm_orphan_waits(size_t class_index) {
  return lm_load_relaxed(&usable_counts[class_index]) != 0;
}

struct lm_span *lm_orphan_adopt(struct lm_heap *heap, size_t class_index) {
  if (!lm_orphan_waits(class_index) || lm_tag_is_shared(heap->tag)) return NULL;
  lm_lock_take(&lm_orphan_locks[class_index]);
  struct lm_span *span = usable_orphans[class_index].first;
  if (span != NULL) {
    unlist(span);
    lm_store_release(&span->owner, heap);
  }
  lm_lock_free(&lm_orphan_locks[class_index]);
  return span;
}

bool lm_orphan_adopt_span(struct lm_heap *heap, struct lm_span *span) {
  size_t class_index = span->class_index;
  lm_lock_take(&lm_orphan_locks[class_index]);
  bool orphan = lm_load_relaxed(&span->owner) == NULL;
  if (orphan) {
    unlist(span);
    lm_store_release(&span->owner, heap);
  }
  lm_lock_free(&lm_orphan_locks[class_index]);
  return orphan;
}

static void free_blocks(struct lm_span *span, struct lm_block *first, struct lm_block *last,
                        size_t count) {
  if (span->class_index != LM_CLASS_MIDDLE) {
    if (LM_UNLIKELY(count > span->used_count)) lm_misuse_double_free(first, NULL);
    lm_block_link(last, span->free_list);
    span->free_list = first;
    span->used_count -= (uint32_t)count;
    return;
  }
  for (struct lm_block *block = first, *next; count > 0; count--, block = next) {
    next = lm_block_next(block);
    lm_chunk_give(span, block);
  }
}

bool lm_orphan_put_back(struct lm_span *span, struct lm_block *first, struct lm_block *last,
                        size_t count) {
  size_t class_index = span->class_index;
  lm_lock_take(&lm_orphan_locks[class_index]);
  bool orphan = lm_load_relaxed(&span->owner) == NULL;
  bool empty = false;
  if (orphan) {
    unlist(span);
    free_blocks(span, first, last, count);
    empty = span->used_count == 0;
    if (!empty) list(span);
  }
  lm_lock_free(&lm_orphan_locks[class_index]);
  if (empty) lm_span_end(span);
  return orphan;
}

/* ---- By the clock ---- */

static uint64_t aged_ms LM_GUARDED_BY(lm_visits_round.lock); /* when such a round began last */

static struct lm_holes orphans_holes LM_GUARDED_BY(lm_visits_round.lock);
static uint64_t holes_ms LM_GUARDED_BY(lm_visits_round.lock); /* when some were made last */

void lm_orphan_begin_round(uint64_t now_ms) {
  lm_holes_begin_round(&orphans_holes);
  if (now_ms - aged_ms < LM_OPTION(purge_delay_ms) / 2) return;
  aged_ms = now_ms;
  lm_lock_take(&lm_orphan_locks[LM_CLASS_MIDDLE]);
  if (next_orphan_to_age == NULL) next_orphan_to_age = usable_orphans[LM_CLASS_MIDDLE].first;
  lm_lock_free(&lm_orphan_locks[LM_CLASS_MIDDLE]);
}

/* Purges what has been free in orphaned chunks for a while, some of it. False if that is all. */
static bool age_some_chunks(size_t *effort) {
  if (!lm_orphan_waits(LM_CLASS_MIDDLE)) return false;
  lm_lock_take(&lm_orphan_locks[LM_CLASS_MIDDLE]);
  while (next_orphan_to_age != NULL && *effort != 0 && lm_chunk_age(next_orphan_to_age, effort)) {
    next_orphan_to_age = next_orphan_to_age->next;
    lm_spend_effort(effort, 1);
  }
  bool more = next_orphan_to_age != NULL;
  lm_lock_free(&lm_orphan_locks[LM_CLASS_MIDDLE]);
  return more;
}

LM_REQUIRES(lm_visits_round.lock)
static void look_in_class(void *unused, size_t class_index, size_t *effort) {
  (void)unused;
  if (!lm_orphan_waits(class_index)) return;
  lm_lock_take(&lm_orphan_locks[class_index]);
  lm_holes_look(&orphans_holes, &usable_orphans[class_index], effort);
  lm_lock_free(&lm_orphan_locks[class_index]);
}

bool lm_orphan_look(uint64_t now_ms, size_t *kept) {
  size_t effort = lm_purge_effort();
  if (age_some_chunks(&effort)) return true; /* what time holes earn meanwhile is not lost */
  uint64_t elapsed_ms = now_ms - holes_ms;
  holes_ms = now_ms;
  lm_holes_earn(&orphans_holes, elapsed_ms);
  bool more = lm_holes_go_on(&orphans_holes, look_in_class, NULL, &effort);
  if (!more) *kept += lm_holes_expected_bytes(&orphans_holes);
  return more;
}

size_t lm_orphan_make_holes(void) {
  size_t page_count = 0;
  for (size_t i = 1; i < LM_CLASS_MIDDLE; i++) {
    if (!lm_orphan_waits(i)) continue;
    lm_lock_take(&lm_orphan_locks[i]);
    page_count += lm_holes_make_in(&usable_orphans[i]);
    lm_lock_free(&lm_orphan_locks[i]);
  }
  return page_count;
}
