/* Mappings of huge blocks that are kept: for whom, how long, how many. */
#include "unit.h"

#define HUGE_BYTES ((size_t)40 * LM_MIB)

static char *take(size_t size) {
  char *block = lm_huge_take(&lm_pools[0], size, PAGE, false);
  CHECK(block != NULL);
  block[0] = 1;
  return block;
}

static void give(void *block) { CHECK(lm_huge_give(block)); }

#if LM_CHECKING
static void the_checking_build_keeps_none(void) {
  for (int i = 0; i < 4; i++) give(take(HUGE_BYTES));
  CHECK_EQ(lm_mappings_kept_bytes, 0);
}

int main(void) {
  RUN(the_checking_build_keeps_none);
  return UNIT_RESULT();
}
#else

/* From here on mappings are kept, for a while. */
static void ask_again(size_t size) {
  give(take(size));
  give(take(size));
  CHECK_EQ(lm_mappings_kept_bytes, size);
}

static void who_frees_once_keeps_nothing(void) {
  char *first = take(HUGE_BYTES), *second = take(HUGE_BYTES);
  give(first);
  give(second);
  CHECK_EQ(lm_mappings_kept_bytes, 0);
}

static void who_takes_again_what_it_freed_gets_it_back(void) {
  ask_again(HUGE_BYTES);
  char *block = take(HUGE_BYTES);
  CHECK_EQ(lm_mappings_kept_bytes, 0);
  give(block);
  CHECK_EQ(take(HUGE_BYTES), block);
}

static void a_shorter_block_may_have_it_and_a_longer_one_may_not(void) {
  ask_again(HUGE_BYTES);
  char *longer = take(HUGE_BYTES + PAGE);
  CHECK_EQ(lm_mappings_kept_bytes, HUGE_BYTES);
  char *much_shorter = take(HUGE_BYTES * 3 / 4);
  CHECK_EQ(lm_mappings_kept_bytes, HUGE_BYTES);
  char *shorter = take(HUGE_BYTES * 9 / 10);
  CHECK_EQ(lm_mappings_kept_bytes, 0);
  CHECK_EQ(lm_huge_usable_bytes(shorter), HUGE_BYTES);
  give(longer);
  give(much_shorter);
  give(shorter);
}

static void zero_memory_is_always_fresh(void) {
  ask_again(HUGE_BYTES);
  char *block = lm_huge_take(&lm_pools[0], HUGE_BYTES, PAGE, true);
  CHECK_EQ(block[0], 0);
  CHECK_EQ(lm_mappings_kept_bytes, HUGE_BYTES);
}

static void an_alignment_that_it_has_not_is_not_served(void) {
  ask_again(HUGE_BYTES);
  size_t alignment = (size_t)1 << 34;
  if (sizeof alignment == 4) return;
  char *block = lm_huge_take(&lm_pools[0], HUGE_BYTES, alignment, false);
  CHECK_EQ((uintptr_t)block & (alignment - 1), 0);
}

static void all_together_have_a_bound(void) {
  ask_again(HUGE_BYTES);
  char *blocks[8];
  for (int i = 0; i < 8; i++) blocks[i] = take(HUGE_BYTES);
  for (int i = 0; i < 8; i++) {
    give(blocks[i]);
    CHECK_THAT(lm_mappings_kept_bytes, <=, LM_MAPPINGS_MOST_BYTES);
  }
  CHECK_THAT(lm_mappings_kept_bytes, >, LM_MAPPINGS_MOST_BYTES / 2);
  ask_again(LM_MAPPINGS_MOST_BYTES); /* the older ones go */
  give(take(LM_MAPPINGS_MOST_BYTES + PAGE));
  give(take(LM_MAPPINGS_MOST_BYTES + PAGE));
  CHECK_EQ(lm_mappings_kept_bytes, LM_MAPPINGS_MOST_BYTES);
}

static void the_bound_is_an_option(void) {
  lm_options.cache_bytes = HUGE_BYTES;
  ask_again(HUGE_BYTES);
  char *blocks[2] = {take(HUGE_BYTES), take(HUGE_BYTES)};
  give(blocks[0]);
  give(blocks[1]);
  CHECK_EQ(lm_mappings_kept_bytes, HUGE_BYTES);
  lm_options.cache_bytes = 0;
  give(take(HUGE_BYTES));
  CHECK_EQ(lm_mappings_kept_bytes, 0);
  lm_options.cache_bytes = LM_CACHE_AUTO;
}

static void time_gives_them_back_from_the_end_in_parts(void) {
  ask_again(HUGE_BYTES);
  uint64_t now_ms = lm_os_clock_ms();
  size_t left = LM_PURGED_BY_CALL_BYTES / PAGE;
  CHECK(!lm_mappings_tick(now_ms, &left));
  CHECK_EQ(lm_mappings_kept_bytes, HUGE_BYTES);
  now_ms += lm_options.purge_delay_ms;
  size_t calls = 1;
  while (lm_mappings_tick(now_ms, &left)) {
    CHECK_THAT(lm_mappings_kept_bytes, <=, HUGE_BYTES - calls * LM_PURGED_BY_CALL_BYTES +
                                               (lm_os.purge_decommits ? HUGE_BYTES : 0));
    left = LM_PURGED_BY_CALL_BYTES / PAGE;
    calls++;
  }
  CHECK_EQ(lm_mappings_kept_bytes, 0);
  if (!lm_os.purge_decommits) CHECK_EQ(calls, HUGE_BYTES / LM_PURGED_BY_CALL_BYTES);
}

static void a_trim_gives_all_back(void) {
  ask_again(HUGE_BYTES);
  CHECK(lm_pool_trim(0));
  CHECK_EQ(lm_mappings_kept_bytes, 0);
  CHECK(!lm_mappings_trim());
}

static void what_was_asked_for_long_ago_does_not_count(void) {
  ask_again(HUGE_BYTES);
  asked_again_ms -= lm_options.purge_delay_ms;
  for (size_t i = 0; i < LM_KEPT_MAPPINGS; i++) lm_kept_mappings[i].given_ms -= lm_options.purge_delay_ms;
  give(take(HUGE_BYTES / 2));
  CHECK_THAT(lm_mappings_kept_bytes, <=, HUGE_BYTES);
  give(take(HUGE_BYTES * 2));
  CHECK_THAT(lm_mappings_kept_bytes, <=, HUGE_BYTES);
}

static void none_are_kept_without_a_delay(void) {
  lm_options.purge_delay_ms = 0;
  for (int i = 0; i < 4; i++) give(take(HUGE_BYTES));
  CHECK_EQ(lm_mappings_kept_bytes, 0);
}

static void *churn(void *unused) {
  for (int i = 0; i < 300; i++) give(take(HUGE_BYTES + (size_t)(i % 3) * LM_MIB));
  return unused;
}

static void threads_share_them(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) threads[i] = start_thread(churn, NULL);
  for (int i = 0; i < 100; i++) lm_mappings_trim();
  for (int i = 0; i < 4; i++) join_thread(threads[i]);
  size_t bytes = 0;
  for (size_t i = 0; i < LM_KEPT_MAPPINGS; i++)
    if (lm_kept_mappings[i].address != NULL) bytes += lm_kept_mappings[i].size;
  CHECK_EQ(lm_mappings_kept_bytes, bytes);
}

int main(void) {
  RUN(who_frees_once_keeps_nothing);
  RUN(who_takes_again_what_it_freed_gets_it_back);
  RUN(a_shorter_block_may_have_it_and_a_longer_one_may_not);
  RUN(zero_memory_is_always_fresh);
  RUN(an_alignment_that_it_has_not_is_not_served);
  RUN(all_together_have_a_bound);
  RUN(the_bound_is_an_option);
  RUN(time_gives_them_back_from_the_end_in_parts);
  RUN(a_trim_gives_all_back);
  RUN(what_was_asked_for_long_ago_does_not_count);
  RUN(none_are_kept_without_a_delay);
  RUN(threads_share_them);
  return UNIT_RESULT();
}
#endif
