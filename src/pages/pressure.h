/* How near the process's control group is to its limit of memory, beyond which the system ends
 * processes: from three quarters of it on free memory goes back at once, and from nine tenths the
 * pages between blocks, too.
 *
 * Nobody is told of that, so ticks look where there was a limit when the process started: once the
 * process has taken some memory, each time that it has taken more, the sooner the less is left; and
 * by the clock. They add what loam holds to what the group had at start, and read no file: the
 * process may be in a sandbox that ends whoever does. With the option group_limit=follow they read
 * the group's files, and so see other processes, the program's other memory, and new limits.
 *
 * A system that says itself that it is short of memory (Windows) is asked with each look: while it
 * is, that is as nine tenths of a limit. */
#ifndef LM_PAGES_PRESSURE_H
#define LM_PAGES_PRESSURE_H

#include "base/atomic.h"
#include "base/compiler.h"

enum lm_pressure { LM_PRESSURE_NONE, LM_PRESSURE_SOME, LM_PRESSURE_MUCH };

/* None of these orders anything.
 * Written by ticks that look, read by whoever decides what to keep. */
extern _Atomic(uint32_t) lm_pressure; /* enum lm_pressure */
/* A pool that has more pages in use asks for a look: read with its lock, written by ticks, and by
 * who asks, so that no other does. */
extern _Atomic(size_t) lm_pressure_asks_above;
/* So many has the pool that has asked; 0: none has. */
extern _Atomic(size_t) lm_pressure_asked;

/* Whoever has taken memory has so many pages. */
LM_INLINE void lm_pressure_note_used(size_t page_count) {
  if (LM_LIKELY(page_count <= lm_load_relaxed(&lm_pressure_asks_above))) return;
  lm_store_relaxed(&lm_pressure_asks_above, SIZE_MAX);
  lm_store_relaxed(&lm_pressure_asked, page_count);
}

LM_INLINE bool lm_pressed(enum lm_pressure at_least) {
  return LM_UNLIKELY(lm_load_relaxed(&lm_pressure) >= (uint32_t)at_least);
}

/* At the process's start. */
void lm_pressure_start(void);

struct lm_pressure_held {
  size_t region_bytes; /* of pages in use or dirty */
  size_t huge_bytes;   /* whatever of them is in memory */
};
typedef struct lm_pressure_held lm_pressure_count(void);

/* Looks, if a pool has asked or it is time; `count` says what loam holds. Returns whether the
 * pressure is higher than it was. No lock is held. */
bool lm_pressure_tick(uint64_t now_ms, lm_pressure_count *count);

#endif
