/* Blocks whose contents follow from their address and a seed, so that a block that two owners
 * share, or that lost its contents, is found when it is checked. */
#ifndef LOAM_TESTS_STRESS_BLOCKS_H
#define LOAM_TESTS_STRESS_BLOCKS_H

#include "../names.h"
#include "../threads.h"

#define STRESS_THREADS_MAX 256

/* Arguments of every stress program: seconds, seed, threads. */
struct stress {
  double seconds;
  uint64_t seed;
  int thread_count;
};

/* ---- Mappings: at the end there are not many more than at the start ---- */

#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
#include "../maps.h"

#define MAPS_MORE_MOST 200
#define MAPS_OF_THREAD 4 /* its stack stays with the C library */

static size_t stress_maps_most;

static inline void check_maps(void) { CHECK_THAT(count_maps(), <=, stress_maps_most); }

static inline void watch_maps(const struct stress *stress) {
  size_t of_threads = MAPS_OF_THREAD * (size_t)stress->thread_count;
  stress_maps_most = count_maps() + MAPS_MORE_MOST + of_threads;
  atexit(check_maps);
}
#else
static inline void watch_maps(const struct stress *stress) { (void)stress; }
#endif

static inline struct stress stress_arguments(int count, char **arguments) {
  struct stress stress = {2, 1, 4};
  if (count > 1) stress.seconds = atof(arguments[1]);
  if (count > 2) stress.seed = strtoull(arguments[2], NULL, 10);
  if (count > 3) stress.thread_count = atoi(arguments[3]);
  CHECK(stress.seconds > 0 && stress.thread_count > 0 && stress.thread_count <= STRESS_THREADS_MAX);
  watch_maps(&stress);
  return stress;
}

/* Runs `work` in each of the threads, with their numbers. */
static inline void stress_run(const struct stress *stress, void *(*work)(void *)) {
  pthread_t threads[STRESS_THREADS_MAX];
  for (intptr_t i = 0; i < stress->thread_count; i++) threads[i] = start_thread(work, (void *)i);
  for (int i = 0; i < stress->thread_count; i++) join_thread(threads[i]);
}

/* Who holds the record alone reads and writes it; records are handed over by atomic exchange. */
struct record {
  unsigned char *block; /* NULL: empty */
  size_t size;
  unsigned seed;
};

/* From 1 byte to 4 MiB; each doubling is half as likely above 32 KiB. */
static inline size_t random_size(uint64_t *random) {
  uint64_t bits = random_next(random);
  int doublings = (int)(bits % 16);
  if (doublings == 15)
    while (doublings < 22 && (bits >>= 1) & 16) doublings++;
  return (size_t)(random_next(random) % ((size_t)1 << doublings)) + 1;
}

static inline unsigned record_seed(const struct record *record) {
  return record->seed + (unsigned)((uintptr_t)record->block >> 4);
}

/* Both ends, and a byte in each OS page of what is in between. */
static inline void record_fill(struct record *record) {
  unsigned seed = record_seed(record);
  size_t head = record->size < 512 ? record->size : 512;
  fill(record->block, 0, head, seed);
  for (size_t i = head; i < record->size; i += 4096) record->block[i] = pattern_byte(i, seed);
  record->block[record->size - 1] = pattern_byte(record->size - 1, seed);
}

/* `size`: how much of the contents is to hold. `seed`: as it was when they were written. */
static inline void record_check(const struct record *record, size_t size, unsigned seed) {
  size_t head = record->size < 512 ? record->size : 512;
  check_filled(record->block, 0, head < size ? head : size, seed);
  for (size_t i = head; i < size; i += 4096)
    CHECK_EQ(record->block[i], pattern_byte(i, seed));
  if (size == record->size) check_filled(record->block, size - 1, size, seed);
}

static inline void record_allocate(struct record *record, uint64_t *random) {
  size_t size = random_size(random);
  record->seed = (unsigned)random_next(random);
  record->size = size;
  switch (random_next(random) % 8) {
  case 0:
    record->block = opaque(calloc(1, size));
    CHECK(record->block != NULL);
    check_zero(record->block, size < 4096 ? size : 4096);
    CHECK_EQ(record->block[size - 1], 0);
    break;
  case 1: {
    size_t alignment = (size_t)16 << (random_next(random) % 9);
    record->block = opaque(aligned_alloc(alignment, size));
    CHECK_EQ((uintptr_t)record->block % alignment, 0);
    break;
  }
  default: record->block = opaque(malloc(size));
  }
  CHECK(record->block != NULL);
  CHECK_EQ((uintptr_t)record->block % 16, 0);
  record_fill(record);
}

static inline void record_free(struct record *record) {
  if (record->block == NULL) return;
  record_check(record, record->size, record_seed(record));
  free(record->block);
  record->block = NULL;
}

static inline void record_resize(struct record *record, uint64_t *random) {
  unsigned seed = record_seed(record);
  size_t size = random_size(random), old_size = record->size;
  record_check(record, old_size, seed);
  record->block = opaque(realloc(record->block, size));
  CHECK(record->block != NULL);
  /* The byte layout of record_fill depends on the size only in its head. */
  size_t smaller = size < old_size ? size : old_size;
  check_filled(record->block, 0, smaller < 512 ? smaller : 512, seed);
  if (old_size > 512)
    for (size_t i = 512; i < smaller; i += 4096)
      CHECK_EQ(record->block[i], pattern_byte(i, seed));
  record->size = size;
  record_fill(record);
}

#endif
