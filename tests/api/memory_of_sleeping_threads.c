// builds: fast linked
// windows: yes
/* Threads that have taken and freed megabytes again and again, and then sleep, keep little of it
 * all together, though nobody makes a call; and next to nothing once another thread does. */
#include <stdbool.h>

#include "children.h"
#include "names.h"
#include "threads.h"

enum { ROUNDS = 4, COUNT = 100000, ATTEMPTS = 3 };

struct use {
  size_t thread_count, bytes, least, largest;
  bool replaces; /* blocks at random, so that they are freed in no order */
};
struct sleepers {
  const struct use *use;
  pthread_barrier_t barrier;
};

static void *take(const struct use *use, uint64_t *random, size_t *size) {
  *size = use->least + random_next(random) % (use->largest - use->least + 1);
  void *block = opaque(malloc(*size));
  touch(block, *size);
  return block;
}

static void replace(const struct use *use, uint64_t *random, void **blocks, size_t count) {
  for (size_t i = 0, size; i < 4 * count; i++) {
    size_t index = random_next(random) % count;
    free(blocks[index]);
    blocks[index] = take(use, random, &size);
  }
}

static void *take_free_and_sleep(void *argument) {
  struct sleepers *sleepers = argument;
  const struct use *use = sleepers->use;
  uint64_t random = (uintptr_t)&random;
  wait_at_start(&sleepers->barrier);
  void **blocks = malloc(COUNT * sizeof *blocks);
  for (int round = 0; round < ROUNDS; round++) {
    size_t count = 0;
    for (size_t taken = 0, size; taken < use->bytes && count < COUNT; taken += size)
      blocks[count++] = take(use, &random, &size);
    if (use->replaces) replace(use, &random, blocks, count);
    for (size_t i = 0; i < count; i++) free(blocks[i]);
  }
  free(blocks);
  pthread_barrier_wait(&sleepers->barrier);
  pause();
  return NULL;
}

static void call_now_and_then(void) {
  for (int i = 0; i < 12; i++) {
    usleep(100000);
    for (int k = 0; k < 10; k++) free(opaque(malloc(100000)));
  }
}

#define THREAD_BYTES (64 * 1024) /* what its stack grows by, and its heap's record */
/* Of 400 MiB and more: what has been freed so lately that it might be taken again at once, and what
 * caches may keep (heap_cache_bytes, and a part of it again where threads begin while others have
 * theirs). 0 to 55 MiB where nothing else runs, and 0 to 16 after calls. */
#define SLEEPING_BYTES (64 * MIB)
#define CALLED_BYTES (40 * MIB)

/* In 32 bit what all have taken must find room. */
#define THREADS(count) (sizeof(void *) == 8 ? (count) : (count) / 4)
static const struct use uses[] = {{THREADS(48), 16 * MIB, 16, 1000, false},
                                  {THREADS(48), 16 * MIB, 16, 200000, false},
                                  {THREADS(48), 16 * MIB, 300000, 2000000, false},
                                  {THREADS(200), 8 * MIB, 1000, 60000, false},
                                  {THREADS(200), 8 * MIB, 16, 1000, false},
                                  /* so little of each class that bins could keep all of it */
                                  {THREADS(200), 2 * MIB, 16, 1000, true},
                                  {THREADS(200), 2 * MIB, 1000, 16000, true}};

/* What is resident without what such threads keep, who have gone to sleep. */
static size_t let_sleep(const struct use *use) {
  struct sleepers *sleepers = malloc(sizeof *sleepers); /* the threads' for ever */
  sleepers->use = use;
  CHECK_EQ(pthread_barrier_init(&sleepers->barrier, NULL, (unsigned)use->thread_count + 1), 0);
  for (size_t i = 0; i < use->thread_count; i++) start_thread(take_free_and_sleep, sleepers);
  size_t before = resident_at_start(&sleepers->barrier);
  pthread_barrier_wait(&sleepers->barrier);
  return before + use->thread_count * THREAD_BYTES;
}

static void check(size_t index) {
  /* On a busy machine threads that wait for a processor have no part in giving back. */
  size_t before = let_sleep(&uses[index]);
  for (int i = 1; i < ATTEMPTS && resident_bytes() >= before + SLEEPING_BYTES; i++)
    before = let_sleep(&uses[index]);
  CHECK_THAT(resident_bytes(), <, before + SLEEPING_BYTES);
  for (int i = 0; i < 5 && resident_bytes() >= before + CALLED_BYTES; i++) call_now_and_then();
  CHECK_THAT(resident_bytes(), <, before + CALLED_BYTES);
}

int main(void) {
  run_one_by_one(check, sizeof uses / sizeof *uses);
  return 0;
}
