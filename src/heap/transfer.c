#include "heap/transfer.h"

#include "heap/middle.h"
#include "heap/remote.h"
#include "os/panic.h"

struct places {
  /* 0: empty. The lowest bit: it has been there since the clock's last look. Who fills a place
   * releases what is in the blocks; who empties it acquires that, marked or not, since a mark is
   * another compare-and-swap. */
  LM_CACHE_ALIGNED _Atomic(uintptr_t) of[LM_TRANSFER_PLACES];
};
#define MARK ((uintptr_t)1)

#define PLACES_PER_POOL (LM_CLASS_COUNT + LM_CHUNK_RUN_MAX)
/* By class, and then by length. */
static struct places transfers[LM_POOL_MAX][PLACES_PER_POOL];

LM_CACHE_ALIGNED _Atomic(bool) lm_transfers_in_use; /* away from what is written often */

static struct places *places_for(const struct lm_heap *heap, size_t index) {
  return &transfers[heap->pool - lm_pools][index];
}

/* Not where pages come from the program's callbacks, which may not be called in a round. */
static bool fill_place_of(const struct lm_heap *heap, size_t index, const void *first) {
  struct places *places = places_for(heap, index);
  if (lm_load_relaxed(&heap->pool->provider) != NULL) return false;
  if (!lm_load_relaxed(&lm_transfers_in_use)) lm_store_relaxed(&lm_transfers_in_use, true);
  for (size_t i = 0; i < LM_TRANSFER_PLACES; i++) {
    uintptr_t none = 0;
    if (lm_load_relaxed(&places->of[i]) == 0 &&
        lm_cas_release(&places->of[i], &none, (uintptr_t)first))
      return true;
  }
  return false;
}

static void *empty_place(_Atomic(uintptr_t) *place) {
  if (lm_load_relaxed(place) == 0) return NULL;
  return (void *)(lm_exchange_acquire(place, 0) & ~MARK);
}

static void *empty_any_of(struct places *places) {
  void *first = NULL;
  for (size_t i = 0; i < LM_TRANSFER_PLACES && first == NULL; i++)
    first = empty_place(&places->of[i]);
  return first;
}

/* ---- Small blocks ---- */

bool lm_transfer_give(struct lm_heap *heap, size_t class_index) {
  struct lm_block *first = heap->reserves[class_index];
  if (first == NULL || lm_bitmap_test(heap->spare_reserves, class_index)) return false;
  if (!fill_place_of(heap, class_index, first)) return false;
  heap->reserves[class_index] = NULL;
  lm_bitmap_clear(heap->seen_reserves, class_index, class_index + 1);
  return true;
}

bool lm_transfer_take(struct lm_heap *heap, size_t class_index) {
  if (lm_tag_is_shared(heap->tag)) return false;
  struct lm_block *first = empty_any_of(places_for(heap, class_index));
  if (first == NULL) return false;
  lm_assert(heap->reserves[class_index] == NULL && lm_is_block(first));
  heap->reserves[class_index] = first;
  heap->has_guests[class_index] = true;
  return true;
}

/* ---- Middle blocks ---- */

bool lm_transfer_give_middle(const struct lm_heap *heap, void *block) {
  size_t index = lm_region_block_pages(block) - 1;
  return fill_place_of(heap, LM_CLASS_COUNT + index, block);
}

void *lm_transfer_take_middle(const struct lm_heap *heap, size_t index) {
  if (lm_tag_is_shared(heap->tag)) return NULL;
  for (uint64_t fitting = lm_middle_fitting[index]; fitting != 0; fitting &= fitting - 1) {
    size_t length = (size_t)__builtin_ctzll(fitting);
    void *block = empty_any_of(places_for(heap, LM_CLASS_COUNT + length));
    if (block == NULL) continue;
    lm_region_set_block_pages(block, length + 1);
    return block;
  }
  return NULL;
}

/* ---- The way home ---- */

/* The places that are looked at next, counted over all pools. */
static size_t next_places LM_GUARDED_BY(lm_visits_round.lock);
static size_t places_of_all(void) { return lm_pool_count * PLACES_PER_POOL; }

bool lm_transfer_begin_round(void) {
  next_places = 0;
  return lm_load_relaxed(&lm_transfers_in_use);
}

/* Each block is a message of its own. */
#define SENT_PER_EFFORT 4

static void send_list_home(size_t index, struct lm_block *first, size_t *effort) {
  size_t count = 0;
  if (index >= LM_CLASS_COUNT) {
    lm_remote_free_now(first); /* marked as on its way */
  } else {
    for (struct lm_block *next; lm_is_block(first); first = next, count++) {
      next = lm_block_next(first);
      lm_remote_free_now(first);
    }
  }
  lm_spend_effort(effort, 1 + count / SENT_PER_EFFORT);
}

/* Sends home what has been there since the last round, or with `all` whatever is there. */
static void look_at_places(struct places *places, size_t index, bool all, size_t *effort) {
  for (size_t i = 0; i < LM_TRANSFER_PLACES; i++) {
    uintptr_t seen = lm_load_relaxed(&places->of[i]);
    if (seen == 0) continue;
    void *first = all || (seen & MARK) != 0 ? empty_place(&places->of[i]) : NULL;
    if (first != NULL) send_list_home(index, first, effort);
    else if (!all) lm_cas_release(&places->of[i], &seen, seen | MARK);
  }
}

LM_REQUIRES(lm_visits_round.lock) static bool look_at_some_places(bool all, size_t *effort) {
  for (; next_places < places_of_all() && *effort != 0; next_places++) {
    size_t index = next_places % PLACES_PER_POOL;
    look_at_places(&transfers[next_places / PLACES_PER_POOL][index], index, all, effort);
    lm_spend_effort(effort, 1);
  }
  return next_places < places_of_all();
}

bool lm_transfer_look(void) {
  size_t effort = lm_purge_effort();
  return look_at_some_places(false, &effort);
}

void lm_transfer_send_all(void) {
  size_t effort = SIZE_MAX;
  lm_transfer_begin_round();
  look_at_some_places(true, &effort);
}

const struct lm_block *lm_transfer_read(size_t pool, size_t class_index, size_t place) {
  uintptr_t first = lm_load_acquire(&transfers[pool][class_index].of[place]);
  return (const struct lm_block *)(first & ~MARK);
}
