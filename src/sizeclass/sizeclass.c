#include "sizeclass/sizeclass.h"

struct lm_class lm_classes[LM_CLASS_LIMIT];

static uint32_t block_bytes_of(size_t class_index) {
  if (class_index < LM_SMALL_CLASSES) return (uint32_t)(class_index * LM_GRANULE_BYTES);
  size_t step = class_index - LM_SMALL_CLASSES;
  return (uint32_t)((9 + step % 8) << (7 + step / 8)); /* (8 + k) / 8 of 2^(10 + step / 8) */
}

/* Runs of so many OS pages waste as little as classes do, and fit among each other. */
#define RUN_MIN_PAGES 4

/* By Newton's method: each turn doubles the number of bits that are right, three to begin with. */
static uint32_t inverse_of(uint32_t odd) {
  uint32_t inverse = odd;
  for (int bits = 3; bits < 32; bits *= 2) inverse *= 2 - odd * inverse;
  return inverse;
}

#define BIN_FREES_BYTES 16384
#define BIN_FREES_MIN 16

size_t lm_classed_max_bytes = LM_CLASSED_MAX_BYTES;

void lm_sizeclass_start(size_t page_bytes) {
  lm_classed_max_bytes = lm_min(LM_CLASSED_MAX_BYTES, RUN_MIN_PAGES * page_bytes);
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    struct lm_class *class = &lm_classes[i];
    class->block_bytes = block_bytes_of(i);
    class->natural_alignment = class->block_bytes & (~class->block_bytes + 1);
    class->slack = (uint16_t)lm_size_slack(class->block_bytes);
    class->shift = (uint8_t)lm_log2_floor(class->natural_alignment);
    class->inverse = inverse_of(class->block_bytes >> class->shift);
    /* At least seven blocks in a span, so that most of them are not at its edges. */
    class->slice_count = class->block_bytes <= 8192 ? 1 : class->block_bytes <= 16384 ? 2 : 4;
    class->block_count = (uint16_t)(class->slice_count * LM_CLASS_SLICE_BYTES / class->block_bytes);
    class->bin_frees = (uint16_t)lm_max(BIN_FREES_BYTES / class->block_bytes, BIN_FREES_MIN);
  }
}

size_t lm_sizeclass_of_aligned(size_t alignment, size_t size) {
  size_t rounded = lm_align_up(size == 0 ? 1 : size, alignment);
  if (alignment > LM_ALIGNED_CLASS_MAX_BYTES || rounded > lm_classed_max_bytes) return 0;
  size_t class_index = lm_sizeclass_of(rounded);
  while (class_index < LM_CLASS_COUNT && lm_classes[class_index].natural_alignment < alignment)
    class_index++;
  return class_index < LM_CLASS_COUNT ? class_index : 0;
}
