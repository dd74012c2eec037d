/* Remote frees: blocks on their way back to the heap that owns their span.
 *
 * 1. A thread that frees another's block pushes it onto its chain for the slice (no atomics).
 * 2. When a chain has to make room, it becomes a message in the parcel for the span's owner; when
 *    the thread has collected LM_REMOTE_BATCH_WEIGHT, a part of the chains do, and the parcels are
 *    sent: one compare-and-swap each onto the owner's inbox.
 * 3. The owner takes the whole inbox with one exchange and puts each chain back on its span in
 *    constant time, some of them in each call of its slow path.
 *
 * A span's owner can change meanwhile (thread end, adoption). Nobody relies on who it was: a heap
 * that finds a chain of a span that is not its own sends it on. */
#ifndef LM_HEAP_REMOTE_H
#define LM_HEAP_REMOTE_H

#include "heap/heap.h"
#include "heap/visit.h"

/* A block up to 1 KiB weighs its bytes, a larger one a quarter of them, but 1 KiB at least; an
 * orphan's block as much as four parts of the chains, at least. */
#define LM_REMOTE_PART_WEIGHT (8 * LM_KIB)
#define LM_REMOTE_BATCH_WEIGHT (LM_CHAIN_PARTS * LM_REMOTE_PART_WEIGHT)

/* outbox.unanswered of a heap whose parcels have all found others waiting; one that has not counts
 * for so many that have. */
#define LM_UNANSWERED 16
#define LM_ANSWER_WEIGHT 4

/* A chain as it is sent, in the memory of its handle, the block freed first. The smallest block
 * has 16 bytes, so that on 64 bit the count shares a word with the link. */
struct lm_message {
  struct lm_block *newest; /* from it by `next` back to the handle: the ring */
#if LM_BITS_64
  uint64_t next_and_count; /* the next message's address, from bit 48 on the count, and bit 63 */
#else
  struct lm_message *next;
  uint32_t count;
#endif
  /* A hint: the message to fetch while the next one is on its way. On 64 bit only if bit 63 says
   * so, since it does not fit into the smallest block. */
  struct lm_message *after_next;
};

/* For reports: the next message, and how many blocks this one is of. */
struct lm_message *lm_message_read(const struct lm_message *message, size_t *count);

/* Sends a part of what is collected, since that is enough; more parts if there are few chains in
 * them and they weigh too much still. */
void lm_remote_flush_part(struct lm_heap *heap);

/* One for each slice, its address and 1; that of no slice if no block can begin at `address`. */
LM_INLINE uintptr_t lm_chain_slice_of(const void *address) {
  return 1 + ((uintptr_t)address & ~(LM_SLICE_BYTES - LM_GRANULE_BYTES));
}
LM_INLINE struct lm_chain *lm_chain_for(struct lm_heap *heap, uintptr_t slice) {
  return &heap->chains[(slice >> LM_SLICE_SHIFT) % LM_CHAIN_COUNT];
}

/* Returns whether so much is collected that a part is to be sent. */
LM_INLINE bool lm_chain_push(struct lm_heap *heap, struct lm_chain *chain, struct lm_block *block,
                             size_t weight) {
  lm_block_link(block, chain->newest);
  chain->newest = block;
  chain->count++;
  heap->outbox.weight += weight;
  return LM_UNLIKELY(heap->outbox.weight >= LM_REMOTE_BATCH_WEIGHT);
}

/* The same for a heap that a free alone has entered, and which is left. */
void lm_remote_flush_part_and_leave(struct lm_heap *heap);

/* Frees a block for whose slice there is a chain of blocks of one size; false, with nothing done,
 * if there is none, or if the heap has been entered, is parked, or is the empty one. While a chain
 * has blocks their span cannot end, so that nothing else has to be known of an address in its
 * slice. */
LM_INLINE bool lm_remote_join(struct lm_heap *heap, void *address) {
  uintptr_t slice = lm_chain_slice_of(address);
  struct lm_chain *chain = lm_chain_for(heap, slice);
  if (LM_UNLIKELY(!lm_heap_enter_alone(heap))) return false;
  bool joins = chain->slice == slice && chain->weight != 0;
  if (LM_LIKELY(joins) && lm_chain_push(heap, chain, address, chain->weight))
    lm_remote_flush_part_and_leave(heap);
  else lm_heap_leave_at_last(heap);
  return joins;
}

/* Whether four of five parcels find others waiting at the owner: it is sent more than it takes, as
 * where more threads exchange blocks than processors run. */
LM_INLINE bool lm_remote_is_unanswered(const struct lm_heap *heap) {
  return heap->outbox.unanswered > LM_UNANSWERED / 2;
}

/* Puts a guest where others find it if the thread falls asleep, and malloc when the bin is empty.
 * False, with nothing done, if the heap has been entered or is parked. */
LM_INLINE bool lm_push_guest_to_reserve(struct lm_heap *heap, struct lm_block *block,
                                       size_t class_index) {
  if (LM_UNLIKELY(!lm_heap_enter_alone(heap))) return false;
  struct lm_block *first = heap->reserves[class_index];
  lm_block_link(block, first != NULL ? first : LM_NO_BLOCK);
  heap->reserves[class_index] = block;
  lm_heap_forget_sum(heap, class_index);
  lm_heap_leave_at_last(heap);
  return true;
}

/* The class's reserve has all the guests that it may have: they go where other heaps find them. */
void lm_remote_transfer(struct lm_heap *heap, size_t class_index);

/* Frees a block of another heap by keeping it, if it is of the class, its tag that of a thread's
 * span, and the class takes a guest; false, with nothing done, if not. Nothing of the span's is
 * read or written: to its owner the block is one that the program still has. */
LM_INLINE bool lm_heap_keep_guest(struct lm_heap *heap, struct lm_block *block,
                                  size_t class_index) {
  if (LM_LIKELY(heap->guests_left[class_index] == 0)) return false;
  if (!lm_tag_is_threads(lm_tags_read(block))) return false;
  heap->has_guests[class_index] = true;
  if (LM_LIKELY(!lm_remote_is_unanswered(heap))) {
    lm_heap_push(heap, class_index, block);
    heap->guests_left[class_index]--;
    return true;
  }
  if (!lm_push_guest_to_reserve(heap, block, class_index)) return false;
  if (LM_UNLIKELY(--heap->guests_left[class_index] == 0)) lm_remote_transfer(heap, class_index);
  return true;
}

/* Frees a block of a span that is not the heap's own and has the class. */
void lm_remote_free(struct lm_heap *heap, struct lm_block *block, size_t class_index);

/* The same for a thread without a heap: sent at once. */
void lm_remote_free_now(struct lm_block *block);

/* Sends all that is collected. */
void lm_remote_flush(struct lm_heap *heap);

/* Takes all that others have sent. */
void lm_remote_collect(struct lm_heap *heap);

/* The same in up to `steps` steps of some messages, as far as the effort does, which it takes from.
 * Returns whether there is more. */
bool lm_remote_collect_within(struct lm_heap *heap, size_t steps, size_t *effort);

/* Whether there is something to take. */
LM_INLINE bool lm_remote_waits(const struct lm_heap *heap) {
  return heap->received != NULL || lm_load_relaxed(&heap->inbox) != NULL;
}

/* Takes up to `most` messages. False if there was nothing to take. */
bool lm_remote_collect_up_to(struct lm_heap *heap, size_t most);

/* Takes a part, so that no call pays for all: each message costs a cache miss or two. */
#define LM_MESSAGES_PER_CALL 8
LM_INLINE bool lm_remote_collect_some(struct lm_heap *heap) {
  return lm_remote_collect_up_to(heap, LM_MESSAGES_PER_CALL);
}

/* Closes the inbox of a heap that ends, after its spans have been orphaned, and passes on what was
 * in it. */
void lm_remote_close(struct lm_heap *heap);

#endif
