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

/* With fewer, blocks that a program replaces one by one, at random, do not find them there. */
static void a_bin_has_room_for_16_blocks_and_for_16_kib(void) {
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    const struct lm_class *class = &lm_classes[i];
    CHECK_EQ(class->bin_frees, lm_max(16, 16 * LM_KIB / class->block_bytes));
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
  RUN(a_bin_has_room_for_16_blocks_and_for_16_kib);
  RUN(natural_alignment_is_the_largest_power_of_two_in_the_size);
  RUN(aligned_requests_get_a_class_that_is_aligned_throughout);
  RUN(with_large_pages_there_are_more_classes_in_use);
  return UNIT_RESULT();
}
