/* The table of tags, with and without address space for it. */
#include "unit.h"

#include <sys/resource.h>

static struct lm_region *new_region(void) {
  struct lm_region *region = lm_region_new(&lm_pools[0], 1);
  CHECK(region != NULL);
  return region;
}

static char *slice_address(struct lm_region *region, size_t slice) {
  return (char *)region + (slice << LM_SLICE_SHIFT);
}

/* As if the process had been started with a limit. */
static void start_without_table(void) {
  lm_os_release(lm_tags.table, LM_TAGS_WORDS * sizeof(lm_tag));
  lm_tags.table = &no_tag;
  lm_tags.multiplier = 0;
}

static void any_address_has_a_tag_and_foreign_ones_have_none(void) {
  static int variable;
  CHECK_EQ(lm_tags_read(NULL), 0);
  CHECK_EQ(lm_tags_read(&variable), 0);
  CHECK_EQ(lm_tags_read((void *)UINTPTR_MAX), 0);
  CHECK_EQ(lm_tags_read((void *)((uintptr_t)1 << 62)), 0);
}

static void a_tag_is_its_own_slices_only(void) {
  struct lm_region *region = new_region();
  lm_tags_write(slice_address(region, 5), 77);
  CHECK_EQ(lm_tags_read(slice_address(region, 5)), 77);
  CHECK_EQ(lm_tags_read(slice_address(region, 6) - LM_GRANULE_BYTES), 77);
  CHECK_EQ(lm_tags_read(slice_address(region, 6)), 0);
  CHECK_EQ(lm_tags_read(slice_address(region, 5) - LM_GRANULE_BYTES), 0);
}

static void a_region_that_ends_leaves_no_tags(void) {
  struct lm_region *region = new_region();
  lm_tags_write(slice_address(region, LM_REGION_SLICES - 1), 77);
  lm_region_end(region);
  CHECK_EQ(lm_tags_read(slice_address(region, LM_REGION_SLICES - 1)), 0);
  CHECK(!lm_region_holds((uintptr_t)region));
}

static void without_a_table_every_tag_is_zero_and_writes_go_nowhere(void) {
  start_without_table();
  struct lm_region *region = new_region();
  lm_tags_write(slice_address(region, 5), 77);
  CHECK_EQ(lm_tags_read(slice_address(region, 5)), 0);
  CHECK_EQ(lm_tags_read(NULL), 0);
  CHECK_EQ(lm_load_relaxed(&no_tag), 0);
}

static void a_limit_on_address_space_at_start_means_no_table(void) {
  start_without_table();
  struct rlimit limit = {(rlim_t)4 << 30, RLIM_INFINITY};
  CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  CHECK_EQ(getrlimit(RLIMIT_AS, &limit), 0);
  if (limit.rlim_cur == RLIM_INFINITY) return; /* an emulator ignores it */
  lm_os_read_address_space_limit();
  CHECK(lm_os_address_space_limit() != UINT64_MAX);
  lm_tags_start();
  CHECK_EQ(lm_tags.multiplier, 0);
}

static void giving_up_keeps_the_words_of_regions_and_of_null(void) {
  struct lm_region *a = new_region(), *b = new_region();
  lm_tags_write(slice_address(a, 7), 71);
  lm_tags_write(slice_address(b, 8), 82);
  lm_tag *table = lm_tags.table;
  size_t index_in_a = lm_tags_index(slice_address(a, 7));
  size_t index_in_b = lm_tags_index(slice_address(b, 8));
  CHECK(lm_tags_give_up());
  CHECK_EQ(lm_tags.multiplier, 0);
  CHECK_EQ(lm_tags_read(slice_address(a, 7)), 0);
  /* A free that has read the multiplier before finds the same words still. */
  CHECK_EQ(table[index_in_a], 71);
  CHECK_EQ(table[index_in_b], 82);
  CHECK_EQ(table[0], 0);
}

static void giving_up_frees_nearly_all_of_the_tables_address_space(void) {
  new_region();
  struct lm_os_mapping mapping;
  uintptr_t start = (uintptr_t)lm_tags.table, end = start + LM_TAGS_WORDS * sizeof(lm_tag);
  size_t left = 0;
  CHECK(lm_tags_give_up());
  for (uintptr_t a = start; a < end; a += 64 * MIB)
    if (lm_os_find_mapping(a + MIB, &mapping)) left++;
  CHECK_THAT(left, <=, 1);
}

static void giving_up_happens_once(void) {
  CHECK(lm_tags_give_up());
  CHECK(!lm_tags_give_up());
}

static _Atomic int arrived_count, success_count;
static void *give_up(void *unused) {
  arrived_count++;
  if (lm_tags_give_up()) success_count++;
  return unused;
}

static void two_threads_that_give_up_both_may_try_again(void) {
  lm_lock_take(&lm_tags_lock); /* so that both have seen the table before it goes */
  pthread_t a = start_thread(give_up, NULL), b = start_thread(give_up, NULL);
  while (arrived_count != 2) sleep_ms(1);
  sleep_ms(200);
  lm_lock_free(&lm_tags_lock);
  join_thread(a);
  join_thread(b);
  CHECK_EQ(success_count, 2);
}

static void a_region_whose_tags_cannot_be_committed_is_not_made(void) {
  lm_fault_countdown = 1; /* 0 is the reservation */
  lm_fault_more = LONG_MAX;
  CHECK_EQ(lm_region_new(&lm_pools[0], 1), NULL);
  CHECK(lm_fault_countdown < 0);
  lm_fault_more = 0;
  lm_fault_countdown = -1;
  for (size_t w = 0; w < COUNT_OF(lm_region_map); w++) CHECK_EQ(lm_region_map[w], 0);
}

int main(void) {
  RUN(any_address_has_a_tag_and_foreign_ones_have_none);
  RUN(a_tag_is_its_own_slices_only);
  RUN(a_region_that_ends_leaves_no_tags);
  RUN(without_a_table_every_tag_is_zero_and_writes_go_nowhere);
  RUN(a_limit_on_address_space_at_start_means_no_table);
  RUN(giving_up_keeps_the_words_of_regions_and_of_null);
  RUN(giving_up_frees_nearly_all_of_the_tables_address_space);
  RUN(giving_up_happens_once);
  RUN(two_threads_that_give_up_both_may_try_again);
  RUN(a_region_whose_tags_cannot_be_committed_is_not_made);
  return UNIT_RESULT();
}
