#include "central/depot.h"

#include "central/put.h"
#include "os/misuse.h"
#include "os/panic.h"
#include "pages/pool_take.h"

/* ---- How many lists ---- */

/* All depots together take twice what caches may keep, and those of a central their part of it, as
 * much as two lists of a large class at least: what is here serves any thread. */
static size_t bytes_most(void) {
  return lm_max(lm_caches_bytes() / lm_central_count * 2, LM_MIB);
}

static uint16_t limit_most(size_t class_index) {
  size_t count = LM_DEPOT_BYTES / lm_depot_list_bytes(class_index);
  return (uint16_t)lm_max(count, LM_DEPOT_LISTS_FIRST);
}

static enum lm_list_fate fate_of(struct lm_central *central, size_t class_index, size_t count) {
  struct lm_central_class *class = &central->classes[class_index];
  bool asked = class->asked;
  if (central->depot_bytes + count * lm_sizeclass_bytes(class_index) > bytes_most())
    return LM_LIST_REFUSED;
  class->list_limit = (uint16_t)lm_max(class->list_limit, LM_DEPOT_LISTS_FIRST);
  class->asked = false;
  if (class->listed_max + count > class->list_limit * (size_t)lm_list_blocks[class_index]) {
    if (!asked || class->list_limit >= limit_most(class_index)) return LM_LIST_REFUSED;
    class->list_limit++;
  }
  if (asked) return LM_LIST_WANTED;
  return class->list_limit > LM_DEPOT_LISTS_FIRST ? LM_LIST_LEARNED : LM_LIST_KEPT;
}

void lm_depot_learn(struct lm_central_class *class, size_t class_index) {
  uint32_t blocks = lm_list_blocks[class_index];
  class->asked = true;
  if (LM_LIKELY(class->refused_count < blocks)) return;
  class->refused_count -= blocks;
  if (class->list_limit < limit_most(class_index)) class->list_limit++;
}

void lm_depot_learn_middle(struct lm_central *central, size_t class_index) {
  lm_lock_take(&central->lock);
  lm_depot_learn(&central->classes[class_index], class_index);
  lm_lock_free(&central->lock);
}

/* ---- Lists in and out. The lock is held ---- */

static void note_blocks(struct lm_central *central, size_t class_index, size_t more) {
  central->classes[class_index].listed_max += (uint32_t)more;
  central->depot_bytes += more * lm_sizeclass_bytes(class_index);
}

static void link_list(struct lm_central *central, size_t class_index, struct lm_block *first,
                      struct lm_block *next, size_t count_max) {
  struct lm_central_class *class = &central->classes[class_index];
  lm_list_set_count_max(first, class_index, count_max);
  lm_list_link(first, next != NULL ? next : LM_NO_BLOCK);
  class->lists = first;
  lm_store_relaxed(&class->list_count, lm_load_relaxed(&class->list_count) + 1);
  note_blocks(central, class_index, lm_list_count_max(first, class_index));
}

static void push_list(struct lm_central *central, size_t class_index, struct lm_block *first,
                      size_t count_max) {
  struct lm_central_class *class = &central->classes[class_index];
  lm_assert(lm_is_block(first) && central->tag_bits == 0);
  link_list(central, class_index, first, class->lists, count_max);
  lm_central_note(&lm_depot_words[class_index], central);
}

/* The list after the first one, NULL if there is none. */
static struct lm_block *next_list(struct lm_block *first, size_t class_index) {
  struct lm_block *next = lm_list_next(first);
  if (LM_UNLIKELY(!lm_is_block(next) && next != LM_NO_BLOCK))
    lm_misuse_broken_link(lm_sizeclass_bytes(class_index));
  return next != LM_NO_BLOCK ? next : NULL;
}

static struct lm_block *pop_list(struct lm_central *central, size_t class_index, size_t want,
                                 size_t *count_max) {
  struct lm_central_class *class = &central->classes[class_index];
  struct lm_block *first = class->lists;
  if (first == NULL) return NULL;
  struct lm_block *next = class->lists = next_list(first, class_index);
  lm_store_relaxed(&class->list_count, lm_load_relaxed(&class->list_count) - 1);
  *count_max = lm_list_count_max(first, class_index);
  /* Where a program has written over a count, what is left of the sum goes with the last list. */
  size_t gone = next != NULL ? lm_min(*count_max, class->listed_max) : class->listed_max;
  note_blocks(central, class_index, -gone);
  if (want < *count_max && lm_list_has_count(class_index)) {
    want = lm_min(want, LM_CENTRAL_BLOCKS_AT_ONCE);
    struct lm_block *rest = lm_list_cut(first, &want, class_index);
    if (rest != LM_NO_BLOCK) link_list(central, class_index, rest, next, *count_max - want);
    *count_max = want;
  }
  uint32_t count = lm_load_relaxed(&class->list_count);
  lm_assert((count == 0) == (class->lists == NULL));
  if (count < lm_load_relaxed(&class->lowest_count)) lm_store_relaxed(&class->lowest_count, count);
  return first;
}

/* ---- For caches ---- */

struct lm_block *lm_depot_pop(struct lm_central *central, size_t class_index, size_t want,
                              size_t *count_max) {
  struct lm_block *first = pop_list(central, class_index, want, count_max);
  if (first != NULL) central->classes[class_index].asked = true;
  return first;
}

/* Whether one is there is seen without the lock. */
struct lm_block *lm_depot_take(struct lm_central *central, size_t class_index, size_t want,
                               size_t *count_max) {
  if (lm_load_relaxed(&central->classes[class_index].list_count) == 0) return NULL;
  lm_lock_take(&central->lock);
  struct lm_block *first = lm_depot_pop(central, class_index, want, count_max);
  lm_lock_free(&central->lock);
  return first;
}

LM_LOCKS_UNCHECKED struct lm_block *lm_depot_take_elsewhere(struct lm_central *central,
                                                            size_t class_index, size_t want,
                                                            size_t *count_max) {
  _Atomic(uintptr_t) *word = &lm_depot_words[class_index];
  struct lm_central_walk walk = {lm_load_relaxed(word), 0, NULL};
  struct lm_central *other;
  struct lm_block *first = NULL;
  while (first == NULL && (other = lm_central_enter_next(&walk, central)) != NULL) {
    struct lm_central_class *class = &other->classes[class_index];
    first = lm_depot_pop(other, class_index, want, count_max);
    if (class->lists != NULL) lm_central_note(word, other);
    else if (first == NULL) lm_central_unnote(word, other);
    lm_central_leave(other);
  }
  return first;
}

/* Which lock it takes is not known before. */
LM_LOCKS_UNCHECKED enum lm_list_fate lm_depot_give(struct lm_central *central, size_t class_index,
                                                   struct lm_block *first, size_t count_max) {
  bool anywhere = lm_sizeclass_bytes(class_index) >= LM_ELSEWHERE_MIN_BYTES;
  if (anywhere) central = lm_central_enter(central);
  else lm_lock_take(&central->lock);
  enum lm_list_fate fate = fate_of(central, class_index, count_max);
  if (fate != LM_LIST_REFUSED) push_list(central, class_index, first, count_max);
  lm_central_leave(central);
  return fate;
}

/* ---- Back to where they came from ---- */

/* Spans count their blocks themselves. */
static void note_middle_put(struct lm_central *central, size_t class_index,
                            uint32_t refused_count) {
  struct lm_central_class *class = &central->classes[class_index];
  lm_lock_take(&central->lock);
  class->refused_count += refused_count;
  lm_lock_free(&central->lock);
}

void lm_depot_put_back(struct lm_central *central, size_t class_index, struct lm_block *first,
                       bool refused) {
  if (lm_class_is_small(class_index)) {
    lm_central_put_list(first, refused);
    return;
  }
  uint32_t count = 0;
  for (struct lm_block *block = first, *next; lm_is_block(block); block = next, count++) {
    next = lm_block_next(block);
    lm_assert(lm_region_block_pages(block) == lm_middle_pages[class_index]);
    lm_region_set_block_pages(block, lm_region_block_pages(block));
    lm_pool_give_large(block);
  }
  if (refused) note_middle_put(central, class_index, count);
}

/* What it takes to put a list back, in pages of lm_purge_effort: some eight blocks take as long as
 * a page that is purged. */
#define BLOCKS_PER_EFFORT 8

/* The next list that is to go. */
static struct lm_block *take_aged(struct lm_central *central, size_t class_index, bool all,
                                  size_t keep_count, size_t *count_max) {
  struct lm_central_class *class = &central->classes[class_index];
  struct lm_block *first = NULL;
  lm_lock_take(&central->lock);
  if (all || lm_load_relaxed(&class->lowest_count) > keep_count)
    first = pop_list(central, class_index, LM_LIST_BLOCKS_MAX, count_max);
  if (first == NULL) {
    class->refused_count /= 2;
    lm_store_relaxed(&class->lowest_count, lm_load_relaxed(&class->list_count));
  } else if (class->list_limit > LM_DEPOT_LISTS_FIRST) {
    class->list_limit--;
  }
  lm_lock_free(&central->lock);
  return first;
}

bool lm_depot_age(struct lm_central *central, size_t class_index, bool all, size_t *effort) {
  struct lm_central_class *class = &central->classes[class_index];
  if (all && lm_load_relaxed(&class->list_count) == 0) return false;
  size_t keep_count = lm_load_relaxed(&class->lowest_count) / 2, count_max;
  for (struct lm_block *first; *effort != 0;) {
    first = take_aged(central, class_index, all, keep_count, &count_max);
    if (first == NULL) return false;
    lm_depot_put_back(central, class_index, first, false);
    lm_spend_effort(effort, count_max / BLOCKS_PER_EFFORT + 1);
  }
  return true;
}
