#include "sizeclass/sizeclass.h"

struct lm_class lm_classes[LM_CLASS_LIMIT];

uint16_t lm_list_blocks[LM_BIN_COUNT];
uint8_t lm_middle_classes[LM_MIDDLE_MAX_PAGES + 1], lm_middle_pages[LM_BIN_COUNT];

size_t lm_classed_max_bytes = LM_CLASSED_MAX_BYTES;
size_t lm_small_class_limit = LM_CLASS_COUNT;

/* Runs of so many OS pages waste as little as classes do, and fit among each other. */
#define RUN_MIN_PAGES 4

/* By Newton's method: each turn doubles the number of bits that are right, three to begin with. */
static uint32_t inverse_of(uint32_t odd) {
  uint32_t inverse = odd;
  for (int bits = 3; bits < 32; bits *= 2) inverse *= 2 - odd * inverse;
  return inverse;
}

/* A whole list has so many bytes, but of small blocks no more of them than that, and of larger ones
 * more bytes: what a lock costs is shared out among them. */
#define LIST_BYTES (16 * LM_KIB)
#define LIST_BYTES_MOST (64 * LM_KIB)
#define LIST_BLOCKS_ENOUGH 16
#define LIST_BLOCKS_LEAST 8
#define LIST_BYTES_MIDDLE (512 * LM_KIB)
#define LIST_BLOCKS_LEAST_MIDDLE 4

static uint16_t list_blocks_of(size_t class_index) {
  size_t bytes = lm_sizeclass_bytes(class_index);
  if (!lm_class_is_small(class_index))
    return (uint16_t)lm_max(LIST_BYTES_MIDDLE / bytes, LIST_BLOCKS_LEAST_MIDDLE);
  size_t count = lm_max(LIST_BYTES / bytes, lm_min(LIST_BYTES_MOST / bytes, LIST_BLOCKS_ENOUGH));
  return (uint16_t)lm_min(lm_max(count, LIST_BLOCKS_LEAST), LM_LIST_BLOCKS_MAX);
}

static void fill_middle(size_t page_bytes) {
  for (size_t bytes = page_bytes; bytes <= LM_MIDDLE_MAX_BYTES; bytes += page_bytes) {
    size_t class_index = lm_sizeclass_of(bytes);
    if (lm_class_is_small(class_index)) continue;
    lm_middle_classes[bytes / page_bytes] = (uint8_t)class_index;
    lm_middle_pages[class_index] = (uint8_t)(lm_sizeclass_bytes(class_index) / page_bytes);
  }
}

void lm_sizeclass_start(size_t page_bytes) {
  lm_classed_max_bytes = lm_min(LM_CLASSED_MAX_BYTES, RUN_MIN_PAGES * page_bytes);
  lm_small_class_limit = lm_sizeclass_of(lm_classed_max_bytes) + 1;
  fill_middle(page_bytes);
  for (size_t i = 1; i < LM_BIN_COUNT; i++) lm_list_blocks[i] = list_blocks_of(i);
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    struct lm_class *class = &lm_classes[i];
    class->block_bytes = (uint32_t)lm_sizeclass_bytes(i);
    class->natural_alignment = class->block_bytes & (~class->block_bytes + 1);
    class->slack = (uint16_t)lm_size_slack(class->block_bytes);
    class->shift = (uint8_t)lm_log2_floor(class->natural_alignment);
    class->inverse = inverse_of(class->block_bytes >> class->shift);
    /* At least seven blocks in a span, so that most of them are not at its edges. */
    class->slice_count = class->block_bytes <= 8192 ? 1 : class->block_bytes <= 16384 ? 2 : 4;
    class->block_count = (uint16_t)(class->slice_count * LM_CLASS_SLICE_BYTES / class->block_bytes);
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
