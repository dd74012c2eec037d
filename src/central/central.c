#include "central/central.h"

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
  central->put_key = (uint64_t)lm_os_random() << 32 ^ lm_os_random();
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
