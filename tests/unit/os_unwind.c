/* A walk that goes by what the thread's last walk has found ends with the same callers as one that
 * knows nothing, wherever on its stack the thread has gone meanwhile. */
#include "unit.h"

static struct lm_walked_stacks walked;
static uint64_t unwind_random = 88172645463325252u;
static size_t walk_count, same_count, last_depth;
static uintptr_t last_callers[LM_UNWIND_DEPTH];

static uint32_t random_below(uint32_t below) {
  unwind_random ^= unwind_random << 13, unwind_random ^= unwind_random >> 7;
  unwind_random ^= unwind_random << 17;
  return (uint32_t)(unwind_random >> 32) % below;
}

static LM_NOINLINE void compare(void) {
  struct lm_walked_stacks nothing = {.newest = 0};
  uintptr_t callers[2][LM_UNWIND_DEPTH];
  bool same[2];
  struct lm_walked_stacks *ways[2] = {&walked, &nothing};
  size_t depths[2];
  volatile int way_count = 2;
  for (int i = 0; i < way_count; i++) { /* one call, so that even its place is the same */
    same[i] = lm_os_unwind_again(ways[i]);
    depths[i] = lm_os_walked(ways[i], callers[i]);
  }
  CHECK(!same[1]);
  CHECK(depths[0] == depths[1]);
  CHECK(depths[0] > 2 || !LM_BITS_64); /* with 32 bit by frame pointers alone, if there are any */
  CHECK(memcmp(callers[0], callers[1], depths[0] * sizeof callers[0][0]) == 0);
  bool is_same = depths[0] == last_depth &&
                 memcmp(callers[0], last_callers, last_depth * sizeof last_callers[0]) == 0;
  CHECK(is_same || !same[0]); /* the same callers may stand elsewhere */
  memcpy(last_callers, callers[0], sizeof last_callers);
  last_depth = depths[0];
  same_count += same[0];
  walk_count++;
}

static void no_tail_call(void) { __asm__ volatile("" ::: "memory"); }

static void descend(uint32_t levels);

static LM_NOINLINE void plain(uint32_t levels) {
  descend(levels);
  no_tail_call();
}

static LM_NOINLINE void wide(uint32_t levels) {
  volatile char bytes[3000]; /* a page of the stack, nearly */
  bytes[levels] = 1;
  (void)bytes[levels];
  descend(levels);
  no_tail_call();
}

/* Its frame is of any size: rows go by the frame pointer. */
static LM_NOINLINE void of_any_size(uint32_t levels) {
  volatile char *bytes = __builtin_alloca(16 + random_below(3) * 16);
  bytes[0] = 1;
  descend(levels);
  no_tail_call();
}

static LM_NOINLINE void descend(uint32_t levels) {
  if (levels == 0 || random_below(4) == 0) compare();
  if (levels == 0) return;
  uint32_t which = random_below(4);
  if (which == 0) wide(levels - 1);
  else if (which == 1) of_any_size(levels - 1);
  else plain(levels - 1);
  no_tail_call();
}

static void what_is_still_there_is_found_again(void) {
  for (int i = 0; i < 10; i++) compare();
  CHECK_EQ(same_count, 9);
}

static void wherever_it_goes_its_callers_are_found(void) {
  for (int i = 0; i < 3000; i++) descend(random_below(80)); /* deeper than walks go, too */
  CHECK(walk_count > 10000);
}

/* With its caller it takes 1024 bytes, so that the stack is as long however many the caller
 * takes. */
static LM_NOINLINE void take_rest(size_t bytes) {
  volatile char *room = __builtin_alloca(1024 - bytes);
  compare();
  room[0] = 1;
}

static LM_NOINLINE void one_way(size_t bytes) {
  volatile char *room = __builtin_alloca(bytes);
  take_rest(bytes);
  room[0] = 1;
}

static LM_NOINLINE void another_way(size_t bytes) {
  volatile char *room = __builtin_alloca(bytes);
  take_rest(bytes);
  room[0] = 1;
}

/* What was pushed for a call that is over may still be there. */
static void old_frames_are_not_taken_for_new_ones(void) {
  for (size_t i = 0; i < 200; i++) {
    one_way(64 + i % 7 * 64);
    another_way(64 + i % 5 * 64);
  }
}

int main(void) {
  if (!CALLERS_ARE_KNOWN) return 77;
  RUN(what_is_still_there_is_found_again);
  RUN(old_frames_are_not_taken_for_new_ones);
  RUN(wherever_it_goes_its_callers_are_found);
  return UNIT_RESULT();
}
