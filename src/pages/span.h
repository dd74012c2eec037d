/* A span: a run of slices that serves blocks of one size class; or a chunk (chunk.h), which serves
 * middle blocks of any length and has no use for most of what follows.
 *
 * Its record stands in the region's header, away from its blocks. Only the owner writes it; an
 * orphan's record is written under the lock of its class's orphans.
 *
 *     blocks carved   = extended_count  <=  capacity
 *     extended_count  = blocks the program has + blocks on their way back in chains and messages
 *                       + blocks in the heap's bin + blocks on free_list + blocks in holes
 *     used_count      = extended_count - blocks on free_list - blocks in holes
 *
 * A bin has blocks of any of the heap's spans of its class, and guests of other heaps: to the
 * equations of these they are blocks that the program has. */
#ifndef LM_PAGES_SPAN_H
#define LM_PAGES_SPAN_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "pages/block.h"
#include "pages/tags.h"

enum lm_span_state {
  LM_SPAN_NONE,    /* not a span, or not the first slice of one */
  LM_SPAN_CURRENT, /* of which blocks are carved for the heap's bin */
  LM_SPAN_USABLE,  /* on the owner's list of spans with free blocks or room to extend */
  LM_SPAN_FULL,    /* on the owner's list of spans with few free blocks or none */
  LM_SPAN_SPARE,   /* empty, and kept by its heap (heap/spares.h) */
  LM_SPAN_CHUNK,   /* on the owner's lists of chunks: no span of one class, but a chunk */
  LM_SPAN_ORPHAN,  /* on its class's list of orphans */
};

struct lm_heap;

/* So that a word has a bit for every OS page of a span; chunks have more. */
#define LM_SPAN_MAX_SLICES ((size_t)64 >> (LM_SLICE_SHIFT - 12))

struct lm_span {
  /* Written by frees of the owner's that do not go onto the bin. */
  struct lm_block *free_list;
  uint32_t used_count;
  uint32_t look_at_count; /* when used_count falls to this, the owner looks at the span */
  struct lm_span *head_own; /* as below, for the owner, who needs only this line to free */
  struct lm_span *next, *previous;
  uint16_t extended_count;
  uint16_t carve_limit; /* up to here extended_count grows before other blocks are looked for */
  uint16_t extended_count_seen; /* as it was when the owner last looked for what to give back */
  uint8_t state; /* enum lm_span_state */
  /* Bit i: OS page i had been used before the span began, and has not been given back since, so
   * that it need not read as zero. The others cost a fault when they are first written to. */
  uint64_t dirty_pages;
  /* Those of them that surely have been written to. Of the others that is not known: they may be of
   * a large block that was hardly used. */
  uint64_t written_pages;

  /* On a line of their own, since other threads read them when they free blocks of the span: they
   * change only when the span begins, ends, is orphaned or adopted.
   * `owner` is NULL for an orphan. Written by the owner, or under the orphans' lock; read by any
   * thread that sends a block back: a store here releases to the acquiring load in remote.c. */
  LM_CACHE_ALIGNED _Atomic(struct lm_heap *) owner;
  struct lm_span *head; /* the record of the span's first slice, which is the span's */
  uint16_t capacity;
  uint8_t class_index;
  uint8_t slice_count;
  /* The same as in the table of tags, for processes that have none. */
  lm_tag tag;
  /* What follows is written by the owner when it looks for holes, makes or fills one
   * (heap/holes.h), which is rare. Bit i: OS page i has been given back; and so many free blocks,
   * which reach onto such pages, are on no list. */
  uint64_t hole_pages;
  uint16_t hole_block_count;
  uint16_t used_count_seen; /* at the last look for holes */
  uint8_t look_round;       /* in which that was */
  uint8_t quiet_looks;      /* that have found the same count since */
#if LM_HARDENED_GUARDS
  bool guarded; /* its last page may not be accessed; heap/span.h */
#endif
  uint8_t quiet_wait;       /* so many are waited for: more where holes were filled soon */
};

/* A list of spans, linked both ways, with both ends. */
struct lm_span_list {
  struct lm_span *first, *last;
};

LM_INLINE void lm_span_list_push_front(struct lm_span_list *list, struct lm_span *span) {
  span->previous = NULL;
  span->next = list->first;
  if (list->first != NULL) list->first->previous = span;
  else list->last = span;
  list->first = span;
}

LM_INLINE void lm_span_list_push_back(struct lm_span_list *list, struct lm_span *span) {
  span->next = NULL;
  span->previous = list->last;
  if (list->last != NULL) list->last->next = span;
  else list->first = span;
  list->last = span;
}

LM_INLINE void lm_span_list_remove(struct lm_span_list *list, struct lm_span *span) {
  if (span->previous != NULL) span->previous->next = span->next;
  else list->first = span->next;
  if (span->next != NULL) span->next->previous = span->previous;
  else list->last = span->previous;
  span->next = span->previous = NULL;
}

#endif
