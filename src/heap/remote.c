#include "heap/remote.h"

#include "heap/inspect.h"
#include "heap/middle.h"
#include "heap/orphan.h"
#include "heap/span_life.h"
#include "heap/transfer.h"
#include "os/panic.h"

/* ---- Messages ---- */

#if LM_BITS_64
#define ADDRESS_MASK (((uint64_t)1 << 48) - 1)
#define COUNT_SHIFT 48
#define HAS_AFTER_NEXT ((uint64_t)1 << 63)
_Static_assert(LM_SLICE_BYTES / LM_GRANULE_BYTES < 1 << (63 - COUNT_SHIFT), "a slice's blocks");
static struct lm_message *message_next(const struct lm_message *message) {
  return (struct lm_message *)(uintptr_t)(message->next_and_count & ADDRESS_MASK);
}
static size_t message_count(const struct lm_message *message) {
  return (size_t)((message->next_and_count & ~HAS_AFTER_NEXT) >> COUNT_SHIFT);
}
static void message_set(struct lm_message *message, struct lm_message *next, size_t count) {
  message->next_and_count = (uint64_t)(uintptr_t)next | (uint64_t)count << COUNT_SHIFT;
}
static struct lm_message *message_after_next(const struct lm_message *message) {
  return (message->next_and_count & HAS_AFTER_NEXT) != 0 ? message->after_next : NULL;
}
static void message_set_after_next(struct lm_message *message, struct lm_message *after_next) {
  message->after_next = after_next;
  message->next_and_count |= HAS_AFTER_NEXT;
}
#else
static struct lm_message *message_next(const struct lm_message *message) { return message->next; }
static size_t message_count(const struct lm_message *message) { return message->count; }
static void message_set(struct lm_message *message, struct lm_message *next, size_t count) {
  message->next = next;
  message->count = (uint32_t)count;
  message->after_next = NULL;
}
static struct lm_message *message_after_next(const struct lm_message *message) {
  return message->after_next;
}
static void message_set_after_next(struct lm_message *message, struct lm_message *after_next) {
  message->after_next = after_next;
}
#endif

struct lm_message *lm_message_read(const struct lm_message *message, size_t *count) {
  *count = message_count(message);
  return message_next(message);
}

/* Pushes linked messages onto the heap's inbox. False if it is closed; then the last is the last
 * still, though an attempt before may have linked it to what was in the inbox. `*waited` says
 * whether others were in it. */
static bool push(struct lm_heap *heap, struct lm_message *first, struct lm_message *last,
                 bool *waited) {
  struct lm_message *head = lm_load_acquire(&heap->inbox);
  do {
    if (head == LM_INBOX_CLOSED) {
      message_set(last, NULL, message_count(last));
      return false;
    }
    message_set(last, head, message_count(last));
  } while (!lm_cas_weak_release(&heap->inbox, &head, first));
  *waited = head != NULL;
  return true;
}

/* Brings one message to whoever owns its span now: an inbox, or the span itself if nobody. */
static void deliver(struct lm_message *message) {
  struct lm_block *handle = (struct lm_block *)message;
  struct lm_span *span = lm_span_of(handle);
  for (;;) {
    struct lm_heap *owner = lm_load_acquire(&span->owner);
    if (owner != NULL) {
      /* A heap closes its inbox after the last of its spans has got another owner or none, so
       * that a closed inbox means that the owner read above is out of date. */
      bool waited;
      if (push(owner, message, message, &waited)) return;
      lm_cpu_pause();
    } else {
      struct lm_block *newest = message->newest;
      size_t count = message_count(message);
      if (lm_orphan_put_back(span, newest, handle, count)) return;
    }
  }
}

static void deliver_all(struct lm_message *message) {
  while (message != NULL) {
    struct lm_message *next = message_next(message);
    message_set(message, NULL, message_count(message));
    deliver(message);
    message = next;
  }
}

/* ---- The sender ---- */

/* An owner whose calls all take the fast paths would never look into its inbox. After so many
 * parcels that found others waiting there, its next free does (watch.h). */
#define PARCELS_PER_CALL_FOR_OWNER 16

/* Whether an owner takes what it is sent. Not from a visit: the heap's thread may be reading it. */
static void note_answer(struct lm_heap *heap, bool waited) {
  uint8_t *unanswered = &heap->outbox.unanswered;
  if (heap->visits.underway) return;
  if (!waited) *unanswered -= lm_min(*unanswered, LM_ANSWER_WEIGHT);
  else if (*unanswered < LM_UNANSWERED) *unanswered += 1;
}

static void send_parcel(struct lm_heap *heap, struct lm_parcel *parcel) {
  struct lm_heap *owner = parcel->owner;
  if (parcel->first == NULL) return;
  bool waited = false;
  if (!push(owner, parcel->first, parcel->last, &waited)) deliver_all(parcel->first);
  parcel->first = NULL;
  note_answer(heap, waited);
  parcel->unanswered_count = waited ? parcel->unanswered_count + 1 : 0;
  if (LM_LIKELY(parcel->unanswered_count < PARCELS_PER_CALL_FOR_OWNER)) return;
  parcel->unanswered_count = 0;
  lm_store_relaxed(&owner->free_tag, LM_TAG_NO_HEAP);
}

/* Whether the heap should adopt an orphan of which it frees blocks: if it uses such blocks itself,
 * since it is likely to free the others as well. Chunks one by one as it takes blocks: a heap that
 * only frees would gather chunks whose free pages nobody can use. */
static bool wants_orphan(const struct lm_heap *heap, size_t class_index) {
  if (class_index == LM_CLASS_MIDDLE) return heap->middle.takes;
  return heap->span_counts[class_index] != 0 || heap->borrowed_counts[class_index] != 0;
}

/* Blocks of an orphan go to the orphan, or with it to the heap that frees them. */
static void deliver_to_orphan(struct lm_heap *heap, struct lm_message *message) {
  struct lm_span *span = lm_span_of(message);
  if (heap->visits.underway) { /* of a thread that sleeps */
    deliver(message);
    return;
  }
  lm_heap_enter(heap);
  if (wants_orphan(heap, span->class_index) && lm_orphan_adopt_span(heap, span)) {
    if (span->class_index == LM_CLASS_MIDDLE) heap->middle.takes = false;
    lm_heap_own(heap, span);
    struct lm_block *handle = (struct lm_block *)message;
    lm_heap_put_back(heap, span, message->newest, handle, message_count(message));
  } else {
    deliver(message);
  }
  lm_heap_leave(heap);
}

_Static_assert(LM_PART_CHAINS == 8, "the bits of one of used_chains");
LM_INLINE void set_used(struct lm_heap *heap, const struct lm_chain *chain, bool used) {
  size_t index = (size_t)(chain - heap->chains);
  uint8_t *part = &heap->outbox.used_chains[index / LM_PART_CHAINS];
  uint8_t bit = (uint8_t)(1u << index % LM_PART_CHAINS);
  *part = (uint8_t)(used ? *part | bit : *part & ~bit);
}

#define SMALLEST_CLASS 1 /* whose blocks have no room for all of a message */

/* Closes the chain's ring and puts it into the parcel for the span's owner. */
static void pack(struct lm_heap *heap, struct lm_chain *chain) {
  struct lm_message *message = (struct lm_message *)chain->handle;
  lm_assert(chain->slice != 0 && chain->count != 0);
  message->newest = chain->newest;
  message_set(message, NULL, chain->count);
  struct lm_span *span = lm_span_of(message);
  struct lm_heap *owner = lm_load_acquire(&span->owner);
  chain->slice = 0;
  set_used(heap, chain, false);
  if (owner == NULL) {
    deliver_to_orphan(heap, message);
    return;
  }
  /* Not owner->tag, which is on a line that the owner writes all the time. */
  size_t id = lm_load_relaxed(&span->tag) >> LM_TAG_OWNER_SHIFT;
  struct lm_parcel *parcel = &heap->parcels[id % LM_PARCEL_COUNT];
  if (parcel->owner != owner || parcel->first == NULL) {
    send_parcel(heap, parcel);
    if (parcel->owner != owner) parcel->unanswered_count = 0;
    parcel->owner = owner;
    parcel->last = message;
  } else {
    message_set(message, parcel->first, chain->count);
    if (span->class_index != SMALLEST_CLASS)
      message_set_after_next(message, message_next(parcel->first));
  }
  parcel->first = message;
}

/* What pack reads and writes: lines that other threads have written to. */
static void prefetch_chain(const struct lm_chain *chain) {
  const struct lm_span *record = lm_span_record_of(chain->handle);
  __builtin_prefetch(chain->handle, 1);
  __builtin_prefetch(&record->head);
  __builtin_prefetch(&record->owner);
}

/* Blocks above this count for a part of their bytes, so that some go together. */
#define LIGHT_BYTES LM_KIB
#define LIGHT_FRACTION 4
/* Few blocks of orphans wait: what a thread has left is often freed at one go, by one that sleeps
 * then, and each block that is not sent keeps a span. */
#define ORPHAN_WEIGHT (4 * LM_REMOTE_PART_WEIGHT)

/* Packs the next part of the chains, and says how many that were. A part at a time, so that no call
 * pays for all. */
static size_t pack_part(struct lm_heap *heap) {
  const uint8_t *used = &heap->outbox.used_chains[heap->outbox.next_part];
  size_t count = (size_t)__builtin_popcount(*used);
  struct lm_chain *chains = &heap->chains[heap->outbox.next_part * LM_PART_CHAINS];
  for (unsigned left = *used; left != 0; left &= left - 1)
    prefetch_chain(&chains[__builtin_ctz(left)]);
  while (*used != 0) pack(heap, &chains[__builtin_ctz(*used)]);
  heap->outbox.next_part = (heap->outbox.next_part + 1) % LM_CHAIN_PARTS;
  return count;
}

static void send_parcels(struct lm_heap *heap) {
  for (size_t i = 0; i < LM_PARCEL_COUNT; i++) send_parcel(heap, &heap->parcels[i]);
}

/* A thread that has sent so much since malloc last found a bin empty does nothing but free. */
#define PARTS_OF_BULK 16

LM_NOINLINE void lm_remote_flush_part(struct lm_heap *heap) {
  size_t packed = 0;
  if (++heap->bulk.parts_since_refill == PARTS_OF_BULK) lm_heap_send_guests(heap);
  do {
    heap->outbox.weight -= LM_REMOTE_PART_WEIGHT;
    packed += pack_part(heap);
  } while (heap->outbox.weight >= LM_REMOTE_BATCH_WEIGHT && packed < LM_PART_CHAINS / 2);
  /* More is left if what waits weighs much and is many chains: the next free goes on. */
  heap->outbox.weight = lm_min(heap->outbox.weight, LM_REMOTE_BATCH_WEIGHT);
  send_parcels(heap);
  lm_heap_tick(heap); /* a thread that only frees must see the clock too */
}

LM_NOINLINE void lm_remote_flush_part_and_leave(struct lm_heap *heap) {
  lm_remote_flush_part(heap);
  lm_heap_leave_at_last(heap);
}

void lm_remote_flush(struct lm_heap *heap) {
  if (heap->outbox.weight == 0) return;
  heap->outbox.weight = 0;
  for (size_t i = 0; i < LM_CHAIN_PARTS; i++) pack_part(heap);
  send_parcels(heap);
}

static size_t weight_of(const struct lm_block *block, size_t class_index) {
  size_t bytes = class_index == LM_CLASS_MIDDLE ? lm_region_block_pages(block) << lm_os.page_shift
                                                : lm_classes[class_index].block_bytes;
  size_t weight = lm_min(bytes, lm_max(LIGHT_BYTES, bytes / LIGHT_FRACTION));
  bool orphan = lm_tags_read(block) >> LM_TAG_OWNER_SHIFT == LM_OWNER_ORPHAN;
  return orphan ? lm_max(weight, ORPHAN_WEIGHT) : weight;
}

/* An empty chain for the slice of `handle`; what the chain had before is packed, which begins no
 * other: nothing that pack calls frees blocks of other heaps. */
static void begin_chain(struct lm_heap *heap, struct lm_chain *chain, struct lm_block *handle,
                        size_t weight) {
  if (chain->slice != 0) pack(heap, chain);
  lm_assert(chain->slice == 0);
  chain->slice = lm_chain_slice_of(handle);
  chain->handle = handle;
  chain->count = 0;
  chain->weight = (uint32_t)weight;
  set_used(heap, chain, true);
}

void lm_remote_free(struct lm_heap *heap, struct lm_block *block, size_t class_index) {
  if (class_index != LM_CLASS_MIDDLE) lm_inspect_given(lm_span_of(block), block, NULL, NULL);
  size_t weight = weight_of(block, class_index);
  uintptr_t slice = lm_chain_slice_of(block);
  struct lm_chain *chain = lm_chain_for(heap, slice);
  lm_heap_enter(heap);
  if (chain->slice != slice)
    begin_chain(heap, chain, block, class_index == LM_CLASS_MIDDLE ? 0 : weight);
  if (lm_chain_push(heap, chain, block, weight)) lm_remote_flush_part(heap);
  lm_heap_leave(heap);
}

LM_NOINLINE void lm_remote_transfer(struct lm_heap *heap, size_t class_index) {
  if (LM_UNLIKELY(!lm_heap_enter_alone(heap))) return;
  if (lm_transfer_give(heap, class_index) && lm_remote_is_unanswered(heap))
    heap->guests_left[class_index] = lm_guests_per_refill(heap, class_index);
  lm_heap_forget_sum(heap, class_index);
  lm_heap_leave_at_last(heap);
}

void lm_remote_free_now(struct lm_block *block) {
  struct lm_message *message = (struct lm_message *)block;
  message->newest = block;
  message_set(message, NULL, 1);
  deliver(message);
}

/* ---- The owner ---- */

/* What the next turn reads first: lines that other threads have written to. */
LM_INLINE void prefetch_message(struct lm_message *message) {
  struct lm_span *record = lm_span_record_of(message);
  __builtin_prefetch(message, 1);
  __builtin_prefetch(record, 1);
  __builtin_prefetch(&record->owner);
}

/* Puts one received chain back, or sends it on. */
static void take_message(struct lm_heap *heap, struct lm_message *message) {
  struct lm_block *handle = (struct lm_block *)message;
  struct lm_span *span = lm_span_of(handle);
  if (LM_LIKELY(lm_load_relaxed(&span->owner) == heap)) {
    lm_heap_put_back(heap, span, message->newest, handle, message_count(message));
  } else {
    message_set(message, NULL, message_count(message));
    deliver(message);
  }
}

bool lm_remote_collect_up_to(struct lm_heap *heap, size_t most) {
  if (LM_LIKELY(heap->received == NULL)) {
    if (LM_LIKELY(!lm_remote_waits(heap))) return false;
    heap->received = lm_exchange_acquire(&heap->inbox, NULL);
  }
  for (struct lm_message *message; most > 0 && (message = heap->received) != NULL; most--) {
    heap->received = message_next(message);
    __builtin_prefetch(message_after_next(message), 1);
    if (heap->received != NULL) prefetch_message(heap->received);
    take_message(heap, message);
  }
  return true;
}

#define MESSAGES_PER_STEP 8
bool lm_remote_collect_within(struct lm_heap *heap, size_t steps, size_t *effort) {
  for (; lm_remote_waits(heap); steps--) {
    if (steps == 0 || *effort == 0) return true;
    size_t held_before = lm_heap_held_pages(heap);
    lm_remote_collect_up_to(heap, MESSAGES_PER_STEP);
    lm_heap_spend_on_step(heap, held_before, effort);
  }
  return false;
}

void lm_remote_collect(struct lm_heap *heap) {
  while (lm_remote_collect_up_to(heap, SIZE_MAX)) {}
}

void lm_remote_close(struct lm_heap *heap) {
  /* Releases the new owners of all spans to whoever finds the inbox closed. */
  deliver_all(lm_exchange_acq_rel(&heap->inbox, LM_INBOX_CLOSED));
}
