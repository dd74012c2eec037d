#include "central/central.h"

#include "central/depot.h"
#include "central/holes.h"
#include "central/span_life.h"
#include "os/misuse.h"
#include "os/panic.h"
#include "pages/meta.h"

_Atomic(struct lm_central *) lm_centrals[LM_CENTRAL_MAX];
uint32_t lm_central_count = 1;
struct lm_lock lm_centrals_lock = LM_LOCK_INIT(LM_RANK_CENTRALS);
_Atomic(uintptr_t) lm_central_words[LM_BIN_COUNT], lm_depot_words[LM_BIN_COUNT];

/* ---- Centrals ---- */

void lm_central_start(void) {
  size_t cpus = lm_os.cpu_count;
  if (cpus > LM_CPUS_PER_POOL) cpus = lm_min(cpus, lm_os_find_group_cpus());
  lm_central_count = (uint32_t)lm_max(1, lm_min(cpus, LM_CENTRAL_MAX));
}

void lm_central_init(struct lm_central *central, uint32_t index, uint32_t rank, uint32_t tag_bits,
                     struct lm_pool *pool) {
  lm_assert(central->pool == NULL && pool != NULL);
  central->lock.rank = rank;
  central->index = index;
  central->tag_bits = tag_bits;
  central->pool = pool;
}

static LM_COLD struct lm_central *make_central(uint32_t index) {
  lm_lock_take(&lm_centrals_lock);
  struct lm_central *central = lm_load_relaxed(&lm_centrals[index]);
  if (central == NULL) central = lm_meta_take(sizeof *central);
  if (central != NULL && central->pool == NULL) {
    lm_central_init(central, index, LM_RANK_CENTRAL, 0, &lm_pools[index % lm_pool_count]);
    lm_store_release(&lm_centrals[index], central);
  }
  lm_lock_free(&lm_centrals_lock);
  return central;
}

struct lm_central *lm_central_at(uint32_t index) {
  index %= lm_central_count;
  struct lm_central *central = lm_central_if_made(index);
  return LM_LIKELY(central != NULL) ? central : make_central(index);
}

/* So many others are tried before a thread waits for its own. */
#define CENTRALS_TRIED 3

LM_LOCKS_UNCHECKED struct lm_central *lm_central_enter(struct lm_central *central) {
  struct lm_central *other = central;
  for (uint32_t i = 0; i <= CENTRALS_TRIED && other != NULL; i++) {
    if (lm_lock_try(&other->lock)) return other;
    if (i + 1 >= lm_central_count) break;
    other = lm_central_at(other->index + 1);
  }
  lm_lock_take(&central->lock);
  return central;
}

/* ---- Which centrals have something ---- */

uint32_t lm_central_next_noted(uintptr_t word, const struct lm_central *own, uint32_t *place) {
  const uint32_t bits = 8 * sizeof word;
  while (++*place < lm_central_count) {
    uint32_t index = (own->index + *place) % lm_central_count;
    if (*place % bits == 1 && word == 0) break;
    if ((word >> index % bits & 1) != 0) return index;
  }
  return LM_CENTRAL_MAX;
}

LM_LOCKS_UNCHECKED struct lm_central *lm_central_enter_next(struct lm_central_walk *walk,
                                                            const struct lm_central *own) {
  uint32_t index;
  while (walk->noted != 0 &&
         (index = lm_central_next_noted(walk->noted, own, &walk->place)) != LM_CENTRAL_MAX) {
    struct lm_central *other = lm_central_if_made(index);
    if (other == NULL) continue;
    if (lm_lock_try(&other->lock)) return other;
    if (walk->busy == NULL) walk->busy = other;
  }
  struct lm_central *other = walk->busy;
  *walk = (struct lm_central_walk){0, 0, NULL};
  if (other != NULL) lm_lock_take(&other->lock);
  return other;
}

/* ---- Spans on lists ---- */

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

/* ---- Taking ---- */

/* What follows a block of a list is one, or the list's end. */
LM_INLINE void check_next(const struct lm_block *next, size_t class_index) {
  if (LM_UNLIKELY(!lm_is_block(next) && next != LM_NO_BLOCK))
    lm_misuse_broken_link(lm_classes[class_index].block_bytes);
}

/* Takes up to `want` blocks off the span's free_list and puts them before `rest`. Returns the first
 * of all. */
static struct lm_block *take_listed(struct lm_span *span, size_t want, struct lm_block *rest,
                                    size_t *count) {
  lm_assert(want != 0 && span->free_list != LM_NO_BLOCK);
  lm_assert(span->state == LM_SPAN_USABLE || span->state == LM_SPAN_ROOMY);
  struct lm_block *first = span->free_list, *last = first, *next = lm_block_next(last);
  size_t taken = 1;
  size_t listed = lm_span_listed_count(span);
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

/* Carves blocks of a span that has room, or fills one of its holes. The lock is held. */
static void *grow_span(struct lm_central *central, struct lm_span *span, size_t want,
                       struct lm_block **rest, size_t *count, bool *zero) {
  size_t offset = span->extended_count * (size_t)lm_classes[span->class_index].block_bytes;
  void *first = lm_span_start(span) + offset;
  if (span->hole_pages != 0) {
    lm_holes_fill(span);
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

/* ---- Putting back ---- */

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

/* The span's central's lock is held. A block that is none of the span's, or free already, ends the
 * program. */
LM_INLINE void put_one(struct lm_central *central, struct lm_span *span, struct lm_block *block,
                       struct putting *putting) {
  struct lm_block *before = span->free_list;
  size_t offset = ((uintptr_t)block & (LM_SLICE_BYTES - 1)) +
                  ((size_t)lm_span_record_of(block)->head_distance << LM_SLICE_SHIFT);
  uint32_t product = (uint32_t)offset * putting->inverse;
  uint32_t index = product >> putting->shift | product << (32 - putting->shift);
  bool good = index < span->extended_count && block != before && span->used_count != 0 &&
              span->class_index == putting->class_index;
  if (LM_UNLIKELY(!good)) fail_put(span, block, putting);
  lm_block_link(block, before);
  span->free_list = block;
  span->changed = LM_CHANGED;
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

/* ---- Empty spans ---- */

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
