/* A heap on its own: where blocks come from, where spans go. No thread-local state is used. */
#include "unit.h"

#define CLASS 4 /* of 64 bytes: 1024 blocks in a span of one slice, 64 in an OS page of 4 KiB */
enum { BLOCKS = 1024, EIGHTH = BLOCKS / 8 };

static struct lm_heap *heap;
static char *blocks[6 * BLOCKS];

static void begin(void) {
  heap = lm_heap_begin();
  CHECK(heap != NULL);
  lm_options.purge_delay_ms = 3600000; /* no tick, unless a test wants it */
  heap->tick.trim_class = LM_CLASS_COUNT;
}

static void take_blocks(size_t from, size_t to) {
  for (size_t i = from; i < to; i++) {
    blocks[i] = heap_take(heap, CLASS);
    CHECK(blocks[i] != NULL);
  }
}

static void give_blocks(size_t from, size_t to) {
  for (size_t i = from; i < to; i++) heap_give(heap, blocks[i]);
}

/* Gives blocks back into their spans. */
static void give_to_spans(size_t from, size_t to) {
  leave_no_room(heap, CLASS);
  give_blocks(from, to);
}

static size_t spans_in_use(void) { return heap->pool->span_slice_count - heap->spares.count; }

/* ---- Blocks ---- */

static void blocks_are_distinct_aligned_and_of_their_spans_class(void) {
  begin();
  take_blocks(0, 2 * BLOCKS);
  for (size_t i = 0; i < 2 * BLOCKS; i++) {
    CHECK_EQ((uintptr_t)blocks[i] % 64, 0);
    CHECK_EQ(lm_span_of(blocks[i])->class_index, CLASS);
    memset(blocks[i], 0, 64);
  }
  for (size_t i = 0; i < 2 * BLOCKS; i++) CHECK_EQ(blocks[i][0]++, 0);
  CHECK_EQ(lm_heap_validate(heap), 2 * BLOCKS);
}

static void every_class_serves_all_blocks_of_a_span(void) {
  begin();
  for (size_t class = 1; class < LM_CLASS_COUNT; class++) {
    char *first = heap_take(heap, class), *block = NULL;
    for (size_t i = 1; i < lm_classes[class].block_count; i++) {
      block = heap_take(heap, class);
      CHECK_EQ(lm_span_of(block), lm_span_of(first));
      CHECK_EQ(block - first, i * lm_classes[class].block_bytes);
    }
    CHECK(lm_span_of(heap_take(heap, class)) != lm_span_of(first));
  }
  lm_heap_validate(heap);
}

static void what_was_freed_last_is_taken_first(void) {
  begin();
  take_blocks(0, 10);
  give_blocks(3, 5);
  CHECK_EQ(heap_take(heap, CLASS), blocks[4]);
  CHECK_EQ(heap_take(heap, CLASS), blocks[3]);
}

/* Where a page provider's callback frees or takes some while the heap grows. */
static void what_is_in_the_bin_when_blocks_are_carved_stays_there(void) {
  begin();
  take_blocks(0, 2);
  while (lm_is_block(heap->bins[CLASS])) heap_take(heap, CLASS);
  lm_heap_push(heap, CLASS, (struct lm_block *)blocks[0]);
  bool zero;
  CHECK(grow(heap, CLASS, &zero) != NULL);
  size_t count = list_length(heap->bins[CLASS]);
  CHECK_THAT(count, >=, 1);
  for (size_t i = 1; i < count; i++) CHECK(heap_take(heap, CLASS) != blocks[0]);
  CHECK_EQ(heap_take(heap, CLASS), blocks[0]);
  lm_heap_validate(heap);
}

/* ---- Classes without spans ---- */

static void a_class_without_spans_borrows_a_page_of_larger_blocks(void) {
  begin();
  heap_take(heap, CLASS + 1);
  size_t most = 4096 / 64, count = 0;
  while (count < most && lm_heap_borrow(heap, CLASS) != NULL) count++;
  CHECK_EQ(count, 4096 / 80 - 1); /* as many as the lender's bin had */
  /* One that lies across two pages, the next page's first, and one of its others. */
  for (size_t i = 0; i < 3; i++) heap_take(heap, CLASS + 1);
  while (lm_heap_borrow(heap, CLASS) != NULL) count++;
  CHECK_EQ(count, most);
  CHECK_EQ(lm_heap_validate(heap), count + 4);
}

static size_t class_of(const void *block) { return lm_span_of(block)->class_index; }

static void the_first_blocks_of_classes_share_the_span_of_their_starter(void) {
  begin();
  const size_t sizes[] = {16, 64, 129, 300, 600, 1030};
  const size_t starters[] = {128, 128, 256, 512, 1024, 2048};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t class_index = lm_sizeclass_of(sizes[i]), starter = lm_sizeclass_of(starters[i]);
    size_t count = lm_min(BORROW_MIN_COUNT, 4096 / starters[i]); /* no more than of one page */
    for (size_t j = 0; j < count; j++) CHECK_EQ(class_of(lm_heap_borrow(heap, class_index)), starter);
    CHECK_EQ(lm_heap_borrow(heap, class_index), NULL);
  }
  CHECK_EQ(lm_heap_borrow(heap, lm_sizeclass_of(512)), NULL); /* its own starter */
  CHECK_EQ(lm_heap_borrow(heap, lm_sizeclass_of(2049)), NULL);
}

static void a_class_with_a_span_borrows_nothing(void) {
  begin();
  heap_take(heap, CLASS + 1);
  CHECK(lm_heap_borrow(heap, CLASS) != NULL);
  char *block = heap_take(heap, CLASS);
  CHECK_EQ(lm_heap_borrow(heap, CLASS), NULL);
  heap_give(heap, block);
  lm_heap_trim(heap);
  CHECK_EQ(heap->borrowed_counts[CLASS], 0);
  heap_take(heap, CLASS + 1);
  CHECK(lm_heap_borrow(heap, CLASS) != NULL);
}

static void only_the_first_are_borrowed_of_blocks_more_than_a_quarter_larger(void) {
  begin();
  for (int i = 0; i < 4; i++) CHECK(lm_heap_borrow(heap, CLASS) != NULL);
  heap_take(heap, CLASS + 2);
  CHECK_EQ(lm_heap_borrow(heap, CLASS), NULL);
  heap_take(heap, lm_sizeclass_of(1281)), heap_take(heap, lm_sizeclass_of(1281));
  CHECK_EQ(lm_heap_borrow(heap, lm_sizeclass_of(1024)), NULL);
  heap_take(heap, lm_sizeclass_of(1280)), heap_take(heap, lm_sizeclass_of(1280));
  CHECK(lm_heap_borrow(heap, lm_sizeclass_of(1024)) != NULL);
  CHECK_EQ(lm_heap_borrow(heap, LM_CLASS_COUNT - 1), NULL);
}

static void malloc_borrows_before_it_takes_a_span(void) {
  lm_raw_malloc(3000); /* makes the thread's heap */
  for (int i = 0; i < 4; i++) CHECK_EQ(class_of(lm_raw_malloc(80)), lm_sizeclass_of(128));
  char *lender = lm_raw_malloc(80);
  CHECK_EQ(class_of(lender), lm_sizeclass_of(80));
  for (int i = 0; i < 4096 / 80 - 1; i++)
    CHECK_EQ(lm_span_of(lm_raw_malloc(64)), lm_span_of(lender));
  CHECK_EQ(lm_span_of(lm_raw_malloc(64))->class_index, CLASS);
}

/* ---- Bins' bounds ---- */

static void a_bin_is_bounded_in_a_class_of_more_than_four_slices(void) {
  begin();
  take_blocks(0, LM_UNBOUNDED_SLICES * BLOCKS);
  CHECK(!lm_bin_is_bounded(heap, CLASS));
  take_blocks(LM_UNBOUNDED_SLICES * BLOCKS, LM_UNBOUNDED_SLICES * BLOCKS + 1);
  CHECK(lm_bin_is_bounded(heap, CLASS));
  CHECK(!lm_bin_is_bounded(heap, CLASS + 1));
}

/* With two blocks more than that in the program's hands. */
static void one_that_is_not_takes_all_that_is_freed(void) {
  begin();
  take_blocks(0, 2 * BLOCKS);
  give_blocks(0, 2 * BLOCKS - 2);
  CHECK_EQ(list_length(heap->bins[CLASS]), 2 * BLOCKS - 2);
  CHECK_EQ(heap->reserves[CLASS], NULL);
  CHECK_EQ(lm_heap_validate(heap), 2);
}

static void and_is_bounded_no_longer_once_there_are_four_slices_again(void) {
  begin();
  take_blocks(0, 5 * BLOCKS);
  give_to_spans(4 * BLOCKS - EIGHTH, 5 * BLOCKS);
  CHECK_EQ(spans_in_use(), 4);
  CHECK(!lm_bin_is_bounded(heap, CLASS));
  heap_take(heap, CLASS);
  CHECK_EQ(heap->frees_left[CLASS], LM_FREES_PER_LOOK);
  lm_heap_validate(heap);
}

static void a_class_of_many_slices_that_is_freed_altogether_leaves_no_span(void) {
  begin();
  take_blocks(0, 6 * BLOCKS);
  give_blocks(0, 6 * BLOCKS);
  CHECK_EQ(spans_in_use(), 0);
  CHECK_EQ(heap->span_counts[CLASS], 0);
  CHECK_EQ(heap->bins[CLASS], LM_NO_BLOCK);
}

static void while_malloc_takes_what_was_freed_there_is_room(void) {
  begin();
  take_blocks(0, 6 * BLOCKS);
  for (size_t i = 0; i < 6 * BLOCKS; i++) {
    give_blocks(i, i + 1);
    CHECK_EQ(heap_take(heap, CLASS), blocks[i]);
  }
  CHECK_EQ(lm_heap_validate(heap), 6 * BLOCKS);
}

/* With 5 * BLOCKS taken, and all of the bin's room, which it returns. */
static size_t begin_with_room(void) {
  begin();
  take_blocks(0, 5 * BLOCKS);
  size_t room = lm_classes[CLASS].bin_frees;
  heap->frees_left[CLASS] = (int16_t)room;
  return room;
}

static void what_does_not_fit_into_the_bin_becomes_its_reserve(void) {
  size_t room = begin_with_room();
  give_blocks(0, room);
  CHECK_EQ(heap->bins[CLASS], blocks[room - 1]);
  CHECK_EQ(heap->reserves[CLASS], NULL);
  give_blocks(room, room + 1);
  CHECK_EQ(heap->bins[CLASS], blocks[room]);
  CHECK_EQ(heap->reserves[CLASS], blocks[room - 1]);
  CHECK_EQ(lm_heap_validate(heap), 5 * BLOCKS - room - 1);
  CHECK_EQ(heap_take(heap, CLASS), blocks[room]);
  CHECK_EQ(heap_take(heap, CLASS), blocks[room - 1]);
  CHECK_EQ(heap->reserves[CLASS], NULL);
  CHECK_EQ(lm_heap_validate(heap), 5 * BLOCKS - room + 1);
}

static void a_bin_whose_reserve_malloc_takes_always_has_room(void) {
  size_t room = begin_with_room();
  for (size_t turn = 0; turn < 10; turn++) {
    give_blocks(0, room + room / 2);
    take_blocks(0, room + room / 2);
    CHECK_THAT(heap->frees_left[CLASS], >=, 0);
  }
  CHECK_EQ(lm_heap_validate(heap), 5 * BLOCKS);
}

/* With the bin's room used up and a reserve. */
static size_t fill_reserve_and_bin(void) {
  size_t room = begin_with_room();
  give_blocks(0, 2 * room);
  CHECK_EQ(heap->bins[CLASS], blocks[2 * room - 1]);
  return 2 * room;
}

static void what_is_freed_beyond_the_reserve_goes_into_the_spans_and_the_bin_follows(void) {
  size_t freed = fill_reserve_and_bin();
  size_t some = 1 + freed / LM_DRAINED_BY_CALL + 1;
  give_blocks(freed, freed + some);
  CHECK_EQ(heap->bins[CLASS], LM_NO_BLOCK);
  CHECK_EQ(heap->reserves[CLASS], NULL);
  CHECK_EQ(lm_heap_validate(heap), 5 * BLOCKS - freed - some);
  take_blocks(0, 1);
  give_blocks(0, 1);
  CHECK_EQ(heap->bins[CLASS], blocks[0]);
}

static size_t reserve_length(size_t class_index) {
  return heap->reserves[class_index] == NULL ? 0 : list_length(heap->reserves[class_index]);
}

static void frees_go_into_the_spans_until_malloc_has_found_bin_and_reserve_empty(void) {
  size_t freed = fill_reserve_and_bin();
  give_blocks(freed, freed + 2);
  size_t left = list_length(heap->bins[CLASS]) + reserve_length(CLASS);
  CHECK_EQ(left, freed - LM_DRAINED_BY_CALL);
  for (size_t i = 0; i < left; i++) {
    CHECK_THAT(heap->frees_left[CLASS], <, 0);
    take_blocks(i, i + 1);
  }
  take_blocks(left, left + 1);
  CHECK_THAT(heap->frees_left[CLASS], >, 0);
  lm_heap_validate(heap);
}

static void however_many_are_freed_into_their_spans_the_room_stays_used_up(void) {
  begin();
  take_blocks(0, 5 * BLOCKS);
  leave_no_room(heap, CLASS);
  heap->frees_left[CLASS] = INT16_MIN + 10;
  give_blocks(0, 100);
  CHECK_EQ(heap->bins[CLASS], LM_NO_BLOCK);
  CHECK_THAT(heap->frees_left[CLASS], <, -1);
}

/* ---- Among many threads ---- */

enum { THREADS = 100 }; /* beside the one that there may be */

static void begin_among_many(void) {
  begin();
  lm_pool_thread_count += THREADS;
}

static void among_many_threads_all_bins_are_bounded(void) {
  begin_among_many();
  take_blocks(0, 1);
  CHECK(lm_bin_is_bounded(heap, CLASS));
  lm_pool_thread_count -= THREADS;
  CHECK(!lm_bin_is_bounded(heap, CLASS));
}

static void there_a_bin_opens_its_room_in_steps(void) {
  begin_among_many();
  take_blocks(0, 2 * BLOCKS);
  size_t room = lm_classes[CLASS].bin_frees, first = room >> LM_ROOM_STEPS;
  CHECK_EQ(heap->frees_left[CLASS], first);
  give_blocks(0, first);
  CHECK_EQ(heap->frees_left[CLASS], 0);
  give_blocks(first, first + 1);
  CHECK_EQ(heap->frees_left[CLASS], first - 1);
  give_blocks(first + 1, room);
  CHECK_EQ(heap->frees_left[CLASS], 0);
  CHECK_EQ(heap->reserves[CLASS], NULL);
  CHECK_EQ(list_length(heap->bins[CLASS]), room);
  give_blocks(room, room + 1);
  CHECK_EQ(list_length(heap->reserves[CLASS]), room);
  lm_heap_validate(heap);
  lm_pool_thread_count -= THREADS;
}

static void a_bin_that_is_bounded_no_longer_has_room(void) {
  begin_among_many();
  take_blocks(0, 2 * BLOCKS);
  CHECK_THAT(heap->room_steps[CLASS], <, LM_ROOM_STEPS);
  lm_pool_thread_count -= THREADS;
  give_blocks(0, 2 * BLOCKS);
  CHECK_EQ(list_length(heap->bins[CLASS]), 2 * BLOCKS);
  CHECK_THAT(heap->frees_left[CLASS], >=, 0);
  lm_heap_validate(heap);
}

static void and_begins_one_step_below_what_malloc_has_needed(void) {
  begin_among_many();
  take_blocks(0, 2 * BLOCKS);
  size_t first = lm_classes[CLASS].bin_frees >> LM_ROOM_STEPS;
  give_blocks(0, 4 * first); /* in three steps */
  take_blocks(0, 4 * first + 1);
  CHECK_EQ(heap->frees_left[CLASS], 2 * first);
  lm_pool_thread_count -= THREADS;
}

/* Bytes in bins and reserves. */
static size_t bytes_in_bins(void) {
  size_t bytes = 0;
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    size_t count = list_length(heap->bins[i]);
    if (heap->reserves[i] != NULL) count += list_length(heap->reserves[i]);
    bytes += count * lm_classes[i].block_bytes;
  }
  return bytes;
}

static void there_what_is_freed_in_bulk_stays_in_bins_up_to_the_heaps_share_only(void) {
  begin_among_many();
  enum { CLASSES = 40, IN_CLASS = 64 };
  size_t share = SHARE_MIN_BYTES, taken = 0;
  for (size_t i = 0; i < CLASSES * IN_CLASS; i++) {
    blocks[i] = heap_take(heap, CLASS + i % CLASSES);
    taken += lm_classes[CLASS + i % CLASSES].block_bytes;
  }
  CHECK_THAT(taken, >, share / 2);
  give_blocks(0, CLASSES * IN_CLASS);
  CHECK_THAT(bytes_in_bins(), <, share / BULK_FRACTION);
  lm_heap_validate(heap);
  lm_pool_thread_count -= THREADS;
}

/* ---- The sentinel ---- */

enum { SEVERAL = 3 }; /* classes of three and a half spans each */
static char *several[SEVERAL][4 * BLOCKS];

static size_t several_count(size_t class_index) {
  return 7 * lm_classes[class_index].block_count / 2;
}

static void take_several(void) {
  begin();
  for (size_t class = 0; class < SEVERAL; class++)
    for (size_t i = 0; i < several_count(CLASS + class); i++)
      several[class][i] = heap_take(heap, CLASS + class);
}

static bool goes_into_its_span(const char *block) {
  return (lm_tag_of(block) & LM_TAG_SENTINEL) != 0;
}

static void a_heap_of_more_than_eight_slices_has_a_sentinel(void) {
  begin();
  take_blocks(0, 4 * BLOCKS);
  for (size_t i = 0; i < SENTINEL_SLICES - 4; i++) heap_take(heap, CLASS + 1 + i);
  CHECK_EQ(heap->slice_count, SENTINEL_SLICES);
  CHECK_EQ(heap->bulk.sentinel, NULL);
  for (size_t i = 0; i < lm_classes[CLASS + 1].block_count; i++) heap_take(heap, CLASS + 1);
  CHECK(heap->bulk.sentinel != NULL);
  CHECK_EQ(heap->bulk.sentinel->class_index, CLASS + 1);
  CHECK(heap->bulk.sentinel != heap->current[CLASS + 1]);
  CHECK(goes_into_its_span(lm_span_start(heap->bulk.sentinel)));
  CHECK(!goes_into_its_span(blocks[0]));
  lm_heap_validate(heap);
}

static void what_is_freed_altogether_leaves_no_span_in_whatever_order(void) {
  for (int order = 0; order < 3; order++) {
    take_several();
    CHECK(heap->bulk.sentinel != NULL);
    for (size_t class = 0; class < SEVERAL; class++) {
      size_t count = several_count(CLASS + class);
      for (size_t i = 0; i < count; i++) {
        size_t next = order == 0 ? i : order == 1 ? count - 1 - i : i * 1009 % count;
        heap_give(heap, several[class][next]);
      }
    }
    CHECK_EQ(lm_heap_validate(heap), 0);
    CHECK_EQ(spans_in_use(), 0);
    lm_spares_trim(heap);
  }
}

static void there_is_none_of_a_class_whose_bin_is_bounded(void) {
  begin();
  take_blocks(0, 3 * BLOCKS);
  for (size_t i = 0; i < SENTINEL_SLICES; i++) heap_take(heap, CLASS + 1 + i);
  take_blocks(3 * BLOCKS, 4 * BLOCKS + 1);
  CHECK_EQ(lm_bin_slices(heap, CLASS), 5);
  CHECK_EQ(heap->bulk.sentinel, NULL);
  lm_heap_validate(heap);
}

/* No class whose bin is not bounded has a full span that could be a sentinel. */
static void when_most_spans_are_gone_all_bins_are_emptied(void) {
  begin();
  char *others[8];
  for (size_t i = 0; i < 8; i++) others[i] = heap_take(heap, CLASS + 1 + i);
  for (size_t i = 0; i < 3; i++) take_blocks(i * 2 * BLOCKS, (i + 1) * 2 * BLOCKS);
  size_t big = lm_sizeclass_of(8192), count = 0;
  static char *larger[100 * 8];
  for (; count < 100 * 8; count++) larger[count] = heap_take(heap, big);
  CHECK_EQ(heap->bulk.sentinel, NULL);
  for (size_t i = 0; i < 8; i++) heap_give(heap, others[i]);
  for (size_t i = 0; i < count; i++) heap_give(heap, larger[i]);
  give_blocks(0, 6 * BLOCKS);
  CHECK_EQ(lm_heap_validate(heap), 0);
  CHECK_EQ(spans_in_use(), 0);
}

static void a_sentinel_that_becomes_current_is_one_no_longer(void) {
  take_several();
  struct lm_span *sentinel = heap->bulk.sentinel;
  size_t class = sentinel->class_index - CLASS, eighth = sentinel->capacity / 8, given = 0;
  for (size_t i = 0; given < eighth; i++) {
    if (lm_span_of(several[class][i]) != sentinel) continue;
    heap_give(heap, several[class][i]);
    given++;
  }
  CHECK_EQ(sentinel->state, LM_SPAN_USABLE);
  struct lm_span *before = heap->current[sentinel->class_index];
  while (heap->current[sentinel->class_index] == before) heap_take(heap, sentinel->class_index);
  CHECK_EQ(heap->current[sentinel->class_index], sentinel);
  CHECK(heap->bulk.sentinel != sentinel);
  CHECK(!goes_into_its_span(lm_span_start(sentinel)));
  lm_heap_validate(heap);
}

static void after_the_sentinels_alarm_bins_have_room_as_malloc_finds_them_empty(void) {
  take_several();
  struct lm_span *sentinel = heap->bulk.sentinel;
  size_t class = sentinel->class_index - CLASS;
  size_t few = sentinel->capacity / SENTINEL_FRACTION;
  for (size_t i = 0; sentinel->used_count > few; i++) {
    CHECK_THAT(heap->frees_left[CLASS], >=, 0);
    CHECK(!heap->spares.learning.fell);
    if (lm_span_of(several[class][i]) == sentinel) heap_give(heap, several[class][i]);
  }
  CHECK_EQ(heap->bulk.sentinel, NULL);
  CHECK(heap->spares.learning.fell);
  for (size_t i = 0; i < SEVERAL; i++) CHECK_THAT(heap->frees_left[CLASS + i], <, 0);
  for (size_t i = 0; i < BLOCKS && heap->frees_left[CLASS] < 0; i++) heap_take(heap, CLASS);
  CHECK_EQ(heap->frees_left[CLASS], LM_FREES_PER_LOOK);
  CHECK_THAT(heap->frees_left[CLASS + 1], <, 0);
  lm_heap_validate(heap);
}

static size_t count_in_bins(void) {
  size_t count = 0;
  for (size_t i = 0; i < LM_CLASS_COUNT; i++)
    count += list_length(heap->bins[i]) + reserve_length(i);
  return count;
}

static void after_the_sentinels_alarm_bins_drain_faster(void) {
  take_several();
  struct lm_span *sentinel = heap->bulk.sentinel;
  size_t class = sentinel->class_index - CLASS;
  for (size_t i = 0; heap->bulk.sentinel != NULL; i++) heap_give(heap, several[class][i]);
  CHECK(heap->drain.fast);
  size_t other = (class + 1) % SEVERAL, before = count_in_bins();
  CHECK_THAT(before, >, 0);
  for (size_t i = 0; before > 0; i++) {
    heap_give(heap, several[other][i]);
    CHECK_EQ(count_in_bins(), before - lm_min(before, LM_DRAINED_FAST));
    before = count_in_bins();
  }
  heap_give(heap, several[other][several_count(CLASS + other) - 1]);
  CHECK(!heap->drain.fast);
  lm_heap_validate(heap);
}

/* ---- Extension ---- */

static void fresh_memory_is_carved_page_by_page(void) {
  begin();
  take_blocks(0, 1);
  struct lm_span *span = lm_span_of(blocks[0]);
  CHECK_EQ(span->extended_count, 1); /* nor is the first */
  take_blocks(1, 2);
  CHECK_EQ(span->extended_count, CARVE_FRESH_BYTES / 64);
  take_blocks(2, 64);
  CHECK_EQ(span->extended_count, 64);
  take_blocks(64, 65); /* the next page is not written to before its first block has been taken */
  CHECK_EQ(span->extended_count, 65);
  take_blocks(65, 66);
  CHECK_EQ(span->extended_count, 128);
}

static void used_memory_is_carved_some_pages_at_a_time(void) {
  begin();
  size_t class = lm_sizeclass_of(4096), used = CARVE_USED_BYTES / 4096 + 1;
  for (size_t i = 0; i < used; i++) blocks[i] = heap_take(heap, class);
  for (size_t i = 0; i < used; i++) heap_give(heap, blocks[i]);
  lm_heap_trim(heap);
  char *block = heap_take(heap, class);
  CHECK_EQ(block, blocks[0]);
  CHECK(lm_span_of(block)->dirty_pages != 0);
  CHECK_EQ(lm_span_of(block)->extended_count, CARVE_AT_ONCE_BYTES / 4096);
  CHECK_EQ(lm_span_of(block)->carve_limit, 1 + CARVE_USED_BYTES / 4096);
}

static void pages_that_were_not_used_before_are_carved_as_fresh_ones(void) {
  if (lm_os.page_bytes > CARVE_AT_ONCE_BYTES) return;
  size_t dirty = CARVE_AT_ONCE_BYTES / 64; /* blocks of pages that will have been used */
  begin();
  take_blocks(0, dirty);
  for (size_t i = 0; i < dirty; i++) heap_give(heap, blocks[i]);
  lm_heap_trim(heap);
  take_blocks(0, dirty);
  struct lm_span *span = lm_span_of(blocks[0]);
  CHECK_EQ(span->extended_count, dirty);
  bool zero = false;
  check_zero(lm_heap_take_slow(heap, CLASS, &zero), 64);
  CHECK(zero);
  CHECK_EQ(span->extended_count, dirty + 1);
  lm_heap_take_slow(heap, CLASS, &zero);
  CHECK(zero);
  CHECK_EQ(span->extended_count, dirty + CARVE_FRESH_BYTES / 64);
}

/* Pages of a large block, or of one of several pages, may be dirty and yet never written to. */
static void pages_that_need_not_have_been_written_to_are_carved_as_fresh_ones(void) {
  if (4 * PAGE > LM_CLASSED_MAX_BYTES) return;
  begin();
  size_t several = lm_sizeclass_of(4 * PAGE);
  char *former = heap_take(heap, several);
  heap_give(heap, former);
  lm_heap_trim(heap);
  take_blocks(0, 1);
  struct lm_span *span = lm_span_of(blocks[0]);
  CHECK_EQ(blocks[0], former);
  CHECK((span->dirty_pages & 1) != 0 && span->written_pages == 0);
  CHECK_EQ(span->extended_count, 1);
  bool zero = true;
  lm_heap_take_slow(heap, CLASS, &zero);
  CHECK(!zero);
  CHECK_EQ(span->extended_count, CARVE_FRESH_BYTES / 64);
}

static void a_class_lends_what_is_left_of_a_page_it_has_begun(void) {
  begin();
  char *lender = heap_take(heap, CLASS + 1);
  CHECK_EQ(heap->bins[CLASS + 1], LM_NO_BLOCK);
  CHECK_EQ((char *)lm_heap_borrow(heap, CLASS), lender + 80);
  CHECK(heap->bins[CLASS + 1] != LM_NO_BLOCK);
  /* None of the next page, which nobody has begun. */
  for (size_t left = 4096 / 80 - 2; left > 0; left--) heap_take(heap, CLASS + 1);
  heap->borrowed_counts[CLASS] = BORROW_MIN_COUNT; /* or it were the starter's */
  CHECK_EQ(lm_heap_borrow(heap, CLASS), NULL);
}

static void blocks_larger_than_a_page_are_carved_one_by_one(void) {
  begin();
  size_t class = lm_sizeclass_of(8192);
  char *first = heap_take(heap, class);
  CHECK_EQ(lm_span_of(first)->extended_count, 1);
  CHECK_EQ(heap_take(heap, class), first + 8192);
  CHECK_EQ(lm_span_of(first)->extended_count, 2);
}

static void a_fresh_spans_first_block_is_known_to_be_zero_and_a_used_ones_is_not(void) {
  bool zero = false;
  begin();
  char *block = lm_heap_take_slow(heap, CLASS, &zero);
  CHECK(zero);
  check_zero(block, 64);
  heap_give(heap, block);
  lm_heap_trim(heap);
  CHECK_EQ(spans_in_use(), 0);
  CHECK_EQ(lm_heap_take_slow(heap, CLASS, &zero), block);
  CHECK(!zero);
}

/* ---- Which span is refilled from ---- */

static void a_full_span_waits_until_an_eighth_of_it_is_free(void) {
  begin();
  take_blocks(0, BLOCKS + 1);
  struct lm_span *span = lm_span_of(blocks[0]);
  CHECK_EQ(span->state, LM_SPAN_FULL);
  give_to_spans(0, EIGHTH - 1);
  CHECK_EQ(span->state, LM_SPAN_FULL);
  give_to_spans(EIGHTH - 1, EIGHTH);
  CHECK_EQ(span->state, LM_SPAN_USABLE);
  CHECK_EQ(heap->usable[CLASS].first, span);
  CHECK_EQ(lm_heap_validate(heap), BLOCKS + 1 - EIGHTH);
}

static void a_usable_span_is_used_before_the_current_one_is_extended(void) {
  begin();
  take_blocks(0, BLOCKS + 2);
  give_to_spans(0, EIGHTH);
  struct lm_span *old = lm_span_of(blocks[0]), *current = heap->current[CLASS];
  take_blocks(BLOCKS + 2, BLOCKS + 64); /* the rest of the current one's first page */
  CHECK_EQ(heap->current[CLASS], current);
  take_blocks(0, EIGHTH);
  CHECK_EQ(heap->current[CLASS], old);
  CHECK_EQ(current->state, LM_SPAN_USABLE); /* it has room to extend */
  CHECK_EQ(lm_heap_validate(heap), BLOCKS + 64);
}

static void a_span_with_room_is_extended_before_a_new_one_is_taken(void) {
  begin();
  take_blocks(0, BLOCKS + 64);
  give_to_spans(0, EIGHTH);
  take_blocks(0, EIGHTH); /* refills from the first span; the second one waits with its room */
  CHECK_EQ(spans_in_use(), 2);
  take_blocks(BLOCKS + 64, 2 * BLOCKS);
  CHECK_EQ(spans_in_use(), 2);
  CHECK_EQ(lm_heap_validate(heap), 2 * BLOCKS);
  take_blocks(2 * BLOCKS, 2 * BLOCKS + 1);
  CHECK_EQ(spans_in_use(), 3);
}

/* ---- Empty spans ---- */

static void a_span_whose_last_block_is_freed_is_a_spare(void) {
  begin();
  take_blocks(0, 2 * BLOCKS);
  struct lm_span *span = lm_span_of(blocks[0]);
  give_to_spans(0, BLOCKS - 1);
  CHECK_EQ(spans_in_use(), 2);
  give_to_spans(BLOCKS - 1, BLOCKS);
  CHECK_EQ(spans_in_use(), 1);
  CHECK_EQ(span->state, LM_SPAN_SPARE);
  CHECK_EQ(lm_tag_of(blocks[0]), LM_TAG_SPARE);
  CHECK_EQ(lm_heap_validate(heap), BLOCKS);
  lm_pool_validate(heap->pool);
}

static void a_current_span_whose_last_block_is_freed_is_one_too(void) {
  begin();
  take_blocks(0, 64); /* what is carved at once */
  CHECK_EQ(heap->bins[CLASS], LM_NO_BLOCK);
  give_to_spans(0, 64);
  CHECK_EQ(heap->current[CLASS], NULL);
  CHECK_EQ(spans_in_use(), 0);
  take_blocks(0, 1);
  CHECK_EQ(lm_heap_validate(heap), 1);
}

static void a_current_span_whose_blocks_come_back_is_used_again(void) {
  begin();
  take_blocks(0, 64);
  struct lm_span *span = heap->current[CLASS];
  give_to_spans(10, 12);
  CHECK_EQ(heap_take(heap, CLASS), blocks[11]);
  CHECK_EQ(heap->current[CLASS], span);
  CHECK_EQ(lm_heap_validate(heap), 63);
}

static void the_current_span_stays_when_all_its_blocks_are_in_the_bin(void) {
  begin();
  take_blocks(0, 1);
  give_blocks(0, 1);
  CHECK_EQ(spans_in_use(), 1);
  CHECK_EQ(heap->current[CLASS], lm_span_of(blocks[0]));
}

static void trim_gives_empty_current_spans_back_and_keeps_others(void) {
  begin();
  take_blocks(0, 1);
  heap_give(heap, heap_take(heap, 7));
  heap_give(heap, heap_take(heap, 100));
  lm_heap_trim(heap);
  CHECK_EQ(spans_in_use(), 1);
  CHECK_EQ(heap->current[7], NULL);
  CHECK_EQ(lm_heap_validate(heap), 1);
}

/* All classes, some in each call. */
static void tick_once(void) {
  heap->tick.last_ms = lm_os_clock_ms() - lm_options.purge_delay_ms;
  for (int i = 0; i < LM_CLASS_COUNT / TRIM_CLASSES_PER_TICK + 1; i++) lm_heap_tick(heap);
}

static void a_tick_looks_at_a_few_classes_at_a_time(void) {
  begin();
  heap_give(heap, heap_take(heap, TRIM_CLASSES_PER_TICK - 1));
  heap_give(heap, heap_take(heap, 100));
  tick_once();
  heap->tick.last_ms = lm_os_clock_ms() - lm_options.purge_delay_ms;
  lm_heap_tick(heap);
  CHECK_EQ(heap->tick.trim_class, TRIM_CLASSES_PER_TICK);
  CHECK_EQ(heap->current[TRIM_CLASSES_PER_TICK - 1], NULL);
  CHECK(heap->current[100] != NULL);
  for (int i = 1; i < LM_CLASS_COUNT / TRIM_CLASSES_PER_TICK + 1; i++) lm_heap_tick(heap);
  CHECK_EQ(heap->current[100], NULL);
  CHECK_EQ(spans_in_use(), 0);
}

/* In the class's bin and reserve. */
static size_t held_count(size_t class_index) {
  return list_length(heap->bins[class_index]) + reserve_length(class_index);
}

static void what_malloc_has_not_needed_between_ticks_goes_into_its_span(void) {
  begin();
  take_blocks(0, 64); /* what is carved at once */
  give_blocks(0, 1);
  tick_once();
  CHECK_EQ(heap->bins[CLASS], LM_NO_BLOCK);
  CHECK_EQ(heap->reserves[CLASS], blocks[0]);
  give_blocks(1, 2);
  tick_once();
  CHECK_EQ(held_count(CLASS), 1);
  tick_once();
  CHECK_EQ(held_count(CLASS), 1);
  CHECK_EQ(lm_span_of(blocks[0])->free_list, blocks[0]);
  tick_once();
  CHECK_EQ(held_count(CLASS), 0);
  CHECK_EQ(lm_heap_validate(heap), 62);
}

static void what_malloc_takes_of_what_a_tick_has_seen_is_little_more_than_it_needs(void) {
  size_t part = RESERVE_PART_BLOCKS, count = 4 * part;
  begin();
  take_blocks(0, count + 1);
  size_t rest = held_count(CLASS);
  give_blocks(0, count);
  tick_once();
  CHECK_EQ(held_count(CLASS), count + rest);
  take_blocks(0, 1);
  CHECK_EQ(list_length(heap->bins[CLASS]), part - 1);
  CHECK_EQ(reserve_length(CLASS), count + rest - part);
  take_blocks(1, part + 1);
  CHECK_EQ(reserve_length(CLASS), count + rest - 2 * part);
  give_blocks(0, part + 1);
  tick_once();
  while (heap->drain.goes_on) lm_bins_drain(heap, LM_DRAINED_FAST);
  CHECK_EQ(held_count(CLASS), 2 * part);
  CHECK_EQ(lm_heap_validate(heap), 1);
}

static size_t drained_by_tick_after(uint64_t elapsed_ms) {
  size_t held = held_count(CLASS);
  heap->tick.trim_class = LM_CLASS_COUNT;
  heap->tick.last_ms = heap->tick.bins_aged_ms = lm_os_clock_ms();
  heap->watch.seen_ms = lm_os_clock_ms() - elapsed_ms;
  lm_heap_tick(heap);
  return held - held_count(CLASS);
}

static void a_tick_puts_the_more_back_the_longer_the_clock_was_not_seen(void) {
  begin();
  take_blocks(0, 2 * BLOCKS);
  give_blocks(0, 2 * BLOCKS);
  lm_heap_drain_all(heap);
  CHECK_EQ(drained_by_tick_after(0), LM_DRAINED_BY_CALL);
  CHECK_EQ(drained_by_tick_after(1), LM_DRAINED_FAST);
  CHECK_EQ(drained_by_tick_after(REST_MIN_MS), REST_MIN_MS * DRAINED_PER_REST_MS);
}

static void a_call_passes_over_jobs_that_have_nothing_to_do(void) {
  begin();
  round_goes_on = false; /* of visits */
  round_ms = lm_os_clock_ms();
  heap->tick.turns_pools = heap->tick.visits_others = heap->tick.ends_kept = true;
  lm_heap_tick(heap);
  CHECK(!lm_heap_ticks_left_any(heap));
}

static void nothing_is_trimmed_before_the_tick_is_due(void) {
  begin();
  take_blocks(0, 1);
  give_blocks(0, 1);
  for (int i = 0; i < 100; i++) lm_heap_tick(heap);
  CHECK_EQ(spans_in_use(), 1);
}

/* ---- Out of memory ---- */

static void without_memory_the_heap_stays_as_it_is_and_goes_on_later(void) {
  begin();
  take_blocks(0, BLOCKS);
  struct lm_span *span = lm_span_of(blocks[0]);
  lm_directory_limit_runs(lm_pools[0].directory[0], 0); /* as if it were full */
  lm_fault_countdown = 0;
  CHECK_EQ(heap_take(heap, CLASS), NULL);
  CHECK_EQ(heap->current[CLASS], span);
  CHECK_EQ(lm_heap_validate(heap), BLOCKS);
  take_blocks(BLOCKS, BLOCKS + 1);
  CHECK_EQ(lm_heap_validate(heap), BLOCKS + 1);
}

/* ---- Begin and end ---- */

static void a_heap_that_ends_waits_for_the_next_thread(void) {
  begin();
  struct lm_heap *first = heap;
  end_heap(first);
  CHECK_EQ(lm_load_relaxed(&first->inbox), LM_INBOX_CLOSED);
  begin();
  CHECK_EQ(heap, first);
  CHECK_EQ(lm_load_relaxed(&heap->inbox), NULL);
  CHECK_EQ(lm_heap_made_count, 1);
  CHECK_EQ(lm_pool_thread_count, 1);
}

static void a_heap_without_blocks_leaves_nothing_behind(void) {
  begin();
  take_blocks(0, 3 * BLOCKS);
  give_blocks(0, 3 * BLOCKS);
  end_heap(heap);
  CHECK_EQ(spans_in_use(), 0);
  lm_pool_validate(heap->pool);
  for (size_t i = 0; i < LM_BIN_COUNT; i++) CHECK_EQ(heap->bins[i], LM_NO_BLOCK);
}

static void what_a_thread_leaves_behind_beyond_a_mebibyte_goes_back_at_once(void) {
  begin();
  size_t class = lm_sizeclass_of(32768), count = 64;
  for (size_t i = 0; i < count; i++) blocks[i] = heap_take(heap, class);
  for (size_t i = 0; i < count; i++) heap_give(heap, blocks[i]);
  end_heap(heap);
  CHECK_THAT(heap->pool->dirty_page_count * PAGE, <=, LM_POOL_KEEP_BYTES);
}

static void the_empty_heap_serves_nothing(void) {
  for (size_t i = 0; i < LM_BIN_COUNT; i++) CHECK_EQ(lm_empty_heap.bins[i], LM_NO_BLOCK);
  for (uint32_t class = 0; class < 256; class++)
    for (uint32_t owner = 0; owner < 10; owner++)
      CHECK_THAT((owner << LM_TAG_OWNER_SHIFT | class) ^ lm_empty_heap.tag, >=, LM_TAG_OWN_LIMIT);
}

/* ---- Everything at once ---- */

static void a_random_history_keeps_every_equation(void) {
  static char *held[20000];
  uint64_t random = 5;
  size_t used = 0;
  begin();
  for (int step = 0; step < 400000; step++) {
    size_t i = random_next(&random) % COUNT_OF(held);
    if ((step / 40000) % 2 == 1 && random_next(&random) % 4 != 0 && held[i] == NULL) continue;
    if (held[i] != NULL) {
      heap_give(heap, held[i]);
      held[i] = NULL;
      used--;
    } else {
      held[i] = heap_take(heap, 1 + random_next(&random) % 20);
      used++;
    }
    if (step % 20000 == 0) CHECK_EQ(lm_heap_validate(heap), used);
  }
  for (size_t i = 0; i < COUNT_OF(held); i++)
    if (held[i] != NULL) heap_give(heap, held[i]);
  CHECK_EQ(lm_heap_validate(heap), 0);
  end_heap(heap);
  CHECK_EQ(spans_in_use(), 0);
  lm_pool_validate(heap->pool);
}

int main(void) {
  RUN(blocks_are_distinct_aligned_and_of_their_spans_class);
  RUN(every_class_serves_all_blocks_of_a_span);
  RUN(what_was_freed_last_is_taken_first);
  RUN(what_is_in_the_bin_when_blocks_are_carved_stays_there);
  RUN(a_class_without_spans_borrows_a_page_of_larger_blocks);
  RUN(a_class_with_a_span_borrows_nothing);
  RUN(the_first_blocks_of_classes_share_the_span_of_their_starter);
  RUN(only_the_first_are_borrowed_of_blocks_more_than_a_quarter_larger);
  RUN(malloc_borrows_before_it_takes_a_span);
  RUN(a_bin_is_bounded_in_a_class_of_more_than_four_slices);
  RUN(one_that_is_not_takes_all_that_is_freed);
  RUN(and_is_bounded_no_longer_once_there_are_four_slices_again);
  RUN(a_class_of_many_slices_that_is_freed_altogether_leaves_no_span);
  RUN(while_malloc_takes_what_was_freed_there_is_room);
  RUN(what_does_not_fit_into_the_bin_becomes_its_reserve);
  RUN(a_bin_whose_reserve_malloc_takes_always_has_room);
  RUN(what_is_freed_beyond_the_reserve_goes_into_the_spans_and_the_bin_follows);
  RUN(frees_go_into_the_spans_until_malloc_has_found_bin_and_reserve_empty);
  RUN(however_many_are_freed_into_their_spans_the_room_stays_used_up);
  RUN(among_many_threads_all_bins_are_bounded);
  RUN(there_a_bin_opens_its_room_in_steps);
  RUN(and_begins_one_step_below_what_malloc_has_needed);
  RUN(a_bin_that_is_bounded_no_longer_has_room);
  RUN(there_what_is_freed_in_bulk_stays_in_bins_up_to_the_heaps_share_only);
  RUN(a_heap_of_more_than_eight_slices_has_a_sentinel);
  RUN(what_is_freed_altogether_leaves_no_span_in_whatever_order);
  RUN(there_is_none_of_a_class_whose_bin_is_bounded);
  RUN(when_most_spans_are_gone_all_bins_are_emptied);
  RUN(a_sentinel_that_becomes_current_is_one_no_longer);
  RUN(after_the_sentinels_alarm_bins_have_room_as_malloc_finds_them_empty);
  RUN(after_the_sentinels_alarm_bins_drain_faster);
  RUN(fresh_memory_is_carved_page_by_page);
  RUN(used_memory_is_carved_some_pages_at_a_time);
  RUN(pages_that_were_not_used_before_are_carved_as_fresh_ones);
  RUN(pages_that_need_not_have_been_written_to_are_carved_as_fresh_ones);
  RUN(a_class_lends_what_is_left_of_a_page_it_has_begun);
  RUN(blocks_larger_than_a_page_are_carved_one_by_one);
  RUN(a_fresh_spans_first_block_is_known_to_be_zero_and_a_used_ones_is_not);
  RUN(a_full_span_waits_until_an_eighth_of_it_is_free);
  RUN(a_usable_span_is_used_before_the_current_one_is_extended);
  RUN(a_span_with_room_is_extended_before_a_new_one_is_taken);
  RUN(a_span_whose_last_block_is_freed_is_a_spare);
  RUN(a_current_span_whose_last_block_is_freed_is_one_too);
  RUN(a_current_span_whose_blocks_come_back_is_used_again);
  RUN(the_current_span_stays_when_all_its_blocks_are_in_the_bin);
  RUN(trim_gives_empty_current_spans_back_and_keeps_others);
  RUN(a_tick_looks_at_a_few_classes_at_a_time);
  RUN(what_malloc_has_not_needed_between_ticks_goes_into_its_span);
  RUN(what_malloc_takes_of_what_a_tick_has_seen_is_little_more_than_it_needs);
  RUN(a_tick_puts_the_more_back_the_longer_the_clock_was_not_seen);
  RUN(a_call_passes_over_jobs_that_have_nothing_to_do);
  RUN(nothing_is_trimmed_before_the_tick_is_due);
  RUN(without_memory_the_heap_stays_as_it_is_and_goes_on_later);
  RUN(a_heap_that_ends_waits_for_the_next_thread);
  RUN(a_heap_without_blocks_leaves_nothing_behind);
  RUN(what_a_thread_leaves_behind_beyond_a_mebibyte_goes_back_at_once);
  RUN(the_empty_heap_serves_nothing);
  RUN(a_random_history_keeps_every_equation);
  puts("where a purge decommits:");
  lm_os.overcommit = false;
  lm_os.purge_decommits = true;
  RUN(a_random_history_keeps_every_equation);
  return UNIT_RESULT();
}
