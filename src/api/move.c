/* Defragmentation: the public functions. include/loam/loam.h documents each. */
#include <string.h>

#include "api/checking.h"
#include "central/move.h"
#include "central/put.h"
#include "loam/loam.h"

/* Small blocks only: others have pages of their own. Where frees are watched, blocks stay. */
static bool may_move(const void *block) {
  if (block == NULL || LM_CHECKING || LM_HARDENED_ANY) return false;
  uint32_t tag = lm_tag_of(block);
  return lm_tag_is_small(tag) && !lm_tag_is_shared(tag);
}

LM_EXPORT int loam_should_move(const void *block) {
  return may_move(block) && lm_move_is_worth(block);
}

LM_EXPORT void *loam_move(void *block) {
  void *moved = may_move(block) ? lm_move_target(block) : NULL;
  if (moved == NULL) return NULL;
  memcpy(moved, block, lm_classes[lm_span_of(block)->class_index].block_bytes);
  lm_central_put(block, LM_CALLER());
  return moved;
}
