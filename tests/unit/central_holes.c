// tsan: yes
/* Holes: which pages of a span go back, what becomes of their blocks, how they are taken again, and
 * what others do to a span meanwhile. */
#include "unit.h"

enum { BYTES = 4 * MIB, BLOCKS_MAX = BYTES / 16 };
static struct lm_central *central;
static size_t class_index;
static char *blocks[BLOCKS_MAX]; /* NULL: free */
static size_t count;
static uint8_t look_number;

static size_t block_bytes(void) { return lm_sizeclass_bytes(class_index); }
static void write_block(size_t i) { memset(blocks[i], (int)(i % 251 + 1), block_bytes()); }

static void take_missing(void) {
  for (size_t i = 0; i < count; i++) {
    size_t taken;
    if (blocks[i] != NULL) continue;
    blocks[i] = (char *)take_list(central, class_index, 1, &taken);
    CHECK(blocks[i] != NULL);
    write_block(i);
  }
}

static void put_one_of(size_t i) {
  lm_central_put((struct lm_block *)blocks[i], NULL);
  blocks[i] = NULL;
}

/* Blocks of `size` bytes, of which `keep` says which ones stay. */
static void begin(size_t size, bool (*keep)(size_t index)) {
  central = central_at(0);
  class_index = lm_sizeclass_of(size);
  count = BYTES / block_bytes();
  take_missing();
  for (size_t i = 0; i < count; i++)
    if (!keep(i)) put_one_of(i);
}

static void check_contents(void) {
  for (size_t i = 0; i < count; i++) {
    if (blocks[i] == NULL) continue;
    for (size_t j = 0; j < block_bytes(); j++)
      CHECK_EQ((unsigned char)blocks[i][j], i % 251 + 1);
  }
}

static bool all(size_t index) { return index < SIZE_MAX; }
static bool every_40th(size_t index) { return index % 40 == 0; }
static bool every_8th(size_t index) { return index % 8 == 0; }
static bool every_2nd(size_t index) { return index % 2 == 0; }
static bool some_at_random(size_t index) {
  uint64_t random = index + 1;
  return random_next(&random) % 20 == 0;
}

static size_t purged_bytes(void) {
  return (size_t)central->pool->purged_page_count << lm_os.page_shift;
}

/* Returns how many pages went. */
static size_t look(enum lm_holes_kind kind) {
  size_t effort = SIZE_MAX, page_count = 0;
  CHECK(!lm_holes_look(central, class_index, ++look_number, kind, &effort, &page_count));
  validate_all();
  return page_count;
}

static void put_all(void) {
  for (size_t i = 0; i < count; i++)
    if (blocks[i] != NULL) put_one_of(i);
  lm_central_end_empty(central, class_index, true);
  validate_all();
}

/* ---- What a program has done to free blocks ---- */

static struct lm_block *first_listed(void) {
  begin(512, every_2nd);
  struct lm_block *first = central->classes[class_index].usable.first->free_list;
  CHECK(lm_is_block(first) && lm_is_block(lm_block_next(first)));
  return first;
}
static void lead_elsewhere(void) {
  struct lm_block *first = first_listed();
  lm_block_link(first, (struct lm_block *)((char *)first + 16 * MIB));
  look(LM_HOLES_ALL);
}
static void lead_back(void) {
  struct lm_block *first = first_listed();
  lm_block_link(lm_block_next(first), first);
  look(LM_HOLES_ALL);
}
static void links_that_lead_elsewhere_or_round_end_the_program(void) {
  CHECK(is_the_programs_end(lead_elsewhere));
  CHECK(is_the_programs_end(lead_back));
}

/* ---- What goes ---- */

static void holes_leave_the_blocks_as_they_are(void) {
  static const size_t sizes[] = {16, 48, 512, 1000, 2048, 5000, 12000};
  for (size_t i = 0; i < COUNT_OF(sizes); i++) {
    begin(sizes[i], some_at_random);
    size_t before = purged_bytes(), page_count = look(LM_HOLES_ALL);
    CHECK_EQ(purged_bytes() - before, page_count << lm_os.page_shift);
    check_contents();
    if (sizes[i] >= 512) CHECK_THAT(page_count << lm_os.page_shift, >, BYTES / 3);
    struct whereabouts where = find_blocks(class_index);
    if (sizes[i] >= 512) CHECK_THAT(where.in_holes, >, 0);
    put_all();
    CHECK_EQ(find_blocks(class_index).carved, 0);
  }
}

static void a_page_with_a_block_is_no_hole(void) {
  begin(512, every_2nd);
  CHECK_EQ(look(LM_HOLES_ALL), 0);
  check_contents();
}

static void pages_that_were_never_carved_go_too(void) {
  uint64_t delay_ms = lm_options.purge_delay_ms;
  lm_options.purge_delay_ms = 0; /* what is freed stays dirty */
  begin(1024, all);
  put_all();
  lm_options.purge_delay_ms = delay_ms;
  CHECK_EQ(central->pool->span_slice_count, 0);
  size_t taken;
  CHECK(take_list(central, class_index, 1, &taken) != NULL); /* the span has dirty pages */
  CHECK_THAT(look(LM_HOLES_ALL), >, LM_SLICE_BYTES / PAGE / 2);
}

static void a_second_look_gives_only_new_pages_back(void) {
  begin(1024, every_40th);
  CHECK_THAT(look(LM_HOLES_ALL), >, 0);
  CHECK_EQ(look(LM_HOLES_ALL), 0);
  for (size_t i = 0; i < count; i += 80) put_one_of(i);
  CHECK_THAT(look(LM_HOLES_ALL), >, 0);
  check_contents();
}

static void a_purge_that_is_refused_leaves_the_span_whole(void) {
  begin(1024, every_40th);
  size_t listed = find_blocks(class_index).listed;
  refuse_all(true);
  CHECK_EQ(look(LM_HOLES_ALL), 0);
  refuse_all(false);
  CHECK_EQ(find_blocks(class_index).listed, listed);
  CHECK_EQ(find_blocks(class_index).in_holes, 0);
  check_contents();
  take_missing();
  check_contents();
}

static void a_hole_whose_pages_are_refused_stays(void) {
  lm_os.overcommit = false;
  lm_os.purge_decommits = true;
  begin(1024, every_40th);
  CHECK_THAT(look(LM_HOLES_ALL), >, 0);
  size_t in_holes = find_blocks(class_index).in_holes, taken;
  refuse_all(true);
  for (size_t i = 0; i < count; i++) {
    if (blocks[i] != NULL) continue;
    if ((blocks[i] = (char *)take_list(central, class_index, 1, &taken)) == NULL) break;
    write_block(i);
  }
  refuse_all(false);
  validate_all();
  CHECK_EQ(find_blocks(class_index).in_holes, in_holes);
  CHECK_EQ(find_blocks(class_index).listed, 0);
  take_missing();
  CHECK_EQ(find_blocks(class_index).in_holes, 0);
  check_contents();
}

static void a_call_does_no_more_than_it_may_and_the_next_goes_on(void) {
  begin(1024, every_40th);
  size_t calls = 0, page_count = 0, before = 0;
  look_number++;
  for (bool more = true; more; calls++) {
    size_t effort = 8;
    more = lm_holes_look(central, class_index, look_number, LM_HOLES_ALL, &effort, &page_count);
    CHECK_THAT(page_count - before, <=, LM_SPAN_MAX_SLICES * LM_SLICE_BYTES / PAGE);
    before = page_count;
    lm_central_validate(central);
  }
  CHECK_THAT(calls, >, BYTES / LM_SLICE_BYTES / 2);
  CHECK_THAT(page_count, >, BYTES / PAGE / 3);
}

/* ---- What is taken again ---- */

static void holes_are_filled_before_a_span_begins(void) {
  static const size_t sizes[] = {1000, 2048, 5000};
  for (size_t i = 0; i < COUNT_OF(sizes); i++) {
    begin(sizes[i], every_8th);
    size_t slices = central->pool->span_slice_count, page_count = look(LM_HOLES_ALL);
    if (BLOCKS_LEAVE_PAGES) CHECK_THAT(page_count << lm_os.page_shift, >, BYTES / 4);
    take_missing();
    CHECK_EQ(central->pool->span_slice_count, slices);
    struct whereabouts where = find_blocks(class_index);
    CHECK_THAT(where.in_holes + where.listed, <=, lm_classes[class_index].block_count);
    check_contents();
    put_all();
  }
}

static void a_block_put_beside_a_hole_is_taken_before_the_hole_is_filled(void) {
  begin(1024, every_8th);
  look(LM_HOLES_ALL);
  size_t in_holes = find_blocks(class_index).in_holes, taken;
  put_one_of(0);
  lm_central_validate(central);
  CHECK(take_list(central, class_index, 1, &taken) != NULL);
  CHECK_EQ(find_blocks(class_index).in_holes, in_holes);
}

static void a_span_with_holes_that_empties_ends(void) {
  begin(1024, every_40th);
  look(LM_HOLES_ALL);
  put_all();
  CHECK_EQ(central->pool->span_slice_count, 0);
}

static void who_fills_holes_waits_longer_for_the_next(void) {
  begin(1024, every_40th);
  struct lm_span *span = lm_span_of(blocks[0]);
  size_t waits = 0, longest = 0;
  for (int turn = 0; turn < 4; turn++) {
    for (waits = 0; span->hole_pages == 0; waits++) {
      CHECK_THAT(waits, <, 200);
      look(LM_HOLES_DUE);
    }
    CHECK_THAT(waits, >=, longest);
    longest = waits;
    take_missing();
    for (size_t i = 0; i < count; i++)
      if (!every_40th(i)) put_one_of(i);
    check_contents();
    span = lm_span_of(blocks[0]);
  }
  CHECK_THAT(longest, >, 2);
}

/* ---- By the clock ---- */

static void spans_that_are_quiet_for_some_looks_get_holes(void) {
  begin(1024, every_40th);
  CHECK_EQ(look(LM_HOLES_DUE), 0); /* all have just changed */
  size_t page_count = 0;
  for (int i = 0; i < 4; i++) page_count += look(LM_HOLES_DUE);
  CHECK_THAT(page_count << lm_os.page_shift, >, BYTES / 2);
  check_contents();
}

static void spans_of_which_blocks_are_put_get_none(void) {
  begin(1024, every_8th);
  for (size_t turn = 0; turn < 6; turn++) {
    for (size_t i = 0; i < count; i += 8) /* one of each span */
      if (i / 8 % 8 == turn) put_one_of(i);
    CHECK_EQ(look(LM_HOLES_DUE), 0);
  }
  size_t page_count = 0;
  for (int i = 0; i < 4; i++) page_count += look(LM_HOLES_DUE);
  CHECK_THAT(page_count, >, 0);
  check_contents();
}

static void a_span_of_which_little_is_free_gets_none(void) {
  begin(1024, all);
  for (size_t i = 0; i < count; i += 64)
    for (size_t k = i; k < i + 4 && k < count; k++) put_one_of(k);
  for (int i = 0; i < 6; i++) CHECK_EQ(look(LM_HOLES_DUE), 0);
}

static void what_is_shared_with_the_parent_gets_none_until_it_changes(void) {
  begin(1024, every_40th);
  CHECK_EQ(look(LM_HOLES_NONE), 0);
  for (int i = 0; i < 6; i++) CHECK_EQ(look(LM_HOLES_DUE), 0);
  CHECK_EQ(look(LM_HOLES_ALL), 0);
  for (size_t i = 0; i < count; i += 40) put_one_of(i);
  CHECK_EQ(find_blocks(class_index).taken, 0);
}

static void each_span_is_looked_at_once_in_a_round(void) {
  begin(1024, every_40th);
  size_t effort = SIZE_MAX, page_count = 0;
  look_number++;
  lm_holes_look(central, class_index, look_number, LM_HOLES_DUE, &effort, &page_count);
  effort = SIZE_MAX;
  lm_holes_look(central, class_index, look_number, LM_HOLES_DUE, &effort, &page_count);
  CHECK_THAT(SIZE_MAX - effort, <=, 1);
}

/* ---- While a span is away ---- */

static struct away away;
static struct lm_span *away_span;

static void take_span_away(size_t index) {
  away_span = lm_span_of(blocks[index]);
  lm_lock_take(&central->lock);
  take_away(away_span, &away);
  lm_lock_free(&central->lock);
  lm_central_validate(central);
}

static void make_holes_away(void) {
  size_t effort = SIZE_MAX;
  make_holes(&away, &effort);
}

/* Returns how many spans have ended. */
static size_t bring_span_back(void) {
  struct lm_span *ended = NULL;
  size_t ended_count = 0;
  lm_lock_take(&central->lock);
  bring_back(&away, &ended);
  lm_lock_free(&central->lock);
  for (const struct lm_span *span = ended; span != NULL; span = span->next) ended_count++;
  lm_central_end_all(ended);
  validate_all();
  return ended_count;
}

static size_t put_of_span(const struct lm_span *span, size_t most) {
  size_t put = 0;
  for (size_t i = 0; i < count && put < most; i++)
    if (blocks[i] != NULL && lm_span_of(blocks[i]) == span) {
      put_one_of(i);
      put++;
      lm_central_validate(central);
    }
  return put;
}

static void blocks_that_are_put_while_a_span_is_away_are_there_when_it_is_back(void) {
  begin(1024, every_8th);
  size_t listed = find_blocks(class_index).listed;
  take_span_away(0);
  size_t put = put_of_span(away_span, 2); /* before its pages are looked at, */
  make_holes_away();
  put += put_of_span(away_span, 2); /* and after that */
  CHECK_EQ(put, 4);
  CHECK_EQ(bring_span_back(), 0);
  struct whereabouts where = find_blocks(class_index);
  CHECK_EQ(where.listed + where.in_holes, listed + put);
  take_missing();
  check_contents();
}

static void they_are_there_also_if_no_page_was_to_go(void) {
  begin(512, every_2nd);
  size_t listed = find_blocks(class_index).listed;
  take_span_away(0);
  size_t put = put_of_span(away_span, 1);
  make_holes_away();
  put += put_of_span(away_span, 1);
  CHECK_EQ(bring_span_back(), 0);
  CHECK_EQ(find_blocks(class_index).listed, listed + put);
}

static void a_page_of_a_block_that_was_put_meanwhile_stays(void) {
  begin(1024, every_40th);
  take_span_away(0);
  char *block = blocks[0];
  put_one_of(0);
  make_holes_away();
  CHECK_EQ(away.hole_pages >> ((size_t)(block - lm_span_start(away_span)) >> lm_os.page_shift) & 1,
           0);
  bring_span_back();
}

static void a_span_that_empties_while_it_is_away_ends_when_it_is_back(void) {
  begin(1024, every_8th);
  size_t slices = central->pool->span_slice_count;
  take_span_away(0);
  make_holes_away();
  CHECK_THAT(put_of_span(away_span, SIZE_MAX), >, 0);
  CHECK_EQ(central->pool->span_slice_count, slices); /* not before */
  CHECK_EQ(bring_span_back(), 1);
  CHECK_EQ(central->pool->span_slice_count, slices - lm_classes[class_index].slice_count);
  check_contents();
}

static void an_empty_span_that_was_looked_at_goes_or_stays_as_any(void) {
  begin(1024, all);
  put_all();
  CHECK_EQ(central->pool->span_slice_count, 0);
  size_t taken;
  struct lm_block *block = take_list(central, class_index, 1, &taken);
  lm_central_put(block, NULL);
  struct lm_span *kept = central->classes[class_index].kept;
  CHECK_EQ(kept, lm_span_of(block));
  lm_lock_take(&central->lock);
  take_away(kept, &away);
  lm_lock_free(&central->lock);
  CHECK_EQ(central->classes[class_index].kept, NULL);
  lm_central_validate(central);
  make_holes_away();
  bring_span_back();
  CHECK_THAT(find_blocks(class_index).span_count, <=, 1);
}

static void nothing_is_taken_of_a_span_that_is_away(void) {
  begin(1024, every_8th);
  take_span_away(0);
  take_missing();
  for (size_t i = 0; i < count; i++)
    if (!every_8th(i)) CHECK(lm_span_of(blocks[i]) != away_span);
  make_holes_away();
  bring_span_back();
  check_contents();
}

static void several_spans_may_be_away_at_the_same_time(void) {
  begin(1024, every_8th);
  take_span_away(0);
  struct away first = away;
  size_t other = 0;
  while (blocks[other] == NULL || lm_span_of(blocks[other]) == first.span) other++;
  take_span_away(other);
  CHECK_EQ(central->away_count, 2);
  make_holes_away();
  bring_span_back();
  away = first;
  make_holes_away();
  put_of_span(first.span, 1);
  bring_span_back();
  CHECK_EQ(central->away_count, 0);
  check_contents();
}

/* ---- Several threads ---- */

static _Atomic bool stopped;
static void *look_again_and_again(void *unused) {
  for (uint16_t number = 1; !stopped; number++) {
    size_t effort = SIZE_MAX, page_count = 0;
    lm_holes_look(central, class_index, number, LM_HOLES_ALL, &effort, &page_count);
  }
  return unused;
}

static void *replace_blocks(void *argument) {
  size_t from = (uintptr_t)argument;
  uint64_t random = from + 1;
  for (int turn = 0; turn < 20000; turn++) {
    size_t i = from + 2 * (random_next(&random) % (count / 2)), taken;
    if (blocks[i] != NULL) {
      CHECK_EQ((unsigned char)blocks[i][block_bytes() - 1], i % 251 + 1);
      put_one_of(i);
    } else {
      blocks[i] = (char *)take_list(central, class_index, 1, &taken);
      write_block(i);
    }
    if (turn % 1000 == 0) lm_central_validate(central);
  }
  return NULL;
}

static void blocks_are_taken_and_put_while_holes_are_made(void) {
  begin(1024, every_8th);
  pthread_t looker = start_thread(look_again_and_again, NULL);
  pthread_t other = start_thread(replace_blocks, (void *)1);
  replace_blocks((void *)0);
  join_thread(other);
  stopped = true;
  join_thread(looker);
  validate_all();
  check_contents();
  put_all();
  CHECK_EQ(central->pool->span_slice_count, 0);
}

static void run_all(void) {
  RUN(links_that_lead_elsewhere_or_round_end_the_program);
  RUN(holes_leave_the_blocks_as_they_are);
  RUN(a_page_with_a_block_is_no_hole);
  RUN(pages_that_were_never_carved_go_too);
  RUN(a_second_look_gives_only_new_pages_back);
  RUN(a_purge_that_is_refused_leaves_the_span_whole);
  RUN(a_hole_whose_pages_are_refused_stays);
  RUN(a_call_does_no_more_than_it_may_and_the_next_goes_on);
  RUN(holes_are_filled_before_a_span_begins);
  RUN(a_block_put_beside_a_hole_is_taken_before_the_hole_is_filled);
  RUN(a_span_with_holes_that_empties_ends);
  RUN(who_fills_holes_waits_longer_for_the_next);
  RUN(spans_that_are_quiet_for_some_looks_get_holes);
  RUN(spans_of_which_blocks_are_put_get_none);
  RUN(a_span_of_which_little_is_free_gets_none);
  RUN(what_is_shared_with_the_parent_gets_none_until_it_changes);
  RUN(each_span_is_looked_at_once_in_a_round);
  RUN(blocks_that_are_put_while_a_span_is_away_are_there_when_it_is_back);
  RUN(they_are_there_also_if_no_page_was_to_go);
  RUN(a_page_of_a_block_that_was_put_meanwhile_stays);
  RUN(a_span_that_empties_while_it_is_away_ends_when_it_is_back);
  RUN(an_empty_span_that_was_looked_at_goes_or_stays_as_any);
  RUN(nothing_is_taken_of_a_span_that_is_away);
  RUN(several_spans_may_be_away_at_the_same_time);
  RUN(blocks_are_taken_and_put_while_holes_are_made);
}

int main(void) {
  if (!SLICES_HAVE_PAGES) return 77;
  unit_run_for_each_commit(run_all);
  return UNIT_RESULT();
}
