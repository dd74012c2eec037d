#include "central/valid.h"

#if LM_VALIDATES

#include "central/depot.h"
#include "central/span_life.h"
#include "os/misuse.h"
#include "os/panic.h"

/* ---- Lists ---- */

/* A free block has room for a link and a mark, but where a depot has its second word. */
struct marked_block {
  struct lm_block *next;
  uint64_t mark;
};
_Static_assert(sizeof(struct marked_block) <= LM_GRANULE_BYTES, "the smallest block");

uint64_t lm_list_new_mark(void) {
  static _Atomic(uintptr_t) count; /* written by any thread */
  return (uint64_t)lm_os_random() << 32 ^ (lm_add_relaxed(&count, 1) << 1 | 1);
}

/* A block that nobody has, by its tag and what stands about it. */
static void validate_block(const struct lm_block *block, size_t class_index) {
  lm_must(lm_region_holds((uintptr_t)block));
  if (lm_class_is_small(class_index)) {
    lm_must(lm_load_relaxed(&lm_span_record_of(block)->tag) == class_index);
    lm_must(lm_span_has_block_at(lm_span_of(block), block));
    return;
  }
  uint32_t entry = lm_load_relaxed(lm_region_block_entry(block));
  lm_must((uintptr_t)block % lm_os.page_bytes == 0);
  lm_must(entry == (LM_BLOCK_CACHED | lm_middle_pages[class_index]));
}

size_t lm_list_validate(struct lm_block *first, size_t class_index, bool in_depot, uint64_t mark) {
  size_t count = 0, most = lm_list_blocks[class_index] * (in_depot ? 1u : 2u);
  for (struct lm_block *block = first; block != LM_NO_BLOCK; block = lm_block_next(block)) {
    struct marked_block *marked = (struct marked_block *)block;
    lm_must(lm_is_block(block));
    validate_block(block, class_index);
    lm_must(++count <= most);
    if (in_depot && block == first) continue;
    lm_must(marked->mark != mark);
    marked->mark = mark;
  }
  return count;
}

/* ---- Spans ---- */

/* Marks the blocks of the list in the set, and returns how many they are. */
static size_t mark_free_list(const struct lm_span *span, uint64_t *is_listed) {
  size_t block_bytes = lm_classes[span->class_index].block_bytes, count = 0;
  const struct lm_block *block = span->free_list;
  for (; block != LM_NO_BLOCK; block = lm_block_next(block), count++) {
    lm_must(lm_is_block(block));
    size_t offset = (size_t)((const char *)block - lm_span_start(span));
    size_t index = offset / block_bytes;
    lm_must(index < span->extended_count && index * block_bytes == offset);
    lm_must(!lm_bitmap_test(is_listed, index));
    lm_bitmap_set(is_listed, index, index + 1);
  }
  return count;
}

/* Blocks that reach onto pages in holes, none of which is listed. */
static size_t count_hole_blocks(const struct lm_span *span, const uint64_t *is_listed) {
  size_t block_bytes = lm_classes[span->class_index].block_bytes, count = 0;
  for (size_t index = 0; span->hole_pages != 0 && index < span->extended_count; index++) {
    size_t from = index * block_bytes >> lm_os.page_shift;
    size_t to = lm_pages_of((index + 1) * block_bytes);
    if ((lm_bitmap_mask(0, from, to) & span->hole_pages) == 0) continue;
    lm_must(!lm_bitmap_test(is_listed, index));
    count++;
  }
  return count;
}

/* The state that a span with these counts has on a list. */
static enum lm_span_state state_of(const struct lm_span *span) {
  if (span->free_list != LM_NO_BLOCK) return LM_SPAN_USABLE;
  return lm_span_has_room(span) || span->hole_pages != 0 ? LM_SPAN_ROOMY : LM_SPAN_FULL;
}

static void validate_record(const struct lm_central *central, const struct lm_span *span) {
  const struct lm_class *class = &lm_classes[span->class_index];
  uint32_t tag = central->tag_bits | span->class_index;
  lm_must(span->central == central && span->head_distance == 0);
  lm_must(span->slice_count == class->slice_count && span->capacity <= class->block_count);
  lm_must(lm_load_relaxed(&span->tag) == tag);
  if (lm_tags.multiplier != 0) lm_must(lm_tags_read(lm_span_start(span)) == tag);
  lm_must(lm_region_of(span)->pool == central->pool);
}

/* The equations of pages/span.h. Returns how many blocks are listed. */
static size_t validate_span(const struct lm_central *central, const struct lm_span *span) {
  uint64_t is_listed[LM_BITMAP_WORDS(LM_SPAN_BLOCKS_MAX)] = {0};
  validate_record(central, span);
  size_t listed = mark_free_list(span, is_listed);
  lm_must(span->extended_count <= span->capacity);
  lm_must(span->hole_block_count == count_hole_blocks(span, is_listed));
  lm_must((span->hole_pages == 0) == (span->hole_block_count == 0));
  lm_must((span->hole_pages & ~lm_span_carved_pages(span)) == 0);
  lm_must(span->used_count + listed + span->hole_block_count == span->extended_count);
  lm_must(span->state == state_of(span));
  /* One that is empty is kept, or has just begun. */
  bool kept = span == central->classes[span->class_index].kept;
  lm_must(span->used_count != 0 || span->extended_count == 0 || kept);
  return listed;
}

static size_t validate_list(const struct lm_central *central, const struct lm_span_list *list,
                            size_t class_index, enum lm_span_state state) {
  const struct lm_span *previous = NULL, *span = list->first;
  size_t listed = 0;
  for (; span != NULL; previous = span, span = span->next) {
    lm_must(span->previous == previous && span->class_index == class_index);
    lm_must(span->state == state);
    listed += validate_span(central, span);
  }
  lm_must(list->last == previous);
  return listed;
}

/* ---- Classes ---- */

static void validate_spans(const struct lm_central *central, size_t class_index) {
  const struct lm_central_class *class = &central->classes[class_index];
  size_t listed = validate_list(central, &class->usable, class_index, LM_SPAN_USABLE);
  validate_list(central, &class->roomy, class_index, LM_SPAN_ROOMY);
  validate_list(central, &class->full, class_index, LM_SPAN_FULL);
  /* What is put into spans that are away counts, too. */
  lm_must(listed <= class->free_count);
  lm_must(listed == class->free_count || central->away_count != 0);
  const struct lm_span *kept = class->kept;
  if (kept == NULL) return;
  lm_must(kept->central == central && kept->class_index == class_index);
  lm_must(kept->state == LM_SPAN_USABLE && kept->used_count == 0 && kept->hole_pages == 0);
}

static void validate_depot(const struct lm_central *central, size_t class_index) {
  const struct lm_central_class *class = &central->classes[class_index];
  uint64_t mark = lm_list_new_mark();
  size_t count = 0, block_count = 0, count_most = lm_load_relaxed(&class->list_count);
  for (struct lm_block *list = class->lists; list != NULL && list != LM_NO_BLOCK;
       list = lm_list_next(list)) {
    lm_must(++count <= count_most);
    size_t blocks = lm_list_validate(list, class_index, true, mark);
    lm_must(blocks != 0);
    if (blocks > lm_list_count_max(list, class_index)) /* the program has written there */
      lm_misuse_broken_link(lm_sizeclass_bytes(class_index));
    block_count += lm_list_count_max(list, class_index);
  }
  lm_must(count == count_most);
  lm_must(lm_load_relaxed(&class->lowest_count) <= count);
  if (block_count != class->listed_max) lm_misuse_broken_link(lm_sizeclass_bytes(class_index));
}

static void validate_class(const struct lm_central *central, size_t class_index) {
  if (lm_class_is_small(class_index)) validate_spans(central, class_index);
  validate_depot(central, class_index);
}

void lm_central_validate_class(struct lm_central *central, size_t class_index) {
  lm_lock_take(&central->lock);
  validate_class(central, class_index);
  lm_lock_free(&central->lock);
}

void lm_central_validate(struct lm_central *central) {
  size_t depot_bytes = 0;
  lm_lock_take(&central->lock);
  for (size_t i = 1; i < LM_BIN_COUNT; i++) {
    validate_class(central, i);
    depot_bytes += central->classes[i].listed_max * lm_sizeclass_bytes(i);
  }
  lm_must(depot_bytes == central->depot_bytes);
  lm_lock_free(&central->lock);
}

#endif
