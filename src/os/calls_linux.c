/* System calls are made directly, so that errno stays as it is. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "os/calls_linux.h"

#include <errno.h>
#include <sys/mman.h>

#include "os/fault.h"
#include "os/os.h"
#include "os/syscall_linux.h"

long lm_call_or_fault(long n, long a, long b, long c, long d, long e, long f) {
  if (lm_fault_here()) return -ENOMEM;
  return lm_syscall6(n, a, b, c, d, e, f);
}

/* ---- Calls that take memory away: by the C library's functions if that is asked for, which others
 * may have replaced to learn of it ---- */

/* Written once at start, read by any thread; pairs with nothing. */
static _Atomic(bool) calls_library;

void lm_os_call_library(void) { lm_store_relaxed(&calls_library, true); }
bool lm_calls_library(void) { return LM_UNLIKELY(lm_load_relaxed(&calls_library)); }

/* ---- Few kinds of calls, if that is asked for: for filters that look at arguments ---- */

/* Written once at start, read by any thread; pairs with nothing. */
static _Atomic(bool) makes_few_calls;

void lm_os_make_few_calls(void) { lm_store_relaxed(&makes_few_calls, true); }
bool lm_os_makes_few_calls(void) { return LM_UNLIKELY(lm_load_relaxed(&makes_few_calls)); }

void lm_advise(void *address, size_t size, int advice) {
  if (lm_os_makes_few_calls()) return;
  lm_syscall6(SYS_madvise, (long)address, (long)size, advice, 0, 0, 0);
}

/* As lm_syscall6. Only with four arguments: who replaces mremap may not pass on the fifth. */
static long call_library(long n, long a, long b, long c, long d) {
  int saved = errno;
  long result = n == SYS_munmap     ? munmap((void *)a, (size_t)b)
                : n == SYS_madvise  ? madvise((void *)a, (size_t)b, (int)c)
                : n == SYS_mprotect ? mprotect((void *)a, (size_t)b, (int)c)
                                    : (long)mremap((void *)a, (size_t)b, (size_t)c, (int)d);
  if (result == -1) result = -errno;
  errno = saved;
  return result;
}

long lm_call_taking(long n, long a, long b, long c, long d) {
  if (lm_calls_library()) return call_library(n, a, b, c, d);
  return lm_syscall6(n, a, b, c, d, 0, 0);
}

long lm_call_taking_or_fault(long n, long a, long b, long c, long d) {
  if (lm_fault_here()) return -ENOMEM;
  return lm_call_taking(n, a, b, c, d);
}
