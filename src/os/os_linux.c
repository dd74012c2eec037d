/* Linux: memory, clock, futexes, and the C library's thread and fork hooks.
 *
 * mmap(2), madvise(2), mremap(2), futex(2), getrlimit(2). System calls are made directly, so that
 * errno stays as it is; the few functions that only a C library has are weak references. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "os/fault.h"
#include "os/files_linux.h"
#include "os/lines_linux.h"
#include "os/os.h"
#include "os/syscall_linux.h"
#include "os/vdso_linux.h"

#if !defined(MREMAP_DONTUNMAP)
#define MREMAP_DONTUNMAP 4
#endif
/* As in <linux/futex.h>, which musl's compiler does not find. */
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

struct lm_os_facts lm_os = {
    .page_bytes = 4096, .page_shift = 12, .cpu_count = 1, .overcommit = true};

/* A system call that may fail: returns minus an errno then, as the kernel does. */
static long call_or_fault(long n, long a, long b, long c, long d, long e, long f) {
  if (lm_fault_here()) return -ENOMEM;
  return lm_syscall6(n, a, b, c, d, e, f);
}

/* ---- Calls that take memory away: by the C library's functions if that is asked for, which others
 * may have replaced to learn of it ---- */

/* Written once at start, read by any thread; pairs with nothing. */
static _Atomic(bool) calls_library;

void lm_os_call_library(void) { lm_store_relaxed(&calls_library, true); }

/* ---- Few kinds of calls, if that is asked for: for filters that look at arguments ---- */

/* Written once at start, read by any thread; pairs with nothing. */
static _Atomic(bool) makes_few_calls;

void lm_os_make_few_calls(void) { lm_store_relaxed(&makes_few_calls, true); }
bool lm_os_makes_few_calls(void) { return LM_UNLIKELY(lm_load_relaxed(&makes_few_calls)); }

static void advise(void *address, size_t size, int advice) {
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

static long call_taking(long n, long a, long b, long c, long d) {
  if (LM_UNLIKELY(lm_load_relaxed(&calls_library))) return call_library(n, a, b, c, d);
  return lm_syscall6(n, a, b, c, d, 0, 0);
}

static long call_taking_or_fault(long n, long a, long b, long c, long d) {
  if (lm_fault_here()) return -ENOMEM;
  return call_taking(n, a, b, c, d);
}

/* ---- Start ---- */

#define MINCORE_PAGES 256

size_t lm_os_resident_bytes(const void *address, size_t size) {
  unsigned char pages[MINCORE_PAGES];
  size_t count = 0, left = size >> lm_os.page_shift;
  for (uintptr_t at = (uintptr_t)address; left > 0;) {
    size_t part = lm_min(left, MINCORE_PAGES), bytes = part << lm_os.page_shift;
    if (lm_is_error(lm_syscall6(SYS_mincore, (long)at, (long)bytes, (long)pages, 0, 0, 0)))
      return size;
    for (size_t i = 0; i < part; i++) count += pages[i] & 1;
    at += bytes;
    left -= part;
  }
  return count << lm_os.page_shift;
}

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

static void read_seed(void);
static lm_clock_function *read_clock;
#if LM_BITS_64
static bool move_leaves_zeros(void);
#endif
static bool everybody_has_huge; /* constant after lm_os_start */

void lm_os_start(void) {
  size_t page_bytes = getauxval(AT_PAGESZ);
  if (lm_is_power_of_two(page_bytes) && page_bytes >= 4096) lm_os.page_bytes = page_bytes;
  lm_os.page_shift = lm_log2_floor(lm_os.page_bytes);
  lm_os.cpu_count = find_cpu_count();
  lm_os.overcommit = find_overcommit();
  lm_os_read_address_space_limit();
  everybody_has_huge = lm_read_setting("/sys/kernel/mm/transparent_hugepage/enabled") == '[';
  read_clock = lm_vdso_find_clock((uintptr_t)getauxval(AT_SYSINFO_EHDR));
  read_seed();
#if LM_BITS_64
  move_leaves_zeros(); /* while it may make the call that this is tried by */
#endif
}

/* ---- Memory ---- */

/* ---- What could not be unmapped: a hole in a mapping makes two of it, which the system refuses at
 * its limit (vm.max_map_count) ---- */

#define LEFT_RANGES 128
#define LEFT_FREE 0
#define LEFT_BUSY 1 /* one thread has the entry */
static struct {
  /* One of the above, or where the range begins. Written by any thread that unmaps or maps; the
   * release of who enters a range pairs with the acquire of who takes it out. */
  _Atomic(uintptr_t) address;
  size_t size; /* whoever has the entry */
} left_ranges[LEFT_RANGES];
static _Atomic(uint32_t) left_count; /* a hint that there are any: changed with the entries */

static bool unmap(uintptr_t address, size_t size) {
  return !lm_is_error(call_taking(SYS_munmap, (long)address, (long)size, 0, 0));
}

/* If there is no room for one more, the address space is lost, but not the memory. */
static void leave_for_later(uintptr_t address, size_t size) {
  call_taking(SYS_madvise, (long)address, (long)size, MADV_DONTNEED, 0);
  for (size_t i = 0; i < LEFT_RANGES; i++) {
    uintptr_t expected = LEFT_FREE;
    if (!lm_cas_acquire(&left_ranges[i].address, &expected, LEFT_BUSY)) continue;
    left_ranges[i].size = size;
    lm_store_release(&left_ranges[i].address, address);
    lm_add_relaxed(&left_count, 1);
    return;
  }
}

/* Unmaps what has been left, up to the first range that cannot be unmapped yet. */
static void unmap_left(void) {
  for (size_t i = 0; i < LEFT_RANGES && lm_load_relaxed(&left_count) != 0; i++) {
    uintptr_t address = lm_load_relaxed(&left_ranges[i].address);
    if (address <= LEFT_BUSY) continue;
    if (!lm_cas_acquire(&left_ranges[i].address, &address, LEFT_BUSY)) continue;
    bool done = unmap(address, left_ranges[i].size);
    lm_store_release(&left_ranges[i].address, done ? LEFT_FREE : address);
    if (!done) return;
    lm_sub_relaxed(&left_count, 1);
  }
}

static void unmap_or_leave(void *address, size_t size) {
  if (LM_UNLIKELY(lm_load_relaxed(&left_count) != 0)) unmap_left();
  if (LM_UNLIKELY(!unmap((uintptr_t)address, size))) leave_for_later((uintptr_t)address, size);
}

void lm_os_release(void *address, size_t size) {
  if (lm_fault_here()) leave_for_later((uintptr_t)address, size);
  else unmap_or_leave(address, size);
}

/* ---- Mapping ---- */

/* What the system checks before it maps: a reservation may be of more than there is, so that its
 * size says nothing of what will be used; memory that the program has asked for is refused where
 * the system's own rule (vm.overcommit_memory) says that it cannot be had. */
enum backing { UNCHECKED = MAP_NORESERVE, CHECKED = 0 };

static int map_memory(void *hint, size_t size, int protection, enum backing backing,
                      void **result) {
  if (LM_UNLIKELY(lm_load_relaxed(&left_count) != 0)) unmap_left();
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | (lm_os_makes_few_calls() ? 0 : (int)backing);
  long address = call_or_fault(LM_SYS_MMAP, (long)hint, (long)size, protection, flags, -1, 0);
  if (lm_is_error(address)) return (int)-address;
  *result = (void *)address;
  return 0;
}

/* Maps with some room to spare and cuts what does not lie on the alignment. No access before that,
 * so that the room is not checked. */
static int map_and_cut(size_t size, size_t alignment, int protection, enum backing backing,
                       void **result) {
  void *address;
  if (size + alignment < size) return ENOMEM;
  int before = lm_os_makes_few_calls() ? protection : PROT_NONE;
  int error = map_memory(NULL, size + alignment, before, backing, &address);
  if (error != 0) return error;
  uintptr_t start = lm_align_up((uintptr_t)address, alignment);
  uintptr_t end = (uintptr_t)address + size + alignment;
  if (start > (uintptr_t)address) lm_os_release(address, start - (uintptr_t)address);
  if (end > start + size) lm_os_release((void *)(start + size), end - start - size);
  *result = (void *)start;
  error = protection == before ? 0 : lm_os_commit(*result, size);
  if (error != 0) lm_os_release(*result, size);
  return error;
}

/* Tries places that lie on the alignment, for a process whose limit leaves no room to spare. */
#define PLACES_TRIED 32
static int map_below(uintptr_t near, size_t size, size_t alignment, int protection,
                     enum backing backing, void **result) {
  uintptr_t place = lm_align_down(near, alignment);
  for (int i = 0; i < PLACES_TRIED && place >= alignment; i++, place -= alignment) {
    void *address;
    int error = map_memory((void *)place, size, protection, backing, &address);
    if (error != 0) return error;
    *result = address;
    if (((uintptr_t)address & (alignment - 1)) == 0) return 0;
    lm_os_release(address, size);
  }
  return ENOMEM;
}

static int map_aligned(size_t size, size_t alignment, int protection, enum backing backing,
                       void **result) {
  /* Written and read by any thread, as a guess only: where the last aligned mapping was. The
   * system fills its address space downwards, so that the place below it is often free. */
  static _Atomic(uintptr_t) last_address;
  void *address;
  uintptr_t hint = lm_load_relaxed(&last_address);
  hint = hint > size ? lm_align_down(hint - size, alignment) : 0;
  int error = map_memory((void *)hint, size, protection, backing, &address);
  if (error != 0) return error;
  if (((uintptr_t)address & (alignment - 1)) != 0) {
    lm_os_release(address, size);
    uintptr_t near = (uintptr_t)address;
    error = map_and_cut(size, alignment, protection, backing, &address);
    if (error != 0 && lm_os_address_space_limit() != UINT64_MAX)
      error = map_below(near, size, alignment, protection, backing, &address);
    if (error != 0) return error;
  }
  lm_store_relaxed(&last_address, (uintptr_t)address);
  *result = address;
  return 0;
}

/* Whatever is mapped, from the start: no call changes that. */
static bool are_pages_writable(void) { return lm_os_makes_few_calls() && lm_os.overcommit; }

int lm_os_reserve(size_t size, size_t alignment, void **result) {
  int protection = lm_os.overcommit ? PROT_READ | PROT_WRITE : PROT_NONE;
  return map_aligned(size, alignment, protection, UNCHECKED, result);
}

/* ---- Explicit pages ---- */

#define HUGE_SHIFT 26 /* where the flags of mmap say how large pages are: as a logarithm */
#define FIXED_NOREPLACE 0x100000
#if LM_FAKE_OS
#define EXPLICIT_FLAGS(page_bytes) 0 /* tests have ordinary pages instead */
#else
#define EXPLICIT_FLAGS(page_bytes) (MAP_HUGETLB | (long)lm_log2_floor(page_bytes) << HUGE_SHIFT)
#endif

/* The place is found with ordinary memory, and free for a moment: if another thread maps something
 * there meanwhile, there are no pages. */
int lm_os_map_explicit(size_t size, size_t page_bytes, size_t alignment, void **result) {
  void *place;
  int error = lm_os_reserve(size, alignment, &place);
  if (error != 0) return error;
  lm_os_release(place, size);
  long flags = MAP_PRIVATE | MAP_ANONYMOUS | FIXED_NOREPLACE | EXPLICIT_FLAGS(page_bytes);
  (void)page_bytes;
  long address = call_or_fault(LM_SYS_MMAP, (long)place, (long)size, PROT_READ | PROT_WRITE, flags,
                               -1, 0);
  if (lm_is_error(address)) return (int)-address;
  if ((void *)address != place) { /* a system that does not know the flag */
    unmap((uintptr_t)address, size);
    return ENOMEM;
  }
  *result = place;
  return 0;
}

/* Of the larger pages the system unmaps no part, so that trying the smaller ones does no harm. */
void lm_os_unmap_explicit(void *address, size_t size) {
  if (!unmap((uintptr_t)address, lm_align_up(size, LM_PAGE_2M_BYTES)))
    unmap((uintptr_t)address, lm_align_up(size, LM_PAGE_1G_BYTES));
}

void lm_os_leave_out_of_cores(void *address, size_t size) {
  advise(address, size, MADV_DONTDUMP);
}

void lm_os_put_into_cores(void *address, size_t size) { advise(address, size, MADV_DODUMP); }

/* Since Linux 5.17, where it is built in. The C library's headers may be older. */
#define SET_VMA 0x53564d41
#define SET_VMA_NAME 0
void lm_os_name(void *address, size_t size, const char *name) {
  /* Written and read by any thread, pairs with nothing. */
  static _Atomic(bool) is_unknown;
  if (lm_load_relaxed(&is_unknown)) return;
  long result = lm_syscall6(SYS_prctl, SET_VMA, SET_VMA_NAME, (long)address, (long)size,
                            (long)name, 0);
  if (result == -EINVAL) lm_store_relaxed(&is_unknown, true);
}

/* At start, and so by any kind of call. */
int lm_os_reserve_zero(size_t size, void **result) {
  int protection = are_pages_writable() ? PROT_READ | PROT_WRITE : PROT_READ;
  long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  long address = call_or_fault(LM_SYS_MMAP, 0, (long)size, protection, flags, -1, 0);
  if (lm_is_error(address)) return (int)-address;
  *result = (void *)address;
  lm_syscall6(SYS_madvise, address, (long)size, MADV_DONTDUMP, 0, 0, 0); /* nearly all is zero */
  return 0;
}

int lm_os_commit(void *address, size_t size) {
  if (are_pages_writable()) return 0;
  uintptr_t start = lm_align_down((uintptr_t)address, lm_os.page_bytes);
  uintptr_t end = lm_align_up((uintptr_t)address + size, lm_os.page_bytes);
  long result = call_or_fault(SYS_mprotect, (long)start, (long)(end - start),
                              PROT_READ | PROT_WRITE, 0, 0, 0);
  return (int)-result;
}

/* ---- What emulators and sandboxes answer without doing it is tried once ---- */

enum trial { UNTRIED, WORKS, FAILS };

/* ThreadSanitizer does not see that pages are mapped and unmapped by the system call alone, and
 * takes two trials at the same address for one piece of memory. */
#define UNSEEN_BY_SANITIZERS LM_NOINLINE __attribute__((no_sanitize_thread))

/* Two readable and writable pages, without a fault point: these calls are nobody's. */
static volatile char *map_trial(void) {
  long address = lm_syscall6(LM_SYS_MMAP, 0, 2 * (long)lm_os.page_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return lm_is_error(address) ? NULL : (volatile char *)address;
}

UNSEEN_BY_SANITIZERS static enum trial try_purge(void) {
  volatile char *pages = map_trial();
  if (pages == NULL) return UNTRIED;
  pages[0] = 1;
  long size = (long)lm_os.page_bytes;
  bool done = lm_syscall6(SYS_madvise, (long)pages, size, MADV_DONTNEED, 0, 0, 0) == 0;
  /* Of locked memory (mlockall) it is refused, for as long as that is locked. */
  enum trial result = !done ? UNTRIED : pages[0] == 0 ? WORKS : FAILS;
  unmap_or_leave((void *)pages, 2 * lm_os.page_bytes);
  return result;
}

/* Whether what is purged reads as zero. */
static bool purge_clears(void) {
  /* Written by any thread that does not know yet, all to the same effect; pairs with nothing. */
  static _Atomic(uint32_t) known;
  if (lm_load_relaxed(&known) == UNTRIED) lm_store_relaxed(&known, try_purge());
  return lm_load_relaxed(&known) == WORKS;
}

int lm_os_uncommit(void *address, size_t size) {
  if (are_pages_writable()) return ENOSYS;
  return (int)-call_taking_or_fault(SYS_mprotect, (long)address, (long)size, PROT_NONE, 0);
}

int lm_os_purge(void *address, size_t size) {
  if (!purge_clears()) return ENOSYS;
  long result = call_taking_or_fault(SYS_madvise, (long)address, (long)size, MADV_DONTNEED, 0);
  if (LM_FAKE_OS && lm_os.purge_decommits && result == 0) /* as on other systems */
    lm_syscall6(SYS_mprotect, (long)address, (long)size, PROT_NONE, 0, 0, 0);
  return (int)-result;
}

void lm_os_advise_huge(void *address, size_t size) {
  advise(address, size, MADV_HUGEPAGE);
}

void lm_os_refuse_huge(void *address, size_t size) {
  advise(address, size, MADV_NOHUGEPAGE);
}

/* No advice takes MADV_NOHUGEPAGE back, but MADV_HUGEPAGE, which is the same where the setting is
 * "[always] madvise never". */
void lm_os_accept_huge(void *address, size_t size) {
  if (everybody_has_huge) lm_os_advise_huge(address, size);
}

/* Since Linux 6.13; the C library's headers may be older. */
#define ADVICE_GUARD 102
#define ADVICE_UNGUARD 103

int lm_os_guard(void *address, size_t size) {
  if (lm_os_makes_few_calls()) return ENOSYS;
  return (int)-call_taking(SYS_madvise, (long)address, (long)size, ADVICE_GUARD, 0);
}

void lm_os_unguard(void *address, size_t size) {
  advise(address, size, ADVICE_UNGUARD);
}

int lm_os_map(size_t size, size_t alignment, void **result) {
  int protection = PROT_READ | PROT_WRITE;
  if (alignment <= lm_os.page_bytes) return map_memory(NULL, size, protection, CHECKED, result);
  return map_aligned(size, alignment, protection, CHECKED, result);
}

int lm_os_remap(void *address, size_t size, size_t new_size, void **result) {
  if (lm_os_makes_few_calls()) return ENOSYS;
  long moved = call_taking_or_fault(SYS_mremap, (long)address, (long)size, (long)new_size,
                                  MREMAP_MAYMOVE);
  if (lm_is_error(moved)) return (int)-moved;
  *result = (void *)moved;
  return 0;
}

#if LM_BITS_64
#define MOVE_FLAGS (MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP)

/* An emulator that does not know the last flag may unmap the source, or think that it has: then its
 * system calls do not write there any more, nor some instructions. */
UNSEEN_BY_SANITIZERS static enum trial try_move(void) {
  volatile char *pages = map_trial(), *target = pages + lm_os.page_bytes;
  long size = (long)lm_os.page_bytes;
  if (pages == NULL) return UNTRIED;
  pages[0] = 1;
  long result = lm_syscall6(SYS_mremap, (long)pages, size, size, MOVE_FLAGS, (long)target, 0);
  bool moved = result == (long)target && target[0] == 1;
  long unused_part = (long)pages + size / 2;
  bool is_mapped =
      lm_syscall6(LM_SYS_CLOCK_GETTIME, CLOCK_MONOTONIC_COARSE, unused_part, 0, 0, 0, 0) == 0;
  enum trial outcome = moved && is_mapped && pages[0] == 0 ? WORKS : FAILS;
  unmap_or_leave((void *)pages, 2 * lm_os.page_bytes);
  return outcome;
}

static bool move_leaves_zeros(void) {
  static _Atomic(uint32_t) known; /* as in purge_clears */
  if (lm_load_relaxed(&known) == UNTRIED) lm_store_relaxed(&known, try_move());
  return lm_load_relaxed(&known) == WORKS;
}

/* call_library, and filters, have mremap with four arguments at most. */
static bool has_moving_calls(void) {
  return !lm_load_relaxed(&calls_library) && !lm_os_makes_few_calls() && move_leaves_zeros();
}

int lm_os_move_pages(void *from, void *to, size_t size) {
  if (!has_moving_calls()) return ENOSYS;
  long flags = MOVE_FLAGS;
  long result = -ENOMEM;
  if (lm_fault_here()) /* the worst that a kernel does */
    lm_syscall6(SYS_munmap, (long)to, (long)size, 0, 0, 0, 0);
  else result = lm_syscall6(SYS_mremap, (long)from, (long)size, (long)size, flags, (long)to, 0);
  if (!lm_is_error(result)) return 0;
  /* Kernels unmap the target before they find that the source has parts with different flags (as
   * madvise makes them) or that memory is short. Put it back, or another mapping comes there. */
  long protection = PROT_READ | PROT_WRITE;
  flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  result = call_or_fault(LM_SYS_MMAP, (long)to, (long)size, protection, flags, -1, 0);
  return lm_is_error(result) ? ENOMEM : ENOSYS;
}

/* Pages that are moved into another mapping, or onto a part of it, would be one apart for ever, and
 * mremap resizes no more than one. */
int lm_os_move_out(void *from, size_t size, size_t new_size, void **result) {
  if (!has_moving_calls()) return ENOSYS;
  long moved = call_or_fault(SYS_mremap, (long)from, (long)size, (long)size,
                             MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0, 0);
  if (lm_is_error(moved)) return ENOSYS;
  if (lm_os_remap((void *)moved, size, new_size, result) == 0) return 0;
  memcpy(from, (void *)moved, size);
  unmap_or_leave((void *)moved, size);
  return ENOSYS;
}
#else
/* qemu's emulation of 32-bit processors leaves the source without access. */
int lm_os_move_pages(void *from, void *to, size_t size) {
  (void)from, (void)to, (void)size;
  return ENOSYS;
}
int lm_os_move_out(void *from, size_t size, size_t new_size, void **result) {
  (void)from, (void)size, (void)new_size, (void)result;
  return ENOSYS;
}
#endif

bool lm_os_would_map(size_t size) {
  void *address;
  if (map_memory(NULL, size, PROT_READ | PROT_WRITE, CHECKED, &address) != 0) return false;
  unmap_or_leave(address, size);
  return true;
}

/* ---- Time ---- */

/* Not by the C library's function, which another library may replace, and allocate in it. */
static lm_clock_function *read_clock; /* the vDSO's, or NULL: constant after lm_os_start */

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

/* ---- Threads ---- */

void lm_os_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t ms) {
  lm_futex_time time[2] = {(lm_futex_time)(ms / 1000), (lm_futex_time)(ms % 1000) * 1000000};
  lm_syscall6(LM_SYS_FUTEX, (long)word, FUTEX_WAIT_PRIVATE, (long)expected, (long)time, 0, 0);
}

void lm_os_wake_one(_Atomic(uint32_t) *word) {
  lm_syscall6(LM_SYS_FUTEX, (long)word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

/* Weak references bring nothing out of an archive, so that a static program needs strong ones. A
 * shared library must load in programs that have no threads, whose C library may lack these. */
#if LM_SHARED
#define KEYS_ARE_OPTIONAL 1
#elif defined(__GLIBC__)
#define KEYS_ARE_OPTIONAL (!__GLIBC_PREREQ(2, 34))
#else
#define KEYS_ARE_OPTIONAL 0
#endif
#if KEYS_ARE_OPTIONAL
#pragma weak pthread_create
#pragma weak pthread_detach
#pragma weak pthread_key_create
#pragma weak pthread_mutex_init
#pragma weak pthread_mutex_lock
#pragma weak pthread_mutex_unlock
#pragma weak pthread_mutexattr_init
#pragma weak pthread_mutexattr_settype
#pragma weak pthread_setspecific
#endif

/* glibc's, from 2.32 on: false once there has been another thread. */
extern char __libc_single_threaded LM_WEAK;

bool lm_os_is_single_threaded(void) {
  if (&__libc_single_threaded != NULL && __libc_single_threaded) return true;
  /* A folder for each thread, beside "." and ".."; each has a link to this one. */
  struct lm_file_status status;
  return lm_read_status(AT_FDCWD, "/proc/self/task", &status) == 0 && status.link_count == 2 + 1;
}

/* A set as the kernel has it, of 64 signals. */
#define WORD_SIGNALS (8 * sizeof(unsigned long))
struct signals {
  unsigned long words[64 / WORD_SIGNALS];
};
#define FIRST_OF_LIBRARY 32

/* All but those that the C library keeps, from the first to SIGRTMIN: by them it has every thread
 * change its user and group (setuid and its like), and waits until each has. */
static struct signals all_of_programs(void) {
  struct signals set;
  memset(&set, 0xff, sizeof set);
  for (size_t i = FIRST_OF_LIBRARY - 1; i + 1 < (size_t)SIGRTMIN; i++)
    set.words[i / WORD_SIGNALS] &= ~(1ul << i % WORD_SIGNALS);
  return set;
}

/* Whoever starts a thread waits until that has made the calls that it begins with: the program may
 * forbid them next (docs/sandboxes.md). */
struct beginning {
  void (*function)(void);
  _Atomic(uint32_t) is_over; /* written by the new thread, read by who waits; pairs with nothing */
};

static void *run_thread(void *argument) {
  struct beginning *beginning = argument;
  void (*function)(void) = beginning->function;
  lm_syscall6(SYS_prctl, PR_SET_NAME, (long)"loam", 0, 0, 0, 0);
  lm_store_relaxed(&beginning->is_over, 1);
  lm_os_wake_one(&beginning->is_over); /* which may be no such word any longer: nobody wakes then */
  function();
  return NULL;
}

bool lm_os_start_thread(void (*function)(void)) {
#if KEYS_ARE_OPTIONAL
  if (pthread_create == NULL || pthread_detach == NULL) return false;
#endif
  pthread_t thread;
  struct signals blocked = all_of_programs(), before;
  long size = sizeof blocked;
  lm_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&blocked, (long)&before, size, 0, 0);
  struct beginning beginning = {function, 0};
  bool started = pthread_create(&thread, NULL, run_thread, &beginning) == 0;
  while (started && lm_load_relaxed(&beginning.is_over) == 0)
    lm_os_wait(&beginning.is_over, 0, 1000);
  lm_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, size, 0, 0);
  if (started) pthread_detach(thread);
  return started;
}

void lm_os_sleep_ms(uint32_t ms) {
  static _Atomic(uint32_t) never_woken;
  lm_os_wait(&never_woken, 0, ms);
}

static pthread_key_t thread_end_key;
static bool thread_end_key_valid;
static void (*thread_end_callback)(void *value);
/* Does not put itself off to a later round of destructors, though those of others may still
 * allocate: there are four, and nothing tells in which of them the value was set. */
static void thread_end_destructor(void *value) { thread_end_callback(value); }

/* Free, to be copied: lm_os_thread_id. Constant after lm_os_thread_end_start. */
static pthread_mutex_t checking_mutex;
static bool checking_mutex_valid;

static void make_checking_mutex(void) {
  pthread_mutexattr_t attributes;
#if KEYS_ARE_OPTIONAL
  if (pthread_mutex_init == NULL || pthread_mutex_lock == NULL || pthread_mutex_unlock == NULL ||
      pthread_mutexattr_init == NULL || pthread_mutexattr_settype == NULL)
    return;
#endif
  if (pthread_mutexattr_init(&attributes) != 0 ||
      pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK) != 0)
    return;
  checking_mutex_valid = pthread_mutex_init(&checking_mutex, &attributes) == 0;
}

void lm_os_thread_end_start(void (*callback)(void *value)) {
  thread_end_callback = callback;
#if KEYS_ARE_OPTIONAL
  if (pthread_key_create == NULL || pthread_setspecific == NULL) return;
#endif
  thread_end_key_valid = pthread_key_create(&thread_end_key, thread_end_destructor) == 0;
  make_checking_mutex();
}

bool lm_os_thread_end_arm(void *value) {
  if (lm_fault_here()) return false;
  return !thread_end_key_valid || pthread_setspecific(thread_end_key, value) == 0;
}

/* ---- The process ---- */

/* A lock that checks who has it knows its owner by number: the third word of it in glibc, whose
 * second one is 0, the second one in musl. A thread that takes a fresh one finds its own number
 * without a system call. */
#define OWNER_MASK 0x3fffffff

uint32_t lm_os_thread_id(void) {
  if (checking_mutex_valid) {
    union {
      pthread_mutex_t mutex;
      uint32_t words[3];
    } lock = {.mutex = checking_mutex};
    if (pthread_mutex_lock(&lock.mutex) == 0) {
      uint32_t owner = lock.words[2] != 0 ? lock.words[2] : lock.words[1] & OWNER_MASK;
      pthread_mutex_unlock(&lock.mutex);
      if (owner != 0) return owner;
    }
  }
  return (uint32_t)lm_syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0); /* a C library without threads */
}

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

/* ---- Random words: SipHash-2-4 of how many there have been, under a key that is fetched at start,
 * so that no word says anything of another ---- */

static uint64_t random_key[2]; /* constant after lm_os_start */

static void read_seed(void) {
  long flags = 1; /* do not wait */
  long size = sizeof random_key;
  if (lm_syscall6(SYS_getrandom, (long)random_key, size, flags, 0, 0, 0) == size) return;
  const void *given = (const void *)getauxval(AT_RANDOM); /* 16 bytes, also the C library's */
  if (given != NULL) memcpy(random_key, given, sizeof random_key);
  random_key[0] ^= (uintptr_t)&flags ^ lm_os_clock_ms() << 20;
}

LM_INLINE uint64_t rotate(uint64_t word, unsigned bits) {
  return word << bits | word >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds) {
  for (int i = 0; i < rounds; i++) {
    v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
    v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
  }
}

uintptr_t lm_os_random(void) {
  static _Atomic(uint32_t) count; /* written and read by any thread, pairs with nothing */
  uint64_t v[4] = {random_key[0] ^ UINT64_C(0x736f6d6570736575),
                   random_key[1] ^ UINT64_C(0x646f72616e646f6d),
                   random_key[0] ^ UINT64_C(0x6c7967656e657261),
                   random_key[1] ^ UINT64_C(0x7465646279746573)};
  /* With the time, which mostly differs where a process and the child of its fork count alike. */
  uint64_t words[] = {lm_add_relaxed(&count, 1), lm_os_clock_ms(), (uint64_t)16 << 56};
  for (int i = 0; i < 3; i++) {
    v[3] ^= words[i];
    mix(v, 2);
    v[0] ^= words[i];
  }
  v[2] ^= 0xff;
  mix(v, 4);
  return (uintptr_t)(v[0] ^ v[1] ^ v[2] ^ v[3]);
}
