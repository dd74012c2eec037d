/* A span from its beginning to its end: its tags, how its blocks are carved, what is known of its
 * pages. All tests run without overcommit and where a purge decommits, too. */
#include "unit.h"

static struct lm_central *central;

static struct lm_span *new_span(size_t class_index) {
  central = central_at(0);
  struct lm_span *span = lm_span_begin(central, class_index);
  CHECK(span != NULL);
  return span;
}

static size_t carve(struct lm_span *span, size_t most, struct lm_block **rest, bool *zero) {
  size_t before = span->extended_count;
  size_t carved = lm_span_carve(span, most, rest, zero);
  CHECK_EQ(span->extended_count, before + carved);
  CHECK_EQ(span->used_count, span->extended_count);
  CHECK_EQ(carved == 0 ? 0 : 1 + length_of(*rest), carved);
  return carved;
}

/* As if all that was carved had been put back. */
static void end_span_of(struct lm_span *span) {
  span->used_count = 0;
  lm_span_end(span);
  lm_pool_validate(central->pool);
}

static size_t dirty_page_count(void) { return lm_load_relaxed(&central->pool->dirty_page_count); }

static void a_span_begins_without_blocks_and_on_no_list(void) {
  for (size_t i = 1; i < lm_small_class_limit; i++) {
    struct lm_span *span = new_span(i);
    CHECK_EQ(span->used_count + span->extended_count, 0);
    CHECK_EQ(span->free_list, LM_NO_BLOCK);
    CHECK_EQ(span->central, central);
    CHECK_EQ(span->class_index, i);
    CHECK_EQ(span->slice_count, lm_classes[i].slice_count);
    CHECK(lm_span_has_room(span));
    end_span_of(span);
  }
}

static void every_slice_has_its_tag_until_it_ends(void) {
  for (size_t i = 1; i < lm_small_class_limit; i++) {
    struct lm_span *span = new_span(i);
    char *start = lm_span_start(span);
    for (size_t slice = 0; slice < lm_classes[i].slice_count; slice++) {
      CHECK_EQ(lm_tag_of(start + slice * LM_SLICE_BYTES), i);
      CHECK_EQ(lm_span_of(start + slice * LM_SLICE_BYTES + LM_GRANULE_BYTES), span);
    }
    end_span_of(span);
    for (size_t slice = 0; slice < lm_classes[i].slice_count; slice++)
      CHECK_EQ(lm_tag_of(start + slice * LM_SLICE_BYTES), 0);
    CHECK_EQ(span->state, LM_SPAN_NONE);
  }
}

static void only_starts_of_blocks_are_such(void) {
  size_t class_index = lm_sizeclass_of(48);
  struct lm_span *span = new_span(class_index);
  struct lm_block *rest;
  bool zero;
  size_t carved = carve(span, 1, &rest, &zero);
  char *start = lm_span_start(span);
  for (size_t offset = 0; offset < LM_SLICE_BYTES; offset += LM_GRANULE_BYTES) {
    bool is_start = offset % 48 == 0 && offset / 48 < lm_classes[class_index].block_count;
    CHECK_EQ(lm_span_has_block_at(span, start + offset), is_start);
    CHECK_EQ(lm_span_has_carved_at(span, start + offset), is_start && offset / 48 < carved);
  }
}

static void blocks_of_a_span_of_several_slices_are_found_by_its_first_record(void) {
  size_t class_index = lm_sizeclass_of(12000);
  struct lm_span *span = new_span(class_index);
  CHECK_THAT(span->slice_count, >, 1);
  for (size_t i = 0; i < span->capacity; i++) {
    char *block = lm_span_start(span) + i * lm_sizeclass_bytes(class_index);
    CHECK_EQ(lm_span_of(block), span);
    CHECK(lm_span_has_block_at(span, block));
    CHECK(!lm_span_has_block_at(span, block + LM_GRANULE_BYTES));
  }
}

static void a_span_is_carved_to_its_end_in_the_order_of_addresses(void) {
  for (size_t i = 1; i < lm_small_class_limit; i += 3) {
    struct lm_span *span = new_span(i);
    size_t bytes = lm_sizeclass_bytes(i);
    while (lm_span_has_room(span)) {
      struct lm_block *rest, *expected;
      bool zero;
      size_t before = span->extended_count, carved = carve(span, SIZE_MAX, &rest, &zero);
      CHECK_THAT(carved, >=, 1);
      if (i == 1) CHECK(zero); /* as fresh as the process */
      for (size_t k = 1; k < carved && !LM_HARDENED_ORDER; k++, rest = lm_block_next(rest)) {
        expected = (struct lm_block *)(lm_span_start(span) + (before + k) * bytes);
        CHECK_EQ(rest, expected);
      }
    }
    CHECK_EQ(span->extended_count, span->capacity);
    end_span_of(span);
  }
}

static void no_more_are_carved_than_are_wanted(void) {
  struct lm_span *span = new_span(lm_sizeclass_of(16));
  struct lm_block *rest;
  bool zero;
  for (size_t most = 1; most < 40; most++) CHECK_THAT(carve(span, most, &rest, &zero), <=, most);
}

/* Who uses the block has the fault, and not malloc. */
static void of_a_fresh_page_the_first_block_is_carved_alone(void) {
  struct lm_span *span = new_span(lm_sizeclass_of(64));
  struct lm_block *rest;
  bool zero;
  CHECK_EQ(carve(span, SIZE_MAX, &rest, &zero), 1);
  CHECK_EQ(rest, LM_NO_BLOCK);
  size_t others = carve(span, SIZE_MAX, &rest, &zero);
  CHECK_THAT(others, >, 1);
  CHECK_THAT((others + 1) * 64, <=, PAGE);
}

static void memory_of_earlier_blocks_is_not_taken_for_zero(void) {
  size_t class_index = lm_sizeclass_of(1024);
  struct lm_span *span = new_span(class_index), *again;
  struct lm_block *rest;
  bool zero;
  size_t carved = 0;
  uint64_t delay_ms = lm_options.purge_delay_ms;
  lm_options.purge_delay_ms = 0; /* what is freed stays dirty */
  while (carved * 1024 < PAGE + 1024) carved += carve(span, 4, &rest, &zero);
  memset(lm_span_start(span), 7, carved * 1024);
  end_span_of(span);
  again = new_span(class_index);
  CHECK_EQ(again, span);
  carve(again, 1, &rest, &zero);
  CHECK(!zero);
  while (lm_span_has_room(again)) carve(again, 1, &rest, &zero);
  CHECK(zero || !SLICES_HAVE_PAGES); /* so far nobody had come */
  lm_options.purge_delay_ms = delay_ms;
}

static void only_pages_with_carved_blocks_are_dirty_when_it_ends(void) {
  lm_options.purge_delay_ms = 0;
  struct lm_span *span = new_span(lm_sizeclass_of(512));
  struct lm_block *rest;
  bool zero;
  size_t before = dirty_page_count(), carved = 0;
  while (carved * 512 <= 2 * PAGE) carved += carve(span, 1, &rest, &zero);
  end_span_of(span);
  CHECK_EQ(dirty_page_count() - before, lm_pages_of(carved * 512));
}

static void a_span_of_which_nothing_was_carved_leaves_no_dirty_page(void) {
  lm_options.purge_delay_ms = 0;
  struct lm_span *span = new_span(lm_sizeclass_of(512));
  end_span_of(span);
  CHECK_EQ(dirty_page_count(), 0);
}

static void without_memory_no_span_begins_and_nothing_changes(void) {
  central = central_at(0);
  refuse_all(true);
  CHECK_EQ(lm_span_begin(central, 5), NULL);
  refuse_all(false);
  lm_pool_validate(central->pool);
  CHECK_EQ(central->pool->span_slice_count, 0);
}

/* Where pages are committed as they are carved, and the system has no more. */
static void a_commit_that_is_refused_carves_nothing_and_changes_nothing(void) {
  struct lm_span *span = new_span(lm_sizeclass_of(512));
  struct lm_block *rest;
  bool zero;
  if (!lm_region_of(span)->decommits) return;
  size_t carved = carve(span, 1, &rest, &zero);
  refuse_all(true);
  size_t more = 0;
  while (lm_span_has_room(span)) {
    size_t count = carve(span, 1, &rest, &zero);
    if (count == 0) break;
    more += count;
  }
  CHECK_THAT((carved + more) * 512, <=, PAGE); /* on the page that is there */
  CHECK_EQ(carve(span, 8, &rest, &zero), 0);
  refuse_all(false);
  CHECK_THAT(carve(span, 8, &rest, &zero), >, 0);
  memset(lm_span_start(span), 1, span->extended_count * (size_t)512);
  end_span_of(span);
}

static void run_all(void) {
  RUN(a_span_begins_without_blocks_and_on_no_list);
  RUN(every_slice_has_its_tag_until_it_ends);
  RUN(only_starts_of_blocks_are_such);
  RUN(blocks_of_a_span_of_several_slices_are_found_by_its_first_record);
  RUN(a_span_is_carved_to_its_end_in_the_order_of_addresses);
  RUN(no_more_are_carved_than_are_wanted);
  RUN(of_a_fresh_page_the_first_block_is_carved_alone);
  RUN(memory_of_earlier_blocks_is_not_taken_for_zero);
  RUN(only_pages_with_carved_blocks_are_dirty_when_it_ends);
  RUN(a_span_of_which_nothing_was_carved_leaves_no_dirty_page);
  RUN(without_memory_no_span_begins_and_nothing_changes);
  RUN(a_commit_that_is_refused_carves_nothing_and_changes_nothing);
}

int main(void) {
  unit_run_for_each_commit(run_all);
  return UNIT_RESULT();
}
