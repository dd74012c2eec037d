/* What every unit test includes: the allocator itself, so that its static functions can be called,
 * and a runner. Each test function is one behaviour and runs in a process of its own, in which
 * loam has started but made nothing yet. */
#ifndef LOAM_TESTS_UNIT_H
#define LOAM_TESTS_UNIT_H

#include "../check.h"

#include "../../src/loam.c"

#include "../threads.h"
#include <sys/wait.h>

static int unit_failed_count;

static inline void unit_run(void (*test)(void), const char *name) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(50);
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
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Where a purge decommits, memory of spans and chunks that no block was taken of. */
static inline void make_accessible(void *address, size_t size) {
  if (lm_os.purge_decommits) CHECK_EQ(lm_os_commit(address, size), 0);
}

/* ---- Pools ---------------------------------------------------------------------------------- */

/* All sums that a pool keeps, counted again. */
static inline void check_pool(struct lm_pool *pool) {
  size_t used = 0, dirty = 0, regions = 0, end = LM_REGION_BYTES >> lm_os.page_shift;
  LM_FOR_EACH_REGION(pool, r) {
    regions++;
    size_t header = (size_t)r->first_slice << (LM_SLICE_SHIFT - lm_os.page_shift);
    size_t free_dirty = 0, free_run = 0;
    CHECK_EQ(r->pool, pool);
    CHECK_EQ(lm_bitmap_count(r->used_pages, header, end), r->used_page_count);
    CHECK_EQ(lm_bitmap_count(r->used_pages, 0, header), header);
    for (size_t page = 0; page < end; page++) {
      bool is_used = lm_bitmap_test(r->used_pages, page);
      free_dirty += !is_used && lm_bitmap_test(r->dirty_pages, page);
      if (lm_bitmap_test(r->aged_pages, page))
        CHECK(!is_used && lm_bitmap_test(r->dirty_pages, page));
      if (is_used && !lm_os.purge_decommits)
        CHECK(lm_bitmap_test(r->committed_slices, page * PAGE >> LM_SLICE_SHIFT));
      free_run = is_used ? 0 : free_run + 1;
      CHECK_THAT(free_run, <=, r->run_limit);
      CHECK_EQ(r->run_limit, pool->run_limits[r->number]);
      if (!is_used) CHECK_THAT(page + 1, <=, r->search_end[lm_runs_search_index(free_run)]);
    }
    for (size_t slice = 0; slice < LM_REGION_SLICES; slice++) {
      size_t pages = LM_SLICE_BYTES >> lm_os.page_shift;
      size_t count = lm_bitmap_count(r->used_pages, slice * pages, (slice + 1) * pages);
      CHECK_EQ(lm_bitmap_test(r->used_slices, slice), count > 0);
    }
    CHECK_EQ(free_dirty, r->dirty_page_count);
    used += r->used_page_count;
    dirty += free_dirty;
  }
  CHECK_EQ(regions, pool->region_count);
  CHECK_EQ(used, pool->used_page_count);
  CHECK_EQ(dirty, pool->dirty_page_count);
}

/* All that a chunk's maps and counts say of each other, counted again. */
static inline void check_chunk(const struct lm_span *span) {
  const struct lm_chunk *chunk = lm_chunk_of_span(span);
  size_t end = lm_chunk_pages(), dirty = 0, run = 0, longest = 0, next_block = 0;
  size_t run_word = 0; /* where the run begins */
  for (size_t page = 0; page < end; page++) {
    const char *address = lm_span_start(span) + page * PAGE;
    bool is_used = lm_bitmap_test(chunk->used_pages, page);
    bool is_dirty = lm_bitmap_test(chunk->dirty_pages, page);
    if (lm_region_block_pages(address) != 0) {
      CHECK_THAT(page, >=, next_block);
      next_block = page + lm_region_block_pages(address);
    }
    CHECK_EQ(is_used, page < next_block);
    if (is_used) CHECK(is_dirty);
    if (lm_bitmap_test(chunk->aged_pages, page)) CHECK(is_dirty && !is_used);
    if (lm_bitmap_test(chunk->early_pages, page)) CHECK(!is_used);
    dirty += is_dirty && !is_used;
    run = is_used ? 0 : run + 1;
    if (run == 1) run_word = page / 64;
    longest = lm_max(longest, run);
    size_t word_limit = (chunk->run_limits >> (run_word * 8)) & 0xff;
    CHECK_THAT(lm_min(run, LM_CHUNK_RUN_MAX), <=, word_limit);
  }
  CHECK_EQ(lm_bitmap_count(chunk->used_pages, 0, end), span->used_count);
  CHECK_EQ(lm_load_relaxed(&chunk->used_count), span->used_count);
  CHECK_EQ(lm_load_relaxed(&chunk->dirty_count), dirty);
  CHECK_THAT(lm_min(longest, LM_CHUNK_RUN_MAX), <=, chunk->run_limit);
}

/* ---- Heaps ---------------------------------------------------------------------------------- */

static inline size_t unit_list_length(const struct lm_block *block) {
  size_t length = 0;
  for (; lm_is_block(block); block = block->next) CHECK_THAT(++length, <=, 65536);
  return length;
}

/* The equations of pages/span.h; returns how many blocks of the span the program has, those in
 * chains and messages included. */
static inline size_t check_span(const struct lm_heap *heap, const struct lm_span *span) {
  CHECK_THAT(span->extended_count, <=, span->capacity);
  CHECK_EQ(lm_load_relaxed(&span->owner), heap);
  uint32_t tag = lm_tags_read(lm_span_start(span));
  if (lm_tags.multiplier != 0) CHECK_EQ(tag, lm_load_relaxed(&span->tag));
  bool is_counted = heap->counted[span->class_index] || span == heap->sentinel;
  uint32_t counted = is_counted ? LM_TAG_COUNTED : 0;
  CHECK_EQ(lm_load_relaxed(&span->tag), heap->tag | counted | span->class_index);
  CHECK_EQ(span->used_count + unit_list_length(span->free_list) + span->hole_block_count,
           span->extended_count);
  CHECK_EQ(span->hole_pages != 0, span->hole_block_count != 0);
  CHECK(span->used_count > 0 || span->state == LM_SPAN_CURRENT);
  return span->used_count;
}

/* The heap's chunks, and its sums of them. */
static inline void check_middle(const struct lm_heap *heap) {
  const struct lm_middle *middle = &heap->middle;
  size_t used = 0, dirty = 0, empty = 0;
  for (size_t run = 0; run <= LM_CHUNK_RUN_MAX; run++) {
    const struct lm_span *span = middle->by_run[run].first;
    if (run != 0) CHECK_EQ((middle->runs >> (run - 1)) & 1, span != NULL);
    for (; span != NULL; span = span->next) {
      CHECK_EQ(span->state, LM_SPAN_CHUNK);
      CHECK_EQ(lm_load_relaxed(&span->owner), heap);
      CHECK_EQ(lm_load_relaxed(&span->tag), heap->tag | LM_TAG_CHUNK | LM_CLASS_MIDDLE);
      CHECK_EQ(lm_chunk_of_span(span)->run_limit, run);
      check_chunk(span);
      used += span->used_count;
      dirty += lm_load_relaxed(&lm_chunk_of_span(span)->dirty_count);
      empty += span->used_count == 0;
    }
  }
  size_t cached = 0;
  for (size_t i = 0; i < LM_CHUNK_RUN_MAX; i++) {
    const struct lm_cached *block = middle->cached[i];
    CHECK_EQ((middle->lengths >> i) & 1, block != NULL);
    for (; block != NULL; block = block->next) {
      CHECK_EQ(block->entry, lm_region_block_entry(block));
      CHECK_EQ(lm_region_block_pages(block), i + 1);
      CHECK_EQ(lm_region_live_pages(block), 0);
      cached += i + 1;
    }
  }
  CHECK_EQ((ptrdiff_t)cached, (ptrdiff_t)cache_limit(middle->used_count) - middle->cache_room);
  CHECK_EQ(used, middle->used_count);
  CHECK_EQ(dirty, middle->dirty_count);
  CHECK_EQ(empty, middle->empty_chunk_count);
}

/* How many blocks of the heap's own are in a bin, or in its reserve. */
static inline size_t check_bin(const struct lm_heap *heap, size_t class_index,
                               struct lm_block *first) {
  size_t own = 0;
  for (struct lm_block *block = first; lm_is_block(block); block = block->next) {
    uint32_t tag = lm_tag_of(block) & ~LM_TAG_COUNTED;
    CHECK_EQ(tag & (LM_TAG_OWN_LIMIT - 1), class_index);
    if (tag == (heap->tag | class_index)) own++;
    else CHECK(has_guests(heap, class_index));
  }
  return own;
}

static inline void check_spares(const struct lm_heap *heap) {
  const struct lm_spares *spares = &heap->spares;
  size_t count = 0;
  for (size_t i = 0; i < LM_CLASS_COUNT; i++) {
    const struct lm_span *span = spares->of_class[i];
    CHECK_EQ(lm_bitmap_test(spares->classes, i), span != NULL);
    for (; span != NULL; span = span->next) {
      CHECK_EQ(span->state, LM_SPAN_SPARE);
      CHECK_EQ(span->class_index, i);
      CHECK_EQ(span->used_count, 0);
      CHECK_EQ(unit_list_length(span->free_list) + span->hole_block_count, span->extended_count);
      CHECK_EQ(lm_tag_of(lm_span_start(span)), LM_TAG_SPARE);
      CHECK_EQ(lm_load_relaxed(&span->owner), heap);
      count += span->slice_count;
    }
  }
  CHECK_EQ(count, spares->count);
  CHECK_THAT(spares->lowest_count, <=, count);
  CHECK_THAT(spares->surplus_count, <=, count);
}

/* Blocks of the heap's spans that are in use. */
static inline size_t check_heap(const struct lm_heap *heap) {
  size_t used = 0, slices = 0;
  check_middle(heap);
  check_spares(heap);
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    size_t spans = heap->current[i] != NULL;
    if (heap->current[i] != NULL) {
      CHECK_EQ(heap->current[i]->state, LM_SPAN_CURRENT);
      used += check_span(heap, heap->current[i]);
    }
    for (struct lm_span *span = heap->usable[i].first; span != NULL; span = span->next) {
      CHECK_EQ(span->state, LM_SPAN_USABLE);
      CHECK_EQ(span->class_index, i);
      used += check_span(heap, span);
      spans++;
    }
    for (struct lm_span *span = heap->full[i].first; span != NULL; span = span->next) {
      CHECK_EQ(span->state, LM_SPAN_FULL);
      CHECK_EQ(span->class_index, i);
      CHECK_THAT(span->used_count, >, span->notify_count);
      used += check_span(heap, span);
      spans++;
    }
    CHECK_EQ(spans, heap->span_counts[i]);
    slices += spans * lm_classes[i].slice_count;
    if (spans * lm_classes[i].slice_count > UNCOUNTED_SLICES) CHECK(heap->counted[i]);
    used -= check_bin(heap, i, heap->bins[i]) + check_bin(heap, i, heap->reserves[i]);
  }
  CHECK_EQ(slices, heap->slice_count);
  if (lm_watches(heap)) CHECK_EQ(heap->free_tag, LM_TAG_NO_HEAP);
  const struct lm_span *sentinel = heap->sentinel;
  if (sentinel != NULL) CHECK(sentinel->state == LM_SPAN_USABLE || sentinel->state == LM_SPAN_FULL);
  return used;
}

/* A heap that no clock disturbs, unless a test wants it. */
static inline struct lm_heap *new_heap(void) {
  struct lm_heap *heap = lm_heap_begin();
  CHECK(heap != NULL);
  lm_options.purge_delay_ms = 3600000;
  heap->trim_class = LM_CLASS_COUNT;
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
  if (!heap->counted[class_index]) set_class_counted(heap, class_index, true);
  heap->rooms[class_index] = NO_ROOM;
}

/* A free by the heap's own thread, or by another's heap. */
static inline void heap_give(struct lm_heap *heap, void *address) {
  struct lm_block *block = address;
  uint32_t difference = lm_tag_of(address) ^ heap->tag;
  size_t class_index = difference & LM_TAG_CLASS_MASK;
  if (difference < LM_TAG_UNCOUNTED_LIMIT) {
    lm_heap_push(heap, class_index, block);
  } else if (difference < LM_TAG_SMALL_LIMIT) {
    if (--heap->rooms[class_index] >= 0) lm_heap_push(heap, class_index, block);
    else lm_heap_free_beyond(heap, class_index, block);
  } else {
    lm_remote_free(heap, block, lm_tag_of(address) & LM_TAG_CLASS_MASK);
  }
}

#endif
