/* Statistics for people: units, and what matters most first. */
#include "report/report.h"

#include "os/os.h"

#define VALUE_COLUMN 30
#define HELP_COLUMN 42

struct printer {
  struct lm_text *text;
  size_t start; /* of the line */
};

static void begin_line(struct printer *printer, const char *name) {
  printer->start = printer->text->length;
  lm_text_string(printer->text, "  ");
  lm_text_string(printer->text, name);
  lm_text_pad(printer->text, printer->start, VALUE_COLUMN);
}

static void begin_help(struct printer *printer) {
  lm_text_pad(printer->text, printer->start, HELP_COLUMN);
}

static void end_line(struct printer *printer, const char *last) {
  lm_text_string(printer->text, last);
  lm_text_char(printer->text, '\n');
}

static void print_bytes(struct printer *printer, const char *name, size_t bytes,
                        const char *help) {
  begin_line(printer, name);
  lm_text_bytes(printer->text, bytes);
  begin_help(printer);
  end_line(printer, help);
}

/* A part of what the last line says, if there is any. */
static void print_part(struct printer *printer, const char *name, size_t bytes,
                       const char *help) {
  if (bytes != 0) print_bytes(printer, name, bytes, help);
}

static void print_process(struct lm_text *text) {
  char name[64];
  lm_os_process_name(name, sizeof name);
  lm_text_number(text, lm_os_process_id());
  if (name[0] == 0) return;
  lm_text_string(text, " (");
  /* A name is the process's own to choose. */
  for (const char *c = name; *c != 0; c++) lm_text_char(text, *c < ' ' ? '?' : *c);
  lm_text_char(text, ')');
}

static void print_head(struct printer *printer, const struct lm_figures *figures) {
  lm_text_string(printer->text, "loam " LOAM_VERSION);
  lm_text_string(printer->text, LM_CHECKING ? " (checking build)" : "");
  lm_text_string(printer->text, ": process ");
  print_process(printer->text);
  lm_text_char(printer->text, '\n');
  if (figures->residency.resident_bytes == 0) return;
  begin_line(printer, "in memory");
  lm_text_bytes(printer->text, figures->residency.resident_bytes);
  begin_help(printer);
  lm_text_string(printer->text, "at most ");
  lm_text_bytes(printer->text, figures->residency.peak_bytes);
  end_line(printer, ", the whole process");
}

static void print_sum(struct printer *printer, const char *name, const struct lm_sum *sum) {
  if (sum->count == 0) return;
  begin_line(printer, name);
  lm_text_bytes(printer->text, sum->bytes);
  begin_help(printer);
  lm_text_number(printer->text, sum->count);
  end_line(printer, sum->count == 1 ? " block" : " blocks");
}

static void print_used(struct printer *printer, const struct lm_figures *figures) {
  print_bytes(printer, "in use", lm_figures_used_bytes(figures), "blocks that the program has");
  print_sum(printer, "  small", &figures->small);
  print_sum(printer, "  middle", &figures->middle);
  print_sum(printer, "  large", &figures->large);
  print_sum(printer, "  huge", &figures->huge);
}

static void print_free(struct printer *printer, const struct lm_figures *figures) {
  print_bytes(printer, "free", lm_figures_free_bytes(figures), "and not given back");
  print_part(printer, "  in caches", figures->cached.bytes + figures->cached_bytes,
             "of threads, for their next calls");
  print_part(printer, "  in depots", figures->in_depots.bytes, "for any thread");
  print_part(printer, "  between blocks in use", figures->listed.bytes, "in the same spans");
  print_part(printer, "    whole pages of that", figures->idle_bytes,
             "which go back once the span is quiet");
  print_part(printer, "  empty pages", figures->dirty_bytes, "which go back with time");
}

static void print_rest(struct printer *printer, const struct lm_figures *figures) {
  print_bytes(printer, "records", figures->metadata_bytes, "loam's own");
  print_part(printer, "holes", figures->hole_bytes, "pages of spans in use, given back");
  begin_line(printer, "given back");
  lm_text_bytes(printer->text, figures->purged_bytes);
  begin_help(printer);
  lm_text_string(printer->text, "since the start, in ");
  lm_text_number(printer->text, figures->purge_count);
  end_line(printer, " calls");
  begin_line(printer, "threads");
  lm_text_number(printer->text, figures->heap_live_count);
  begin_help(printer);
  lm_text_number(printer->text, figures->region_count);
  lm_text_string(printer->text, " regions, ");
  lm_text_bytes(printer->text, figures->reserved_bytes);
  end_line(printer, " of addresses");
}

#define CLASSES_MAX 8

/* The next one after `last` by what is in its blocks, used or not; 0 if there is none. */
static size_t class_bytes(const struct lm_figures *figures, size_t class_index) {
  return figures->classes[class_index].carved_count * lm_classes[class_index].block_bytes;
}
static size_t next_largest(const struct lm_figures *figures, size_t last) {
  size_t best = 0, limit = last == 0 ? SIZE_MAX : class_bytes(figures, last);
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    size_t bytes = class_bytes(figures, i);
    bool follows = bytes < limit || (bytes == limit && i > last);
    if (bytes != 0 && follows && (best == 0 || bytes > class_bytes(figures, best))) best = i;
  }
  return best;
}

static void print_class_row(struct printer *printer, const struct lm_figures *figures,
                            size_t class_index) {
  const struct lm_class_figures *class = &figures->classes[class_index];
  struct lm_text *text = printer->text;
  size_t block_bytes = lm_classes[class_index].block_bytes;
  const size_t counts[] = {class->used_count, class->cache_count, class->depot_count,
                           class->free_count, class->hole_count};
  printer->start = text->length;
  lm_text_string(text, "  ");
  lm_text_number(text, block_bytes);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    lm_text_pad(text, printer->start, 14 + 15 * i);
    lm_text_bytes(text, counts[i] * block_bytes);
  }
  lm_text_pad(text, printer->start, 14 + 15 * 5);
  lm_text_number(text, class->span_count);
  lm_text_char(text, '\n');
}

static void print_classes(struct printer *printer, const struct lm_figures *figures) {
  size_t class_index = next_largest(figures, 0);
  if (class_index == 0) return;
  lm_text_string(printer->text, "  blocks of   in use         in caches      in depots      free  "
                                "         given back     spans\n");
  for (int i = 0; i < CLASSES_MAX && class_index != 0; i++) {
    print_class_row(printer, figures, class_index);
    class_index = next_largest(figures, class_index);
  }
}

void lm_report_print_text(struct lm_text *text, const struct lm_figures *figures) {
  struct printer printer = {text, text->length};
  print_head(&printer, figures);
  print_used(&printer, figures);
  print_free(&printer, figures);
  print_rest(&printer, figures);
#if LM_OS_TELLS_USAGE
  print_bytes(&printer, "committed", figures->usage.committed_bytes, "of regions and huge blocks");
#endif
  print_classes(&printer, figures);
}

void lm_report_print_line(struct lm_text *text, const struct lm_figures *figures) {
  lm_text_string(text, "loam: process ");
  print_process(text);
  if (figures->residency.peak_bytes != 0) {
    lm_text_string(text, ": in memory at most ");
    lm_text_bytes(text, figures->residency.peak_bytes);
  }
  lm_text_string(text, "; in use ");
  lm_text_bytes(text, lm_figures_used_bytes(figures));
  lm_text_string(text, ", free ");
  lm_text_bytes(text, lm_figures_free_bytes(figures));
  lm_text_char(text, '\n');
}
