#include "report/report.h"

#include "heap/heap.h"
#include "large/huge.h"
#include "loam/loam.h"
#include "os/os.h"
#include "pages/directory.h"
#include "pages/pool.h"

static size_t count_free_runs(const struct lm_region *region) {
  size_t runs = 0, end = LM_REGION_BYTES >> lm_os.page_shift;
  for (size_t page = 0; page < end;) {
    size_t from = lm_bitmap_find_clear(region->used_pages, page, end);
    if (from == end) break;
    runs++;
    page = lm_bitmap_find_set(region->used_pages, from, end);
  }
  return runs;
}

/* Adds up what the owners of the pool's chunks say of them. */
static void gather_chunks(const struct lm_pool *pool, size_t *used_count, size_t *dirty_count) {
  LM_FOR_EACH_REGION(pool, region) {
    for (size_t i = 0; i < LM_REGION_CHUNKS; i++) {
      *used_count += lm_load_relaxed(&region->chunks[i].used_count);
      *dirty_count += lm_load_relaxed(&region->chunks[i].dirty_count);
    }
  }
}

static void gather_pool(struct lm_pool *pool, struct lm_totals *totals) {
  size_t middle_count = 0, dirty_count = 0;
  lm_lock_take(&pool->lock);
  gather_chunks(pool, &middle_count, &dirty_count);
  dirty_count += lm_load_relaxed(&pool->dirty_page_count);
  totals->region_count += lm_load_relaxed(&pool->region_count);
  totals->span_bytes += pool->span_slice_count << LM_SLICE_SHIFT;
  totals->middle_bytes += middle_count << lm_os.page_shift;
  totals->large_count += pool->large_count;
  totals->large_bytes += pool->large_page_count << lm_os.page_shift;
  totals->free_bytes += dirty_count << lm_os.page_shift;
  totals->purged_bytes += pool->purged_page_count << lm_os.page_shift;
  totals->purge_count += pool->purge_count;
  LM_FOR_EACH_REGION(pool, region) {
    totals->free_run_count += count_free_runs(region);
    totals->reserved_bytes += region->bytes;
  }
  lm_lock_free(&pool->lock);
}

void lm_report_gather(struct lm_totals *totals) {
  *totals = (struct lm_totals){0};
  for (struct lm_pool *pool = lm_pools; pool != NULL; pool = lm_pool_next(pool))
    gather_pool(pool, totals);
  lm_lock_take(&lm_huge_lock);
  totals->huge_count = lm_huge_totals.count;
  totals->huge_bytes = lm_huge_totals.bytes;
  lm_lock_free(&lm_huge_lock);
  lm_lock_take(&lm_heaps_lock);
  totals->heap_live_count = lm_load_relaxed(&lm_pool_thread_count);
  totals->heap_made_count = lm_heap_made_count;
  lm_lock_free(&lm_heaps_lock);
}

#if LM_OS_TELLS_USAGE
/* Asks the system about every page, which the functions that need only totals do not wait for. */
static void gather_usage(struct lm_os_usage *usage) {
  for (struct lm_pool *pool = lm_pools; pool != NULL; pool = lm_pool_next(pool)) {
    lm_lock_take(&pool->lock);
    LM_FOR_EACH_REGION(pool, region)
      lm_os_add_usage(region, region->bytes, usage);
    lm_lock_free(&pool->lock);
  }
  lm_huge_add_usage(usage);
}
#endif

/* The table that all formats follow. */
struct line {
  const char *name; /* unit last; the key in JSON and XML */
  const char *help;
  uint64_t value;
};

#define LINE_COUNT (14 + 2 * LM_OS_TELLS_USAGE)
static void fill_lines(struct line lines[LINE_COUNT]) {
  struct lm_totals t;
  lm_report_gather(&t);
#if LM_OS_TELLS_USAGE
  struct lm_os_usage usage = {0};
  gather_usage(&usage);
#endif
  const struct line all[LINE_COUNT] = {
      {"span_bytes", "in spans of small blocks", t.span_bytes},
      {"middle_bytes", "in middle blocks", t.middle_bytes},
      {"large_count", "large blocks", t.large_count},
      {"large_bytes", "in large blocks", t.large_bytes},
      {"huge_count", "huge blocks", t.huge_count},
      {"huge_bytes", "in huge blocks", t.huge_bytes},
      {"free_bytes", "empty and not given back yet", t.free_bytes},
      {"free_run_count", "runs of free OS pages", t.free_run_count},
      {"purged_bytes", "given back since the start", t.purged_bytes},
      {"purge_count", "times that something was given back", t.purge_count},
      {"region_count", "regions", t.region_count},
      {"reserved_bytes", "address space of regions", t.reserved_bytes},
      {"heap_live_count", "threads with a heap", t.heap_live_count},
      {"heap_made_count", "heaps made since the start", t.heap_made_count},
#if LM_OS_TELLS_USAGE
      {"committed_bytes", "of regions and huge blocks committed", usage.committed_bytes},
      {"resident_bytes", "of these in memory", usage.resident_bytes},
#endif
  };
  for (size_t i = 0; i < LINE_COUNT; i++) lines[i] = all[i];
}

static void print_json(struct lm_text *text, const struct line *lines) {
  lm_text_string(text, "{\"loam_version\": \"" LOAM_VERSION "\", \"build\": \"");
  lm_text_string(text, LM_CHECKING ? "checking" : "fast");
  lm_text_string(text, "\", \"process_id\": ");
  lm_text_number(text, lm_os_process_id());
  for (size_t i = 0; i < LINE_COUNT; i++) {
    lm_text_string(text, ", \"");
    lm_text_string(text, lines[i].name);
    lm_text_string(text, "\": ");
    lm_text_number(text, lines[i].value);
  }
  lm_text_string(text, "}\n");
}

static void print_text(struct lm_text *text, const struct line *lines) {
  lm_text_string(text, "loam " LOAM_VERSION);
  lm_text_string(text, LM_CHECKING ? " (checking build)" : "");
  lm_text_string(text, ": statistics of process ");
  lm_text_number(text, lm_os_process_id());
  lm_text_char(text, '\n');
  for (size_t i = 0; i < LINE_COUNT; i++) {
    size_t start = text->length;
    lm_text_string(text, "  ");
    lm_text_string(text, lines[i].name);
    while (text->length < start + 20) lm_text_char(text, ' ');
    lm_text_number(text, lines[i].value);
    while (text->length < start + 36) lm_text_char(text, ' ');
    lm_text_string(text, lines[i].help);
    lm_text_char(text, '\n');
  }
}

void lm_report_print(struct lm_text *text, enum lm_stats_format format) {
  struct line lines[LINE_COUNT];
  fill_lines(lines);
  if (format == LM_STATS_JSON) print_json(text, lines);
  else print_text(text, lines);
}

void lm_report_print_xml(struct lm_text *text) {
  struct line lines[LINE_COUNT];
  fill_lines(lines);
  lm_text_string(text, "<malloc version=\"loam-" LOAM_VERSION "\">\n");
  for (size_t i = 0; i < LINE_COUNT; i++) {
    lm_text_string(text, "  <");
    lm_text_string(text, lines[i].name);
    lm_text_string(text, ">");
    lm_text_number(text, lines[i].value);
    lm_text_string(text, "</");
    lm_text_string(text, lines[i].name);
    lm_text_string(text, ">\n");
  }
  lm_text_string(text, "</malloc>\n");
}

void lm_report_write(int fd, enum lm_stats_format format) {
  LM_TEXT(text, LM_REPORT_BYTES);
  lm_report_print(&text, format);
  lm_os_write(fd, text.bytes, text.length);
}
