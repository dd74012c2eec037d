#include "pages/block.h"

#include "os/misuse.h"

#if LM_HARDENED_LINKS
uintptr_t lm_link_key;
#endif

struct lm_block *lm_list_cut(struct lm_block *first, size_t *count, size_t class_index) {
  size_t most = *count, found = 0;
  struct lm_block *last = NULL, *next = first;
  for (; found < most && lm_is_block(next); found++) next = lm_block_next(last = next);
  if (LM_UNLIKELY(!lm_is_block(next) && next != LM_NO_BLOCK))
    lm_misuse_broken_link(lm_sizeclass_bytes(class_index));
  if (last != NULL && next != LM_NO_BLOCK) lm_block_link(last, LM_NO_BLOCK);
  *count = found;
  return next;
}
