// long-arguments: 40000
/* Threads take, resize, hand over and free blocks while profiles are started, stopped and written:
 * no block is given out twice, and none loses what is in it. */
#include "names.h"

#include <pthread.h>
#include <stdatomic.h>

#include "threads.h"

enum { THREADS = 4, PLACES = 256, LARGEST = 3000 };

struct block {
  size_t size;
  unsigned char bytes[];
};
static _Atomic(struct block *) places[PLACES];
static atomic_int running = THREADS;
static int turn_count = 12000;

static unsigned char mark_of(size_t size) { return (unsigned char)(size * 7 + 1); }

static struct block *mark(struct block *block, size_t size) {
  block->size = size;
  memset(block->bytes, mark_of(size), size);
  return block;
}

static void check(const struct block *block) {
  for (size_t i = 0; i < block->size; i++) CHECK_EQ(block->bytes[i], mark_of(block->size));
}

static void drop(struct block *block) {
  if (block == NULL) return;
  check(block);
  free(block);
}

static size_t next_size(unsigned long *random) {
  *random = *random * 6364136223846793005u + 1442695040888963407u;
  size_t number = (size_t)(*random >> 33);
  if (number % 500 == 0) return number % 900000;
  if (number % 50 == 0) return number % 60000;
  return number % LARGEST;
}

static void *run(void *seed) {
  unsigned long random = (unsigned long)(uintptr_t)seed * 2654435761u + 1;
  for (int i = 0; i < turn_count; i++) {
    size_t size = next_size(&random);
    struct block *block = opaque(malloc(sizeof *block + size));
    CHECK(block != NULL);
    mark(block, size);
    if (i % 7 == 0) {
      size_t more = size + next_size(&random) / 2;
      block = opaque(realloc(block, sizeof *block + more));
      CHECK(block != NULL);
      check(block);
      mark(block, more);
    }
    drop(atomic_exchange(&places[random % PLACES], block));
  }
  atomic_fetch_sub(&running, 1);
  return NULL;
}

int main(int count, char **arguments) {
  pthread_t threads[THREADS];
  if (count > 1) turn_count = atoi(arguments[1]);
  if (loam_profile_start == NULL) return 77;
  for (uintptr_t i = 0; i < THREADS; i++)
    CHECK_EQ(pthread_create(&threads[i], NULL, run, (void *)(i + 1)), 0);
  for (unsigned turn = 0; atomic_load(&running) != 0; turn++) {
    CHECK_EQ(loam_profile_start(turn % 3 == 0 ? 16 : 2000), 0);
    usleep(3000);
    CHECK_EQ(loam_profile_write("/dev/null"), 0);
    if (turn % 2 == 0) loam_profile_stop();
    usleep(1000);
  }
  for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < PLACES; i++) drop(atomic_exchange(&places[i], NULL));
  return 0;
}
