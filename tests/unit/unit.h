/* What every unit test includes: the allocator itself, so that its static functions can be called,
 * and a runner. Each test function is one behaviour and runs in a process of its own, in which
 * loam has started but made nothing yet. */
#ifndef LOAM_TESTS_UNIT_H
#define LOAM_TESTS_UNIT_H

#include "../check.h"

#include "../../src/loam.c"

#include "../threads.h"
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

/* A heap that no clock disturbs, unless a test wants it. */
static inline struct lm_heap *new_heap(void) {
  struct lm_heap *heap = lm_heap_begin();
  CHECK(heap != NULL);
  lm_options.purge_delay_ms = 3600000;
  heap->tick.trim_class = LM_CLASS_COUNT;
  return heap;
}

/* Ends a heap as that of a thread whose heap is not kept. */
static inline void end_all_kept(void) {
  while (lm_heap_end_oldest_kept(0)) {}
}
static inline void end_heap(struct lm_heap *heap) {
  lm_heap_end(heap);
  end_all_kept();
}

/* A block of the class from the heap: malloc without thread-local state. */
static inline void *heap_take(struct lm_heap *heap, size_t class_index) {
  bool zero;
  void *block = lm_heap_pop(heap, class_index);
  return block != NULL ? block : lm_heap_take_slow(heap, class_index, &zero);
}

/* Until malloc finds the bin empty, frees of the class's blocks go into their spans. */
static inline void leave_no_room(struct lm_heap *heap, size_t class_index) {
  heap->frees_left[class_index] = LM_NO_FREES_LEFT;
}

/* A free by the heap's own thread, or by another's heap. */
static inline void heap_give(struct lm_heap *heap, void *address) {
  struct lm_block *block = address;
  uint32_t difference = lm_tag_of(address) ^ heap->tag;
  size_t class_index = difference & LM_TAG_CLASS_MASK;
  if (difference < LM_TAG_BIN_LIMIT) lm_heap_free_own(heap, class_index, block);
  else if (difference < LM_TAG_SMALL_LIMIT) lm_heap_free_to_sentinel(heap, block);
  else lm_remote_free(heap, block, lm_tag_of(address) & LM_TAG_CLASS_MASK);
}

#endif
