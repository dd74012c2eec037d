/* Statistics as text. Printed without allocating. */
#ifndef LM_REPORT_REPORT_H
#define LM_REPORT_REPORT_H

#include "base/compiler.h"
#include "base/format.h"
#include "config/options.h"
#include "loam/loam.h"
#include "os/lock.h"
#include "report/figures.h"

struct lm_cache;

/* Both structs' fields are uint64_t only. */
void lm_report_fill(struct loam_stats *stats, const struct lm_figures *figures);
void lm_report_fill_class(struct loam_class_stats *stats, const struct lm_figures *figures,
                          size_t class_index);

/* Room for all classes with the largest numbers. */
#define LM_REPORT_BYTES (48 * LM_KIB)
void lm_report_print_json(struct lm_text *text, const struct lm_figures *figures);
void lm_report_print_xml(struct lm_text *text, const struct lm_figures *figures);
/* For people. */
void lm_report_print_text(struct lm_text *text, const struct lm_figures *figures);
/* One line of it: for a process that another one started which says the same of itself. */
void lm_report_print_line(struct lm_text *text, const struct lm_figures *figures);

typedef void lm_report_print(struct lm_text *text, const struct lm_figures *figures);

/* What has been printed is handed on whole. Held meanwhile: lm_report_lock. */
typedef void lm_report_sink(void *context, const char *bytes, size_t length);
void lm_report_write(lm_report_print *print, const struct lm_cache *own, lm_report_sink *sink,
                     void *context);
extern struct lm_lock lm_report_lock;

#endif
