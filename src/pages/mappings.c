#include "pages/mappings.h"

#include "base/bits.h"
#include "config/options.h"
#include "os/os.h"
#include "os/panic.h"
#include "pages/pressure.h"

#define SURPLUS_FRACTION 4 /* a mapping may be longer than the block by this part of it */

struct lm_lock lm_mappings_lock = LM_LOCK_INIT(LM_RANK_MAPPINGS);
size_t lm_mappings_kept_bytes;
struct lm_kept_mapping lm_kept_mappings[LM_KEPT_MAPPINGS];
static size_t next_entry LM_GUARDED_BY(lm_mappings_lock);
/* When one was asked for last that had just been given; 0: never. */
static uint64_t asked_again_ms LM_GUARDED_BY(lm_mappings_lock);

static bool is_recent(uint64_t then_ms, uint64_t now_ms) {
  return then_ms != 0 && now_ms - then_ms < LM_OPTION(purge_delay_ms);
}

static size_t most_bytes(void) {
  size_t bytes = LM_OPTION(cache_bytes);
  return bytes == LM_CACHE_AUTO ? LM_MAPPINGS_MOST_BYTES : bytes;
}

static bool serves(size_t mapping_size, size_t size) {
  return mapping_size >= size && mapping_size - size <= size / SURPLUS_FRACTION;
}

/* Takes an entry's mapping, if it has one, out. */
LM_REQUIRES(lm_mappings_lock) static void *take_out(struct lm_kept_mapping *entry) {
  void *address = entry->address;
  lm_assert(address == NULL || entry->size <= lm_mappings_kept_bytes);
  if (address != NULL) lm_mappings_kept_bytes -= entry->size;
  entry->address = NULL;
  return address;
}

/* Releases an entry's mapping, if it has one, without the lock. */
LM_REQUIRES(lm_mappings_lock) static bool release_mapping(struct lm_kept_mapping *entry) {
  size_t size = entry->size;
  void *address = take_out(entry);
  if (address == NULL) return false;
  lm_lock_free(&lm_mappings_lock);
  lm_os_release(address, size);
  lm_lock_take(&lm_mappings_lock);
  return true;
}

bool lm_mappings_keep(void *address, size_t size) {
  /* The checking build lets a write after free fault. */
  if (LM_OPTION(purge_delay_ms) == 0 || LM_CHECKING) return false;
  uint64_t now_ms = lm_os_clock_ms();
  size_t most = most_bytes();
  lm_lock_take(&lm_mappings_lock);
  size_t oldest = next_entry++;
  bool keeps = is_recent(asked_again_ms, now_ms) && !lm_pressed(LM_PRESSURE_SOME) &&
               size <= most;
  release_mapping(&lm_kept_mappings[oldest % LM_KEPT_MAPPINGS]);
  for (size_t i = 1; keeps && i < LM_KEPT_MAPPINGS; i++) {
    if (lm_mappings_kept_bytes + size <= most) break;
    release_mapping(&lm_kept_mappings[(oldest + i) % LM_KEPT_MAPPINGS]);
  }
  /* Others may have kept some meanwhile. */
  keeps &= lm_mappings_kept_bytes + size <= most;
  struct lm_kept_mapping *entry = &lm_kept_mappings[oldest % LM_KEPT_MAPPINGS];
  if (entry->address != NULL) keeps = false;
  else *entry = (struct lm_kept_mapping){keeps ? address : NULL, size, size, now_ms};
  if (keeps) lm_mappings_kept_bytes += size;
  lm_lock_free(&lm_mappings_lock);
  return keeps;
}

void *lm_mappings_take(size_t *size, size_t alignment) {
  if (LM_OPTION(purge_delay_ms) == 0) return NULL;
  void *address = NULL;
  uint64_t now_ms = lm_os_clock_ms();
  lm_lock_take(&lm_mappings_lock);
  for (size_t i = 0; i < LM_KEPT_MAPPINGS && address == NULL; i++) {
    struct lm_kept_mapping *entry = &lm_kept_mappings[i];
    if (!serves(entry->given_size, *size) || !is_recent(entry->given_ms, now_ms)) continue;
    asked_again_ms = now_ms;
    if (entry->address == NULL || !serves(entry->size, *size) ||
        ((uintptr_t)entry->address & (alignment - 1)) != 0)
      continue;
    *size = entry->size;
    address = take_out(entry);
    entry->given_size = 0;
  }
  lm_lock_free(&lm_mappings_lock);
  return address;
}

/* The end of an entry's mapping, of up to `most` bytes, which it has no longer; all of it where the
 * system takes back only the whole. */
LM_REQUIRES(lm_mappings_lock) static char *cut(struct lm_kept_mapping *entry, size_t *most) {
  if (*most >= entry->size || lm_os.purge_decommits) {
    *most = entry->size;
    return take_out(entry);
  }
  lm_assert(entry->size <= lm_mappings_kept_bytes);
  entry->size -= *most;
  lm_mappings_kept_bytes -= *most;
  return entry->address + entry->size;
}

static bool is_due(const struct lm_kept_mapping *entry, uint64_t now_ms) {
  return entry->address != NULL && (now_ms - entry->given_ms >= LM_OPTION(purge_delay_ms) / 2 ||
                                    lm_pressed(LM_PRESSURE_SOME));
}

bool lm_mappings_tick(uint64_t now_ms, size_t *left) {
  for (size_t i = 0; i < LM_KEPT_MAPPINGS;) {
    size_t bytes = *left << lm_os.page_shift;
    lm_lock_take(&lm_mappings_lock);
    bool due = is_due(&lm_kept_mappings[i], now_ms);
    char *end = due && bytes != 0 ? cut(&lm_kept_mappings[i], &bytes) : NULL;
    lm_lock_free(&lm_mappings_lock);
    if (!due) i++;
    else if (end == NULL) return true;
    else lm_os_release(end, bytes);
    if (end != NULL) *left -= lm_min(*left, bytes >> lm_os.page_shift);
  }
  return false;
}

bool lm_mappings_trim(void) {
  bool any = false;
  lm_lock_take(&lm_mappings_lock);
  for (size_t i = 0; i < LM_KEPT_MAPPINGS; i++) any |= release_mapping(&lm_kept_mappings[i]);
  lm_lock_free(&lm_mappings_lock);
  return any;
}
