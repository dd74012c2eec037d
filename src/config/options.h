/* The options: one table, in options.c. Set at start from three sources, of which a later one
 * counts: the program's own text, a file, and LOAM_OPTIONS, each with entries name=value; some also
 * while the program runs, by lm_options_control. */
#ifndef LM_CONFIG_OPTIONS_H
#define LM_CONFIG_OPTIONS_H

#include "base/atomic.h"
#include "base/compiler.h"

#define LM_PATH_BYTES 1024 /* with the zero at its end */

enum lm_stats_format { LM_STATS_OFF, LM_STATS_TEXT, LM_STATS_JSON };
enum lm_foreign_policy { LM_FOREIGN_ABORT, LM_FOREIGN_IGNORE };
enum lm_deepbind_policy { LM_DEEPBIND_DROP, LM_DEEPBIND_KEEP };
enum lm_libc_handle { LM_LIBC_HANDLE_LOAM, LM_LIBC_HANDLE_LIBC };
enum lm_invalid_policy { LM_INVALID_IGNORE, LM_INVALID_END };
enum lm_mismatch_policy { LM_MISMATCH_ABORT, LM_MISMATCH_IGNORE, LM_MISMATCH_STRICT };
enum lm_background { LM_BACKGROUND_OFF, LM_BACKGROUND_ON };
enum lm_group_limit { LM_GROUP_LIMIT_START, LM_GROUP_LIMIT_FOLLOW };
enum lm_libc_calls { LM_LIBC_CALLS_OFF, LM_LIBC_CALLS_ON };
enum lm_names { LM_NAMES_OFF, LM_NAMES_START, LM_NAMES_ON };
enum lm_system_calls { LM_SYSTEM_CALLS_ALL, LM_SYSTEM_CALLS_FEW };
enum lm_profile { LM_PROFILE_OFF, LM_PROFILE_ON };
enum lm_fill { LM_FILL_OFF, LM_FILL_ZERO, LM_FILL_JUNK };
enum lm_holes_option { LM_HOLES_OFF, LM_HOLES_ON };
enum lm_huge_pages {
  LM_HUGE_PAGES_OFF,
  LM_HUGE_PAGES_SYSTEM,
  LM_HUGE_PAGES_MADVISE,
  LM_HUGE_PAGES_ALWAYS
};
enum lm_page_size { LM_PAGE_SIZE_SYSTEM, LM_PAGE_SIZE_2M, LM_PAGE_SIZE_1G };

/* A word that a number may be instead, and its index: more than any number is. */
#define LM_OPTION_WORD(index) (SIZE_MAX - (index))
#define LM_BYTES_MOST (LM_BITS_64 ? (uint64_t)1 << 40 : (uint64_t)1 << 31)
#define LM_CACHE_AUTO LM_OPTION_WORD(1) /* of cache_bytes and heap_cache_bytes */

/* Current values; the field's option and meaning are in the table. Numbers are read by any thread
 * at any time, and written by lm_options_control: each is a value by itself and orders nothing.
 * Texts change at start only. */
struct lm_options {
  _Atomic(size_t) help;
  _Atomic(size_t) invalid; /* enum lm_invalid_policy */
  _Atomic(size_t) stats; /* enum lm_stats_format */
  _Atomic(size_t) stats_fd;
  char stats_file[LM_PATH_BYTES]; /* empty: none */
  _Atomic(size_t) stats_signal;   /* 0: none */
  _Atomic(size_t) purge_delay_ms; /* 0: never */
  _Atomic(size_t) cache_bytes;      /* or LM_CACHE_AUTO */
  _Atomic(size_t) heap_cache_bytes;
  _Atomic(size_t) holes;      /* enum lm_holes_option */
  _Atomic(size_t) background; /* enum lm_background */
  _Atomic(size_t) group_limit; /* enum lm_group_limit */
  _Atomic(size_t) libc_calls;  /* enum lm_libc_calls */
  _Atomic(size_t) names;       /* enum lm_names */
  _Atomic(size_t) system_calls; /* enum lm_system_calls */
  _Atomic(size_t) foreign;    /* enum lm_foreign_policy */
  _Atomic(size_t) deepbind;   /* enum lm_deepbind_policy */
  _Atomic(size_t) libc_handle; /* enum lm_libc_handle */
  _Atomic(size_t) mismatch;   /* enum lm_mismatch_policy */
  _Atomic(size_t) fill;       /* enum lm_fill */
  _Atomic(size_t) huge_pages; /* enum lm_huge_pages */
  _Atomic(size_t) page_size;  /* enum lm_page_size */
  _Atomic(size_t) guard_ms;   /* 0: no block is guarded */
  _Atomic(size_t) profile;    /* enum lm_profile */
  _Atomic(size_t) profile_bytes;
  char profile_file[LM_PATH_BYTES]; /* empty: none */
  _Atomic(size_t) profile_signal;   /* 0: none */
  char options_file[LM_PATH_BYTES]; /* empty: LM_OPTIONS_FILE */
  char aside[LM_PATH_BYTES];        /* empty: no program */
};
extern struct lm_options lm_options;
#define LM_OPTION(name) lm_load_relaxed(&lm_options.name)

/* Read if no option names another file. */
#if defined(_WIN32)
#define LM_OPTIONS_FILE NULL
#else
#define LM_OPTIONS_FILE "/etc/loam.conf"
#endif
#define LM_OPTIONS_FILE_BYTES (16 * LM_KIB) /* a longer one is not read */

/* Where a text comes from: each complaint begins with it. */
struct lm_options_source {
  const char *name;
  uint32_t line; /* 0: it has none */
};

/* Sets the options from the program's own text, from the file, and from the environment's text, in
 * this order; either text may be NULL. Prints a line for each entry that is wrong, and the table if
 * help=1. Ends the process with LM_INVALID_STATUS if an entry was wrong and invalid=end. */
#define LM_INVALID_STATUS 125
void lm_options_start(const char *embedded, const char *environment);
/* For a process that may do nothing on the word of who started it: `aside` alone, from
 * LM_OPTIONS_FILE. Prints nothing. */
void lm_options_start_privileged(void);

/* How long the name in front of "=value" is, without the blanks behind it; all if there is none. */
size_t lm_options_name_length(const char *entry, size_t length);
/* Sets one option from "name=value", with or without blanks around the '='; what is wrong with that
 * is complained about in one line. */
void lm_options_set(const struct lm_options_source *source, const char *entry, size_t length);
/* Prints "loam: SOURCE: <before>'<what>'<after>", and counts it. */
extern uint32_t lm_options_complaint_count;
void lm_options_complain(const struct lm_options_source *source, const char *before,
                         const char *what, size_t length, const char *after);
void lm_options_print_table(void);

/* loam_control, in loam/loam.h. */
int lm_options_control(const char *name, char *get, size_t get_size, const char *set);

#endif
