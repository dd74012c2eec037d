#include "heap/inspect.h"

#include "heap/middle.h"
#include "pages/directory.h"

/* ---- One block that is being freed ---- */

void lm_inspect_freed(const struct lm_heap *heap, const struct lm_block *block, size_t class_index,
                      size_t most, void *caller) {
  const struct lm_block *first = heap->bins[class_index];
  lm_inspect_given_own(lm_span_of_own(block), class_index, block, first, caller);
  for (const struct lm_block *other = first; most > 1 && lm_is_block(other); most--) {
    if (!lm_region_holds((uintptr_t)other))
      lm_misuse_broken_link(lm_classes[class_index].block_bytes);
    other = lm_block_next(other);
    if (other == block) lm_misuse_double_free(block, caller);
  }
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
  return lm_span_record_of(block)->head != NULL &&
         lm_span_of(block)->class_index == class_index;
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
  lm_inspect_given(lm_span_of(block), block, twice ? block : NULL, NULL);
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
#define INSPECTED_OF_LIST 16

static void inspect_young(struct inspection *inspection, struct lm_block *list,
                          size_t class_index) {
  size_t most = lm_min(inspection->left, INSPECTED_OF_LIST);
  struct inspection some = {most, inspection->mark};
  inspect_list(&some, list, class_index);
  inspection->left -= most - some.left;
}

#define INSPECTED_SPANS 4 /* of one kind of list */

static void inspect_spans(struct inspection *inspection, const struct lm_span_list *list) {
  const struct lm_span *span = list->first;
  for (size_t i = 0; span != NULL && i < INSPECTED_SPANS; i++, span = span->next)
    inspect_young(inspection, span->free_list, span->class_index);
}

static void inspect_class(struct inspection *inspection, const struct lm_heap *heap,
                          size_t class_index) {
  inspect_young(inspection, heap->bins[class_index], class_index);
  struct lm_block *reserve = heap->reserves[class_index];
  if (reserve != NULL) inspect_young(inspection, reserve, class_index);
  if (heap->span_counts[class_index] == 0) return;
  const struct lm_span *current = heap->current[class_index];
  if (current != NULL) inspect_young(inspection, current->free_list, class_index);
  inspect_spans(inspection, &heap->usable[class_index]);
  inspect_spans(inspection, &heap->full[class_index]);
}

/* Blocks of other heaps on their way. Middle ones are known by their entries. */
static void inspect_chain(struct inspection *inspection, const struct lm_chain *chain) {
  struct lm_block *block = chain->newest;
  const struct lm_block *previous = NULL;
  if (chain->slice == 0 || chain->weight == 0) return;
  for (size_t i = 0; i < chain->count && inspection->left != 0; i++) {
    inspect_block(inspection, previous, block, lm_span_of(chain->handle)->class_index);
    previous = block;
    block = lm_block_next(block);
  }
}

/* Middle blocks that are cached. */
static void inspect_middle(struct inspection *inspection, const struct lm_middle *middle) {
  for (size_t i = 0; i < LM_CHUNK_RUN_MAX; i++) {
    const struct lm_cached *block = middle->cached[i];
    for (; block != NULL && inspection->left != 0; block = block->next, inspection->left--) {
      bool broken = block->next != NULL && !lm_region_holds((uintptr_t)block->next);
      if (broken || block->entry != lm_region_block_entry(block))
        lm_misuse_write_after_free(block);
    }
  }
}

void lm_inspect_heap(struct lm_heap *heap, size_t first_class, size_t most) {
  struct inspection inspection = {most, new_mark()};
  for (size_t i = lm_max(first_class, 1); i < LM_CLASS_COUNT && inspection.left != 0; i++)
    inspect_class(&inspection, heap, i);
  if (heap->outbox.weight != 0)
    for (size_t i = 0; i < LM_CHAIN_COUNT; i++) inspect_chain(&inspection, &heap->chains[i]);
  inspect_middle(&inspection, &heap->middle);
}
