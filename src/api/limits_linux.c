/* Calls of the program's after which address space that is only reserved counts: a limit on it, and
 * the locking of all memory. What loam has reserved is given up first, so that they do as they
 * would without it. On 32 bit there is not enough of it to matter. */
#include "api/this_cache.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "os/os.h"
#include "pages/pool_take.h"
#include "pages/tags.h"

#if LM_BITS_64 && !LM_NO_OVERRIDE && defined(__linux__)

#include "os/syscall_linux.h"

/* The kernel's, and on 64 bit every C library's struct rlimit. */
struct limit {
  uint64_t current, maximum;
};
#define RESOURCE_ADDRESS_SPACE 9 /* RLIMIT_AS on all processors but MIPS and SPARC */
#define LIMIT_NONE UINT64_MAX
#define LOCK_ON_FAULT 4 /* MCL_ONFAULT: nothing is fetched that is not used */

static int result_of(long result) {
  if (result >= 0) return (int)result;
  errno = (int)-result;
  return -1;
}

/* Under names of their own here, since the C library's headers differ in the types. */
#define LM_NAMED(name) __asm__(#name)
#define LM_SAME(name) __attribute__((alias(#name)))

/* setrlimit(2), prlimit(2). */
LM_EXPORT int lm_prlimit(int process, int resource, const struct limit *limit,
                         struct limit *before) LM_NAMED(prlimit);
LM_EXPORT int lm_prlimit64(int process, int resource, const struct limit *limit,
                           struct limit *before) LM_NAMED(prlimit64) LM_SAME(prlimit);
LM_EXPORT int lm_setrlimit(int resource, const struct limit *limit) LM_NAMED(setrlimit);
LM_EXPORT int lm_setrlimit64(int resource, const struct limit *limit)
    LM_NAMED(setrlimit64) LM_SAME(setrlimit);

int lm_prlimit(int process, int resource, const struct limit *limit, struct limit *before) {
  bool ours = process == 0 || process == lm_syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0);
  bool matters = ours && resource == RESOURCE_ADDRESS_SPACE && limit != NULL;
  if (matters && limit->current != LIMIT_NONE) lm_tags_give_up();
  long result = lm_syscall6(SYS_prlimit64, process, resource, (long)limit, (long)before, 0, 0);
  if (matters) lm_os_read_address_space_limit();
  return result_of(result);
}

int lm_setrlimit(int resource, const struct limit *limit) {
  return lm_prlimit(0, resource, limit, NULL);
}

/* mlockall(2). What is locked is fetched at once, unless it may not be accessed. */
LM_EXPORT int lm_mlockall(int flags) LM_NAMED(mlockall);
int lm_mlockall(int flags) {
  lm_process_start();
  lm_tags_give_up();
  if ((flags & LOCK_ON_FAULT) == 0) lm_pool_commit_as_used();
  return result_of(lm_syscall6(SYS_mlockall, flags, 0, 0, 0, 0, 0));
}

#endif
