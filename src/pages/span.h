/* A span: a run of slices that is cut into blocks of one size class. It belongs to a central heap,
 * and to no thread. Its record stands in the region's header, away from its blocks, on one cache
 * line for all that taking and putting needs; all of it is read and written under the lock of its
 * central, but for what the tag says.
 *
 *     blocks carved  = extended_count  <=  capacity
 *     extended_count = blocks the program has + blocks in lists of caches and depots
 *                      + blocks on free_list + blocks in holes
 *     used_count     = extended_count - blocks on free_list - blocks in holes
 *
 * (Rejected: counts of what the program has. A block in a list would have to touch its span's
 * record on the way there, and again on the way back.) */
#ifndef LM_PAGES_SPAN_H
#define LM_PAGES_SPAN_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "pages/block.h"
#include "pages/tags.h"

enum lm_span_state {
  LM_SPAN_NONE,   /* not a span, or not the first slice of one */
  LM_SPAN_USABLE, /* on its central's list of spans with blocks on free_list */
  LM_SPAN_ROOMY,  /* of others that have room to carve some, or holes */
  LM_SPAN_FULL,   /* of others */
  LM_SPAN_AWAY,   /* on none: its free blocks are looked at without the lock (central/holes.h) */
};

enum lm_span_changed {
  LM_CHANGED_SINCE_LOOK = 1,
  LM_CHANGED_SINCE_HOLES = 2, /* since all that could be given back was */
  LM_CHANGED = 3,
};

struct lm_central;

/* So that a word has a bit for every OS page of a span. */
#define LM_SPAN_MAX_SLICES ((size_t)64 >> (LM_SLICE_SHIFT - 12))

struct lm_span {
  struct lm_block *free_list;
  struct lm_central *central;
  struct lm_span *next, *previous;
  /* Bit i: OS page i may have been written to before blocks of it were carved, so that it need not
   * read as zero. The others cost a fault when they are first written to. */
  uint64_t dirty_pages;
  uint64_t hole_pages; /* bit i: OS page i has been given back (central/holes.h) */
  uint16_t used_count;
  uint16_t extended_count;
  uint16_t capacity;
  uint8_t class_index;
  uint8_t slice_count;
  uint8_t state;         /* enum lm_span_state */
  uint8_t head_distance; /* records back to that of the span's first slice */
  lm_tag tag;            /* the same as in the table of tags, for processes that have none */
#if LM_HARDENED_GUARDS
  bool guarded; /* its last page may not be accessed; central/span_life.h */
#endif
  uint32_t take_number; /* that of the last call that took blocks off free_list; central/put.c */

  /* Rarely used. */
  LM_CACHE_ALIGNED uint16_t hole_block_count; /* free blocks that reach onto pages in hole_pages */
  uint16_t unsorted_count; /* blocks put since free_list was in the order of addresses, or empty */
  uint16_t committed_count; /* where a purge decommits: blocks with pages, but for those of holes */
  uint16_t look_round;      /* in which it was looked at last; 0: in none */
  /* Bits of enum lm_span_changed: blocks were put or taken since then. */
  uint8_t changed;
  uint8_t quiet_looks; /* that have found nothing changed */
  uint8_t quiet_wait;  /* so many are waited for: more where holes were filled soon */
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
