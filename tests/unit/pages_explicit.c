/* Memory in pages that have been set aside, by the option page_size: where it comes from, where it
 * goes, and what there is instead. The system's part is played by ordinary pages. */
#include "unit.h"

#include <sys/mman.h>

#if LM_OS_HAS_EXPLICIT_PAGES

#define REGION (64 * LM_MIB)
#define GIB ((size_t)1 << 30)

static char *reserve_some(size_t size) {
  void *address;
  if (lm_provider_reserve(&lm_explicit_pages, size, REGION, &address) != 0) return NULL;
  CHECK_EQ((uintptr_t)address % REGION, 0);
  return address;
}
static void release_some(char *address, size_t size) {
  lm_provider_release(&lm_explicit_pages, address, size);
}

static bool is_mapped(char *address) { return msync(address, 4096, MS_ASYNC) == 0; }

static void pages_of_2_MiB_are_mapped_and_unmapped_with_each_reservation(void) {
  lm_options.page_size = LM_PAGE_SIZE_2M;
  char *address = reserve_some(REGION + 4096);
  address[0] = address[REGION + 4095] = 1;
  CHECK(is_mapped(address + REGION + 2 * LM_MIB - 4096));
  release_some(address, REGION + 4096);
  CHECK(!is_mapped(address) && !is_mapped(address + REGION + 2 * LM_MIB - 4096));
}

#if LM_BITS_64
static void a_page_of_1_GiB_has_slots_that_are_zero_again(void) {
  lm_options.page_size = LM_PAGE_SIZE_1G;
  char *slots[16], *address = reserve_some(REGION);
  uintptr_t page = (uintptr_t)address / GIB;
  memset(address, 1, 4096);
  release_some(address, REGION);
  for (size_t i = 0; i < COUNT_OF(slots); i++) {
    slots[i] = reserve_some(REGION);
    CHECK_EQ((uintptr_t)slots[i] / GIB, page);
    CHECK_EQ(slots[i][0], 0);
    for (size_t j = 0; j < i; j++) CHECK(slots[i] != slots[j]);
  }
  char *beyond = reserve_some(REGION);
  CHECK((uintptr_t)beyond / GIB != page);
  release_some(beyond, REGION);
  for (size_t i = 4; i < 8; i++) release_some(slots[i], REGION);
  char *wide = reserve_some(3 * REGION + 4096);
  CHECK_EQ((uintptr_t)wide, (uintptr_t)slots[4]);
  release_some(wide, 3 * REGION + 4096);
  for (size_t i = 0; i < 4; i++) release_some(slots[i], REGION);
  for (size_t i = 8; i < COUNT_OF(slots); i++) release_some(slots[i], REGION);
  CHECK(is_mapped(slots[0]));
}

static void more_than_1_GiB_has_pages_of_its_own(void) {
  lm_options.page_size = LM_PAGE_SIZE_1G;
  char *address = reserve_some(GIB + REGION);
  CHECK(is_mapped(address + 2 * GIB - 4096));
  release_some(address, 2 * GIB);
  CHECK(!is_mapped(address) && !is_mapped(address + GIB));
}

/* A fault where a place for the page of 1 GiB is looked for. */
static void where_there_is_none_of_1_GiB_there_is_one_of_2_MiB(void) {
  lm_options.page_size = LM_PAGE_SIZE_1G;
  for (size_t i = 0; i < SLOTTED_PAGES; i++) lm_store_relaxed(&slotted_pages[i].address, 0);
  lm_fault_countdown = 0;
  char *address = reserve_some(REGION);
  lm_fault_countdown = -1;
  CHECK(address != NULL);
  CHECK_EQ(slotted_pages[0].address, 0);
  release_some(address, REGION);
  CHECK(!is_mapped(address));
}
#endif

static void where_there_is_none_memory_is_ordinary(void) {
  lm_options.page_size = LM_PAGE_SIZE_2M;
  lm_pool_begin_explicit();
  CHECK_EQ(lm_load_relaxed(&lm_pools[0].provider) == &lm_explicit_pages, true);
  size_t count = lm_pools[0].region_count;
  lm_fault_countdown = 0;
  lm_lock_take(&lm_pools[0].lock);
  struct lm_region *ordinary = lm_region_new(&lm_pools[0], 1);
  lm_fault_countdown = -1;
  struct lm_region *explicit_one = lm_region_new(&lm_pools[0], 1);
  CHECK(ordinary != NULL && ordinary->provider == NULL);
  CHECK(explicit_one != NULL && explicit_one->provider == &lm_explicit_pages);
  lm_region_end(ordinary);
  lm_region_end(explicit_one);
  lm_lock_free(&lm_pools[0].lock);
  CHECK_EQ(lm_pools[0].region_count, count);
}

static void blocks_stand_in_both(void) {
  lm_options.page_size = LM_PAGE_SIZE_2M;
  lm_pool_begin_explicit();
  char *blocks[64];
  for (size_t i = 0; i < COUNT_OF(blocks); i++) {
    if (i % 8 == 0) lm_fault_countdown = 0;
    blocks[i] = loam_malloc(i % 4 != 0 ? 10 * LM_MIB : 40 * LM_MIB);
    lm_fault_countdown = -1;
    CHECK(blocks[i] != NULL);
    memset(blocks[i], (int)i, LM_MIB);
  }
  for (size_t i = 0; i < COUNT_OF(blocks); i++) {
    CHECK_EQ(blocks[i][LM_MIB - 1], (char)i);
    blocks[i] = loam_realloc(blocks[i], 50 * LM_MIB);
    CHECK(blocks[i] != NULL);
    CHECK_EQ(blocks[i][LM_MIB - 1], (char)i);
    loam_free(blocks[i]);
  }
}

static void where_there_is_no_page_at_start_nothing_is_asked_for(void) {
  for (size_t i = 0; i < LM_POOL_MAX; i++) lm_pool_provide(&lm_pools[i], NULL);
  lm_fault_countdown = 0;
  lm_pool_begin_explicit();
  lm_fault_countdown = -1;
  CHECK_EQ(lm_load_relaxed(&lm_pools[0].provider) == NULL, true);
}

int main(void) {
  RUN(pages_of_2_MiB_are_mapped_and_unmapped_with_each_reservation);
#if LM_BITS_64
  RUN(a_page_of_1_GiB_has_slots_that_are_zero_again);
  RUN(more_than_1_GiB_has_pages_of_its_own);
  RUN(where_there_is_none_of_1_GiB_there_is_one_of_2_MiB);
#endif
  RUN(where_there_is_none_memory_is_ordinary);
  RUN(blocks_stand_in_both);
  RUN(where_there_is_no_page_at_start_nothing_is_asked_for);
  return UNIT_RESULT();
}

#else
int main(void) { return 77; }
#endif
