/* Pages that are mapped are given back, moved, counted, named, and said to be huge or not in cores:
 * madvise(2), mremap(2), mincore(2), prctl(2). */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "os/pages_linux.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/bits.h"
#include "os/calls_linux.h"
#include "os/fault.h"
#include "os/files_linux.h"
#include "os/map_linux.h"
#include "os/os.h"
#include "os/syscall_linux.h"

#if !defined(MREMAP_DONTUNMAP)
#define MREMAP_DONTUNMAP 4
#endif

static bool everybody_has_huge; /* constant after lm_os_start */

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

void lm_os_leave_out_of_cores(void *address, size_t size) {
  lm_advise(address, size, MADV_DONTDUMP);
}

void lm_os_put_into_cores(void *address, size_t size) { lm_advise(address, size, MADV_DODUMP); }

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
  lm_unmap_or_leave((void *)pages, 2 * lm_os.page_bytes);
  return result;
}

/* Whether what is purged reads as zero. */
static bool purge_clears(void) {
  /* Written by any thread that does not know yet, all to the same effect; pairs with nothing. */
  static _Atomic(uint32_t) known;
  if (lm_load_relaxed(&known) == UNTRIED) lm_store_relaxed(&known, try_purge());
  return lm_load_relaxed(&known) == WORKS;
}

int lm_os_purge(void *address, size_t size) {
  if (!purge_clears()) return ENOSYS;
  long result = lm_call_taking_or_fault(SYS_madvise, (long)address, (long)size, MADV_DONTNEED, 0);
  if (LM_FAKE_OS && lm_os.purge_decommits && result == 0) /* as on other systems */
    lm_syscall6(SYS_mprotect, (long)address, (long)size, PROT_NONE, 0, 0, 0);
  return (int)-result;
}

void lm_os_advise_huge(void *address, size_t size) {
  lm_advise(address, size, MADV_HUGEPAGE);
}

void lm_os_refuse_huge(void *address, size_t size) {
  lm_advise(address, size, MADV_NOHUGEPAGE);
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
  return (int)-lm_call_taking(SYS_madvise, (long)address, (long)size, ADVICE_GUARD, 0);
}

void lm_os_unguard(void *address, size_t size) {
  lm_advise(address, size, ADVICE_UNGUARD);
}

int lm_os_remap(void *address, size_t size, size_t new_size, void **result) {
  if (lm_os_makes_few_calls()) return ENOSYS;
  long moved = lm_call_taking_or_fault(SYS_mremap, (long)address, (long)size, (long)new_size,
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
  lm_unmap_or_leave((void *)pages, 2 * lm_os.page_bytes);
  return outcome;
}

static bool move_leaves_zeros(void) {
  static _Atomic(uint32_t) known; /* as in purge_clears */
  if (lm_load_relaxed(&known) == UNTRIED) lm_store_relaxed(&known, try_move());
  return lm_load_relaxed(&known) == WORKS;
}

/* The C library, if it is called, and filters have mremap with four arguments at most. */
static bool has_moving_calls(void) {
  return !lm_calls_library() && !lm_os_makes_few_calls() && move_leaves_zeros();
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
  result = lm_call_or_fault(LM_SYS_MMAP, (long)to, (long)size, protection, flags, -1, 0);
  return lm_is_error(result) ? ENOMEM : ENOSYS;
}

/* Pages that are moved into another mapping, or onto a part of it, would be one apart for ever, and
 * mremap resizes no more than one. */
int lm_os_move_out(void *from, size_t size, size_t new_size, void **result) {
  if (!has_moving_calls()) return ENOSYS;
  long moved = lm_call_or_fault(SYS_mremap, (long)from, (long)size, (long)size,
                                MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0, 0);
  if (lm_is_error(moved)) return ENOSYS;
  if (lm_os_remap((void *)moved, size, new_size, result) == 0) return 0;
  memcpy(from, (void *)moved, size);
  lm_unmap_or_leave((void *)moved, size);
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

void lm_pages_start(void) {
  everybody_has_huge = lm_read_setting("/sys/kernel/mm/transparent_hugepage/enabled") == '[';
#if LM_BITS_64
  move_leaves_zeros(); /* while it may make the call that this is tried by */
#endif
}
