/* What every unit test includes: the allocator itself, so that its static functions can be called,
 * and a runner. Each test function is one behaviour and runs in a process of its own, in which
 * loam has started but made nothing yet. */
#ifndef LOAM_TESTS_UNIT_H
#define LOAM_TESTS_UNIT_H

#include "../check.h"

#include "../../src/loam.c"

#include "../threads.h"
#include <signal.h>
#include <sys/wait.h>

/* Of one test function, so that one that hangs is named: before ctest ends all of them. */
#if defined(__SANITIZE_THREAD__)
#define UNIT_SECONDS_MOST 1000
#else
#define UNIT_SECONDS_MOST 250
#endif

static int unit_failed_count;

static inline void unit_run(void (*test)(void), const char *name) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(UNIT_SECONDS_MOST);
    test();
    _exit(0);
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  printf("%s %s\n", good ? "ok  " : "FAIL", name);
  if (WIFSIGNALED(status)) printf("     by signal %d\n", WTERMSIG(status));
  fflush(stdout);
  unit_failed_count += !good;
}

#define RUN(test) unit_run(test, #test)
#define UNIT_RESULT() (unit_failed_count == 0 ? 0 : 1)

/* Runs all tests as on this system, and as on those where memory counts once it is committed, and
 * where a purge decommits it. */
static inline void unit_run_for_each_commit(void (*run_all)(void)) {
  struct lm_os_facts here = lm_os;
  run_all();
  puts("without overcommit:");
  lm_os.overcommit = false;
  run_all();
  puts("where a purge decommits:");
  lm_os.purge_decommits = true;
  run_all();
  lm_os = here;
}

/* Whether loam ends the program, with whatever it says, where it does this. */
static inline bool is_the_programs_end(void (*function)(void)) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    close(STDERR_FILENO);
    function();
    _exit(0);
  }
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#define PAGE lm_os.page_bytes
/* A slice of one page has no part that could go back. */
#define SLICES_HAVE_PAGES (PAGE < LM_SLICE_BYTES)
/* Hardly any larger page is free between blocks that stay. */
#define BLOCKS_LEAVE_PAGES (PAGE <= 4 * KIB)
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Where a purge decommits, memory of spans and chunks that no block was taken of. */
static inline void make_accessible(void *address, size_t size) {
  if (lm_os.purge_decommits) CHECK_EQ(lm_os_commit(address, size), 0);
}

#if LM_FAKE_OS

/* From here on each system call fails that can; or none. */
static inline void refuse_all(bool refused) {
  lm_fault_more = refused ? LONG_MAX : 0;
  lm_fault_countdown = refused ? 0 : -1;
}

/* ---- Time, which stands still in a test that has asked for it ---- */

static inline void stop_clock(void) {
  if (lm_load_relaxed(&lm_fault_clock_ms) == 0)
    lm_store_relaxed(&lm_fault_clock_ms, lm_os_clock_ms());
}
static inline void pass_ms(uint64_t ms) { lm_add_relaxed(&lm_fault_clock_ms, ms); }

/* ---- Centrals ---- */

/* As on a machine with so many processors, before any central is made. */
static inline void have_centrals(uint32_t count) { lm_central_count = count; }

static inline struct lm_central *central_at(uint32_t index) {
  struct lm_central *central = lm_central_at(index);
  CHECK(central != NULL);
  return central;
}

static inline void validate_all(void) {
  for (uint32_t i = 0; i < lm_central_count; i++)
    if (lm_central_if_made(i) != NULL) lm_central_validate(lm_central_if_made(i));
  for (unsigned i = 0; i < lm_pool_count; i++) lm_pool_validate(&lm_pools[i]);
}

/* Up to `want` blocks of spans, as malloc's slow path takes them. Returns the first one, linked to the
 * others. */
static inline struct lm_block *take_list(struct lm_central *central, size_t class_index,
                                         size_t want, size_t *count) {
  struct lm_block *rest;
  bool zero;
  struct lm_block *first = lm_central_take(central, class_index, want, &rest, count, &zero);
  if (first != NULL) lm_block_link(first, rest);
  return first;
}

/* A whole list, however many blocks a call gives. */
static inline struct lm_block *take_whole_list(struct lm_central *central, size_t class_index) {
  struct lm_block *list = LM_NO_BLOCK;
  for (size_t left = lm_list_blocks[class_index], count; left > 0;) {
    struct lm_block *block = take_list(central, class_index, left, &count), *next;
    CHECK(block != NULL);
    for (; lm_is_block(block) && left > 0; block = next, left--) {
      next = lm_block_next(block);
      lm_block_link(block, list);
      list = block;
    }
    lm_central_put_list(block, false); /* of another's depot there may be more */
  }
  return list;
}

static inline size_t length_of(const struct lm_block *block) {
  size_t length = 0;
  for (; lm_is_block(block); block = lm_block_next(block)) CHECK_THAT(++length, <=, 1 << 20);
  return length;
}

/* Where the blocks of a small class are, by what spans and lists say, while nobody uses them. */
struct whereabouts {
  size_t span_count, carved, listed, in_holes; /* of all spans */
  size_t in_caches, in_depots;                 /* by counting them */
  size_t taken; /* carved, and none of these: the test has them, or they are lost */
};

static inline void where_add_span(struct whereabouts *where, const struct lm_span *span) {
  where->span_count++;
  where->carved += span->extended_count;
  where->listed += length_of(span->free_list);
  where->in_holes += span->hole_block_count;
}

static inline void where_add_central(struct whereabouts *where, const struct lm_central *central,
                               size_t class_index) {
  const struct lm_central_class *class = &central->classes[class_index];
  const struct lm_span_list *lists[] = {&class->usable, &class->roomy, &class->full};
  for (size_t i = 0; i < COUNT_OF(lists); i++)
    for (const struct lm_span *span = lists[i]->first; span != NULL; span = span->next)
      where_add_span(where, span);
  struct lm_block *list = class->lists;
  for (; list != NULL && list != LM_NO_BLOCK; list = lm_list_next(list))
    where->in_depots += length_of(list);
}

static inline struct whereabouts find_blocks(size_t class_index) {
  struct whereabouts where = {0};
  for (uint32_t i = 0; i < lm_central_count; i++)
    if (lm_central_if_made(i) != NULL) where_add_central(&where, lm_central_if_made(i), class_index);
  const struct lm_cache *cache = lm_load_acquire(&lm_caches_made);
  for (; cache != NULL; cache = cache->next_made) {
    where.in_caches += length_of(cache->lists[class_index]);
    for (size_t i = 0; i < cache->homeward.count; i++)
      where.in_caches += lm_tag_of(cache->homeward.blocks[i]) == class_index;
  }
  where.taken = where.carved - where.listed - where.in_holes - where.in_caches - where.in_depots;
  return where;
}

/* ---- Caches ---- */

/* A thread's cache, whose frees nobody looks at closely, and which no clock disturbs. */
static inline struct lm_cache *new_cache(void) {
  stop_clock();
  struct lm_cache *cache = lm_cache_begin();
  CHECK(cache != NULL);
  cache->close_looks = 0;
  return cache;
}

/* A block of the class from the cache: malloc without thread-local state. */
static inline void *cache_take(struct lm_cache *cache, size_t class_index) {
  bool zero;
  if (!lm_class_is_small(class_index))
    return lm_middle_take(cache, lm_sizeclass_bytes(class_index), false);
  void *block = lm_cache_pop(cache, class_index);
  if (block != NULL) return block;
  block = lm_cache_refill(cache, class_index, &zero);
  lm_tick_event(cache);
  return block;
}

/* The same of free. */
static inline void cache_give(struct lm_cache *cache, void *block) {
  uint32_t tag = lm_tag_of(block);
  CHECK(!lm_tag_is_shared(tag));
  if (!lm_tag_is_small(tag)) {
    CHECK(lm_large_give(cache, block));
  } else if (!lm_cache_free(cache, tag, block)) {
    lm_cache_overflow(cache, tag, block);
    lm_tick_event(cache);
  }
}

#endif

#endif
