/* Statistics while other threads free each other's blocks and write into the memory of those freed
 * before: what is read there of lists is checked before it is followed. */
#include "names.h"
#include "threads.h"

enum { THREADS = 3, PASSED = 512, BLOCK_WORDS = 8 };
static uintptr_t *passed[PASSED]; /* swapped atomically */
static int stop;

/* Looks like the link of a message to where no memory is, and is aligned as one. */
static const uintptr_t strange_link = (uintptr_t)0x5db90a63b970;

static void *pass_blocks(void *seed) {
  uint64_t random = (uintptr_t)seed + 1;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    uintptr_t *block = opaque(malloc(BLOCK_WORDS * sizeof *block));
    for (int i = 0; i < BLOCK_WORDS; i++) block[i] = strange_link;
    free(__atomic_exchange_n(&passed[random_next(&random) % PASSED], block, __ATOMIC_ACQ_REL));
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(pass_blocks, (void *)i);
  for (double end = seconds_now() + 1; seconds_now() < end;) {
    struct loam_mallinfo2 info = loam_mallinfo2();
    CHECK_THAT(info.arena, >=, info.uordblks);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
  for (int i = 0; i < PASSED; i++) free(passed[i]);
  return 0;
}
