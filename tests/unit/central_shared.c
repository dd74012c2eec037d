/* First-class heaps as centrals of their own: no cache has their blocks, and all goes back at once. */
#include "unit.h"

#define TEST_PREFIXED 1
#include "../names.h"
#include "../provider.h"

static struct loam_heap *begin(void) {
  struct loam_heap *heap = lm_shared_begin(NULL);
  CHECK(heap != NULL);
  return heap;
}

static void *take(struct loam_heap *heap, size_t size) {
  bool zero;
  lm_lock_take(&heap->central.lock);
  void *block = lm_central_take_one(&heap->central, lm_sizeclass_of(size), &zero);
  lm_lock_free(&heap->central.lock);
  return block;
}

static void give_all_of(struct loam_heap *heap) {
  lm_lock_take(&heap->central.lock);
  lm_shared_give_all(heap);
  lm_lock_free(&heap->central.lock);
  lm_central_validate(&heap->central);
}

static void end(struct loam_heap *heap) {
  give_all_of(heap);
  heap->live = false;
  lm_shared_end(heap);
}

static size_t slices_of(const struct loam_heap *heap) { return heap->central.pool->span_slice_count; }

struct counted {
  size_t used, free;
};
static void count_block(void *context, void *block, size_t bytes, bool in_use) {
  struct counted *counted = context;
  CHECK_EQ(lm_raw_usable_bytes(block), bytes);
  if (in_use) counted->used++;
  else counted->free++;
}
static struct counted count_blocks(struct loam_heap *heap) {
  struct counted counted = {0, 0};
  lm_lock_take(&heap->central.lock);
  lm_shared_visit(heap, count_block, &counted);
  lm_lock_free(&heap->central.lock);
  return counted;
}

static void its_blocks_are_known_by_their_tags(void) {
  struct loam_heap *heap = begin();
  void *block = take(heap, 100);
  CHECK(lm_tag_is_shared(lm_tag_of(block)) && lm_tag_is_small(lm_tag_of(block)));
  CHECK_EQ(lm_shared_of(block), heap);
  CHECK_EQ(lm_raw_usable_bytes(block), lm_sizeclass_bytes(lm_sizeclass_of(100)));
}

static void a_block_that_is_freed_is_in_no_cache_and_the_heaps_next(void) {
  struct loam_heap *heap = begin();
  take(heap, 100);
  void *block = take(heap, 100);
  lm_raw_free(lm_raw_malloc(100)); /* the thread has a cache */
  lm_raw_free(block);
  CHECK_THAT(length_of(lm_this_cache->lists[lm_sizeclass_of(100)]), <=, lm_list_blocks[7]);
  CHECK_EQ(count_blocks(heap).used, 1);
  CHECK_EQ(take(heap, 100), block);
  lm_central_validate(&heap->central);
}

static void *free_block(void *block) {
  lm_raw_free(block);
  return NULL;
}
static void any_thread_may_free_it(void) {
  struct loam_heap *heap = begin();
  void *block = take(heap, 100), *other = take(heap, 100);
  run_in_thread(free_block, block);
  CHECK_EQ(count_blocks(heap).used, 1);
  lm_raw_free(other);
  CHECK_EQ(count_blocks(heap).used, 0);
  lm_central_validate(&heap->central);
}

static void empty_spans_go_back_and_one_of_a_class_stays(void) {
  enum { COUNT = 4000 };
  static void *blocks[COUNT];
  struct loam_heap *heap = begin();
  for (size_t i = 0; i < COUNT; i++) blocks[i] = take(heap, 100);
  CHECK_THAT(slices_of(heap), >, 4);
  for (size_t i = 0; i < COUNT; i++) lm_shared_free(blocks[i], NULL);
  CHECK_EQ(slices_of(heap), 1);
  lm_central_validate(&heap->central);
}

static void a_visit_sees_each_block_once(void) {
  struct loam_heap *heap = begin();
  void *blocks[300];
  for (size_t i = 0; i < COUNT_OF(blocks); i++) blocks[i] = take(heap, 16 + i * 20);
  for (size_t i = 0; i < COUNT_OF(blocks); i += 3) lm_shared_free(blocks[i], NULL);
  CHECK_EQ(count_blocks(heap).used, 200);
}

static void all_of_it_goes_back_whatever_is_in_use(void) {
  struct loam_heap *heap = begin();
  for (size_t i = 0; i < 3000; i++) CHECK(take(heap, 16 + i % 2000) != NULL);
  give_all_of(heap);
  CHECK_EQ(slices_of(heap), 0);
  lm_pool_validate(heap->central.pool);
  CHECK(take(heap, 50) != NULL);
  CHECK_EQ(count_blocks(heap).used, 1);
}

static void a_heap_that_has_ended_is_the_next_one(void) {
  struct loam_heap *first = begin();
  end(first);
  CHECK_EQ(begin(), first);
  CHECK(begin() != first);
}

static void heaps_do_not_take_of_each_other(void) {
  struct loam_heap *one = begin(), *other = begin();
  void *block = take(one, 500);
  take(one, 500);
  lm_shared_free(block, NULL);
  CHECK_EQ(lm_shared_of(take(other, 500)), other);
  CHECK_EQ(lm_shared_of(take(one, 500)), one);
}

static void without_memory_there_is_no_heap_and_later_there_is(void) {
  refuse_all(true);
  CHECK_EQ(lm_shared_begin(NULL), NULL);
  refuse_all(false);
  begin();
}

/* ---- With a provider of its own ---- */

static struct strict strict;
static struct loam_heap *begin_with_provider(void) {
  strict_start(&strict);
  strict.countdown = -1;
  struct loam_heap *heap = lm_shared_begin(&strict.provider);
  CHECK(heap != NULL);
  return heap;
}

static void its_memory_is_its_providers_and_goes_back_to_it(void) {
  struct loam_heap *heap = begin_with_provider();
  for (size_t i = 0; i < 1000; i++) memset(take(heap, 200), 1, 200);
  CHECK(lm_pool_is_own(heap->central.pool));
  CHECK_EQ(lm_pools[0].span_slice_count, 0);
  CHECK_THAT(strict.committed_bytes, >, 200000);
  end(heap);
  strict_check_all_released(&strict);
}

static void a_commit_that_is_refused_leaves_the_heap_whole(void) {
  struct loam_heap *heap = begin_with_provider();
  size_t held = 0;
  for (; held < 3000; held++) CHECK(take(heap, 64) != NULL);
  strict.countdown = 0;
  strict.all = 1;
  while (take(heap, 64) != NULL) held++;
  lm_central_validate(&heap->central);
  size_t slices = slices_of(heap);
  for (int i = 0; i < 100; i++) CHECK_EQ(take(heap, 64), NULL);
  CHECK_EQ(slices_of(heap), slices); /* however often it is asked */
  lm_central_validate(&heap->central);
  lm_pool_validate(heap->central.pool);
  strict.countdown = -1;
  for (int i = 0; i < 2000; i++, held++) memset(take(heap, 64), 1, 64);
  lm_central_validate(&heap->central);
  CHECK_EQ(count_blocks(heap).used, held);
  end(heap);
  strict_check_all_released(&strict);
}

static void each_callback_may_fail_alone(void) {
  struct loam_heap *heap = begin_with_provider();
  size_t failed = 0;
  for (long fault = 0; fault < 40; fault++) {
    strict.countdown = fault;
    for (size_t i = 0; i < 300; i++)
      if (take(heap, 3000) == NULL) failed++;
    lm_central_validate(&heap->central);
    lm_pool_validate(heap->central.pool);
  }
  CHECK_THAT(failed, >, 0);
  CHECK_THAT(failed, <=, 40);
  strict.countdown = -1;
  end(heap);
  strict_check_all_released(&strict);
}

int main(void) {
  RUN(its_blocks_are_known_by_their_tags);
  RUN(a_block_that_is_freed_is_in_no_cache_and_the_heaps_next);
  RUN(any_thread_may_free_it);
  RUN(empty_spans_go_back_and_one_of_a_class_stays);
  RUN(a_visit_sees_each_block_once);
  RUN(all_of_it_goes_back_whatever_is_in_use);
  RUN(a_heap_that_has_ended_is_the_next_one);
  RUN(heaps_do_not_take_of_each_other);
  RUN(without_memory_there_is_no_heap_and_later_there_is);
  RUN(its_memory_is_its_providers_and_goes_back_to_it);
  RUN(a_commit_that_is_refused_leaves_the_heap_whole);
  RUN(each_callback_may_fail_alone);
  return UNIT_RESULT();
}
