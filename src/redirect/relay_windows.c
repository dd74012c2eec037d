#include "redirect/relay_windows.h"

#include "base/bits.h"
#include "redirect/jump.h"

#include <windows.h>

#define PAGE_BYTES (64 * LM_KIB) /* where memory may begin */
#define RELAYS (PAGE_BYTES / LM_FAR_JUMP_BYTES)
#define PAGES 64
/* Under the loader's lock, as all here. */
static char *pages[PAGES];

typedef bool reach(const char *from, const char *to);

static bool is_near(const char *from, const char *to) {
  return lm_near_jump_reaches(LM_THIS_PROCESSOR, (uintptr_t)from, (uintptr_t)to);
}

static bool is_above(const char *from, const char *to) {
  return to > from && (uintptr_t)to - (uintptr_t)from <= UINT32_MAX;
}

static char *take_at(uintptr_t place, const MEMORY_BASIC_INFORMATION *info) {
  if (info->State != MEM_FREE) return NULL;
  return VirtualAlloc((void *)place, PAGE_BYTES, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

static bool query(uintptr_t place, MEMORY_BASIC_INFORMATION *info) {
  return VirtualQuery((void *)place, info, sizeof *info) == sizeof *info;
}

/* The nearest free place above `from`, or below it. */
static char *take_page_above(const char *from, reach *reaches) {
  MEMORY_BASIC_INFORMATION info;
  uintptr_t place = lm_align_up((uintptr_t)from, PAGE_BYTES);
  while (reaches(from, (char *)place + PAGE_BYTES) && query(place, &info)) {
    char *page = take_at(place, &info);
    if (page != NULL) return page;
    place = lm_align_up((uintptr_t)info.BaseAddress + info.RegionSize, PAGE_BYTES);
  }
  return NULL;
}

static char *take_page_below(const char *from, reach *reaches) {
  MEMORY_BASIC_INFORMATION info;
  uintptr_t place = lm_align_down((uintptr_t)from, PAGE_BYTES) - PAGE_BYTES;
  while (reaches(from, (char *)place) && query(place, &info)) {
    char *page = take_at(place, &info);
    if (page != NULL) return page;
    if (info.State != MEM_FREE) place = lm_align_down((uintptr_t)info.AllocationBase, PAGE_BYTES);
    place -= PAGE_BYTES;
  }
  return NULL;
}

/* Code may run in the page meanwhile: so it stays executable. */
static void *relay_in(char *page, void *function) {
  for (size_t i = 0; i < RELAYS; i++) {
    uint8_t *relay = (uint8_t *)page + i * LM_FAR_JUMP_BYTES;
    uint64_t to = lm_jump_read(LM_THIS_PROCESSOR, (uintptr_t)relay, relay);
    if (to == (uintptr_t)function) return relay;
    if (to != 0) continue;
    DWORD protection;
    if (!VirtualProtect(page, PAGE_BYTES, PAGE_EXECUTE_READWRITE, &protection)) return NULL;
    lm_far_jump_write(LM_THIS_PROCESSOR, (uintptr_t)function, relay);
    FlushInstructionCache(GetCurrentProcess(), relay, LM_FAR_JUMP_BYTES);
    return VirtualProtect(page, PAGE_BYTES, PAGE_EXECUTE_READ, &protection) ? relay : NULL;
  }
  return NULL;
}

static void *relay_within(const char *from, void *function, reach *reaches, bool also_below) {
  if (reaches(from, function)) return function;
  for (size_t i = 0; i < PAGES; i++) {
    if (pages[i] == NULL) {
      pages[i] = take_page_above(from, reaches);
      if (pages[i] == NULL && also_below) pages[i] = take_page_below(from, reaches);
      if (pages[i] == NULL) return NULL;
    }
    if (!reaches(from, pages[i]) || !reaches(from, pages[i] + PAGE_BYTES)) continue;
    return relay_in(pages[i], function);
  }
  return NULL;
}

void *lm_relay_near(const char *from, void *function) {
  return relay_within(from, function, is_near, true);
}

void *lm_relay_above(const char *base, void *function) {
  return relay_within(base, function, is_above, false);
}
