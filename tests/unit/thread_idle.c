// tsan: yes
/* Caches between threads: which keep their lists, for whom, and until when. */
#include "unit.h"

#define CLASS lm_sizeclass_of(64)

static size_t lists_length(const struct lm_cache *cache, size_t class_index) {
  return length_of(cache->lists[class_index]);
}

/* Of a thread that has used some blocks of a class. */
static struct lm_cache *used_cache(size_t class_index, size_t count) {
  void *held[64];
  struct lm_cache *cache = new_cache();
  for (size_t i = 0; i < count; i++) CHECK((held[i] = cache_take(cache, class_index)) != NULL);
  for (size_t i = 0; i < count; i++) cache_give(cache, held[i]);
  CHECK_THAT(lists_length(cache, class_index), >=, count);
  return cache;
}

static void the_next_thread_has_the_lists_of_the_one_that_ended_last(void) {
  struct lm_cache *first = used_cache(CLASS, 20), *second = used_cache(CLASS, 20);
  struct lm_block *block = second->lists[CLASS];
  size_t length = lists_length(second, CLASS);
  lm_cache_end(first);
  lm_cache_end(second);
  CHECK_EQ(lm_pool_thread_count, 0);
  struct lm_cache *next = new_cache();
  CHECK_EQ(next, second);
  CHECK_EQ(lists_length(next, CLASS), length);
  CHECK_EQ(cache_take(next, CLASS), block);
  CHECK_EQ(new_cache(), first);
  CHECK_EQ(lm_pool_thread_count, 2);
  validate_all();
}

static void no_more_than_some_rest(void) {
  enum { THREADS = 20 };
  struct lm_cache *caches[THREADS];
  size_t resting = 0;
  for (size_t i = 0; i < THREADS; i++) caches[i] = used_cache(CLASS, 20);
  for (size_t i = 0; i < THREADS; i++) lm_cache_end(caches[i]);
  for (size_t i = 0; i < THREADS; i++) resting += lists_length(caches[i], CLASS) != 0;
  CHECK_EQ(resting, 8);
  CHECK_EQ(find_blocks(CLASS).taken, 0);
  validate_all();
}

static void they_have_no_more_than_caches_may(void) {
  const size_t large = lm_sizeclass_of(16384);
  struct lm_cache *first = used_cache(large, 4), *second = used_cache(large, 4);
  lm_options.heap_cache_bytes = first->granted_bytes + second->granted_bytes - 1;
  lm_cache_end(first);
  lm_cache_end(second);
  CHECK_THAT(lists_length(first, large), >, 0);
  CHECK_EQ(lists_length(second, large), 0);
  CHECK_EQ(second->granted_bytes, 0);
  CHECK_EQ(new_cache(), first);
  lm_cache_end(first); /* what one that was taken again had is not counted twice */
  CHECK_THAT(lists_length(first, large), >, 0);
}

static void what_is_freed_in_bulk_does_not_rest(void) {
  enum { MANY = 20000 };
  static void *held[MANY];
  struct lm_cache *cache = new_cache();
  for (size_t i = 0; i < MANY; i++) held[i] = cache_take(cache, CLASS);
  for (size_t i = 0; i < MANY; i++) cache_give(cache, held[i]);
  CHECK_THAT(cache->homeward.limit, >, 0);
  lm_cache_end(cache);
  CHECK_EQ(lists_length(cache, CLASS), 0);
  CHECK_EQ(cache->homeward.count, 0);
}

/* Two rest, and another thread works. */
static void they_give_up_their_lists_as_time_passes(void) {
  struct lm_cache *worker = used_cache(CLASS, 1);
  struct lm_cache *first = used_cache(CLASS, 20), *second = used_cache(CLASS, 20);
  lm_cache_end(first);
  lm_cache_end(second);
  for (int turn = 0; turn < 3; turn++, pass_ms(100)) lm_tick(worker);
  CHECK_THAT(lists_length(first, CLASS), >, 0);
  CHECK_THAT(lists_length(second, CLASS), >, 0);
  for (int turn = 0; turn < 10; turn++, pass_ms(100)) lm_tick(worker);
  CHECK_EQ(lists_length(first, CLASS), 0);
  CHECK_EQ(lists_length(second, CLASS), 0);
  CHECK_EQ(find_blocks(CLASS).taken, 0);
  CHECK_THAT(lm_pool_thread_count, ==, 1);
  new_cache(), new_cache();
  CHECK_EQ(lm_cache_made_count, 3);
  validate_all();
}

static void a_trim_takes_their_lists(void) {
  struct lm_cache *cache = used_cache(CLASS, 20);
  lm_cache_end(cache);
  CHECK(lm_tick_trim(0));
  CHECK_EQ(lists_length(cache, CLASS), 0);
  CHECK_EQ(cache->granted_bytes, 0);
  validate_all();
}

int main(void) {
  RUN(the_next_thread_has_the_lists_of_the_one_that_ended_last);
  RUN(no_more_than_some_rest);
  RUN(they_have_no_more_than_caches_may);
  RUN(what_is_freed_in_bulk_does_not_rest);
  RUN(they_give_up_their_lists_as_time_passes);
  RUN(a_trim_takes_their_lists);
  return UNIT_RESULT();
}
