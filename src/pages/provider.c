#include "pages/provider.h"

#include <errno.h>

#include "base/bits.h"
#include "config/options.h"
#include "os/panic.h"
#include "pages/tags.h"

LM_THREAD_LOCAL bool lm_in_callback = false;

/* What a callback must leave as it was. A heap's may bring about one of the process's. */
struct state {
  int error;
  bool in_callback;
};

static struct state begin_callback(void) {
  struct state before = {errno, LM_THREAD(lm_in_callback)};
  LM_THREAD(lm_in_callback) = true;
  return before;
}

static void end_callback(struct state before) {
  LM_THREAD(lm_in_callback) = before.in_callback;
  errno = before.error;
}

static LM_COLD LM_NORETURN void fail_unaligned(const void *address, size_t alignment) {
  LM_TEXT(text, 256);
  lm_text_string(&text, "loam: page provider: reserve returned ");
  lm_text_address(&text, (uintptr_t)address);
  lm_text_string(&text, ", which is not aligned to ");
  lm_text_number(&text, alignment);
  lm_panic(&text);
}

int lm_provider_reserve(const struct loam_page_provider *provider, size_t size, size_t alignment,
                        void **result) {
  if (provider == NULL) return lm_os_reserve(size, alignment, result);
  struct state before = begin_callback();
  void *address = provider->reserve(provider->context, size, alignment);
  end_callback(before);
  if (address == NULL) return ENOMEM;
  if (((uintptr_t)address & (alignment - 1)) != 0) fail_unaligned(address, alignment);
  if (!lm_tags_cover((uintptr_t)address) || !lm_tags_cover((uintptr_t)address + size - 1)) {
    lm_provider_release(provider, address, size);
    return ENOMEM;
  }
  *result = address;
  return 0;
}

int lm_provider_commit(const struct loam_page_provider *provider, void *address, size_t size) {
  if (provider == NULL) return lm_os_commit(address, size);
  if (provider->commit == NULL) return 0;
  struct state before = begin_callback();
  int error = provider->commit(provider->context, address, size);
  end_callback(before);
  return error;
}

int lm_provider_map(const struct loam_page_provider *provider, size_t size, size_t alignment,
                    void **result) {
  if (provider == NULL) return lm_os_map(size, alignment, result);
  int error = lm_provider_reserve(provider, size, lm_max(alignment, lm_os.page_bytes), result);
  if (error != 0) return error;
  error = lm_provider_commit(provider, *result, size);
  if (error != 0) lm_provider_release(provider, *result, size);
  return error;
}

void lm_provider_begin_huge(const struct loam_page_provider *provider, void *address, size_t size,
                            bool much) {
  if (provider != NULL) return;
  size_t option = LM_OPTION(huge_pages);
  if (option == LM_HUGE_PAGES_ALWAYS || (option == LM_HUGE_PAGES_MADVISE && much))
    lm_os_advise_huge(address, size);
  else if (option == LM_HUGE_PAGES_OFF || !much) lm_os_refuse_huge(address, size);
}

void lm_provider_accept_huge(const struct loam_page_provider *provider, void *address,
                             size_t size) {
  if (provider != NULL) return;
  size_t option = LM_OPTION(huge_pages);
  if (option == LM_HUGE_PAGES_SYSTEM) lm_os_accept_huge(address, size);
  if (option == LM_HUGE_PAGES_MADVISE) lm_os_advise_huge(address, size);
}

int lm_provider_purge(const struct loam_page_provider *provider, void *address, size_t size) {
  if (provider == NULL) return lm_os_purge(address, size);
  if (provider->purge == NULL) return ENOSYS;
  struct state before = begin_callback();
  int error = provider->purge(provider->context, address, size);
  end_callback(before);
  return error;
}

size_t lm_provider_purge_end(const uint64_t *map, const uint64_t *dirty_pages, size_t from,
                             size_t end, bool apart) {
  for (;;) {
    size_t to = lm_bitmap_find_clear(map, from, end);
    from = apart ? end : lm_bitmap_find_set(dirty_pages, to, end);
    if (from == end || !lm_bitmap_test(map, from)) return to;
  }
}

#define REFUSALS_DOUBLED 6 /* times, at most */

void lm_refusals_end_round(struct lm_refusals *refusals) {
  if (refusals->taken) refusals->in_a_row = 0;
  else if (refusals->refused) {
    uint64_t wait_ms = (uint64_t)(LM_OPTION(purge_delay_ms) / 2 + 1) << refusals->in_a_row;
    refusals->until_ms = lm_os_clock_ms() + wait_ms;
    refusals->in_a_row = (uint32_t)lm_min(refusals->in_a_row + 1, REFUSALS_DOUBLED);
  }
  refusals->taken = refusals->refused = false;
}

void lm_provider_release(const struct loam_page_provider *provider, void *address, size_t size) {
  if (provider == NULL) {
    lm_os_release(address, size);
    return;
  }
  struct state before = begin_callback();
  provider->release(provider->context, address, size);
  end_callback(before);
}
