/* Linux: what the machine and the process are, their limits, and the clock. Memory is in
 * map_linux.c and pages_linux.c, threads are in threads_linux.c.
 *
 * getrlimit(2), clock_gettime(2). System calls are made directly, so that errno stays as it is. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "os/fault.h"
#include "os/files_linux.h"
#include "os/os.h"
#include "os/pages_linux.h"
#include "os/random_linux.h"
#include "os/syscall_linux.h"
#include "os/vdso_linux.h"

struct lm_os_facts lm_os = {
    .page_bytes = 4096, .page_shift = 12, .cpu_count = 1, .overcommit = true};

/* ---- Limits ---- */

/* RLIM_INFINITY of 64 bits, whatever the C library's is, if there is no limit. */
static uint64_t find_limit(int resource) {
  struct {
    uint64_t current, maximum;
  } limit = {UINT64_MAX, UINT64_MAX};
  lm_syscall6(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0);
  return limit.current;
}

/* UINTPTR_MAX: none. Written at start, after calls of the program's that change it, and by whoever
 * finds that there is one; read by any thread, pairs with nothing. */
static _Atomic(uintptr_t) address_space_limit = UINTPTR_MAX;

uint64_t lm_os_address_space_limit(void) {
  uintptr_t limit = lm_load_relaxed(&address_space_limit);
  return limit == UINTPTR_MAX ? UINT64_MAX : limit;
}

void lm_os_read_address_space_limit(void) {
  uint64_t limit = find_limit(RLIMIT_AS);
  lm_store_relaxed(&address_space_limit, limit < UINTPTR_MAX ? (uintptr_t)limit : UINTPTR_MAX);
}

#if LM_BITS_64
/* More than a limit is that matters, and less than there is without one. */
#define PROBE_BYTES ((uint64_t)64 << 30)
#define PROBE_MIN_BYTES ((uint64_t)1 << 20)

static bool can_reserve(size_t size) {
  long flags = MAP_PRIVATE | MAP_ANONYMOUS | (lm_os_makes_few_calls() ? 0 : MAP_NORESERVE);
  long address = lm_syscall6(LM_SYS_MMAP, 0, (long)size, PROT_NONE, flags, -1, 0);
  if (lm_is_error(address)) return false;
  lm_syscall6(SYS_munmap, address, (long)size, 0, 0, 0, 0);
  return true;
}
#endif

/* Without the call that tells of limits, which may end the process by now (docs/sandboxes.md): what
 * can still be had is taken for the limit, which is more than that. On 32 bit there is too little
 * of it for that to say anything. */
void lm_os_look_for_address_space_limit(void) {
  if (lm_os_address_space_limit() != UINT64_MAX) return;
#if LM_BITS_64
  uint64_t room = PROBE_BYTES;
  while (room > PROBE_MIN_BYTES && !can_reserve((size_t)room)) room /= 2;
  if (room != PROBE_BYTES) lm_store_relaxed(&address_space_limit, (uintptr_t)room);
#endif
}

/* ---- Start ---- */

/* False where memory counts against a limit as soon as it is writable: vm.overcommit_memory is 2,
 * or RLIMIT_DATA is set. */
static bool find_overcommit(void) {
  return lm_read_setting("/proc/sys/vm/overcommit_memory") != '2' &&
         find_limit(RLIMIT_DATA) == UINT64_MAX;
}

static unsigned find_cpu_count(void) {
  uint64_t mask[16] = {0};
  long size = lm_syscall6(SYS_sched_getaffinity, 0, sizeof mask, (long)mask, 0, 0, 0);
  if (size <= 0) return 1;
  return (unsigned)lm_max(1, lm_bitmap_count(mask, 0, (size_t)size * 8));
}

/* The vDSO's, or NULL: constant after lm_os_start. Not the C library's function, which another
 * library may replace, and allocate in it. */
static lm_clock_function *read_clock;

void lm_os_start(void) {
  size_t page_bytes = getauxval(AT_PAGESZ);
  if (lm_is_power_of_two(page_bytes) && page_bytes >= 4096) lm_os.page_bytes = page_bytes;
  lm_os.page_shift = lm_log2_floor(lm_os.page_bytes);
  lm_os.cpu_count = find_cpu_count();
  lm_os.overcommit = find_overcommit();
  lm_os_read_address_space_limit();
  read_clock = lm_vdso_find_clock((uintptr_t)getauxval(AT_SYSINFO_EHDR));
  lm_random_start();
  lm_pages_start();
}

/* ---- Time ---- */

static struct lm_clock_time time_of(int clock) {
  struct lm_clock_time now = {0, 0};
  if (read_clock != NULL && read_clock(clock, &now) == 0) return now;
#if !LM_BITS_64
  struct {
    long seconds, nanoseconds;
  } old = {0, 0};
  if (lm_syscall6(SYS_clock_gettime64, clock, (long)&now, 0, 0, 0, 0) == 0) return now;
  lm_syscall6(LM_SYS_CLOCK_GETTIME, clock, (long)&old, 0, 0, 0, 0);
  now = (struct lm_clock_time){old.seconds, old.nanoseconds};
#else
  lm_syscall6(LM_SYS_CLOCK_GETTIME, clock, (long)&now, 0, 0, 0, 0);
#endif
  return now;
}

uint64_t lm_os_clock_ms(void) {
#if LM_FAKE_OS
  uint64_t fake_ms = lm_load_relaxed(&lm_fault_clock_ms);
  if (fake_ms != 0) return fake_ms;
#endif
  struct lm_clock_time now = time_of(CLOCK_MONOTONIC_COARSE);
  return (uint64_t)now.seconds * 1000 + (uint32_t)now.nanoseconds / 1000000;
}

uint64_t lm_os_clock_us(void) {
  struct lm_clock_time now = time_of(CLOCK_MONOTONIC);
  return (uint64_t)now.seconds * 1000000 + (uint32_t)now.nanoseconds / 1000;
}

/* ---- The process ---- */

uint32_t lm_os_process_id(void) { return (uint32_t)lm_syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0); }

/* Without the entry (before Linux 2.6, in some emulators) by what it is made of mostly. */
bool lm_os_is_privileged(void) {
  int saved = errno;
  errno = 0;
  bool secure = getauxval(AT_SECURE) != 0, told = errno == 0;
  errno = saved;
  if (told) return secure;
  return lm_syscall6(SYS_getuid, 0, 0, 0, 0, 0, 0) != lm_syscall6(SYS_geteuid, 0, 0, 0, 0, 0, 0) ||
         lm_syscall6(SYS_getgid, 0, 0, 0, 0, 0, 0) != lm_syscall6(SYS_getegid, 0, 0, 0, 0, 0, 0);
}

bool lm_os_has_environment(void) { return environ != NULL; }

const char *lm_os_environment(const char *name) {
  if (environ == NULL) return NULL;
  for (char **entry = environ; *entry != NULL; entry++) {
    size_t i = 0;
    while (name[i] != 0 && (*entry)[i] == name[i]) i++;
    if (name[i] == 0 && (*entry)[i] == '=') return *entry + i + 1;
  }
  return NULL;
}
