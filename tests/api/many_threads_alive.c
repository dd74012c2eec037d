// windows: yes
/* A thousand threads or two at once, each with blocks of its own: bounded memory per thread. */
#include "names.h"
#include "reserved_memory.h"
#include "threads.h"

/* In 32 bit the stacks must find room: Windows reserves at least what the program's file says. */
#if defined(_WIN32)
enum { COUNT = sizeof(void *) == 8 ? 1000 : 250 };
#else
enum { COUNT = sizeof(void *) == 8 ? 2000 : 250 };
#endif
static pthread_barrier_t all_begun, all_allocated, all_may_free;

static void *allocate_and_wait(void *seed) {
  unsigned char *blocks[8];
  wait_at_start(&all_begun);
  for (unsigned i = 0; i < 8; i++) {
    blocks[i] = opaque(malloc(16u << i));
    fill(blocks[i], 0, 16u << i, i + (unsigned)(uintptr_t)seed);
  }
  pthread_barrier_wait(&all_allocated);
  pthread_barrier_wait(&all_may_free);
  for (unsigned i = 0; i < 8; i++) {
    check_filled(blocks[i], 0, 16u << i, i + (unsigned)(uintptr_t)seed);
    free(blocks[i]);
  }
  return NULL;
}

/* A page for each class's span and one of the heap's, and the stack, which takes 8 to 16 KiB. */
static size_t most_of_thread(void) {
#if defined(_WIN32)
  return 160 * KIB;
#else
  return 9 * page_bytes() + 20 * KIB;
#endif
}

int main(void) {
  static pthread_t threads[COUNT];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 * KIB);
  pthread_barrier_init(&all_begun, NULL, COUNT + 1);
  pthread_barrier_init(&all_allocated, NULL, COUNT + 1);
  pthread_barrier_init(&all_may_free, NULL, COUNT + 1);
  for (uintptr_t i = 0; i < COUNT; i++)
    CHECK_EQ(pthread_create(&threads[i], &attributes, allocate_and_wait, (void *)i), 0);
  size_t before = resident_at_start(&all_begun);
  pthread_barrier_wait(&all_allocated);
  CHECK_THAT((resident_bytes() - before) / COUNT, <, most_of_thread());
  pthread_barrier_wait(&all_may_free);
  for (int i = 0; i < COUNT; i++) join_thread(threads[i]);
  return 0;
}
