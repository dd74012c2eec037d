#include "report/report.h"

#include "os/os.h"
#include "report/gather.h"

struct lm_lock lm_report_lock = LM_LOCK_INIT(LM_RANK_REPORT);

/* ---- The figures by name ---- */

void lm_report_fill(struct loam_stats *stats, const struct lm_figures *figures) {
  *stats = (struct loam_stats){
      .resident_bytes = figures->residency.resident_bytes,
      .peak_resident_bytes = figures->residency.peak_bytes,
      .used_bytes = lm_figures_used_bytes(figures),
      .used_count = figures->small.count + figures->middle.count + figures->large.count +
                    figures->huge.count,
      .small_used_bytes = figures->small.bytes,
      .middle_used_bytes = figures->middle.bytes,
      .large_used_bytes = figures->large.bytes,
      .huge_used_bytes = figures->huge.bytes,
      .free_bytes = lm_figures_free_bytes(figures),
      .cached_bytes = figures->cached.bytes + figures->cached_bytes,
      .depot_bytes = figures->in_depots.bytes,
      .span_free_bytes = figures->listed.bytes,
      .dirty_bytes = figures->dirty_bytes,
      .idle_page_bytes = figures->idle_bytes,
      .hole_bytes = figures->hole_bytes,
      .metadata_bytes = figures->metadata_bytes,
      .purged_bytes = figures->purged_bytes,
      .purge_count = figures->purge_count,
      .region_count = figures->region_count,
      .reserved_bytes = figures->reserved_bytes,
      .free_run_count = figures->free_run_count,
      .heap_live_count = figures->heap_live_count,
      .heap_made_count = figures->heap_made_count,
  };
}

void lm_report_fill_class(struct loam_class_stats *stats, const struct lm_figures *figures,
                          size_t class_index) {
  const struct lm_class_figures *class = &figures->classes[class_index];
  *stats = (struct loam_class_stats){
      .block_bytes = lm_classes[class_index].block_bytes,
      .span_count = class->span_count,
      .carved_count = class->carved_count,
      .used_count = class->used_count,
      .cache_count = class->cache_count,
      .depot_count = class->depot_count,
      .free_count = class->free_count,
      .hole_count = class->hole_count,
      .idle_page_count = class->idle_page_count,
  };
}

#define NAMES(of)                                                                              \
  of(resident_bytes) of(peak_resident_bytes) of(used_bytes) of(used_count)                     \
  of(small_used_bytes) of(middle_used_bytes) of(large_used_bytes) of(huge_used_bytes)          \
  of(free_bytes) of(cached_bytes) of(depot_bytes) of(span_free_bytes) of(dirty_bytes)          \
  of(idle_page_bytes) of(hole_bytes) of(metadata_bytes) of(purged_bytes) of(purge_count)       \
  of(region_count) of(reserved_bytes) of(free_run_count) of(heap_live_count)                   \
  of(heap_made_count)
#define CLASS_NAMES(of)                                                                        \
  of(block_bytes) of(span_count) of(carved_count) of(used_count) of(cache_count)               \
  of(depot_count) of(free_count) of(hole_count) of(idle_page_count)
#define TEXT_OF(name) #name,
static const char *const names[] = {NAMES(TEXT_OF)};
static const char *const class_names[] = {CLASS_NAMES(TEXT_OF)};

#define NAME_COUNT (sizeof names / sizeof *names)
#define CLASS_NAME_COUNT (sizeof class_names / sizeof *class_names)
_Static_assert(NAME_COUNT * sizeof(uint64_t) == sizeof(struct loam_stats), "a name for each");
_Static_assert(CLASS_NAME_COUNT * sizeof(uint64_t) == sizeof(struct loam_class_stats), "as above");

/* ---- For programs ---- */

typedef void value_printer(struct lm_text *text, const char *name, uint64_t value);

/* What the system does not say is left out. */
static void print_values(struct lm_text *text, const struct lm_figures *figures,
                         value_printer *print) {
  union {
    struct loam_stats stats;
    uint64_t values[NAME_COUNT];
  } all;
  lm_report_fill(&all.stats, figures);
  for (size_t i = 0; i < NAME_COUNT; i++)
    if (i > 1 || all.values[i] != 0) print(text, names[i], all.values[i]);
#if LM_OS_TELLS_USAGE
  print(text, "committed_bytes", figures->usage.committed_bytes);
  print(text, "heap_resident_bytes", figures->usage.resident_bytes);
#endif
}

/* One class whose spans there are. */
static void print_class(struct lm_text *text, const struct lm_figures *figures,
                        size_t class_index, value_printer *print) {
  union {
    struct loam_class_stats stats;
    uint64_t values[CLASS_NAME_COUNT];
  } all;
  lm_report_fill_class(&all.stats, figures, class_index);
  for (size_t i = 0; i < CLASS_NAME_COUNT; i++) print(text, class_names[i], all.values[i]);
}

static void print_member(struct lm_text *text, const char *name, uint64_t value) {
  if (text->bytes[text->length - 1] != '{') lm_text_string(text, ", ");
  lm_text_char(text, '"');
  lm_text_string(text, name);
  lm_text_string(text, "\": ");
  lm_text_number(text, value);
}

void lm_report_print_json(struct lm_text *text, const struct lm_figures *figures) {
  const char *separator = "";
  lm_text_string(text, "{\"loam_version\": \"" LOAM_VERSION "\", \"build\": \"");
  lm_text_string(text, LM_CHECKING ? "checking\"" : "fast\"");
  print_member(text, "process_id", lm_os_process_id());
  print_values(text, figures, print_member);
  lm_text_string(text, ", \"classes\": [");
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    if (figures->classes[i].span_count == 0) continue;
    lm_text_string(text, separator);
    lm_text_char(text, '{');
    print_class(text, figures, i, print_member);
    lm_text_char(text, '}');
    separator = ", ";
  }
  lm_text_string(text, "]}\n");
}

static void print_element(struct lm_text *text, const char *name, uint64_t value) {
  lm_text_string(text, "  <");
  lm_text_string(text, name);
  lm_text_char(text, '>');
  lm_text_number(text, value);
  lm_text_string(text, "</");
  lm_text_string(text, name);
  lm_text_string(text, ">\n");
}

static void print_attribute(struct lm_text *text, const char *name, uint64_t value) {
  lm_text_char(text, ' ');
  lm_text_string(text, name);
  lm_text_string(text, "=\"");
  lm_text_number(text, value);
  lm_text_char(text, '"');
}

void lm_report_print_xml(struct lm_text *text, const struct lm_figures *figures) {
  lm_text_string(text, "<malloc version=\"loam-" LOAM_VERSION "\">\n");
  print_values(text, figures, print_element);
  lm_text_string(text, "  <sizes>\n");
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    if (figures->classes[i].span_count == 0) continue;
    lm_text_string(text, "    <size");
    print_class(text, figures, i, print_attribute);
    lm_text_string(text, "/>\n");
  }
  lm_text_string(text, "  </sizes>\n</malloc>\n");
}

/* ---- Writing ---- */

void lm_report_write(lm_report_print *print, const struct lm_cache *own, lm_report_sink *sink,
                     void *context) {
  static struct lm_figures figures;
  static char bytes[LM_REPORT_BYTES];
  lm_lock_take(&lm_report_lock);
  struct lm_text text = {bytes, sizeof bytes, 0};
  lm_figures_gather(&figures, LM_FIGURES_ALL, own);
  print(&text, &figures);
  sink(context, text.bytes, text.length);
  lm_lock_free(&lm_report_lock);
}
