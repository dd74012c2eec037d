/* The process's start and end, its forks, and the ends of its threads. */
#include <errno.h>

#include "api/allocate.h"
#include "api/aside.h"
#include "api/background.h"
#include "api/checking.h"
#include "api/guarded.h"
#include "api/hardened.h"
#include "api/locks.h"
#include "api/note.h"
#include "api/profile.h"
#include "api/sampled.h"
#include "api/statistics.h"
#include "config/options.h"
#include "central/shared.h"
#include "large/owned.h"
#include "loam/loam.h"
#include "os/os.h"
#include "os/panic.h"
#include "pages/huge.h"
#include "pages/mappings.h"
#include "pages/meta.h"
#include "pages/pool_take.h"
#include "pages/pressure.h"
#include "report/report.h"
#include "thread/inspect.h"
#include "thread/lifetime.h"
#include "thread/tick.h"

#if defined(__linux__)
#pragma weak loam_options
#endif

/* Written under lm_start_lock, read without it: pairs the release in lm_process_start with the
 * acquire of whoever finds it set. */
static _Atomic(bool) started;
static bool options_read; /* under the lock, or in the constructor */

/* What the program that loam is in defines, if it does. */
static const char *embedded_options(void) {
#if !defined(__linux__)
  return NULL;
#else
  return &loam_options != NULL ? loam_options : NULL;
#endif
}

/* The C library may not have its environment yet at the first malloc; the constructor comes again.
 * Returns whether they have been read by this call. `first`: before anything has been mapped. */
static bool read_options(bool first) {
  if (options_read || !lm_os_has_environment()) return false;
  options_read = true;
  if (lm_os_is_privileged()) lm_options_start_privileged();
  else lm_options_start(embedded_options(), lm_os_environment("LOAM_OPTIONS"));
  if (LM_OPTION(libc_calls) == LM_LIBC_CALLS_ON) lm_os_call_library();
  if (LM_OPTION(system_calls) == LM_SYSTEM_CALLS_FEW && first) lm_os_make_few_calls();
  return true;
}

/* What the options ask for. Handlers of signals are set by functions that another library may
 * replace, and allocate in them: so the process has started by now, and no lock is held. */
static void obey_options(void) {
  lm_aside_start_by_options();
  lm_statistics_start(lm_os_environment("LOAM_OPTIONS"));
  lm_sampled_start_by_options();
  lm_profile_start_by_options();
  if (LM_OPTION(fill) == LM_FILL_OFF) return;
  lm_store_relaxed(&lm_guarded_calls_left, 0); /* those are not filled */
  lm_fill_watch();
}

/* Two that replace malloc cannot both have it, and the sanitizer's runtime calls it before it can
 * be called itself. */
static void refuse_sanitizer(void) {
  const char *name = LM_NO_OVERRIDE ? NULL : lm_os_sanitizer();
  if (name == NULL || !lm_os_serves("malloc", (const void *)loam_malloc)) return;
  LM_TEXT(text, 256);
  lm_text_string(&text, "loam: the runtime of ");
  lm_text_string(&text, name);
  lm_text_string(&text, " is in this process and needs malloc for itself: use it without loam");
  lm_panic(&text);
}

/* Free blocks; each costs some nanoseconds. */
#define INSPECTED_AT_THREAD_END 64

static void end_thread(void *cache) {
  lm_profile_leave(cache);
  lm_hardened_let_go(cache);
  lm_cache_leave_thread();
  lm_inspect_cache(cache, 0, INSPECTED_AT_THREAD_END);
  lm_cache_end(cache);
}

void lm_process_start(void) {
  if (LM_LIKELY(lm_load_acquire(&started))) return;
  bool first = false, obey = false;
  refuse_sanitizer();
  lm_lock_take(&lm_start_lock);
  if (!lm_load_relaxed(&started)) {
    first = true;
    lm_os_start();
    obey = read_options(true);
    lm_sizeclass_start(lm_os.page_bytes);
#if LM_HARDENED_LINKS
    lm_link_key = lm_os_random();
#endif
    lm_tags_start();
    lm_pool_start();
    lm_pressure_start();
    lm_pool_begin_explicit();
    lm_central_start();
    lm_store_release(&started, true);
  }
  lm_lock_free(&lm_start_lock);
  if (first) lm_os_thread_end_start(end_thread);
  if (obey) obey_options();
}

LM_EXPORT int loam_control(const char *name, char *get, size_t get_size, const char *set) {
  lm_process_start();
  return lm_options_control(name, get, get_size, set);
}

/* ---- Memory for the whole process ---- */

LM_EXPORT int loam_set_page_provider(const struct loam_page_provider *provider) {
  static struct loam_page_provider process_provider; /* once taken, never changes again */
  static _Atomic(uint32_t) taken; /* not bool: a compare-and-swap of a byte is a call on RISC-V */
  uint32_t expected = 0;
  if (!lm_provider_is_complete(provider)) return EINVAL;
  lm_process_start();
  if (!lm_cas_acquire(&taken, &expected, 1)) return EBUSY;
  process_provider = *provider;
  lm_pool_provide_all(&process_provider);
  return 0;
}

/* ---- Fork: all locks are held across it, so that the child finds every structure whole. What is
 * in caches of threads that the child does not have is its loss. ---- */

static void after_fork_in_child(void) {
  lm_locks_reset_all();
  lm_cache_after_fork(LM_THREAD(lm_this_cache));
  /* So that the next call takes a slow path. */
  if (lm_background_start_later()) LM_THREAD(lm_malloc_cache) = &lm_empty_cache;
}

/* ---- Constructor and destructor ---- */

__attribute__((constructor(101))) static void construct(void) {
  LM_KEEP(loam_version); /* `loam verify` knows loam by it, */
#if !LM_NO_OVERRIDE
  LM_KEEP(&lm_note); /* or by that */
#endif
  lm_process_start();
  lm_is_aside(); /* while there is one thread */
  if (!options_read) {
    bool obey = read_options(false);
    lm_pool_begin_huge();
    lm_pool_begin_explicit();
    if (obey) obey_options();
    if (lm_is_listed() && !lm_cache_is_empty(LM_THREAD(lm_this_cache))) lm_cache_leave_thread();
  }
  lm_os_stay_loaded();
  lm_os_fork_start(lm_locks_take_all, lm_locks_free_all, after_fork_in_child);
  if (lm_background_start_later()) lm_background_start();
}

/* Free blocks; as many as take some tens of microseconds. */
#define INSPECTED_AT_END 2048

static void inspect_this_cache(void) {
  struct lm_cache *cache = LM_THREAD(lm_this_cache);
  if (lm_cache_is_empty(cache)) return;
  lm_hardened_let_go(cache);
  lm_cache_send_homeward(cache);
  lm_inspect_cache(cache, 0, INSPECTED_AT_END);
  lm_guarded_inspect();
}

__attribute__((destructor(101))) static void destruct(void) {
  lm_background_end();
  lm_checked_end();
  inspect_this_cache();
  lm_statistics_end();
  lm_profile_end();
}
