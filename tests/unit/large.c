/* Large and huge blocks: where they stand, how they change size, what the table knows. */
#include "unit.h"

#include <sys/mman.h>

static struct lm_pool *const pool = &lm_pools[0];
/* Of nobody: every free reaches the pool. */
static struct lm_cache *const cache = &lm_empty_cache;

static char *take_bytes(size_t size) {
  char *block = lm_large_take(pool, size, PAGE, false);
  CHECK(block != NULL);
  return block;
}

static void fill_ends(char *block, size_t size, unsigned seed) {
  fill(block, 0, 1000, seed);
  fill(block, size - 1000, size, seed);
}

static void check_ends(const char *block, size_t size, unsigned seed) {
  check_filled(block, 0, 1000, seed);
  check_filled(block, size - 1000, size, seed);
}

/* ---- Where they stand ---- */

static void up_to_the_limit_a_block_is_in_a_region_and_above_it_is_huge(void) {
  CHECK(lm_region_holds((uintptr_t)take_bytes(LM_LARGE_MAX_BYTES)));
  CHECK_EQ(lm_huge_totals.count, 0);
  CHECK(!lm_region_holds((uintptr_t)take_bytes(LM_LARGE_MAX_BYTES + 1)));
  CHECK_EQ(lm_huge_totals.count, 1);
}

static void sizes_are_rounded_up_to_pages(void) {
  CHECK_EQ(lm_large_usable_bytes(take_bytes(40000)), lm_align_up(40000, PAGE));
  size_t size = LM_LARGE_MAX_BYTES + 5;
  CHECK_EQ(lm_large_usable_bytes(take_bytes(size)), lm_align_up(size, PAGE));
}

static void only_starts_are_blocks(void) {
  char *large = take_bytes(100000), *huge = take_bytes(2 * LM_LARGE_MAX_BYTES);
  CHECK_EQ(lm_large_usable_bytes(large + PAGE), 0);
  CHECK_EQ(lm_large_usable_bytes(huge + PAGE), 0);
  CHECK_EQ(lm_large_usable_bytes(huge + 16), 0);
  CHECK(!lm_large_give(cache, large + PAGE));
  CHECK(!lm_large_give(cache, huge + PAGE));
  CHECK(lm_large_give(cache, large) && !lm_large_give(cache, large));
  CHECK(lm_large_give(cache, huge) && !lm_large_give(cache, huge));
}

static void alignments_above_the_limit_are_served_by_mappings(void) {
  for (size_t alignment = PAGE; alignment <= 4 * LM_REGION_BYTES; alignment *= 4) {
    char *block = lm_large_take(pool, 100, alignment, true);
    CHECK(block != NULL);
    CHECK_EQ((uintptr_t)block % alignment, 0);
    check_zero(block, 100);
  }
}

static void a_used_block_is_cleared_when_asked_for(void) {
  char *block = take_bytes(100000);
  memset(block, 7, 100000);
  lm_large_give(cache, block);
  CHECK_EQ(lm_large_take(pool, 100000, PAGE, true), block);
  check_zero(block, 100000);
}

static void without_a_region_a_large_block_is_a_mapping_of_its_own(void) {
  lm_fault_countdown = 0;
  char *block = take_bytes(100000);
  CHECK(!lm_region_holds((uintptr_t)block));
  CHECK_EQ(lm_large_usable_bytes(block), lm_align_up(100000, PAGE));
  CHECK(lm_large_give(cache, block));
}

static void impossible_sizes_and_alignments_are_out_of_memory(void) {
  CHECK_EQ(lm_large_take(pool, SIZE_MAX / 4 * 3, PAGE, false), NULL);
  CHECK_EQ(lm_large_take(pool, SIZE_MAX / 4, SIZE_MAX / 2 + 1, false), NULL);
  CHECK_EQ(lm_huge_totals.count, 0);
}

/* ---- The table of huge blocks ---- */

static size_t bytes_of_block(size_t i) { return (i % 100 + 1) * PAGE; }

static void the_table_finds_each_of_many_blocks(void) {
  enum { COUNT = 3000 };
  static char *blocks[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    blocks[i] = lm_huge_take(pool, bytes_of_block(i), PAGE, false);
    CHECK(blocks[i] != NULL);
  }
  CHECK_EQ(lm_huge_totals.count, COUNT);
  CHECK_EQ(lm_huge_totals.bytes, COUNT / 100 * PAGE * 100 * 101 / 2);
  for (size_t i = 0; i < COUNT; i++)
    CHECK_EQ(lm_huge_usable_bytes(blocks[i]), bytes_of_block(i));
  for (size_t i = 0; i < COUNT; i += 2) CHECK(lm_huge_give(blocks[i]));
  for (size_t i = 0; i < COUNT; i++)
    CHECK_EQ(lm_huge_usable_bytes(blocks[i]), i % 2 == 0 ? 0 : bytes_of_block(i));
  for (size_t i = 1; i < COUNT; i += 2) CHECK(lm_huge_give(blocks[i]));
  CHECK_EQ(lm_huge_totals.count + lm_huge_totals.bytes, 0);
}

static void a_record_is_used_again(void) {
  CHECK(lm_huge_give(lm_huge_take(pool, PAGE, PAGE, false)));
  struct lm_huge *record = unused_records;
  char *block = lm_huge_take(pool, PAGE, PAGE, false);
  CHECK_EQ(*find(block), record);
  CHECK_EQ(unused_records, NULL);
}

static void a_mapping_that_fails_loses_no_record(void) {
  lm_huge_give(lm_huge_take(pool, PAGE, PAGE, false));
  lm_fault_countdown = 0;
  CHECK_EQ(lm_huge_take(pool, PAGE, PAGE, false), NULL);
  CHECK(unused_records != NULL && unused_records->next == NULL);
  CHECK_EQ(lm_huge_totals.count, 0);
}

/* ---- Changing size ---- */

static void a_large_block_grows_and_shrinks_in_place(void) {
  char *high = take_bytes(100000), *block = take_bytes(100000);
  lm_large_give(cache, high);
  fill_ends(block, 100000, 1);
  CHECK_EQ(lm_large_resize(pool, block, 150000, false), block);
  check_ends(block, 100000, 1);
  CHECK_EQ(lm_large_resize(pool, block, 40000, false), block);
  CHECK_EQ(lm_large_usable_bytes(block), lm_align_up(40000, PAGE));
  check_filled(block, 0, 1000, 1);
  lm_pool_validate(pool);
}

static void a_large_block_that_cannot_grow_in_place_moves_with_its_pages(void) {
  char *block = take_bytes(MIB);
  fill_ends(block, MIB, 2);
  char *moved = lm_large_resize(pool, block, 3 * MIB, false);
  CHECK(moved != NULL && moved != block);
  check_ends(moved, MIB, 2);
  CHECK_EQ(lm_large_usable_bytes(block), 0);
  CHECK_EQ(pool->large_count, 1);
  lm_pool_validate(pool);
  char *again = lm_large_take(pool, MIB, PAGE, true); /* where the pages were */
  check_zero(again, MIB);
  check_ends(moved, MIB, 2);
}

static void pages_that_are_there_are_copied_to_and_not_lost(void) {
  uint64_t delay_ms = lm_options.purge_delay_ms;
  lm_options.purge_delay_ms = 0; /* what is freed stays dirty */
  char *block = take_bytes(MIB), *used = take_bytes(3 * MIB);
  lm_large_give(cache, used);
  fill_ends(block, MIB, 2);
  CHECK_EQ(lm_large_resize(pool, block, 3 * MIB, false), used);
  check_ends(used, MIB, 2);
  CHECK_EQ(lm_large_usable_bytes(block), 0);
  CHECK_EQ(pool->large_count, 1);
  CHECK_EQ(lm_load_relaxed(&pool->dirty_page_count), MIB / PAGE);
  lm_pool_validate(pool);
  lm_options.purge_delay_ms = delay_ms;
}

static void a_block_that_grows_beyond_4_mib_becomes_a_mapping_that_grows(void) {
  char *block = take_bytes(MIB);
  fill_ends(block, MIB, 9);
  char *moved = lm_large_resize(pool, block, 5 * MIB, false);
  CHECK(moved != NULL && !lm_region_holds((uintptr_t)moved));
  check_ends(moved, MIB, 9);
  CHECK_EQ(lm_large_usable_bytes(block), 0);
  CHECK_EQ(pool->large_count, 0);
  lm_pool_validate(pool);
  moved = lm_large_resize(pool, moved, 9 * MIB, false);
  CHECK(moved != NULL);
  check_ends(moved, MIB, 9);
  CHECK_EQ(lm_huge_totals.bytes, 9 * MIB);
  CHECK_EQ(lm_large_resize(pool, moved, 6 * MIB, false), moved);
  CHECK_EQ(lm_large_resize(pool, moved, 2 * MIB, false), NULL); /* the caller copies it */
  check_ends(moved, MIB, 9);
}

static void a_block_that_grows_beyond_4_mib_stays_where_pages_are(void) {
  uint64_t delay_ms = lm_options.purge_delay_ms;
  lm_options.purge_delay_ms = 0; /* what is freed stays dirty */
  char *block = take_bytes(MIB), *used = take_bytes(5 * MIB);
  lm_large_give(cache, used);
  CHECK_EQ(lm_large_resize(pool, block, 5 * MIB, false), used);
  lm_options.purge_delay_ms = delay_ms;
}

static void a_mapping_that_fails_leaves_the_block_that_was_to_grow(void) {
  size_t bytes = 400 * LM_KIB; /* it is copied, else its pages are moved */
  char *block = take_bytes(bytes);
  fill_ends(block, bytes, 9);
  lm_fault_countdown = 0;
  CHECK_EQ(lm_large_resize(pool, block, 5 * MIB, false), NULL);
  CHECK_EQ(lm_large_usable_bytes(block), bytes);
  check_ends(block, bytes, 9);
  lm_pool_validate(pool);
}

static void a_block_whose_pages_cannot_be_moved_out_is_copied(void) {
  for (int i = 0; lm_fault_countdown < 0; i++) { /* once for each call that can fail */
    char *block = take_bytes(8 * MIB);
    fill_ends(block, 8 * MIB, i);
    lm_fault_countdown = i;
    char *moved = lm_large_resize(pool, block, 50 * MIB, false);
    CHECK(moved != NULL && !lm_region_holds((uintptr_t)moved));
    check_ends(moved, 8 * MIB, i);
    touch(moved, 50 * MIB);
    CHECK_EQ(lm_large_usable_bytes(block), 0);
    lm_pool_validate(pool);
    CHECK(lm_large_give(cache, moved));
  }
  lm_fault_countdown = -1;
}

static void a_large_block_moves_into_a_mapping_when_it_outgrows_regions(void) {
  char *block = take_bytes(LM_LARGE_MAX_BYTES);
  fill_ends(block, LM_LARGE_MAX_BYTES, 3);
  char *moved = lm_large_resize(pool, block, LM_LARGE_MAX_BYTES + 1, false);
  CHECK(moved != NULL && !lm_region_holds((uintptr_t)moved));
  check_ends(moved, LM_LARGE_MAX_BYTES, 3);
  CHECK_EQ(pool->large_count, 0);
  lm_pool_validate(pool);
}

static void a_mapping_of_moved_pages_grows_no_further_than_there_is_memory(void) {
  char *moved = lm_large_resize(pool, take_bytes(MIB), 5 * MIB, false);
  size_t most = sizeof(size_t) == 8 ? (size_t)1 << 45 : (size_t)1 << 31;
  CHECK_EQ(lm_huge_resize(moved, most), NULL);
  CHECK_EQ(lm_large_usable_bytes(moved), 5 * MIB);
}

static void a_kept_mapping_serves_a_large_block_where_the_pool_has_no_pages(void) {
  if (LM_CHECKING) return; /* keeps none */
  for (int i = 0; i < 2; i++) CHECK(lm_huge_give(lm_huge_take(pool, 5 * MIB, PAGE, false)));
  CHECK_EQ(lm_mappings_kept_bytes, 5 * MIB);
  char *smaller = take_bytes(3 * MIB), *zero = lm_large_take(pool, 5 * MIB, PAGE, true);
  CHECK(lm_region_holds((uintptr_t)smaller) && lm_region_holds((uintptr_t)zero));
  char *block = take_bytes(5 * MIB - PAGE);
  CHECK(!lm_region_holds((uintptr_t)block));
  CHECK_EQ(lm_mappings_kept_bytes, 0);
  CHECK_EQ(lm_large_usable_bytes(block), 5 * MIB);
  CHECK(lm_large_give(cache, block));
}

static void a_middle_block_that_cannot_grow_in_place_is_for_the_caller_to_copy(void) {
  take_bytes(40000);
  char *block = take_bytes(40000);
  fill_ends(block, 40000, 3);
  CHECK_EQ(lm_large_resize(pool, block, LM_MIDDLE_MAX_BYTES, false), NULL);
  CHECK_EQ(lm_large_resize(pool, block, 400000, false), NULL);
  CHECK_EQ(lm_large_usable_bytes(block), lm_align_up(40000, PAGE));
  check_ends(block, 40000, 3);
  CHECK_EQ(pool->large_count, 2);
  lm_pool_validate(pool);
}

/* ---- Middle blocks and caches ---- */

static void a_middle_block_waits_in_a_cache_and_is_no_block_meanwhile(void) {
  struct lm_cache *own = new_cache();
  char *block = lm_middle_take(own, 100000, false);
  size_t bytes = lm_large_usable_bytes(block);
  CHECK_EQ(bytes, lm_sizeclass_bytes(lm_middle_class(100000)));
  CHECK(lm_large_give(own, block));
  CHECK_EQ(lm_large_usable_bytes(block), 0);
  CHECK(lm_large_is_free(block));
  CHECK(!lm_large_give(own, block));
  CHECK_EQ(pool->large_count, 1); /* its pages are in use all the same */
  lm_cache_validate(own);
  CHECK_EQ(lm_middle_take(own, 100000, false), block);
  CHECK_EQ(lm_large_usable_bytes(block), bytes);
}

static void a_middle_block_from_a_cache_is_cleared_when_asked_for(void) {
  struct lm_cache *own = new_cache();
  char *block = lm_middle_take(own, 100000, false);
  memset(block, 7, 100000);
  CHECK(lm_large_give(own, block));
  CHECK_EQ(lm_middle_take(own, 100000, true), block);
  check_zero(block, 100000);
}

static void a_middle_block_of_a_length_that_no_class_has_goes_to_the_pool(void) {
  struct lm_cache *own = new_cache();
  char *block = lm_middle_take(own, 100000, false);
  size_t bytes = lm_large_usable_bytes(block);
  CHECK_EQ(lm_large_resize(pool, block, bytes - PAGE, false), block);
  if (lm_large_usable_bytes(block) == bytes - PAGE && PAGE == 4 * KIB) {
    CHECK(lm_large_give(own, block));
    CHECK_EQ(lm_large_usable_bytes(block), 0);
    CHECK(lm_pool_is_free(block));
  }
}

static void a_cache_that_gives_middle_blocks_home_leaves_the_pool_empty(void) {
  struct lm_cache *own = new_cache();
  void *blocks[40];
  for (size_t i = 0; i < COUNT_OF(blocks); i++)
    blocks[i] = lm_middle_take(own, 40000 + i * 5000, false);
  for (size_t i = 0; i < COUNT_OF(blocks); i++) CHECK(lm_large_give(own, blocks[i]));
  lm_cache_flush(own);
  lm_tick_trim(0);
  validate_all();
  CHECK_EQ(pool->large_count + pool->large_page_count, 0);
}

static void a_block_that_grows_by_half_does_so_in_place_the_next_time(void) {
  char *block = take_bytes(400 * LM_KIB);
  fill_ends(block, 400 * LM_KIB, 4);
  char *moved = lm_large_resize(pool, block, 600 * LM_KIB, false);
  CHECK(moved != NULL && moved != block);
  CHECK_EQ(lm_large_resize(pool, moved, 900 * LM_KIB, false), moved);
  check_ends(moved, 400 * LM_KIB, 4);
  lm_pool_validate(pool);
}

static void a_block_that_doubles_stands_without_a_gap(void) {
  char *block = take_bytes(400 * LM_KIB);
  char *moved = lm_large_resize(pool, block, 800 * LM_KIB, false);
  CHECK_EQ(moved + 800 * LM_KIB, block);
}

static void a_block_whose_pages_the_kernel_does_not_move_is_copied(void) {
  take_bytes(PAGE);
  char *block = take_bytes(MIB);
  fill_ends(block, MIB, 4);
  lm_fault_countdown = 0; /* the fake kernel unmaps the target first, as real ones do */
  char *moved = lm_large_resize(pool, block, 3 * MIB, false);
  CHECK(moved != NULL && moved != block);
  CHECK(lm_fault_countdown < 0);
  check_ends(moved, MIB, 4);
  lm_pool_validate(pool);
  CHECK_EQ(pool->large_count, 2);
  touch(moved + MIB, 2 * MIB);
  CHECK_EQ(take_bytes(MIB), block);
}

static void a_target_that_stays_unmapped_is_never_used_again(void) {
  char *block = take_bytes(MIB);
  fill_ends(block, MIB, 4);
  struct lm_region *region = lm_region_of(block);
  /* The move fails, and so does putting the target back. */
  lm_fault_countdown = 0;
  lm_fault_more = 1;
  CHECK_EQ(lm_large_resize(pool, block, 3 * MIB, false), NULL);
  check_ends(block, MIB, 4);
  CHECK_EQ(pool->large_count, 2);
  size_t pages = LM_REGION_BYTES / PAGE;
  for (size_t i = 0; i < pages; i++) {
    char *page = lm_pool_take_large(pool, 1, PAGE, &(bool){false});
    if (lm_region_of(page) == region) page[0] = 1;
  }
}

static void a_block_of_which_parts_were_advised_grows_all_the_same(void) {
  take_bytes(PAGE);
  char *block = take_bytes(4 * MIB);
  fill_ends(block, 4 * MIB, 5);
  madvise(block + MIB, MIB, MADV_DONTDUMP);
  char *grown = lm_raw_realloc(block, 9 * MIB, NULL);
  CHECK(grown != NULL);
  check_ends(grown, 4 * MIB, 5);
  char *target = take_bytes(9 * MIB);
  fill(target, 0, 9 * MIB, 6);
  check_ends(grown, 4 * MIB, 5);
}

static void a_huge_block_changes_size_and_keeps_its_contents(void) {
  size_t size = 2 * LM_LARGE_MAX_BYTES;
  char *block = take_bytes(size);
  fill_ends(block, size, 6);
  char *moved = lm_large_resize(pool, block, 2 * size, false);
  CHECK(moved != NULL);
  check_ends(moved, size, 6);
  CHECK_EQ(lm_large_usable_bytes(moved), 2 * size);
  if (moved != block) CHECK_EQ(lm_large_usable_bytes(block), 0);
  CHECK_EQ(lm_huge_totals.bytes, 2 * size);
  moved = lm_large_resize(pool, moved, size, false);
  check_ends(moved, size, 6);
  CHECK_EQ(lm_huge_totals.bytes, size);
  CHECK_EQ(lm_huge_totals.count, 1);
}

static void a_huge_block_that_grows_a_little_has_room_to_go_on(void) {
  size_t size = 2 * LM_LARGE_MAX_BYTES;
  char *block = lm_large_resize(pool, take_bytes(size), size + PAGE, false);
  CHECK(block != NULL);
  size_t bytes = lm_large_usable_bytes(block);
  size_t room = LM_CHECKING ? 0 : lm_align_up((size + PAGE) / ROOM_FRACTION, PAGE);
  CHECK_EQ(bytes, size + PAGE + room);
  if (room != 0) {
    CHECK_EQ(lm_large_resize(pool, block, size + 2 * PAGE, false), block);
    CHECK_EQ(lm_large_usable_bytes(block), bytes);
  }
  CHECK_EQ(lm_huge_totals.bytes, bytes);
  touch(block, bytes);
  block = lm_large_resize(pool, block, size + PAGE, false); /* less than was asked for last */
  CHECK_EQ(lm_large_usable_bytes(block), size + PAGE);
  block = lm_large_resize(pool, block, 2 * size, false); /* more than a little */
  CHECK_EQ(lm_large_usable_bytes(block), 2 * size);
  lm_os.overcommit = false; /* as mlockall says */
  block = lm_large_resize(pool, block, 2 * size + PAGE, false);
  CHECK_EQ(lm_large_usable_bytes(block), 2 * size + PAGE);
  lm_os.overcommit = true;
  CHECK(lm_large_give(cache, block));
}

static void a_huge_block_that_came_out_of_a_region_grows(void) {
  char *block = take_bytes(LM_LARGE_MAX_BYTES);
  fill_ends(block, LM_LARGE_MAX_BYTES, 8);
  char *moved = lm_large_resize(pool, block, LM_LARGE_MAX_BYTES + MIB, false);
  char *grown = lm_huge_resize(moved, 3 * LM_LARGE_MAX_BYTES); /* it is one mapping */
  CHECK(grown != NULL);
  check_ends(grown, LM_LARGE_MAX_BYTES, 8);
  touch(grown + LM_LARGE_MAX_BYTES, 2 * LM_LARGE_MAX_BYTES);
  CHECK_EQ(lm_huge_totals.count, 1);
}

static void a_huge_block_whose_resizing_fails_is_still_there(void) {
  size_t size = 2 * LM_LARGE_MAX_BYTES;
  char *block = take_bytes(size);
  fill_ends(block, size, 7);
  lm_fault_countdown = 0;
  CHECK_EQ(lm_large_resize(pool, block, 2 * size, false), NULL);
  check_ends(block, size, 7);
  CHECK_EQ(lm_large_usable_bytes(block), size);
  CHECK_EQ(lm_huge_totals.bytes, size);
  CHECK(lm_large_give(cache, block));
}

static void a_huge_block_that_shrinks_much_is_for_the_caller_to_copy(void) {
  char *block = take_bytes(2 * LM_LARGE_MAX_BYTES);
  CHECK_EQ(lm_large_resize(pool, block, 100000, false), NULL);
  CHECK_EQ(lm_large_usable_bytes(block), 2 * LM_LARGE_MAX_BYTES);
}

int main(void) {
  RUN(up_to_the_limit_a_block_is_in_a_region_and_above_it_is_huge);
  RUN(sizes_are_rounded_up_to_pages);
  RUN(only_starts_are_blocks);
  RUN(alignments_above_the_limit_are_served_by_mappings);
  RUN(a_used_block_is_cleared_when_asked_for);
  RUN(without_a_region_a_large_block_is_a_mapping_of_its_own);
  RUN(impossible_sizes_and_alignments_are_out_of_memory);
  RUN(the_table_finds_each_of_many_blocks);
  RUN(a_record_is_used_again);
  RUN(a_mapping_that_fails_loses_no_record);
  RUN(a_large_block_grows_and_shrinks_in_place);
  RUN(a_middle_block_that_cannot_grow_in_place_is_for_the_caller_to_copy);
  RUN(a_middle_block_waits_in_a_cache_and_is_no_block_meanwhile);
  RUN(a_middle_block_from_a_cache_is_cleared_when_asked_for);
  RUN(a_middle_block_of_a_length_that_no_class_has_goes_to_the_pool);
  RUN(a_cache_that_gives_middle_blocks_home_leaves_the_pool_empty);
  RUN(a_block_that_grows_by_half_does_so_in_place_the_next_time);
  RUN(a_block_that_doubles_stands_without_a_gap);
  RUN(a_block_whose_pages_the_kernel_does_not_move_is_copied);
  RUN(a_block_of_which_parts_were_advised_grows_all_the_same);
  RUN(a_huge_block_changes_size_and_keeps_its_contents);
  RUN(a_huge_block_whose_resizing_fails_is_still_there);
  RUN(a_huge_block_that_shrinks_much_is_for_the_caller_to_copy);
#if LM_BITS_64 /* elsewhere the pages of a large block do not move */
  RUN(a_large_block_that_cannot_grow_in_place_moves_with_its_pages);
  RUN(pages_that_are_there_are_copied_to_and_not_lost);
  RUN(a_block_that_grows_beyond_4_mib_becomes_a_mapping_that_grows);
  RUN(a_block_that_grows_beyond_4_mib_stays_where_pages_are);
  RUN(a_mapping_that_fails_leaves_the_block_that_was_to_grow);
  RUN(a_block_whose_pages_cannot_be_moved_out_is_copied);
  RUN(a_mapping_of_moved_pages_grows_no_further_than_there_is_memory);
  RUN(a_kept_mapping_serves_a_large_block_where_the_pool_has_no_pages);
  RUN(a_large_block_moves_into_a_mapping_when_it_outgrows_regions);
  RUN(a_target_that_stays_unmapped_is_never_used_again);
  RUN(a_huge_block_that_grows_a_little_has_room_to_go_on);
  RUN(a_huge_block_that_came_out_of_a_region_grows);
#endif
  return UNIT_RESULT();
}
