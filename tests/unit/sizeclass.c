/* Sizes to classes and back. */
#include "unit.h"

static void each_size_gets_the_smallest_class_that_holds_it(void) {
  for (size_t size = 1; size <= LM_CLASSED_MAX_BYTES; size++) {
    size_t i = lm_sizeclass_of(size);
    CHECK_THAT(i, >, 0);
    CHECK_THAT(i, <, LM_CLASS_COUNT);
    CHECK_THAT(lm_classes[i].block_bytes, >=, size);
    CHECK_THAT(lm_classes[i - 1].block_bytes, <, size);
  }
}

static void at_most_an_eighth_of_a_request_is_wasted(void) {
  for (size_t size = 1025; size <= LM_CLASSED_MAX_BYTES; size++)
    CHECK_THAT((lm_classes[lm_sizeclass_of(size)].block_bytes - size) * 8, <=, size);
}

static void a_span_has_at_least_seven_blocks_and_no_more_than_fit(void) {
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    const struct lm_class *class = &lm_classes[i];
    CHECK_THAT(class->slice_count, <=, LM_SPAN_MAX_SLICES);
    size_t bytes = class->slice_count * LM_SLICE_BYTES;
    CHECK_THAT(class->block_count, >=, 7);
    CHECK_THAT((size_t)class->block_count * class->block_bytes, <=, bytes);
    CHECK_THAT((size_t)(class->block_count + 1) * class->block_bytes, >, bytes);
  }
}

static void the_smallest_block_has_room_for_two_words(void) {
  CHECK_THAT(lm_sizeclass_bytes(1), >=, offsetof(struct lm_list, count_max));
}

/* What a lock costs is shared out among the blocks of a list. */
static void a_list_has_some_blocks_and_is_no_large_part_of_what_caches_keep(void) {
  for (size_t i = 1; i < LM_BIN_COUNT; i++) {
    CHECK_THAT(lm_list_blocks[i], >=, 2);
    CHECK_THAT(lm_list_blocks[i], <=, INT16_MAX); /* frees are counted down from it */
    CHECK_THAT(lm_list_blocks[i] * lm_sizeclass_bytes(i), <=, 2 * LM_MIB);
    if (i > 1 && lm_class_is_small(i) == lm_class_is_small(i - 1))
      CHECK_THAT(lm_list_blocks[i], <=, lm_list_blocks[i - 1]);
  }
}

static void a_middle_block_has_the_pages_of_its_class(void) {
  for (size_t pages = 1; pages * PAGE <= LM_MIDDLE_MAX_BYTES; pages++) {
    size_t class_index = lm_middle_classes[pages];
    if (pages * PAGE <= lm_classed_max_bytes) {
      CHECK_EQ(class_index, 0);
      continue;
    }
    CHECK(!lm_class_is_small(class_index));
    CHECK_THAT(lm_middle_pages[class_index], >=, pages);
    CHECK_EQ(lm_middle_pages[class_index] * PAGE, lm_sizeclass_bytes(class_index));
  }
}

static void natural_alignment_is_the_largest_power_of_two_in_the_size(void) {
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    CHECK_EQ(lm_classes[i].block_bytes % lm_classes[i].natural_alignment, 0);
    CHECK(lm_classes[i].block_bytes / lm_classes[i].natural_alignment % 2 == 1);
    CHECK_THAT(lm_classes[i].natural_alignment, >=, 16);
  }
}

static void aligned_requests_get_a_class_that_is_aligned_throughout(void) {
  for (size_t alignment = 1; alignment <= 65536; alignment *= 2)
    for (size_t size = 0; size <= 40000; size += 1 + size / 16) {
      size_t i = lm_sizeclass_of_aligned(alignment, size);
      if (i == 0) {
        CHECK(alignment > LM_ALIGNED_CLASS_MAX_BYTES || size + alignment > lm_classed_max_bytes);
        continue;
      }
      CHECK_THAT(lm_classes[i].block_bytes, >=, size);
      CHECK_EQ(lm_classes[i].block_bytes % alignment, 0);
    }
}

static void with_large_pages_there_are_more_classes_in_use(void) {
  lm_sizeclass_start(4096);
  CHECK_EQ(lm_classed_max_bytes, 16384);
  lm_sizeclass_start(65536);
  CHECK_EQ(lm_classed_max_bytes, LM_CLASSED_MAX_BYTES);
  aligned_requests_get_a_class_that_is_aligned_throughout();
}

int main(void) {
  RUN(each_size_gets_the_smallest_class_that_holds_it);
  RUN(at_most_an_eighth_of_a_request_is_wasted);
  RUN(a_span_has_at_least_seven_blocks_and_no_more_than_fit);
  RUN(the_smallest_block_has_room_for_two_words);
  RUN(a_list_has_some_blocks_and_is_no_large_part_of_what_caches_keep);
  RUN(a_middle_block_has_the_pages_of_its_class);
  RUN(natural_alignment_is_the_largest_power_of_two_in_the_size);
  RUN(aligned_requests_get_a_class_that_is_aligned_throughout);
  RUN(with_large_pages_there_are_more_classes_in_use);
  return UNIT_RESULT();
}
