/* The options: one table, in options.c. Read once from LOAM_OPTIONS, "name=value,name=value". */
#ifndef LM_CONFIG_OPTIONS_H
#define LM_CONFIG_OPTIONS_H

#include "base/compiler.h"

#define LM_PATH_BYTES 1024 /* with the zero at its end */

enum lm_stats_format { LM_STATS_OFF, LM_STATS_TEXT, LM_STATS_JSON };
enum lm_foreign_policy { LM_FOREIGN_ABORT, LM_FOREIGN_IGNORE };
enum lm_deepbind_policy { LM_DEEPBIND_DROP, LM_DEEPBIND_KEEP };
enum lm_mismatch_policy { LM_MISMATCH_ABORT, LM_MISMATCH_IGNORE };
enum lm_background { LM_BACKGROUND_OFF, LM_BACKGROUND_ON };
enum lm_profile { LM_PROFILE_OFF, LM_PROFILE_ON };
enum lm_huge_pages { LM_HUGE_PAGES_OFF, LM_HUGE_PAGES_ON };

/* Current values; the field's option and meaning are in the table. */
struct lm_options {
  uint64_t help;
  uint64_t stats;      /* enum lm_stats_format */
  uint64_t stats_fd;
  char stats_file[LM_PATH_BYTES]; /* empty: none */
  uint64_t stats_signal; /* 0: none */
  uint64_t purge_delay_ms;
  uint64_t background; /* enum lm_background */
  uint64_t foreign;    /* enum lm_foreign_policy */
  uint64_t deepbind;   /* enum lm_deepbind_policy */
  uint64_t mismatch;   /* enum lm_mismatch_policy */
  uint64_t huge_pages; /* enum lm_huge_pages */
  uint64_t profile;    /* enum lm_profile */
  uint64_t profile_bytes;
  char profile_file[LM_PATH_BYTES]; /* empty: none */
  uint64_t profile_signal;          /* 0: none */
};
extern struct lm_options lm_options;

/* Sets the options from `text`, which may be NULL; prints a line for each entry that is wrong,
 * and the table if help=1. */
void lm_options_read(const char *text);

#endif
