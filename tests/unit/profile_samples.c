/* What samples add up to, by place. */
#include "unit.h"

static char blocks[8];

static void put_in(const uintptr_t *callers, size_t depth, void *block, uint64_t bytes) {
  struct lm_profile_sample *sample = lm_profile_new_sample(lm_profile_find_site(callers, depth));
  CHECK(sample != NULL);
  sample->block = block;
  sample->shadow = NULL;
  sample->bytes = bytes;
  sample->count = LM_PROFILE_COUNT_UNIT;
  sample->weighted_bytes = bytes;
  sample->large = false;
  lm_profile_insert(sample);
}

static bool remove_block(void *block) {
  struct lm_profile_sample removed;
  return lm_profile_remove(block, &removed);
}

static const struct lm_profile_site *site_of(uintptr_t first_caller) {
  const struct lm_profile_site *site = lm_load_relaxed(&lm_profile_sites);
  while (site != NULL && site->callers[0] != first_caller) site = site->next_made;
  CHECK(site != NULL);
  return site;
}

static const uintptr_t one[] = {0x1000, 0x2000};
static const uintptr_t other[] = {0x3000, 0x2000};

static void samples_of_one_place_add_up(void) {
  put_in(one, 2, &blocks[0], 100);
  put_in(one, 2, &blocks[1], 50);
  put_in(other, 2, &blocks[2], 7);
  CHECK_EQ(site_of(0x1000)->live.bytes, 150);
  CHECK_EQ(site_of(0x1000)->live.count, 2 * LM_PROFILE_COUNT_UNIT);
  CHECK_EQ(site_of(0x3000)->live.bytes, 7);
  CHECK(remove_block(&blocks[0]));
  CHECK(!remove_block(&blocks[0]));
  CHECK_EQ(site_of(0x1000)->live.bytes, 50);
  CHECK_EQ(site_of(0x1000)->taken.bytes, 150);
  CHECK_EQ(lm_profile_totals.live.bytes, 57);
}

static void one_depth_is_not_another(void) {
  put_in(one, 2, &blocks[0], 100);
  put_in(one, 1, &blocks[1], 100);
  CHECK_EQ(site_of(0x1000)->live.bytes, 100);
}

static void the_peak_is_what_all_places_had_when_most_was_live(void) {
  put_in(one, 2, &blocks[0], 100);
  put_in(other, 2, &blocks[1], 40); /* 140: the peak */
  CHECK(remove_block(&blocks[0]));
  put_in(other, 2, &blocks[2], 60);
  CHECK_EQ(lm_profile_totals.peak.bytes, 140);
  CHECK_EQ(lm_profile_at_peak(site_of(0x1000)).bytes, 100);
  CHECK_EQ(lm_profile_at_peak(site_of(0x3000)).bytes, 40);
  put_in(other, 2, &blocks[3], 100); /* 200: another one */
  CHECK_EQ(lm_profile_at_peak(site_of(0x1000)).bytes, 0);
  CHECK_EQ(lm_profile_at_peak(site_of(0x3000)).bytes, 200);
}

static void a_new_profile_keeps_what_is_live(void) {
  put_in(one, 2, &blocks[0], 100);
  put_in(one, 2, &blocks[1], 300);
  CHECK(remove_block(&blocks[1]));
  lm_profile_begin();
  CHECK_EQ(site_of(0x1000)->taken.bytes, 0);
  CHECK_EQ(site_of(0x1000)->live.bytes, 100);
  CHECK_EQ(lm_profile_totals.peak.bytes, 100);
  CHECK_EQ(lm_profile_at_peak(site_of(0x1000)).bytes, 100);
}

static void the_last_that_were_freed_are_remembered(void) {
  put_in(one, 2, &blocks[0], 100);
  put_in(other, 2, &blocks[1], 50);
  CHECK(remove_block(&blocks[1]));
  CHECK(remove_block(&blocks[0]));
  CHECK_EQ(lm_profile_totals.freed_count, 2);
  CHECK(lm_profile_freed[0].site == site_of(0x3000) && lm_profile_freed[0].block == &blocks[1]);
  CHECK(lm_profile_freed[1].site == site_of(0x1000) && lm_profile_freed[1].bytes == 100);
  for (size_t i = 2; i <= LM_PROFILE_FREED_MAX; i++) {
    put_in(one, 2, &blocks[2], i);
    CHECK(remove_block(&blocks[2]));
  }
  CHECK_EQ(lm_profile_freed[0].bytes, LM_PROFILE_FREED_MAX); /* the oldest one's place */
}

static void without_memory_a_sample_is_lost(void) {
  made_sample_count = LM_PROFILE_SAMPLES_MAX;
  CHECK(lm_profile_new_sample(lm_profile_find_site(one, 2)) == NULL);
  CHECK_EQ(lm_profile_totals.lost_count, 1);
}

int main(void) {
  RUN(samples_of_one_place_add_up);
  RUN(one_depth_is_not_another);
  RUN(the_peak_is_what_all_places_had_when_most_was_live);
  RUN(a_new_profile_keeps_what_is_live);
  RUN(the_last_that_were_freed_are_remembered);
  RUN(without_memory_a_sample_is_lost);
  return UNIT_RESULT();
}
