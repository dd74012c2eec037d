#include "api/statistics.h"

#include "api/aside.h"
#include "api/locks.h"
#include "api/profile.h"
#include "api/this_cache.h"
#include "config/options.h"
#include "loam/loam.h"
#include "os/os.h"
#include "os/reason.h"
#include "report/gather.h"
#include "report/report.h"

static struct lm_os_output stats_output; /* what is open as stats_fd */
/* The process that has read the options, and whether another one with the same options started it:
 * then that one's are the statistics that people look at. */
static uint32_t first_process_id;
static bool is_child;

/* ---- Where to ---- */

struct destination {
  int fd, error;
};

static void write_to_fd(void *context, const char *bytes, size_t length) {
  struct destination *to = context;
  to->error = lm_os_write(to->fd, bytes, length);
}

/* Returns 0 or an errno. */
static int print_to_fd(lm_report_print *print, int fd) {
  struct destination to = {fd, 0};
  lm_report_write(print, LM_THREAD(lm_this_cache), write_to_fd, &to);
  return to.error;
}

static void print_to_file(lm_report_print *print) {
  LM_TEXT(path, 2 * LM_PATH_BYTES);
  lm_text_path(&path, lm_options.stats_file, lm_os_process_id());
  int fd = lm_os_open_to_append(path.bytes);
  int error = fd < 0 ? -fd : print_to_fd(print, fd);
  if (fd >= 0) lm_os_close(fd);
  if (error != 0) lm_complain_unwritten(path.bytes, error);
}

static void print_statistics(lm_report_print *print) {
  if (lm_options.stats_file[0] != 0) {
    print_to_file(print);
    return;
  }
  int fd = lm_os_kept_fd(&stats_output);
  int error = fd < 0 ? 0 : print_to_fd(print, fd);
  if (error != 0) lm_complain_unwritten("statistics", error);
}

/* ---- When ---- */

/* Asked for by a signal, and not printed yet. */
enum { ASKED_STATISTICS = 1, ASKED_PROFILE = 2 };
static _Atomic(uint32_t) asked_for; /* any thread */

/* A thread that a signal interrupts may hold locks. So nothing is printed before all are free;
 * while one is not, whoever frees it goes on. */
static void print_if_asked(void) {
  if (lm_locks_call_when_free(print_if_asked)) return;
  uint32_t asked = lm_exchange_acquire(&asked_for, 0);
  if ((asked & ASKED_PROFILE) != 0) lm_profile_write_by_options();
  if ((asked & ASKED_STATISTICS) == 0) return;
  print_statistics(LM_OPTION(stats) == LM_STATS_JSON ? lm_report_print_json
                                                     : lm_report_print_text);
}

static void on_signal(int signal) {
  uint32_t asked = 0;
  if ((uint64_t)signal == LM_OPTION(stats_signal)) asked |= ASKED_STATISTICS;
  if ((uint64_t)signal == LM_OPTION(profile_signal)) asked |= ASKED_PROFILE;
  lm_or_release(&asked_for, asked);
  print_if_asked();
}

void lm_statistics_start(const char *environment) {
  if (LM_OPTION(profile_signal) != 0) lm_os_on_signal((int)LM_OPTION(profile_signal), on_signal);
  if (lm_options.stats_file[0] != 0 && LM_OPTION(stats) == LM_STATS_OFF)
    lm_store_relaxed(&lm_options.stats, LM_STATS_TEXT);
  if (LM_OPTION(stats) == LM_STATS_OFF && LM_OPTION(stats_signal) == 0) return;
  stats_output = lm_os_keep_open((int)LM_OPTION(stats_fd));
  first_process_id = lm_os_process_id();
  is_child = LM_OPTION(stats) == LM_STATS_TEXT && lm_options.stats_file[0] == 0 &&
             environment != NULL &&
             lm_os_parent_has_environment("LOAM_OPTIONS", environment);
  if (LM_OPTION(stats_signal) != 0) lm_os_on_signal((int)LM_OPTION(stats_signal), on_signal);
}

static void print_aside(struct lm_text *text, const struct lm_figures *figures) {
  (void)figures;
  const char *why = "the program, or a library in front of loam, defines malloc itself";
  lm_text_string(text, "loam: ");
  lm_text_string(text, lm_is_listed() ? "the option aside lists the program" : why);
  lm_text_string(text, ": loam has stepped aside\n");
}

void lm_statistics_end(void) {
  if (LM_OPTION(stats) == LM_STATS_OFF) return;
  if (lm_is_aside() && LM_OPTION(stats) == LM_STATS_TEXT) print_statistics(print_aside);
  is_child |= lm_options.stats_file[0] == 0 && first_process_id != lm_os_process_id();
  if (LM_OPTION(stats) == LM_STATS_JSON) print_statistics(lm_report_print_json);
  else print_statistics(is_child ? lm_report_print_line : lm_report_print_text);
}

/* ---- The public functions ---- */

static void gather(struct lm_figures *figures) {
  lm_process_start();
  lm_figures_gather(figures, LM_FIGURES_ALL, LM_THREAD(lm_this_cache));
}

LM_EXPORT void loam_stats(struct loam_stats *stats, size_t size) {
  struct lm_figures figures;
  struct loam_stats known;
  gather(&figures);
  lm_report_fill(&known, &figures);
  for (size_t i = 0; i < size; i++)
    ((char *)stats)[i] = i < sizeof known ? ((const char *)&known)[i] : 0;
}

LM_EXPORT size_t loam_stats_of_classes(struct loam_class_stats *classes, size_t count) {
  struct lm_figures figures;
  gather(&figures);
  for (size_t i = 1; i < LM_CLASS_COUNT && i <= count; i++)
    lm_report_fill_class(&classes[i - 1], &figures, i);
  return LM_CLASS_COUNT - 1;
}
