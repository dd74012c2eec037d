/* Threads that are cancelled while they allocate: their cleanup handlers and the destructors of
 * their keys still free and allocate, and what they had is not lost. */
#include "threads.h"

enum { THREADS = 400, BLOCKS = 50 };
static pthread_key_t key;
static int begun, cleanups, destructions; /* relaxed */

static void destroy(void *block) {
  free(opaque(malloc(3000)));
  free(block);
  __atomic_add_fetch(&destructions, 1, __ATOMIC_RELAXED);
}

static void clean_up(void *argument) {
  void **blocks = argument;
  for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
  __atomic_add_fetch(&cleanups, 1, __ATOMIC_RELAXED);
}

static void *allocate_until_cancelled(void *unused) {
  void *blocks[BLOCKS] = {NULL};
  pthread_setspecific(key, opaque(malloc(100)));
  pthread_cleanup_push(clean_up, blocks);
  __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
  for (size_t i = 0;; i++) {
    free(blocks[i % BLOCKS]);
    blocks[i % BLOCKS] = opaque(malloc(i * 37 % 20000));
    if (i % 20 == 0) pthread_testcancel();
  }
  pthread_cleanup_pop(0);
  return unused;
}

/* One of four once it is at work, the others wherever they are. */
static void cancel_some(int count) {
  for (int i = 0; i < count; i++) {
    void *result;
    int begun_before = begun;
    pthread_t thread = start_thread(allocate_until_cancelled, NULL);
    while (i % 4 == 0 && __atomic_load_n(&begun, __ATOMIC_RELAXED) == begun_before) sleep_ms(1);
    CHECK_EQ(pthread_cancel(thread), 0);
    CHECK_EQ(pthread_join(thread, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
  }
}

int main(void) {
  CHECK_EQ(pthread_key_create(&key, destroy), 0);
  cancel_some(THREADS / 4);
  size_t before = resident_bytes();
  cancel_some(THREADS);
  CHECK_THAT(resident_bytes(), <, before + 4 * MIB);
  CHECK_THAT(cleanups, <=, destructions); /* a thread may be cancelled before it has got that far */
  CHECK_EQ(cleanups, begun);
  return 0;
}
