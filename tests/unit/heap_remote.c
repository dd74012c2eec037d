/* Remote frees: chains, parcels, inboxes. Two or three heaps on one thread, so that every step is
 * in the test's hand. */
#include "unit.h"

#define CLASS 4 /* of 64 bytes */
enum { BLOCKS = 1024 };

static struct lm_heap *owner, *other, *third;
static char *blocks[8 * BLOCKS];

static void begin(void) {
  owner = new_heap();
  other = new_heap();
  third = new_heap();
}

static void take_blocks(size_t from, size_t to) {
  for (size_t i = from; i < to; i++) blocks[i] = heap_take(owner, CLASS);
}

static size_t inbox_length(const struct lm_heap *heap) {
  size_t length = 0;
  for (struct lm_message *m = lm_load_relaxed(&heap->inbox); m != NULL; m = message_next(m)) {
    CHECK(m != LM_INBOX_CLOSED);
    length++;
  }
  return length;
}

static struct lm_message *inbox(const struct lm_heap *heap) {
  return lm_load_relaxed(&heap->inbox);
}

/* The blocks of the message, from the newest by `next` to the handle. */
static void check_ring(struct lm_message *message, char *const *expected, size_t count) {
  struct lm_block *block = message->newest;
  CHECK_EQ(message_count(message), count);
  for (size_t i = count; i-- > 0;) {
    CHECK_EQ(block, expected[i]);
    if (i > 0) block = block->next;
  }
  CHECK_EQ(block, message);
}

/* ---- Chains ---- */

static void remote_frees_wait_in_a_chain_unseen_by_the_owner(void) {
  begin();
  take_blocks(0, 10);
  for (int i = 0; i < 5; i++) heap_give(other, blocks[i]);
  CHECK_EQ(inbox(owner), NULL);
  CHECK_EQ(other->outbox.weight, 5 * 64);
  CHECK_EQ(lm_heap_validate(owner), 10);
}

static void a_chain_becomes_one_message_with_its_blocks_in_order(void) {
  begin();
  take_blocks(0, 10);
  for (int i = 0; i < 5; i++) heap_give(other, blocks[i]);
  lm_remote_flush(other);
  CHECK_EQ(inbox_length(owner), 1);
  check_ring(inbox(owner), blocks, 5);
  CHECK_EQ(other->outbox.weight, 0);
}

static void a_block_joins_the_chain_of_its_slice_if_there_is_one(void) {
  begin();
  take_blocks(0, 3);
  CHECK(!lm_remote_join(other, blocks[0]));
  heap_give(other, blocks[0]);
  CHECK(lm_remote_join(other, blocks[1]));
  CHECK(!lm_remote_join(other, NULL));
  CHECK(!lm_remote_join(other, blocks[0] + LM_CHAIN_COUNT * LM_SLICE_BYTES));
  CHECK_EQ(other->outbox.weight, 2 * 64);
  lm_remote_flush(other);
  check_ring(inbox(owner), blocks, 2);
  CHECK(!lm_remote_join(other, blocks[2]));
}

static void middle_blocks_do_not_join_since_each_has_to_be_marked(void) {
  if (2 * 5 * PAGE > LM_SLICE_BYTES) return; /* two are of one slice */
  begin();
  char *first = lm_middle_take(owner, 5, false), *second = lm_middle_take(owner, 5, false);
  CHECK_EQ(lm_chain_slice_of(first), lm_chain_slice_of(second));
  CHECK(lm_middle_send(first));
  heap_give(other, first);
  CHECK(!lm_remote_join(other, second));
  CHECK(lm_middle_send(second));
  heap_give(other, second);
  lm_remote_flush(other);
  CHECK_EQ(inbox_length(owner), 1);
  check_ring(inbox(owner), (char *const[]){first, second}, 2);
}

static size_t weight_of_one(size_t size) {
  char *block = size > lm_classed_max_bytes
                    ? lm_middle_take(owner, lm_pages_of(size), false)
                    : heap_take(owner, lm_sizeclass_of(size));
  lm_remote_flush(other);
  if (size > lm_classed_max_bytes) CHECK(lm_middle_send(block));
  heap_give(other, block);
  return other->outbox.weight;
}

static void a_block_above_1_kib_weighs_a_quarter_but_no_less_than_1_kib(void) {
  begin();
  CHECK_EQ(weight_of_one(16), 16);
  CHECK_EQ(weight_of_one(1024), 1024);
  CHECK_EQ(weight_of_one(2048), 1024);
  CHECK_EQ(weight_of_one(8192), 2048);
  CHECK_EQ(weight_of_one(64 * LM_KIB), 16 * LM_KIB);
}

static void few_blocks_of_orphans_wait(void) {
  begin();
  take_blocks(0, 2 * BLOCKS);
  end_heap(owner);
  struct lm_span *span = lm_span_of(blocks[0]);
  size_t most = LM_REMOTE_BATCH_WEIGHT / ORPHAN_WEIGHT;
  most += LM_CHAIN_PARTS / (ORPHAN_WEIGHT / LM_REMOTE_PART_WEIGHT);
  for (size_t i = 0; i < BLOCKS - 1; i++) {
    heap_give(other, blocks[i]);
    CHECK_THAT(span->used_count + i + 1, <=, BLOCKS + most);
  }
}

static void a_message_of_one_block_is_its_own_ring(void) {
  begin();
  take_blocks(0, 2);
  heap_give(other, blocks[1]);
  lm_remote_flush(other);
  check_ring(inbox(owner), blocks + 1, 1);
}

static void the_smallest_blocks_hold_a_message(void) {
  begin();
  char *block = heap_take(owner, 1);
  heap_give(other, block);
  lm_remote_flush(other);
  check_ring(inbox(owner), &block, 1);
  lm_remote_collect(owner);
  CHECK_EQ(lm_heap_validate(owner), 0);
}

static void a_flush_with_nothing_collected_sends_nothing(void) {
  begin();
  take_blocks(0, 1);
  lm_remote_flush(other);
  CHECK_EQ(inbox(owner), NULL);
}

/* ---- Parcels ---- */

static void chains_for_one_owner_arrive_with_one_push(void) {
  begin();
  take_blocks(0, 1);
  char *a = heap_take(owner, 5), *b = heap_take(owner, 6);
  heap_give(third, blocks[0]);
  lm_remote_flush(third);
  heap_give(other, a);
  heap_give(other, b);
  lm_remote_flush(other);
  CHECK_EQ(inbox_length(owner), 3);
  lm_remote_collect(owner);
  CHECK_EQ(inbox(owner), NULL);
  CHECK_EQ(lm_heap_validate(owner), 0);
}

static void a_chain_that_makes_room_waits_in_a_parcel(void) {
  begin();
  /* Spans whose slices fall on the same chain. */
  char *a = NULL, *b = NULL;
  for (int i = 0; i < 2 * LM_CHAIN_COUNT; i++) {
    for (int j = 0; j < BLOCKS; j++) b = heap_take(owner, CLASS);
    if (a == NULL) a = b;
    size_t distance = ((uintptr_t)b >> LM_SLICE_SHIFT) - ((uintptr_t)a >> LM_SLICE_SHIFT);
    if (distance != 0 && distance % LM_CHAIN_COUNT == 0) break;
  }
  CHECK(lm_span_of(a) != lm_span_of(b));
  heap_give(other, a);
  heap_give(other, b);
  CHECK_EQ(inbox(owner), NULL);
  struct lm_parcel *parcel =
      &other->parcels[(owner->tag >> LM_TAG_OWNER_SHIFT) % LM_PARCEL_COUNT];
  CHECK_EQ(parcel->owner, owner);
  CHECK_EQ(parcel->first, a);
  lm_remote_flush(other);
  CHECK_EQ(inbox_length(owner), 2);
  CHECK_EQ(parcel->first, NULL);
}

static size_t part_of(uintptr_t slice) {
  return (slice >> LM_SLICE_SHIFT) % LM_CHAIN_COUNT / LM_PART_CHAINS;
}

/* A block in each of four slices of the class's spans, whose chains are sent together. */
static void take_from_four_spans(size_t class_index, char *block[4]) {
  for (uintptr_t count = 0, slice = 0; count < 4;) {
    char *next = heap_take(owner, class_index);
    uintptr_t next_slice = lm_chain_slice_of(next);
    if (next_slice == slice || (count > 0 && part_of(next_slice) != part_of(slice))) continue;
    slice = next_slice;
    block[count++] = next;
  }
}

static void send_four(size_t class_index) {
  char *block[4];
  begin();
  take_from_four_spans(class_index, block);
  for (int i = 0; i < 4; i++) heap_give(other, block[i]);
  lm_remote_flush(other);
  CHECK_EQ(inbox_length(owner), 4);
}

static void a_message_names_the_one_after_the_next_if_it_has_the_room(void) {
  send_four(CLASS);
  struct lm_message *first = inbox(owner), *second = message_next(first);
  struct lm_message *third = message_next(second), *fourth = message_next(third);
  CHECK_EQ(message_after_next(first), third);
  CHECK_EQ(message_after_next(second), fourth);
  CHECK_EQ(message_after_next(third), NULL);
  CHECK_EQ(message_after_next(fourth), NULL);
  for (struct lm_message *m = first; m != NULL; m = message_next(m))
    check_ring(m, (char *const[]){(char *)m}, 1);
}

#if LM_BITS_64
static void check_that_none_names_another(const struct lm_heap *heap) {
  CHECK_EQ(inbox_length(heap), 4);
  for (struct lm_message *m = inbox(heap); m != NULL; m = message_next(m))
    CHECK_EQ(message_after_next(m), NULL);
}

static void the_smallest_blocks_have_no_room_to_name_a_message(void) {
  send_four(1);
  check_that_none_names_another(owner);
}

static void those_of_an_orphan_that_is_adopted_meanwhile_have_none_either(void) {
  char *block[4];
  begin();
  take_from_four_spans(1, block);
  end_heap(owner);
  for (int i = 0; i < 4; i++) heap_give(other, block[i]);
  for (int i = 0; i < 4; i++) {
    CHECK(lm_orphan_adopt_span(third, lm_span_of(block[i])));
    lm_heap_own(third, lm_span_of(block[i]));
  }
  lm_remote_flush(other);
  check_that_none_names_another(third);
}
#endif

static void owners_that_share_a_parcel_each_get_their_own(void) {
  begin();
  struct lm_heap *heaps[LM_PARCEL_COUNT + 1];
  char *block[LM_PARCEL_COUNT + 1];
  for (int i = 0; i <= LM_PARCEL_COUNT; i++) {
    heaps[i] = new_heap();
    block[i] = heap_take(heaps[i], CLASS);
    heap_give(other, block[i]);
  }
  lm_remote_flush(other);
  for (int i = 0; i <= LM_PARCEL_COUNT; i++) check_ring(inbox(heaps[i]), &block[i], 1);
}

/* ---- Batches ---- */

static void from_a_batch_on_a_part_is_sent_without_being_asked_for(void) {
  begin();
  take_blocks(0, 8 * BLOCKS);
  size_t batch = LM_REMOTE_BATCH_WEIGHT / 64, part = LM_REMOTE_PART_WEIGHT / 64, sent = batch;
  for (size_t i = 0; i < batch - 1; i++) heap_give(other, blocks[i]);
  CHECK_EQ(inbox(owner), NULL);
  heap_give(other, blocks[batch - 1]);
  CHECK_EQ(other->outbox.weight, (batch - part) * 64);
  /* The chains follow each other; after as many parts as there are, all have had their turn. */
  while (inbox(owner) == NULL) heap_give(other, blocks[sent++]);
  CHECK_THAT(sent, <=, batch + (LM_CHAIN_PARTS - 1) * part);
}

static size_t count_chains(const struct lm_heap *heap) {
  size_t count = 0;
  for (size_t i = 0; i < LM_CHAIN_PARTS; i++)
    count += (size_t)__builtin_popcount(heap->outbox.used_chains[i]);
  return count;
}

/* Chains of one block, of a heap that lives, whose parts are full before much is collected; then
 * blocks of orphans among them, each of which asks for several parts. */
static void no_call_packs_more_chains_than_one_part_and_a_half_have(void) {
  size_t large = lm_sizeclass_of(16 * LM_KIB), most = 0;
  begin();
  for (size_t i = 0; i < 4 * LM_CHAIN_COUNT; i++) {
    if (i == 2 * LM_CHAIN_COUNT) end_heap(owner);
    char *block = heap_take(i < 2 * LM_CHAIN_COUNT ? owner : third, large);
    blocks[i] = block;
  }
  for (size_t i = 0; i < 4 * LM_CHAIN_COUNT; i++) {
    size_t before = count_chains(other);
    heap_give(other, blocks[(i * 641) % (4 * LM_CHAIN_COUNT)]);
    size_t after = count_chains(other);
    most = lm_max(most, before - lm_min(before, after));
    CHECK_THAT(other->outbox.weight, <=, LM_REMOTE_BATCH_WEIGHT);
  }
  CHECK_THAT(most, >, 0);
  CHECK_THAT(most, <, LM_PART_CHAINS + LM_PART_CHAINS / 2);
}

static void nothing_is_left_behind_when_all_is_sent(void) {
  begin();
  take_blocks(0, 2 * BLOCKS);
  for (size_t i = 0; i < 2 * BLOCKS; i++) heap_give(other, blocks[i]);
  lm_remote_flush(other);
  CHECK_EQ(other->outbox.weight, 0);
  for (size_t i = 0; i < LM_CHAIN_PARTS; i++) CHECK_EQ(other->outbox.used_chains[i], 0);
  for (size_t i = 0; i < LM_CHAIN_COUNT; i++) CHECK_EQ(other->chains[i].slice, 0);
  for (size_t i = 0; i < LM_PARCEL_COUNT; i++) CHECK_EQ(other->parcels[i].first, NULL);
  lm_remote_collect(owner);
  CHECK_EQ(lm_heap_validate(owner), 0);
}

static void a_tick_sends_what_is_collected(void) {
  begin();
  take_blocks(0, 1);
  heap_give(other, blocks[0]);
  other->tick.last_ms = lm_os_clock_ms() - lm_options.purge_delay_ms;
  lm_heap_tick(other);
  CHECK_EQ(inbox_length(owner), 1);
}

/* ---- The owner ---- */

static void blocks_of_the_current_span_come_back_into_the_bin(void) {
  begin();
  take_blocks(0, 64);
  for (int i = 0; i < 64; i++) heap_give(other, blocks[i]);
  lm_remote_flush(other);
  CHECK_EQ(owner->bins[CLASS], LM_NO_BLOCK);
  CHECK(heap_take(owner, CLASS) != NULL);
  CHECK_EQ(lm_heap_validate(owner), 1);
  CHECK_EQ(owner->current[CLASS]->extended_count, 64);
}

static void a_full_span_emptied_by_others_goes_back(void) {
  begin();
  take_blocks(0, BLOCKS + 1);
  for (int i = 0; i < BLOCKS; i++) heap_give(other, blocks[i]);
  lm_remote_flush(other);
  CHECK_EQ(owner->pool->span_slice_count, 2);
  lm_remote_collect(owner);
  CHECK_EQ(owner->pool->span_slice_count - owner->spares.count, 1);
  CHECK_EQ(lm_heap_validate(owner), 1);
}

static void a_full_span_an_eighth_freed_by_others_is_usable(void) {
  begin();
  take_blocks(0, BLOCKS + 1);
  for (int i = 0; i < BLOCKS / 2; i++) heap_give(other, blocks[i]);
  lm_remote_flush(other);
  lm_remote_collect(owner);
  CHECK_EQ(lm_span_of(blocks[0])->state, LM_SPAN_USABLE);
  CHECK_EQ(lm_heap_validate(owner), BLOCKS / 2 + 1);
}

static void messages_of_several_senders_all_arrive(void) {
  begin();
  take_blocks(0, 64);
  for (int i = 0; i < 64; i++) {
    heap_give(i % 2 == 0 ? other : third, blocks[i]);
    if (i % 8 == 7) lm_remote_flush(i % 16 == 7 ? other : third);
  }
  lm_remote_flush(other);
  lm_remote_flush(third);
  lm_remote_collect(owner);
  CHECK_EQ(lm_heap_validate(owner), 0);
}

static size_t received_length(const struct lm_heap *heap) {
  size_t length = 0;
  for (struct lm_message *m = heap->received; m != NULL; m = message_next(m)) length++;
  return length;
}

#define LARGE_CLASS 88 /* of 8 KiB, eight to a span */
enum { SPANS = 50, SPAN_BLOCKS = 8 };

/* Fills spans of the owner's, and has another free the first `count` blocks of each. */
static void send_from_each_span(size_t count) {
  begin();
  CHECK_EQ(lm_classes[LARGE_CLASS].block_count, SPAN_BLOCKS);
  for (size_t i = 0; i < SPANS * SPAN_BLOCKS; i++) blocks[i] = heap_take(owner, LARGE_CLASS);
  for (size_t i = 0; i < count; i++)
    for (size_t span = 0; span < SPANS; span++) heap_give(other, blocks[span * SPAN_BLOCKS + i]);
  lm_remote_flush(other);
}

static void a_refill_takes_no_more_messages_than_it_must(void) {
  send_from_each_span(1);
  size_t sent = inbox_length(owner);
  CHECK_EQ(sent, SPANS);
  heap_take(owner, LARGE_CLASS);
  CHECK_EQ(inbox_length(owner), 0);
  CHECK_EQ(received_length(owner), sent - LM_MESSAGES_PER_CALL);
  CHECK_EQ(lm_heap_validate(owner), SPANS * SPAN_BLOCKS - LM_MESSAGES_PER_CALL + 1);
  lm_remote_collect(owner);
  CHECK_EQ(received_length(owner), 0);
  CHECK_EQ(lm_heap_validate(owner), SPANS * (SPAN_BLOCKS - 1) + 1);
}

static void all_messages_are_taken_before_new_memory(void) {
  send_from_each_span(1);
  size_t slices = owner->pool->span_slice_count;
  for (size_t i = 0; i < SPANS; i++) heap_take(owner, LARGE_CLASS);
  CHECK_EQ(owner->pool->span_slice_count, slices);
  heap_take(owner, LARGE_CLASS);
  CHECK_EQ(owner->pool->span_slice_count, slices + 1);
}

#define OTHER_CLASS 89 /* whose blocks are carved one by one, too */

static void each_time_that_a_heap_grows_it_looks_through_more_messages(void) {
  send_from_each_span(1);
  heap_take(owner, OTHER_CLASS);
  CHECK_EQ(owner->early_growths, 1);
  size_t left = SPANS - PARTS_PER_REFILL * LM_MESSAGES_PER_CALL;
  CHECK_EQ(received_length(owner), left);
  heap_take(owner, OTHER_CLASS);
  CHECK_EQ(owner->early_growths, 2);
  left -= (1 + PARTS_PER_REFILL + 1) * LM_MESSAGES_PER_CALL; /* one before all else */
  CHECK_EQ(received_length(owner), left);
  heap_take(owner, OTHER_CLASS);
  CHECK_EQ(owner->early_growths, 0);
  CHECK_EQ(received_length(owner), 0);
}

static void but_no_more_than_the_effort_of_a_call_does(void) {
  enum { COUNT = 20000 };
  static char *blocks[COUNT];
  begin();
  for (size_t i = 0; i < COUNT; i++) CHECK((blocks[i] = heap_take(owner, CLASS)) != NULL);
  for (size_t i = 0; i < COUNT; i++) lm_remote_free_now((struct lm_block *)blocks[i]);
  owner->early_growths = COUNT;
  CHECK(heap_take(owner, OTHER_CLASS) != NULL);
  size_t taken = COUNT - received_length(owner), most = lm_purge_effort() * MESSAGES_PER_STEP;
  CHECK_THAT(taken, <=, most / LM_STEP_EFFORT + MESSAGES_PER_STEP);
  CHECK_THAT(taken, >, MESSAGES_PER_STEP);
  lm_remote_collect(owner);
  CHECK_EQ(lm_heap_validate(owner), 1);
}

static void without_effort_for_messages_what_is_free_is_taken_nevertheless(void) {
  send_from_each_span(1);
  size_t slices = owner->pool->span_slice_count, effort = 0;
  CHECK(lm_remote_collect_up_to(owner, 1));
  CHECK(take_freed(owner, LARGE_CLASS, &effort) != NULL);
  CHECK_EQ(take_freed(owner, LARGE_CLASS, &effort), NULL);
  CHECK_EQ(received_length(owner), SPANS - 1);
  CHECK(heap_take(owner, LARGE_CLASS) != NULL);
  CHECK_EQ(owner->pool->span_slice_count, slices);
}

static void without_memory_for_that_all_messages_are_looked_through(void) {
  send_from_each_span(0);
  char *first = heap_take(owner, OTHER_CLASS);
  for (size_t i = 1; i < lm_classes[OTHER_CLASS].block_count; i++) heap_take(owner, OTHER_CLASS);
  heap_give(other, first);
  lm_remote_flush(other);
  for (size_t i = 0; i < SPANS; i++) heap_give(other, blocks[i * SPAN_BLOCKS]);
  lm_remote_flush(other);
  LM_FOR_EACH_REGION(&lm_pools[0], region)
    lm_directory_limit_runs(region, 0); /* as if it were full */
  lm_fault_countdown = 0;
  CHECK_EQ(heap_take(owner, OTHER_CLASS), first);
}

static void a_heap_that_ends_takes_all_messages(void) {
  send_from_each_span(SPAN_BLOCKS);
  heap_take(owner, LARGE_CLASS);
  CHECK(owner->received != NULL);
  end_heap(owner);
  CHECK_EQ(owner->received, NULL);
  CHECK_EQ(inbox(owner), LM_INBOX_CLOSED);
}

static void a_thread_without_a_heap_sends_at_once(void) {
  begin();
  take_blocks(0, 2);
  lm_remote_free_now((struct lm_block *)blocks[1]);
  check_ring(inbox(owner), blocks + 1, 1);
}

/* ---- Owners that change ---- */

static void a_closed_inbox_leads_to_the_orphan(void) {
  begin();
  take_blocks(0, 3);
  heap_give(other, blocks[0]);
  struct lm_chain *chain = NULL;
  for (int i = 0; i < LM_CHAIN_COUNT; i++)
    if (other->chains[i].slice != 0) chain = &other->chains[i];
  pack(other, chain); /* the parcel is for the owner */
  end_heap(owner);
  lm_remote_flush(other);
  CHECK_EQ(inbox(owner), LM_INBOX_CLOSED);
  CHECK_EQ(lm_span_of(blocks[0])->used_count, 2);
}

/* Sends one block home at a time, while its owner looks into its inbox or does not. */
static void send_parcels_home(size_t count, bool looks) {
  for (size_t i = 0; i < count; i++) {
    heap_give(other, blocks[i]);
    lm_remote_flush(other);
    if (looks) lm_remote_collect(owner);
  }
}

static void an_owner_that_does_not_look_into_its_inbox_is_called(void) {
  begin();
  take_blocks(0, 100);
  send_parcels_home(PARCELS_PER_CALL_FOR_OWNER, false);
  CHECK(!lm_watches(owner)); /* the first one found none waiting */
  heap_give(other, blocks[50]);
  lm_remote_flush(other);
  CHECK(lm_watches(owner));
}

static void an_owner_that_looks_is_not_called(void) {
  begin();
  take_blocks(0, 100);
  send_parcels_home(100, true);
  CHECK(!lm_watches(owner));
}

static void a_list_that_could_not_be_pushed_ends_where_it_ended(void) {
  begin();
  take_blocks(0, 3);
  for (int i = 0; i < 3; i++) heap_give(other, blocks[i]);
  end_heap(owner);
  struct lm_message *last = (struct lm_message *)blocks[1];
  message_set(last, (struct lm_message *)blocks[2], 1); /* as after an attempt that came too late */
  bool waited;
  CHECK(!push(owner, (struct lm_message *)blocks[0], last, &waited));
  CHECK_EQ(message_next(last), NULL);
  CHECK_EQ(message_count(last), 1);
}

static void what_is_in_the_inbox_at_the_end_reaches_the_orphan(void) {
  begin();
  take_blocks(0, 3);
  heap_give(other, blocks[0]);
  lm_remote_flush(other);
  struct lm_message *messages = lm_load_relaxed(&owner->inbox);
  lm_store_relaxed(&owner->inbox, NULL);
  struct lm_span *span = owner->current[CLASS];
  lm_heap_flush_bin(owner, CLASS);
  owner->current[CLASS] = NULL;
  lm_orphan_leave(span);
  lm_store_relaxed(&owner->inbox, messages); /* it came after the last look */
  lm_remote_close(owner);
  CHECK_EQ(span->used_count, 2);
}

static void a_message_to_a_heap_that_has_lost_the_span_is_sent_on(void) {
  begin();
  take_blocks(0, 3);
  heap_give(owner, blocks[2]);
  struct lm_span *span = lm_span_of(blocks[0]);
  heap_give(other, blocks[0]);
  lm_remote_flush(other);
  struct lm_message *message = lm_load_relaxed(&owner->inbox);
  lm_store_relaxed(&owner->inbox, NULL);
  end_heap(owner);
  CHECK_EQ(new_heap(), owner); /* the same heap, another thread's */
  CHECK_EQ(lm_orphan_adopt(third, CLASS), span);
  lm_heap_own(third, span);
  bool waited;
  CHECK(push(owner, message, message, &waited)); /* by a thread that was slow */
  CHECK(!waited);
  lm_remote_collect(owner);
  check_ring(inbox(third), blocks, 1);
  lm_remote_collect(third);
  CHECK_EQ(lm_heap_validate(third), 1);
  CHECK_EQ(lm_heap_validate(owner), 0);
}

static void a_chain_of_a_span_that_was_adopted_meanwhile_comes_back_to_oneself(void) {
  begin();
  take_blocks(0, 3);
  heap_give(owner, blocks[2]);
  struct lm_span *span = lm_span_of(blocks[0]);
  heap_give(other, blocks[0]); /* in other's chain */
  end_heap(owner);
  CHECK_EQ(lm_span_of(heap_take(other, CLASS)), span);
  lm_remote_flush(other);
  check_ring(inbox(other), blocks, 1);
  lm_remote_collect(other);
  CHECK_EQ(lm_heap_validate(other), 2);
}

static void an_orphans_last_block_freed_from_afar_ends_the_span(void) {
  begin();
  take_blocks(0, 2);
  end_heap(owner);
  heap_give(other, blocks[0]);
  heap_give(other, blocks[1]);
  CHECK_EQ(owner->pool->span_slice_count, 1);
  lm_remote_flush(other);
  CHECK_EQ(owner->pool->span_slice_count, 0);
  lm_pool_validate(owner->pool);
}

static void a_heap_that_does_not_use_the_class_leaves_the_orphan_one(void) {
  begin();
  take_blocks(0, 5);
  end_heap(owner);
  heap_take(other, CLASS + 1);
  heap_give(other, blocks[0]);
  lm_remote_flush(other);
  CHECK_EQ(lm_load_relaxed(&lm_span_of(blocks[0])->owner), NULL);
  CHECK_EQ(lm_span_of(blocks[0])->used_count, 4);
}

static void a_heap_that_uses_the_class_adopts_the_orphan_whose_blocks_it_frees(void) {
  begin();
  take_blocks(0, 5);
  char *own = heap_take(other, CLASS); /* a span of its own */
  end_heap(owner);
  heap_give(other, blocks[1]);
  heap_give(other, blocks[2]);
  lm_remote_flush(other);
  struct lm_span *span = lm_span_of(blocks[0]);
  CHECK_EQ(lm_load_relaxed(&span->owner), other);
  CHECK_EQ(span->state, LM_SPAN_USABLE);
  CHECK_EQ(lm_heap_validate(other), 4);
  leave_no_room(other, CLASS);
  heap_give(other, blocks[0]); /* one's own from here on */
  CHECK_EQ(other->outbox.weight, 0);
  CHECK_EQ(lm_heap_validate(other), 3);
  heap_give(other, blocks[3]);
  heap_give(other, blocks[4]);
  CHECK_EQ(span->state, LM_SPAN_SPARE);
  heap_give(other, own);
}

static void an_orphan_whose_last_blocks_come_back_at_once_ends(void) {
  begin();
  take_blocks(0, 2);
  heap_take(other, CLASS);
  end_heap(owner);
  heap_give(other, blocks[0]);
  heap_give(other, blocks[1]);
  lm_remote_flush(other);
  CHECK_EQ(lm_span_of(blocks[0])->state, LM_SPAN_SPARE);
  CHECK_EQ(lm_heap_validate(other), 1);
}

static void a_heap_that_ends_sends_what_it_has_collected(void) {
  begin();
  take_blocks(0, 5);
  heap_give(other, blocks[0]);
  end_heap(other);
  check_ring(inbox(owner), blocks, 1);
}

/* ---- Chains that are begun while others are packed ---- */

static size_t place_of(const void *block) {
  return ((uintptr_t)block >> LM_SLICE_SHIFT) % LM_CHAIN_COUNT;
}

/* A block of the owner's, of a class whose blocks may be guests, in another slice than `others` but
 * in the place that the chain of the first of them has. */
static char *take_in_place_of(char *const *others, size_t count) {
  for (size_t tries = 0; tries < LM_CHAIN_COUNT * LM_SLICE_BYTES / 512 * (count + 1); tries++) {
    char *block = heap_take(owner, FIRST_GUEST_CLASS);
    bool other_slice = place_of(block) == place_of(others[0]);
    for (size_t i = 0; i < count; i++)
      other_slice &= lm_chain_slice_of(block) != lm_chain_slice_of(others[i]);
    if (other_slice) return block;
  }
  CHECK(!"a block in the same place");
  return NULL;
}

/* Packing the first chain adopts the orphan and ends it, which is worth a tick; a tick drains bins,
 * and sends their guests home by chains in any place. */
static void a_chain_that_makes_room_by_ending_an_orphan_loses_no_block(void) {
  begin();
  char *last = heap_take(third, CLASS);
  end_heap(third);
  CHECK_EQ(lm_load_relaxed(&lm_span_of(last)->owner), NULL);
  heap_take(other, CLASS); /* uses the class, so that it adopts */
  char *outer = take_in_place_of((char *[]){last}, 1);
  char *guest = take_in_place_of((char *[]){last, outer}, 2);
  heap_take(other, FIRST_GUEST_CLASS);
  while (lm_heap_pop(other, FIRST_GUEST_CLASS) != NULL) {}
  CHECK(lm_heap_keep_guest(other, (struct lm_block *)guest, FIRST_GUEST_CLASS));
  lm_heap_send_guests(other);
  CHECK(other->drain.goes_on);
  size_t held = lm_heap_validate(owner);
  heap_give(other, last);
  heap_give(other, outer);
  lm_heap_trim(other);
  lm_remote_collect(owner);
  CHECK_EQ(lm_heap_validate(owner), held - 2);
}

/* Blocks that a tick sends home may be enough to send parts, which asks for a tick as well. */
static void a_tick_starts_no_other(void) {
  begin();
  other->tick.underway = true;
  other->tick.last_ms = 0;
  lm_heap_tick(other);
  CHECK_EQ(other->tick.last_ms, 0);
  other->tick.underway = false;
  lm_heap_tick(other);
  CHECK(other->tick.last_ms != 0);
  CHECK(!other->tick.underway);
}

int main(void) {
  RUN(remote_frees_wait_in_a_chain_unseen_by_the_owner);
  RUN(a_chain_becomes_one_message_with_its_blocks_in_order);
  RUN(a_block_joins_the_chain_of_its_slice_if_there_is_one);
  RUN(middle_blocks_do_not_join_since_each_has_to_be_marked);
  RUN(a_block_above_1_kib_weighs_a_quarter_but_no_less_than_1_kib);
  RUN(few_blocks_of_orphans_wait);
  RUN(a_message_of_one_block_is_its_own_ring);
  RUN(the_smallest_blocks_hold_a_message);
  RUN(a_flush_with_nothing_collected_sends_nothing);
  RUN(chains_for_one_owner_arrive_with_one_push);
  RUN(a_chain_that_makes_room_waits_in_a_parcel);
  RUN(a_message_names_the_one_after_the_next_if_it_has_the_room);
#if LM_BITS_64
  RUN(the_smallest_blocks_have_no_room_to_name_a_message);
  RUN(those_of_an_orphan_that_is_adopted_meanwhile_have_none_either);
#endif
  RUN(owners_that_share_a_parcel_each_get_their_own);
  RUN(from_a_batch_on_a_part_is_sent_without_being_asked_for);
  RUN(no_call_packs_more_chains_than_one_part_and_a_half_have);
  RUN(nothing_is_left_behind_when_all_is_sent);
  RUN(a_tick_sends_what_is_collected);
  RUN(blocks_of_the_current_span_come_back_into_the_bin);
  RUN(a_full_span_emptied_by_others_goes_back);
  RUN(a_full_span_an_eighth_freed_by_others_is_usable);
  RUN(messages_of_several_senders_all_arrive);
  RUN(a_refill_takes_no_more_messages_than_it_must);
  RUN(all_messages_are_taken_before_new_memory);
  RUN(each_time_that_a_heap_grows_it_looks_through_more_messages);
  RUN(but_no_more_than_the_effort_of_a_call_does);
  RUN(without_effort_for_messages_what_is_free_is_taken_nevertheless);
  RUN(without_memory_for_that_all_messages_are_looked_through);
  RUN(a_heap_that_ends_takes_all_messages);
  RUN(a_thread_without_a_heap_sends_at_once);
  RUN(a_closed_inbox_leads_to_the_orphan);
  RUN(an_owner_that_does_not_look_into_its_inbox_is_called);
  RUN(an_owner_that_looks_is_not_called);
  RUN(a_list_that_could_not_be_pushed_ends_where_it_ended);
  RUN(what_is_in_the_inbox_at_the_end_reaches_the_orphan);
  RUN(a_message_to_a_heap_that_has_lost_the_span_is_sent_on);
  RUN(a_chain_of_a_span_that_was_adopted_meanwhile_comes_back_to_oneself);
  RUN(an_orphans_last_block_freed_from_afar_ends_the_span);
  RUN(a_heap_that_does_not_use_the_class_leaves_the_orphan_one);
  RUN(a_heap_that_uses_the_class_adopts_the_orphan_whose_blocks_it_frees);
  RUN(an_orphan_whose_last_blocks_come_back_at_once_ends);
  RUN(a_heap_that_ends_sends_what_it_has_collected);
  RUN(a_chain_that_makes_room_by_ending_an_orphan_loses_no_block);
  RUN(a_tick_starts_no_other);
  return UNIT_RESULT();
}
