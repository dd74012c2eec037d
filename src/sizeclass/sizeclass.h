/* Sizes to size classes and back.
 *
 * Up to 1 KiB a class every 16 bytes: class index = size / 16, rounded up. Above, eight classes
 * per doubling up to 32 KiB, so that a block wastes at most 12.5 % of the request. Class 0 is
 * never used: a request of 0 bytes is served as one of 1 byte. */
#ifndef LM_SIZECLASS_SIZECLASS_H
#define LM_SIZECLASS_SIZECLASS_H

#include "base/bits.h"
#include "base/compiler.h"

#define LM_GRANULE_BYTES 16
#define LM_SMALL_MAX_BYTES 1024 /* the fast path's limit: class = size / 16 */
#define LM_CLASSED_MAX_BYTES 32768
#define LM_SMALL_CLASSES 65 /* 0 (unused) to 64 */
#define LM_CLASS_COUNT 105
/* Above LM_CLASSED_MAX_BYTES the classes of middle blocks go on in the same way. They are no spans'
 * classes: each block is a run of OS pages, and its class says in which list it waits. */
#define LM_MIDDLE_SHIFT 18
#define LM_MIDDLE_MAX_BYTES ((size_t)1 << LM_MIDDLE_SHIFT)
#define LM_BIN_COUNT (LM_SMALL_CLASSES + (LM_MIDDLE_SHIFT - 10) * 8)
#define LM_CLASS_SLICE_BYTES 65536 /* spans are made of slices of this size */

struct lm_class {
  uint32_t block_bytes;
  uint32_t natural_alignment; /* the largest power of two that divides block_bytes */
  uint16_t block_count;       /* blocks in a span */
  uint8_t slice_count;        /* slices in a span */
  uint16_t slack; /* no block is larger by more than the size that it was asked for with */
  uint8_t shift;              /* natural_alignment = 1 << shift */
  uint32_t inverse;           /* of block_bytes >> shift, modulo 2^32 */
};

/* realloc leaves a block of up to this where it is, however much it shrinks, and a larger one if it
 * shrinks by less than a half. Nothing else makes a block so much longer than what was asked for,
 * but an alignment. */
#define LM_KEEP_MAX_BYTES 128
LM_INLINE size_t lm_size_slack(size_t block_bytes) {
  return block_bytes <= LM_KEEP_MAX_BYTES ? block_bytes : (block_bytes - 1) / 2;
}

/* The index of the block that begins at `offset` in a span of the class; more than any block has if
 * none does. */
LM_INLINE uint32_t lm_class_block_at(const struct lm_class *class, size_t offset) {
  uint32_t product = (uint32_t)offset * class->inverse;
  return product >> class->shift | product << (32 - class->shift);
}

/* One for each number that a tag has room for; those that are no class are all zero. */
#define LM_CLASS_LIMIT 128
extern struct lm_class lm_classes[LM_CLASS_LIMIT];

/* Above this, at most LM_CLASSED_MAX_BYTES, blocks are runs of OS pages: less waste than classes
 * where pages are small. */
extern size_t lm_classed_max_bytes;
/* The classes of spans are below this, those of runs from it on. */
extern size_t lm_small_class_limit;
LM_INLINE bool lm_class_is_small(size_t class_index) { return class_index < lm_small_class_limit; }

/* By class, middle ones too: so many blocks has a whole list, at most. */
#define LM_LIST_BLOCKS_MAX 512
extern uint16_t lm_list_blocks[LM_BIN_COUNT];

/* By OS pages: the class of middle blocks that hold so many, 0 if that is a small one; and how many
 * pages blocks of a middle class have. */
#define LM_MIDDLE_MAX_PAGES (LM_MIDDLE_MAX_BYTES >> 12)
extern uint8_t lm_middle_classes[LM_MIDDLE_MAX_PAGES + 1];
extern uint8_t lm_middle_pages[LM_BIN_COUNT];

/* Fills the tables; call once. */
void lm_sizeclass_start(size_t page_bytes);

/* The class of a request of 1 to LM_MIDDLE_MAX_BYTES bytes. */
LM_INLINE size_t lm_sizeclass_of(size_t size) {
  if (size <= LM_SMALL_MAX_BYTES) return (size + LM_GRANULE_BYTES - 1) / LM_GRANULE_BYTES;
  size_t last = size - 1;
  unsigned doubling = lm_log2_floor(last); /* 10 to 17 */
  return LM_SMALL_CLASSES + (doubling - 10) * 8 + ((last >> (doubling - 3)) & 7);
}

/* The bytes of a class's blocks. */
LM_INLINE size_t lm_sizeclass_bytes(size_t class_index) {
  if (class_index < LM_SMALL_CLASSES) return class_index * LM_GRANULE_BYTES;
  size_t step = class_index - LM_SMALL_CLASSES;
  return (9 + step % 8) << (7 + step / 8); /* (8 + k) / 8 of 2^(10 + step / 8) */
}

/* The class whose blocks hold `size` bytes and are all aligned to `alignment`, a power of two of
 * at most LM_ALIGNED_CLASS_MAX_BYTES; 0 if there is none. */
#define LM_ALIGNED_CLASS_MAX_BYTES 4096
size_t lm_sizeclass_of_aligned(size_t alignment, size_t size);

#endif
