#include "pages/explicit.h"

#include <string.h>

#include "base/bits.h"
#include "base/format.h"
#include "config/options.h"
#include "os/os.h"

#if LM_OS_HAS_EXPLICIT_PAGES

/* ---- Pages of 1 GiB, cut into slots of a region each. One that is there stays. ---- */

#define SLOT_BYTES (64 * LM_MIB)
#define SLOTS (LM_PAGE_1G_BYTES / SLOT_BYTES)
#define SLOTTED_PAGES 64
#define BUSY 1 /* one thread is about to map it */

static struct slotted {
  /* 0, BUSY, or where it begins: the release of who maps it pairs with the acquire of others. */
  _Atomic(uintptr_t) address;
  _Atomic(uint32_t) used; /* a bit for each slot: any thread takes and frees, by acquire, release */
  _Atomic(uint32_t) dirty; /* has been used before; changed by who has the slot */
} slotted_pages[SLOTTED_PAGES];

/* Takes `count` slots in a row, zero; NULL if there are none. */
static void *take_slots(struct slotted *page, uintptr_t address, size_t count) {
  for (size_t i = 0; i + count <= SLOTS;) {
    uint32_t bits = (((uint32_t)1 << count) - 1) << i;
    uint32_t used = lm_load_relaxed(&page->used);
    if ((used & bits) != 0) i++;
    else if (lm_cas_acquire(&page->used, &used, used | bits)) {
      void *start = (void *)(address + i * SLOT_BYTES);
      if ((lm_or_acquire(&page->dirty, bits) & bits) != 0) memset(start, 0, count * SLOT_BYTES);
      return start;
    }
  }
  return NULL;
}

/* Where the page begins, which is mapped if it is not; 0 if that cannot be. */
static uintptr_t begin_page(struct slotted *page) {
  void *start;
  uintptr_t address = lm_load_acquire(&page->address);
  if (address != 0 || !lm_cas_acquire(&page->address, &address, BUSY)) return address;
  int error = lm_os_map_explicit(LM_PAGE_1G_BYTES, LM_PAGE_1G_BYTES, LM_PAGE_1G_BYTES, &start);
  address = error == 0 ? (uintptr_t)start : 0;
  lm_store_release(&page->address, address);
  return address;
}

static void *reserve_slots(size_t count) {
  for (size_t i = 0; i < SLOTTED_PAGES; i++) {
    uintptr_t address = begin_page(&slotted_pages[i]);
    if (address == 0) break;
    void *start = address != BUSY ? take_slots(&slotted_pages[i], address, count) : NULL;
    if (start != NULL) return start;
  }
  return NULL;
}

/* False if it is no slot's. */
static bool release_slots(void *address, size_t size) {
  size_t count = (size + SLOT_BYTES - 1) / SLOT_BYTES;
  for (size_t i = 0; i < SLOTTED_PAGES; i++) {
    uintptr_t start = lm_load_acquire(&slotted_pages[i].address);
    if (start <= BUSY || (uintptr_t)address - start >= LM_PAGE_1G_BYTES) continue;
    size_t first = ((uintptr_t)address - start) / SLOT_BYTES;
    lm_and_release(&slotted_pages[i].used, ~((((uint32_t)1 << count) - 1) << first));
    return true;
  }
  return false;
}

/* ---- The provider ---- */

static void *reserve_of(size_t page_bytes, size_t size, size_t alignment) {
  void *address;
  size_t rounded = lm_align_up(size, page_bytes);
  if (rounded < size) return NULL;
  int error = lm_os_map_explicit(rounded, page_bytes, lm_max(alignment, page_bytes), &address);
  return error == 0 ? address : NULL;
}

static void *reserve_explicit(void *context, size_t size, size_t alignment) {
  void *address = NULL;
  (void)context;
  if (LM_BITS_64 && LM_OPTION(page_size) == LM_PAGE_SIZE_1G) {
    if (size > LM_PAGE_1G_BYTES) address = reserve_of(LM_PAGE_1G_BYTES, size, alignment);
    else if (alignment <= SLOT_BYTES)
      address = reserve_slots((size + SLOT_BYTES - 1) / SLOT_BYTES);
  }
  return address != NULL ? address : reserve_of(LM_PAGE_2M_BYTES, size, alignment);
}

static void release_explicit(void *context, void *address, size_t size) {
  (void)context;
  if (!release_slots(address, size)) lm_os_unmap_explicit(address, size);
}

const struct loam_page_provider lm_explicit_pages = {.reserve = reserve_explicit,
                                                     .release = release_explicit};

static bool has_page(size_t page_bytes) {
  void *address = reserve_of(page_bytes, page_bytes, page_bytes);
  if (address != NULL) lm_os_unmap_explicit(address, page_bytes);
  return address != NULL;
}

static void say_missing(const char *reason) {
  LM_TEXT(text, 256);
  lm_text_string(&text, "loam: small pages serve in the place of large ones: ");
  lm_text_string(&text, reason);
  lm_text_char(&text, '\n');
  lm_os_write(2, text.bytes, text.length);
}

bool lm_explicit_are_there(void) {
  size_t option = LM_OPTION(page_size);
  bool always = LM_OS_HAS_ONLY_EXPLICIT_PAGES && LM_OPTION(huge_pages) == LM_HUGE_PAGES_ALWAYS;
  if (option == LM_PAGE_SIZE_SYSTEM && !always) return false;
  const char *reason = lm_os_get_right_to_explicit();
  if (reason != NULL) {
    say_missing(reason);
    return false;
  }
  if (option == LM_PAGE_SIZE_1G && LM_BITS_64 && has_page(LM_PAGE_1G_BYTES)) return true;
  return has_page(LM_PAGE_2M_BYTES);
}

#else

const struct loam_page_provider lm_explicit_pages;
bool lm_explicit_are_there(void) { return false; }

#endif
