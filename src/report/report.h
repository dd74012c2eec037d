/* Statistics: gathered and printed without allocating. */
#ifndef LM_REPORT_REPORT_H
#define LM_REPORT_REPORT_H

#include "base/compiler.h"
#include "base/format.h"
#include "config/options.h"

/* Read under the locks, one structure after the other: exact where nothing else runs. */
struct lm_totals {
  size_t region_count;
  size_t reserved_bytes;     /* address space of regions */
  size_t span_bytes;         /* slices in spans */
  size_t middle_bytes;       /* middle blocks */
  size_t large_count;
  size_t large_bytes;        /* large blocks in regions */
  size_t huge_count;
  size_t huge_bytes;         /* large blocks that are mappings of their own */
  size_t free_bytes;         /* empty memory not given back yet */
  size_t free_run_count;     /* in how many runs */
  uint64_t purged_bytes;     /* given back since the start */
  uint64_t purge_count;
  size_t heap_live_count;    /* threads that have a heap */
  size_t heap_made_count;
};

void lm_report_gather(struct lm_totals *totals);

#define LM_REPORT_BYTES 8192
/* `format` is text or JSON. */
void lm_report_print(struct lm_text *text, enum lm_stats_format format);
void lm_report_print_xml(struct lm_text *text);

void lm_report_write(int fd, enum lm_stats_format format);

#endif
