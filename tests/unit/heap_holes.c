/* Holes: which pages of a span go back, what becomes of their blocks, and how they are taken
 * again. */
#include "unit.h"

enum { BYTES = 4 * MIB, BLOCKS_MAX = BYTES / 16 };
static struct lm_heap *heap;
static char *blocks[BLOCKS_MAX];
static size_t count;

/* A heap with blocks of the class, of which `keep` says which ones stay. */
static void begin(size_t class_index, bool (*keep)(size_t index)) {
  heap = new_heap();
  count = BYTES / lm_classes[class_index].block_bytes;
  for (size_t i = 0; i < count; i++) {
    blocks[i] = heap_take(heap, class_index);
    memset(blocks[i], (int)(i % 251 + 1), lm_classes[class_index].block_bytes);
  }
  for (size_t i = 0; i < count; i++) {
    if (keep(i)) continue;
    heap_give(heap, blocks[i]);
    blocks[i] = NULL;
  }
}

static void check_contents(size_t class_index) {
  for (size_t i = 0; i < count; i++) {
    if (blocks[i] == NULL) continue;
    for (size_t j = 0; j < lm_classes[class_index].block_bytes; j++)
      CHECK_EQ((unsigned char)blocks[i][j], i % 251 + 1);
  }
}

static bool every_40th(size_t index) { return index % 40 == 0; }
static bool every_8th(size_t index) { return index % 8 == 0; }
static bool every_2nd(size_t index) { return index % 2 == 0; }
static bool some_at_random(size_t index) {
  uint64_t random = index + 1;
  return random_next(&random) % 20 == 0;
}

static size_t purged_bytes(void) {
  return (size_t)heap->pool->purged_page_count << lm_os.page_shift;
}

static void trim_makes_holes_and_leaves_the_blocks(void) {
  static const size_t sizes[] = {16, 48, 512, 1000, 2048, 5000, 12000};
  for (size_t i = 0; i < COUNT_OF(sizes); i++) {
    size_t class_index = lm_sizeclass_of(sizes[i]);
    begin(class_index, some_at_random);
    lm_heap_trim(heap);
    lm_heap_validate(heap);
    check_contents(class_index);
    if (sizes[i] >= 512) CHECK_THAT(purged_bytes(), >, BYTES / 3);
    for (size_t j = 0; j < count; j++)
      if (blocks[j] != NULL) heap_give(heap, blocks[j]);
    lm_heap_trim(heap);
    CHECK_EQ(lm_heap_validate(heap), 0);
    end_heap(heap);
  }
}

static void a_page_with_a_block_is_no_hole(void) {
  begin(lm_sizeclass_of(512), every_2nd);
  lm_heap_trim(heap);
  CHECK_EQ(purged_bytes(), 0);
  check_contents(lm_sizeclass_of(512));
}

/* All free blocks come back, each once, before the heap takes a new span. */
static void holes_are_filled_before_the_heap_grows(void) {
  static const size_t sizes[] = {1000, 2048, 5000};
  for (size_t s = 0; s < COUNT_OF(sizes); s++) {
    size_t class_index = lm_sizeclass_of(sizes[s]);
    begin(class_index, every_8th);
    size_t slices = heap->slice_count;
    lm_heap_trim(heap);
    CHECK_EQ(heap->slice_count, slices);
    if (BLOCKS_LEAVE_PAGES) CHECK_THAT(purged_bytes(), >, BYTES / 4);
    for (size_t i = 0; i < count; i++) {
      if (blocks[i] != NULL) continue;
      blocks[i] = heap_take(heap, class_index);
      memset(blocks[i], (int)(i % 251 + 1), lm_classes[class_index].block_bytes);
    }
    CHECK_EQ(heap->slice_count, slices);
    check_contents(class_index);
    lm_heap_validate(heap);
    end_heap(heap);
  }
}

static void a_second_trim_gives_only_new_pages_back(void) {
  size_t class_index = lm_sizeclass_of(1024);
  begin(class_index, every_40th);
  lm_heap_trim(heap);
  uint64_t purges = heap->pool->purge_count;
  lm_heap_trim(heap);
  CHECK_EQ(heap->pool->purge_count, purges);
  for (size_t i = 0; i < count; i += 80) {
    heap_give(heap, blocks[i]);
    blocks[i] = NULL;
  }
  lm_heap_trim(heap);
  CHECK_THAT(heap->pool->purge_count, >, purges);
  lm_heap_validate(heap);
  check_contents(class_index);
}

static void spans_with_holes_are_left_and_adopted(void) {
  size_t class_index = lm_sizeclass_of(1024);
  begin(class_index, every_40th);
  lm_heap_trim(heap);
  struct lm_heap *other = new_heap();
  end_heap(heap);
  for (size_t i = 0; i < count; i++) {
    if (blocks[i] != NULL) continue;
    blocks[i] = heap_take(other, class_index);
    memset(blocks[i], (int)(i % 251 + 1), 1024);
  }
  lm_heap_validate(other);
  check_contents(class_index);
}

static void orphans_get_holes_too(void) {
  size_t class_index = lm_sizeclass_of(1024);
  begin(class_index, every_40th);
  end_heap(heap);
  lm_orphan_make_holes();
  CHECK_THAT(purged_bytes(), >, BYTES / 2);
  check_contents(class_index);
  struct lm_heap *other = new_heap();
  for (size_t i = 0; i < count; i++)
    if (blocks[i] != NULL) heap_give(other, blocks[i]);
  lm_heap_trim(other);
  CHECK_EQ(other->pool->span_slice_count, 0);
}

static void a_block_freed_beside_a_hole_is_taken_again(void) {
  size_t class_index = lm_sizeclass_of(2048);
  begin(class_index, every_40th);
  lm_heap_trim(heap);
  heap_give(heap, blocks[0]);
  lm_heap_flush_bin(heap, class_index);
  lm_heap_validate(heap);
  CHECK_EQ(heap_take(heap, class_index) != NULL, 1);
  lm_heap_validate(heap);
}

/* ---- By the clock ---- */

static void pass_rounds(size_t rounds) {
  for (size_t i = 0; i < rounds; i++) {
    heap->tick.last_ms -= lm_options.purge_delay_ms;
    heap->watch.seen_ms -= lm_options.purge_delay_ms;
    for (int k = 0; k < 200; k++) lm_heap_tick(heap);
  }
  lm_heap_validate(heap);
}

static void spans_that_are_quiet_for_two_looks_get_holes(void) {
  size_t class_index = lm_sizeclass_of(1024);
  begin(class_index, every_40th);
  pass_rounds(1);
  size_t before = purged_bytes();
  pass_rounds(2);
  CHECK_THAT(purged_bytes() - before, >, BYTES / 2);
  check_contents(class_index);
}

static size_t hole_count(size_t class_index) {
  size_t pages = 0;
  for (struct lm_span *span = heap->usable[class_index].first; span != NULL; span = span->next)
    pages += lm_bit_count(span->hole_pages);
  return pages;
}

static void spans_of_which_blocks_are_freed_get_none(void) {
  size_t class_index = lm_sizeclass_of(1024), kept_in_span = LM_SLICE_BYTES / 1024 / 8;
  begin(class_index, every_8th);
  for (size_t round = 0; round < kept_in_span - 1; round++) {
    pass_rounds(1);
    CHECK_EQ(hole_count(class_index), 0);
    for (size_t i = 0; i < count; i += 8) { /* one of each span */
      if (i / 8 % kept_in_span != round) continue;
      heap_give(heap, blocks[i]);
      blocks[i] = NULL;
    }
    lm_heap_flush_bin(heap, class_index);
  }
  pass_rounds(2);
  CHECK_THAT(hole_count(class_index), >, 0);
  check_contents(class_index);
}

static void who_fills_holes_waits_longer_for_the_next(void) {
  size_t class_index = lm_sizeclass_of(1024);
  begin(class_index, every_40th);
  struct lm_span *span = lm_span_of(blocks[0]);
  for (size_t wait = 0; wait < 5; wait = wait * 2 + 1) {
    CHECK_EQ(span->quiet_wait, wait);
    CHECK_EQ(span->hole_pages, 0);
    pass_rounds(3 + wait);
    CHECK(span->hole_pages != 0);
    while (lm_holes_fill(span)) {} /* they all count as one */
  }
  span->quiet_wait = QUIET_WAIT_MAX;
  span->quiet_looks = QUIET_WAIT_MAX + 1;
  size_t effort = lm_purge_effort();
  lm_holes_make(span, &effort);
  CHECK_THAT(effort, <=, lm_purge_effort() - LM_PURGE_CALL_EFFORT);
  CHECK(lm_holes_fill(span));
  CHECK_EQ(span->quiet_wait, QUIET_WAIT_MAX);
  lm_heap_validate(heap);
}

static void what_a_forked_child_inherits_gets_none_until_it_is_used(void) {
  size_t class_index = lm_sizeclass_of(1024);
  begin(class_index, every_40th);
  lm_heap_flush_bin(heap, class_index);
  heap->holes.copy_number = lm_os_copy_number() + 1; /* the parent's */
  pass_rounds(4);
  CHECK_EQ(hole_count(class_index), 0);
  for (size_t i = 0; i < count; i += 80) {
    heap_give(heap, blocks[i]);
    blocks[i] = NULL;
  }
  lm_heap_flush_bin(heap, class_index);
  pass_rounds(3);
  CHECK_THAT(hole_count(class_index), >, 0);
  check_contents(class_index);
}

/* Each purge is of less than LM_PURGE_CALL_EFFORT pages, and one span is begun at least. */
static void no_call_does_more_than_its_share(void) {
  size_t most = lm_purge_effort() / 2 + lm_pages_per_slice();
  begin(lm_sizeclass_of(1024), every_40th);
  pass_rounds(1);
  heap->tick.last_ms -= lm_options.purge_delay_ms;
  heap->watch.seen_ms -= lm_options.purge_delay_ms;
  while (heap->holes.goes_on || heap->holes.class_index == 1) {
    size_t before = purged_bytes();
    lm_heap_tick(heap);
    CHECK_THAT(purged_bytes() - before, <=, most << lm_os.page_shift);
  }
}

/* ---- By growth ---- */

static void grow_by(size_t bytes) {
  for (size_t i = 0; i < bytes / 2048; i++) CHECK(heap_take(heap, lm_sizeclass_of(2048)) != NULL);
}

static void a_heap_that_grows_makes_holes_though_the_clock_stands(void) {
  size_t class_index = lm_sizeclass_of(1024);
  begin(class_index, every_40th);
  size_t before = purged_bytes();
  grow_by(4 * BYTES);
  CHECK_THAT(purged_bytes() - before, >, BYTES / 2);
  check_contents(class_index);
  lm_heap_validate(heap);
}

static void one_that_grows_up_to_its_peak_makes_none(void) {
  size_t class_index = lm_sizeclass_of(1024);
  begin(class_index, every_40th);
  heap->holes.growth_slices = SIZE_MAX;
  size_t before = purged_bytes();
  grow_by(4 * BYTES);
  CHECK_EQ(purged_bytes(), before);
}

#define FOR_EACH_TEST(X)                     \
  X(trim_makes_holes_and_leaves_the_blocks)  \
  X(a_page_with_a_block_is_no_hole)          \
  X(holes_are_filled_before_the_heap_grows)  \
  X(a_second_trim_gives_only_new_pages_back) \
  X(spans_with_holes_are_left_and_adopted)   \
  X(orphans_get_holes_too)                   \
  X(a_block_freed_beside_a_hole_is_taken_again) \
  X(spans_that_are_quiet_for_two_looks_get_holes) \
  X(spans_of_which_blocks_are_freed_get_none) \
  X(who_fills_holes_waits_longer_for_the_next)  \
  X(what_a_forked_child_inherits_gets_none_until_it_is_used) \
  X(no_call_does_more_than_its_share) \
  X(a_heap_that_grows_makes_holes_though_the_clock_stands) \
  X(one_that_grows_up_to_its_peak_makes_none)
#define RUN_TEST(name) RUN(name);

int main(void) {
  if (sysconf(_SC_PAGESIZE) >= (long)LM_SLICE_BYTES) return 77; /* no part of a span can go back */
  FOR_EACH_TEST(RUN_TEST)
  return UNIT_RESULT();
}
