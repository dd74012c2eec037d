/* How the figures are gathered: without allocating, and without stopping anybody; one region after
 * the other under its pool's lock, and one cache after the other under that of tags.
 *
 * What stays mapped under which lock:
 *   - A region and its header: under its pool's lock, and under that of tags while it is on the map
 *     of regions (lm_region_end).
 *   - Blocks in a region that does not decommit: as their region.
 *   - Caches and other records: always.
 * Others change spans, caches and blocks meanwhile, so that each link is looked at before it is
 * followed, and no list is followed for longer than it can be. The figures are exact where nothing
 * else runs. Not counted as free: what another thread's cache has in regions that decommit, since
 * their links cannot be followed safely. */
#ifndef LM_REPORT_GATHER_H
#define LM_REPORT_GATHER_H

#include "report/figures.h"

struct lm_cache;

enum lm_figures_depth {
  LM_FIGURES_SUMS, /* all but what follows */
  LM_FIGURES_ALL,  /* idle pages, metadata and what the system says, too: takes longer */
};

/* `own` is the calling thread's cache, whose lists nobody else changes. */
void lm_figures_gather(struct lm_figures *figures, enum lm_figures_depth depth,
                       const struct lm_cache *own);

#endif
