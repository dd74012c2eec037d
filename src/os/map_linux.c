/* Memory is mapped and unmapped, aligned, readable and writable or not: mmap(2), munmap(2),
 * mprotect(2). */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "os/map_linux.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "os/calls_linux.h"
#include "os/fault.h"
#include "os/os.h"
#include "os/syscall_linux.h"

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
  return !lm_is_error(lm_call_taking(SYS_munmap, (long)address, (long)size, 0, 0));
}

/* If there is no room for one more, the address space is lost, but not the memory. */
static void leave_for_later(uintptr_t address, size_t size) {
  lm_call_taking(SYS_madvise, (long)address, (long)size, MADV_DONTNEED, 0);
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

void lm_unmap_or_leave(void *address, size_t size) {
  if (LM_UNLIKELY(lm_load_relaxed(&left_count) != 0)) unmap_left();
  if (LM_UNLIKELY(!unmap((uintptr_t)address, size))) leave_for_later((uintptr_t)address, size);
}

void lm_os_release(void *address, size_t size) {
  if (lm_fault_here()) leave_for_later((uintptr_t)address, size);
  else lm_unmap_or_leave(address, size);
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
  long address = lm_call_or_fault(LM_SYS_MMAP, (long)hint, (long)size, protection, flags, -1, 0);
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
  long address = lm_call_or_fault(LM_SYS_MMAP, (long)place, (long)size, PROT_READ | PROT_WRITE,
                                  flags, -1, 0);
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

/* At start, and so by any kind of call. */
int lm_os_reserve_zero(size_t size, void **result) {
  int protection = are_pages_writable() ? PROT_READ | PROT_WRITE : PROT_READ;
  long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  long address = lm_call_or_fault(LM_SYS_MMAP, 0, (long)size, protection, flags, -1, 0);
  if (lm_is_error(address)) return (int)-address;
  *result = (void *)address;
  lm_syscall6(SYS_madvise, address, (long)size, MADV_DONTDUMP, 0, 0, 0); /* nearly all is zero */
  return 0;
}

int lm_os_commit(void *address, size_t size) {
  if (are_pages_writable()) return 0;
  uintptr_t start = lm_align_down((uintptr_t)address, lm_os.page_bytes);
  uintptr_t end = lm_align_up((uintptr_t)address + size, lm_os.page_bytes);
  long result = lm_call_or_fault(SYS_mprotect, (long)start, (long)(end - start),
                                 PROT_READ | PROT_WRITE, 0, 0, 0);
  return (int)-result;
}

int lm_os_uncommit(void *address, size_t size) {
  if (are_pages_writable()) return ENOSYS;
  return (int)-lm_call_taking_or_fault(SYS_mprotect, (long)address, (long)size, PROT_NONE, 0);
}

int lm_os_map(size_t size, size_t alignment, void **result) {
  int protection = PROT_READ | PROT_WRITE;
  if (alignment <= lm_os.page_bytes) return map_memory(NULL, size, protection, CHECKED, result);
  return map_aligned(size, alignment, protection, CHECKED, result);
}

bool lm_os_would_map(size_t size) {
  void *address;
  if (map_memory(NULL, size, PROT_READ | PROT_WRITE, CHECKED, &address) != 0) return false;
  lm_unmap_or_leave(address, size);
  return true;
}
