#include "report/lists.h"

#include "heap/heap.h"
#include "heap/remote.h"
#include "heap/shared.h"
#include "heap/span_life.h"
#include "heap/transfer.h"

/* What is read here its owner may be writing: a pointer is read at once, whatever it is. */
static struct lm_block *read_link(struct lm_block *const *link) {
  return __atomic_load_n(link, __ATOMIC_RELAXED);
}

/* ---- Bins, chains and messages. The lock of tags is held ---- */

/* The class of the span in which the address is, be it that of chunks; LM_CLASS_LIMIT if there is
 * none. */
static size_t class_at(const void *address) {
  if (!lm_region_holds((uintptr_t)address)) return LM_CLASS_LIMIT;
  uint32_t tag = lm_load_relaxed(&lm_span_record_of(address)->tag);
  return tag >> LM_TAG_OWNER_SHIFT <= LM_OWNER_LARGE ? LM_CLASS_LIMIT : tag & LM_TAG_CLASS_MASK;
}

/* Whether a block's words may be read. The calling thread's lists are whole. */
static bool is_readable(const void *block, bool own) {
  return own || !lm_region_of(block)->decommits;
}

/* No bin has more: what a class has before its bin is bounded, or one span's and its room. */
#define BIN_SLICES_MAX 8
static size_t bin_limit(size_t class_index) {
  const struct lm_class *class = &lm_classes[class_index];
  return BIN_SLICES_MAX * class->block_count / class->slice_count + class->bin_frees +
         class->block_count;
}

static size_t count_bin(const struct lm_block *block, size_t class_index, bool own) {
  size_t count = 0, most = bin_limit(class_index);
  while (block != LM_NO_BLOCK && count < most && (uintptr_t)block % LM_GRANULE_BYTES == 0 &&
         class_at(block) == class_index) {
    count++;
    if (!is_readable(block, own)) break;
    block = lm_link_of(block, read_link(&block->next));
  }
  return count;
}

static void sum_bins(const struct lm_heap *heap, bool own, struct lm_class_figures *classes) {
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    classes[i].bin_count += count_bin(read_link(&heap->bins[i]), i, own);
    const struct lm_block *reserve = read_link(&heap->reserves[i]);
    if (reserve != NULL) classes[i].bin_count += count_bin(reserve, i, own);
  }
}

/* No message has more blocks. */
#define MESSAGE_BLOCKS_MAX LM_SPAN_BLOCKS_MAX
#define MESSAGES_MAX ((size_t)1 << 20) /* that anybody waits for */

/* Middle blocks are marked as on their way. */
static void sum_waiting(const void *address, size_t count, struct lm_class_figures *classes) {
  size_t class_index = class_at(address);
  if (class_index < LM_CLASS_COUNT && count <= MESSAGE_BLOCKS_MAX)
    classes[class_index].waiting_count += count;
}

static void sum_chains(const struct lm_heap *heap, struct lm_class_figures *classes) {
  for (size_t i = 0; i < LM_CHAIN_COUNT; i++) {
    const struct lm_chain *chain = &heap->chains[i];
    uintptr_t slice = chain->slice;
    if (slice != 0) sum_waiting((void *)(slice - 1), chain->count, classes);
  }
}

static void sum_messages(const struct lm_message *message, bool own,
                         struct lm_class_figures *classes) {
  for (size_t left = MESSAGES_MAX; left > 0 && message != NULL; left--) {
    if ((uintptr_t)message % LM_GRANULE_BYTES != 0 || class_at(message) == LM_CLASS_LIMIT) return;
    if (!is_readable(message, own)) return;
    size_t count;
    const struct lm_message *next = lm_message_read(message, &count);
    sum_waiting(message, count, classes);
    message = next;
  }
}

void lm_lists_add_heap(struct lm_heap *heap, bool own, struct lm_class_figures *classes) {
  const struct lm_message *inbox = lm_load_acquire(&heap->inbox);
  lm_lock_take(&lm_tags_lock);
  sum_bins(heap, own, classes);
  sum_chains(heap, classes);
  for (size_t i = 0; i < LM_PARCEL_COUNT; i++) sum_messages(heap->parcels[i].first, own, classes);
  sum_messages(heap->received, own, classes);
  if (inbox != LM_INBOX_CLOSED) sum_messages(inbox, own, classes);
  lm_lock_free(&lm_tags_lock);
}

void lm_lists_add_transfers(struct lm_class_figures *classes) {
  lm_lock_take(&lm_tags_lock);
  for (size_t place = 0; place < lm_pool_count * LM_TRANSFER_PLACES; place++) {
    for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
      const struct lm_block *first =
          lm_transfer_read(place / LM_TRANSFER_PLACES, i, place % LM_TRANSFER_PLACES);
      if (first != NULL) classes[i].waiting_count += count_bin(first, i, false);
    }
  }
  lm_lock_free(&lm_tags_lock);
}

/* ---- Spans. The pool's lock is held ---- */

static void mark_listed(const struct lm_span *span, uint64_t *is_free) {
  size_t block_bytes = lm_classes[span->class_index].block_bytes, carved = span->extended_count;
  const char *start = lm_span_start(span);
  const struct lm_block *block = read_link(&span->free_list);
  for (size_t left = carved; left > 0 && block != LM_NO_BLOCK; left--) {
    size_t offset = (size_t)((const char *)block - start), index = offset / block_bytes;
    if (index >= carved || index * block_bytes != offset) return;
    lm_bitmap_set(is_free, index, index + 1);
    block = lm_link_of(block, read_link(&block->next));
  }
}

uint64_t lm_lists_idle_pages(const struct lm_span *span) {
  uint64_t is_free[LM_BITMAP_WORDS(LM_SPAN_BLOCKS_MAX)] = {0}, idle = 0;
  size_t block_bytes = lm_classes[span->class_index].block_bytes, carved = span->extended_count;
  size_t page_count = lm_min(carved * block_bytes >> lm_os.page_shift, 64);
  if (span->free_list == LM_NO_BLOCK || carved > LM_SPAN_BLOCKS_MAX) return 0;
  mark_listed(span, is_free);
  for (size_t page = 0; page < page_count; page++) {
    size_t first = (page << lm_os.page_shift) / block_bytes;
    size_t end = (((page + 1) << lm_os.page_shift) - 1) / block_bytes + 1;
    end = lm_min(end, carved);
    if (lm_bitmap_find_clear(is_free, first, end) == end) idle |= (uint64_t)1 << page;
  }
  return idle & ~span->hole_pages;
}
