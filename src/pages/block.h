/* A free block, and its link to the next one. In a hardened build the link is encoded, so that
 * nobody who does not know the key can make malloc hand out an address of his choice, and what a
 * program writes there by mistake is no block. (Rejected: encoded links in all builds. They cost
 * malloc four instructions, and free as many.) */
#ifndef LM_PAGES_BLOCK_H
#define LM_PAGES_BLOCK_H

#include "base/compiler.h"
#include "os/panic.h"
#include "sizeclass/sizeclass.h"

/* The first words of a free block. Lists end with LM_NO_BLOCK, and not with NULL, so that one test
 * tells a block from the end of a list, and from most of what a program may have written where the
 * link was. */
struct lm_block {
  struct lm_block *next; /* as lm_block_link leaves it and lm_block_next reads it */
};
#define LM_NO_BLOCK ((struct lm_block *)1)

#if LM_HARDENED_LINKS

/* Written once, before there are blocks. */
extern uintptr_t lm_link_key;

LM_INLINE uintptr_t lm_link_mask(const struct lm_block *block) {
  uintptr_t place = (uintptr_t)block;
  return lm_link_key ^ (place >> 20 | place << (8 * sizeof place - 20));
}

/* Decoded, what was not encoded has bits at random. */
#if LM_BITS_64
#define LM_NOT_IN_ADDRESSES (~(uintptr_t)0 << 48 | (LM_GRANULE_BYTES - 1))
#else
#define LM_NOT_IN_ADDRESSES (LM_GRANULE_BYTES - 1)
#endif

#else

LM_INLINE uintptr_t lm_link_mask(const struct lm_block *block) {
  (void)block;
  return 0;
}
#define LM_NOT_IN_ADDRESSES (LM_GRANULE_BYTES - 1)

#endif

LM_INLINE bool lm_is_block(const struct lm_block *block) {
  return ((uintptr_t)block & LM_NOT_IN_ADDRESSES) == 0;
}

/* What the word in the block means. */
LM_INLINE struct lm_block *lm_link_of(const struct lm_block *block, struct lm_block *word) {
  return (struct lm_block *)((uintptr_t)word ^ lm_link_mask(block));
}

LM_INLINE struct lm_block *lm_block_next(const struct lm_block *block) {
  return lm_link_of(block, block->next);
}

LM_INLINE void lm_block_link(struct lm_block *block, struct lm_block *next) {
  block->next = lm_link_of(block, next);
}

/* Cuts off what a list has beyond `*count` blocks, which are then how many it has. A list may be
 * LM_NO_BLOCK, as may be what is cut off. Ends the program at a link that is none. */
struct lm_block *lm_list_cut(struct lm_block *first, size_t *count, size_t class_index);

/* The first block of a list in a depot. The smallest block has room for the links alone. */
struct lm_list {
  struct lm_block first;
  struct lm_block *next_list; /* encoded as links are */
  uint32_t count_max;         /* so many blocks it has at most; where there is room for it */
};
_Static_assert(offsetof(struct lm_list, count_max) <= LM_GRANULE_BYTES, "the smallest block");

LM_INLINE struct lm_block *lm_list_next(struct lm_block *first) {
  return lm_link_of(first, ((struct lm_list *)first)->next_list);
}

LM_INLINE void lm_list_link(struct lm_block *first, struct lm_block *next_list) {
  ((struct lm_list *)first)->next_list = lm_link_of(first, next_list);
}

/* Whether the class's lists say how many blocks they have. */
LM_INLINE bool lm_list_has_count(size_t class_index) {
  return lm_sizeclass_bytes(class_index) >= sizeof(struct lm_list);
}

/* A program may have written over what is read: no more than a whole list's are believed. */
LM_INLINE size_t lm_list_count_max(const struct lm_block *first, size_t class_index) {
  size_t most = lm_list_blocks[class_index];
  if (!lm_list_has_count(class_index)) return most;
  return lm_min(most, lm_max(((const struct lm_list *)first)->count_max, 1));
}

LM_INLINE void lm_list_set_count_max(struct lm_block *first, size_t class_index, size_t count) {
  lm_assert(count != 0 && count <= lm_list_blocks[class_index]);
  if (lm_list_has_count(class_index)) ((struct lm_list *)first)->count_max = (uint32_t)count;
}

#endif
