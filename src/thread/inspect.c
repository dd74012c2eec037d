#include "thread/inspect.h"

#include "central/span_life.h"
#include "os/os.h"

/* ---- One block that is being freed ---- */

size_t lm_inspect_freed(const struct lm_cache *cache, const struct lm_block *block,
                        size_t class_index, size_t most, void *caller) {
  size_t count = 0;
  if (!lm_span_has_block_at(lm_span_of(block), block))
    lm_misuse_not_a_start(block, "free", caller);
  const struct lm_block *other = cache->lists[class_index];
  for (; count < most && lm_is_block(other); other = lm_block_next(other), count++) {
    if (other == block) lm_misuse_double_free(block, caller);
    if (!lm_region_holds((uintptr_t)other))
      lm_misuse_broken_link(lm_classes[class_index].block_bytes);
  }
  return count;
}

/* ---- Many free blocks ---- */

/* A free block has room for a link and the mark of the inspection that has seen it. */
struct seen_block {
  struct lm_block *next;
  uint64_t mark;
};
_Static_assert(sizeof(struct seen_block) <= LM_GRANULE_BYTES, "the smallest block");

struct inspection {
  size_t left; /* blocks that may still be looked at */
  uint64_t mark;
};

/* No other inspection's, nor one that a program makes of an earlier one by writing to some of its
 * bytes. */
static uint64_t new_mark(void) {
  static _Atomic(uintptr_t) secret; /* written by whoever finds 0 */
  static _Atomic(uintptr_t) count;  /* written by any thread */
  uintptr_t none = 0;
  if (lm_load_relaxed(&secret) == 0) lm_cas_acquire(&secret, &none, lm_os_random() | 1);
  uint64_t number = lm_load_relaxed(&secret) + lm_add_relaxed(&count, 1);
  for (int turn = 0; turn < 2; turn++) {
    number *= UINT64_C(0x9e3779b97f4a7c15);
    number ^= number >> 32;
  }
  return number;
}

static bool is_in_span_of(const struct lm_block *block, size_t class_index) {
  if (!lm_is_block(block) || !lm_region_holds((uintptr_t)block)) return false;
  return lm_load_relaxed(&lm_span_record_of(block)->tag) == class_index;
}

/* `previous` is the block that leads here, or NULL. */
static void inspect_block(struct inspection *inspection, const struct lm_block *previous,
                          struct lm_block *block, size_t class_index) {
  if (!is_in_span_of(block, class_index)) {
    if (previous == NULL) lm_misuse_broken_link(lm_classes[class_index].block_bytes);
    lm_misuse_write_after_free(previous);
  }
  struct seen_block *seen = (struct seen_block *)block;
  bool twice = seen->mark == inspection->mark;
  if (twice) lm_misuse_double_free(block, NULL);
  if (!lm_span_has_block_at(lm_span_of(block), block)) lm_misuse_not_a_start(block, "free", NULL);
  seen->mark = inspection->mark;
  inspection->left--;
}

static void inspect_list(struct inspection *inspection, struct lm_block *list, size_t class_index) {
  const struct lm_block *previous = NULL;
  for (struct lm_block *block = list; block != LM_NO_BLOCK && inspection->left != 0;) {
    inspect_block(inspection, previous, block, class_index);
    previous = block;
    block = lm_block_next(block);
  }
}

/* So many of one list: what is wrong is likely to be young, and at the beginning. */
#define INSPECTED_OF_LIST 24

static void inspect_young(struct inspection *inspection, struct lm_block *list,
                          size_t class_index) {
  size_t most = lm_min(inspection->left, INSPECTED_OF_LIST);
  struct inspection some = {most, inspection->mark};
  inspect_list(&some, list, class_index);
  inspection->left -= most - some.left;
}

/* Middle blocks are known by their entries. */
static void inspect_middle(struct inspection *inspection, const struct lm_block *list) {
  for (const struct lm_block *block = list; block != LM_NO_BLOCK && inspection->left != 0;) {
    const struct lm_block *next = lm_block_next(block);
    bool is_block = next == LM_NO_BLOCK || (lm_is_block(next) && lm_region_holds((uintptr_t)next));
    if (!is_block || lm_region_live_pages(block) != 0) lm_misuse_write_after_free(block);
    block = next;
    inspection->left--;
  }
}

void lm_inspect_cache(struct lm_cache *cache, size_t first_class, size_t most) {
  struct inspection inspection = {most, new_mark()};
  for (size_t i = lm_max(first_class, 1); i < LM_BIN_COUNT && inspection.left != 0; i++) {
    if (lm_class_is_small(i)) inspect_young(&inspection, cache->lists[i], i);
    else inspect_middle(&inspection, cache->lists[i]);
  }
}
