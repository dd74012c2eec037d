/* Spans whose owner's thread has ended. */
#include "unit.h"

#define CLASS 4 /* of 64 bytes */
enum { BLOCKS = 1024 };

static char *blocks[4 * BLOCKS];

/* A heap that takes `taken` blocks, frees those from `keep` on, and ends. */
static void leave_behind(size_t keep, size_t taken) {
  struct lm_heap *heap = new_heap();
  for (size_t i = 0; i < taken; i++) blocks[i] = heap_take(heap, CLASS);
  for (size_t i = keep; i < taken; i++) heap_give(heap, blocks[i]);
  end_heap(heap);
}

static bool put_back(char *first, char *last, size_t count) {
  return lm_orphan_put_back(lm_span_of(first), (struct lm_block *)first, (struct lm_block *)last,
                            count);
}

static void a_span_with_blocks_in_use_becomes_an_orphan(void) {
  leave_behind(3, 10);
  struct lm_span *span = lm_span_of(blocks[0]);
  CHECK_EQ(span->state, LM_SPAN_ORPHAN);
  CHECK_EQ(lm_load_relaxed(&span->owner), NULL);
  CHECK_EQ(lm_tag_of(blocks[0]), LM_OWNER_ORPHAN << LM_TAG_OWNER_SHIFT | CLASS);
  CHECK_EQ(span->used_count, 3);
  CHECK_EQ(span->used_count + list_length(span->free_list), span->extended_count);
}

static void all_kinds_of_spans_are_left(void) {
  leave_behind(2 * BLOCKS + 1, 3 * BLOCKS + 1); /* full, full, empty and current */
  CHECK_EQ(lm_pools[0].span_slice_count, 3);
  CHECK_EQ(lm_span_of(blocks[0])->state, LM_SPAN_ORPHAN);
  CHECK_EQ(lm_span_of(blocks[BLOCKS])->state, LM_SPAN_ORPHAN);
  CHECK_EQ(lm_span_of(blocks[2 * BLOCKS])->used_count, 1);
}

static void an_orphan_with_free_blocks_is_adopted_before_a_new_span_is_taken(void) {
  leave_behind(3, 10);
  struct lm_heap *heap = new_heap();
  char *block = heap_take(heap, CLASS);
  struct lm_span *span = lm_span_of(blocks[0]);
  CHECK_EQ(lm_span_of(block), span);
  CHECK_EQ(span->state, LM_SPAN_CURRENT);
  CHECK_EQ(lm_heap_validate(heap), 4);
  CHECK_EQ(lm_pools[0].span_slice_count, 1);
  heap_give(heap, blocks[0]);
  CHECK_EQ(lm_heap_validate(heap), 3);
}

static void an_orphan_of_another_class_is_left_alone(void) {
  leave_behind(3, 10);
  struct lm_heap *heap = new_heap();
  CHECK(lm_span_of(heap_take(heap, CLASS + 1)) != lm_span_of(blocks[0]));
  CHECK_EQ(lm_orphan_adopt(heap, CLASS + 1), NULL);
}

static void a_class_does_not_borrow_while_an_orphan_of_it_waits(void) {
  struct lm_heap *heap = new_heap();
  heap_take(heap, CLASS + 1);
  CHECK(lm_heap_borrow(heap, CLASS) != NULL);
  leave_behind(3, 10);
  CHECK_EQ(lm_heap_borrow(heap, CLASS), NULL);
  CHECK_EQ(lm_orphan_adopt(new_heap(), CLASS), lm_span_of(blocks[0]));
  CHECK(lm_heap_borrow(heap, CLASS) != NULL);
}

static void an_orphan_without_free_blocks_is_not_adopted(void) {
  leave_behind(64, 64);
  struct lm_heap *heap = new_heap();
  CHECK_EQ(lm_orphan_adopt(heap, CLASS), NULL);
  CHECK(lm_span_of(heap_take(heap, CLASS)) != lm_span_of(blocks[0]));
}

static void a_block_put_back_makes_an_orphan_worth_adopting(void) {
  leave_behind(64, 64);
  struct lm_heap *heap = new_heap();
  CHECK(put_back(blocks[5], blocks[5], 1));
  CHECK_EQ(lm_orphan_adopt(heap, CLASS), lm_span_of(blocks[5]));
  CHECK_EQ(lm_span_of(blocks[5])->free_list, blocks[5]);
  CHECK_EQ(lm_orphan_adopt(heap, CLASS), NULL);
}

static void several_blocks_are_put_back_at_once(void) {
  leave_behind(64, 64);
  struct lm_block *a = (struct lm_block *)blocks[1];
  a->next = (struct lm_block *)blocks[2];
  a->next->next = (struct lm_block *)blocks[3];
  CHECK(put_back(blocks[1], blocks[3], 3));
  struct lm_span *span = lm_span_of(a);
  CHECK_EQ(span->used_count, 61);
  CHECK_EQ(list_length(span->free_list), 3);
}

static void an_adopted_span_takes_nothing_as_an_orphan(void) {
  leave_behind(3, 10);
  struct lm_heap *heap = new_heap();
  struct lm_span *span = lm_orphan_adopt(heap, CLASS);
  uint32_t used = span->used_count;
  CHECK(!put_back(blocks[0], blocks[0], 1));
  CHECK_EQ(span->used_count, used);
}

static void the_last_block_ends_an_orphan_with_free_blocks(void) {
  leave_behind(1, 10);
  CHECK(put_back(blocks[0], blocks[0], 1));
  CHECK_EQ(lm_pools[0].span_slice_count, 0);
  CHECK_EQ(lm_tag_of(blocks[0]), 0);
  lm_pool_validate(&lm_pools[0]);
  CHECK_EQ(lm_orphan_adopt(new_heap(), CLASS), NULL);
  CHECK_EQ(lm_load_relaxed(&usable_counts[CLASS]), 0);
}

static void the_last_block_ends_an_orphan_without_free_blocks(void) {
  size_t class = lm_sizeclass_of(32768);
  struct lm_heap *heap = new_heap();
  char *block = heap_take(heap, class);
  end_heap(heap);
  CHECK(put_back(block, block, 1));
  CHECK_EQ(lm_pools[0].span_slice_count, 0);
  CHECK_EQ(lm_orphan_adopt(new_heap(), class), NULL);
}

static void the_order_of_puts_and_adoptions_does_not_matter(void) {
  leave_behind(3 * BLOCKS, 3 * BLOCKS);
  struct lm_heap *heap = new_heap();
  for (size_t i = 0; i < 3; i++) CHECK(put_back(blocks[i * BLOCKS], blocks[i * BLOCKS], 1));
  CHECK(put_back(blocks[BLOCKS + 1], blocks[BLOCKS + 1], 1));
  size_t adopted = 0;
  while (lm_orphan_adopt(heap, CLASS) != NULL) adopted++;
  CHECK_EQ(adopted, 3);
  CHECK_EQ(lm_load_relaxed(&usable_counts[CLASS]), 0);
}

static void spans_go_from_thread_to_thread_and_end_at_last(void) {
  uint64_t random = 9;
  for (int round = 0; round < 200; round++) {
    struct lm_heap *heap = new_heap();
    for (int step = 0; step < 500; step++) {
      size_t i = random_next(&random) % BLOCKS;
      if (blocks[i] != NULL) heap_give(heap, blocks[i]), blocks[i] = NULL;
      else blocks[i] = heap_take(heap, CLASS + random_next(&random) % 3);
    }
    end_heap(heap);
  }
  CHECK_EQ(lm_heap_made_count, 1);
  struct lm_heap *heap = new_heap();
  for (size_t i = 0; i < BLOCKS; i++)
    if (blocks[i] != NULL) heap_give(heap, blocks[i]);
  end_heap(heap);
  CHECK_EQ(lm_pools[0].span_slice_count, 0);
  for (size_t i = 0; i < LM_CLASS_COUNT; i++) {
    CHECK_EQ(usable_orphans[i].first, NULL);
    CHECK_EQ(full_orphans[i].first, NULL);
  }
  lm_pool_validate(&lm_pools[0]);
}

/* ---- Real threads ---- */

static void *allocate_in_thread(void *unused) {
  for (size_t i = 0; i < 100; i++) blocks[i] = lm_raw_malloc(64);
  return unused;
}

static void a_threads_end_leaves_its_blocks_to_others(void) {
  run_in_thread(allocate_in_thread, NULL);
  CHECK_EQ(lm_pool_thread_count, 0);
  end_all_kept();
  for (size_t i = 0; i < 100; i++) fill(blocks[i], 0, 64, (unsigned)i);
  for (size_t i = 0; i < 100; i++) check_filled(blocks[i], 0, 64, (unsigned)i);
  for (size_t i = 0; i < 100; i++) lm_raw_free(blocks[i]);
  lm_remote_flush(lm_this_heap);
  CHECK_EQ(lm_pools[0].span_slice_count, 0);
}

static void after_a_heaps_end_the_thread_still_has_malloc_and_free(void) {
  char *kept = lm_raw_malloc(64);
  lm_thread_end(lm_this_heap);
  CHECK_EQ(lm_pool_thread_count, 0);
  char *small = loam_malloc(100), *large = loam_malloc(100000), *aligned;
  CHECK_EQ(loam_posix_memalign((void **)&aligned, 65536, 10), 0);
  fill(small, 0, 100, 1), fill(large, 0, 100000, 2);
  small = loam_realloc(small, 200);
  check_filled(small, 0, 100, 1);
  check_filled(large, 0, 100000, 2);
  CHECK(lm_heap_is_empty(lm_this_heap));
  loam_free(small), loam_free(large), loam_free(aligned), lm_raw_free(kept);
  lm_checked_end();
  end_all_kept();
  CHECK_EQ(lm_pools[0].span_slice_count, 0);
  CHECK_EQ(lm_pools[0].large_count, 0);
}

int main(void) {
  RUN(a_span_with_blocks_in_use_becomes_an_orphan);
  RUN(all_kinds_of_spans_are_left);
  RUN(an_orphan_with_free_blocks_is_adopted_before_a_new_span_is_taken);
  RUN(an_orphan_of_another_class_is_left_alone);
  RUN(a_class_does_not_borrow_while_an_orphan_of_it_waits);
  RUN(an_orphan_without_free_blocks_is_not_adopted);
  RUN(a_block_put_back_makes_an_orphan_worth_adopting);
  RUN(several_blocks_are_put_back_at_once);
  RUN(an_adopted_span_takes_nothing_as_an_orphan);
  RUN(the_last_block_ends_an_orphan_with_free_blocks);
  RUN(the_last_block_ends_an_orphan_without_free_blocks);
  RUN(the_order_of_puts_and_adoptions_does_not_matter);
  RUN(spans_go_from_thread_to_thread_and_end_at_last);
  RUN(a_threads_end_leaves_its_blocks_to_others);
  RUN(after_a_heaps_end_the_thread_still_has_malloc_and_free);
  return UNIT_RESULT();
}
