/* What the program has, what is free and where: the numbers that all statistics are made of. They
 * are sums of what spans, caches and regions say of themselves (gather.h): nothing is counted as
 * blocks come and go. */
#ifndef LM_REPORT_FIGURES_H
#define LM_REPORT_FIGURES_H

#include "base/compiler.h"
#include "os/os.h"
#include "sizeclass/sizeclass.h"

/* Of the spans of one class; counts are of blocks.
 *
 *     carved = used + in lists + free + in holes */
struct lm_class_figures {
  size_t span_count;
  size_t carved_count;
  size_t used_count;    /* the program has them */
  size_t cache_count;   /* in lists of threads' caches */
  size_t depot_count;   /* in lists of depots */
  size_t free_count;    /* on the lists of their spans */
  size_t hole_count;    /* free, on pages that have been given back */
  size_t idle_page_count; /* pages with free blocks only that have not been given back */
};

/* So many blocks, and so many bytes in them. */
struct lm_sum {
  size_t count, bytes;
};

struct lm_figures {
  struct lm_class_figures classes[LM_CLASS_COUNT];
  struct lm_sum small, middle, large, huge; /* that the program has */
  struct lm_sum cached, in_depots, listed; /* small ones that are free: sums of the classes' */
  size_t cached_bytes; /* free middle blocks in lists of caches and depots */
  size_t hole_bytes;   /* pages of spans that have been given back */
  size_t idle_bytes;   /* pages in use of spans that have free blocks only */
  size_t dirty_bytes;  /* pages that nobody uses and that have not been given back */
  size_t metadata_bytes; /* of own records, as far as they are in memory */
  size_t region_count, reserved_bytes;
  size_t free_run_count; /* runs of pages that nobody uses */
  uint64_t purged_bytes, purge_count; /* since the start */
  size_t heap_live_count, heap_made_count; /* caches that threads have, and ever had */
  /* 0: the system does not say */
  struct lm_os_residency residency;
#if LM_OS_TELLS_USAGE
  struct lm_os_usage usage;
#endif
};

LM_INLINE size_t lm_figures_used_bytes(const struct lm_figures *figures) {
  return figures->small.bytes + figures->middle.bytes + figures->large.bytes + figures->huge.bytes;
}

/* What is free and has not been given back. */
LM_INLINE size_t lm_figures_free_bytes(const struct lm_figures *figures) {
  return figures->cached.bytes + figures->in_depots.bytes + figures->listed.bytes +
         figures->cached_bytes + figures->dirty_bytes;
}

#endif
