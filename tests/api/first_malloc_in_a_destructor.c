/* A thread whose first malloc comes in a destructor, of whichever round but the last, ends its heap
 * as any other. */
#include "threads.h"

enum { THREADS = 1000 };
static pthread_key_t key;
static uintptr_t first_round;

static void allocate_in_round(void *value) {
  uintptr_t round = (uintptr_t)value;
  if (round < first_round) pthread_setspecific(key, (void *)(round + 1));
  else free(opaque(malloc(100)));
}

static void *set_key(void *unused) {
  pthread_setspecific(key, (void *)1);
  return unused;
}

int main(void) {
  CHECK_EQ(pthread_key_create(&key, allocate_in_round), 0);
  for (first_round = 1; first_round <= 3; first_round++) {
    for (int i = 0; i < 100; i++) run_in_thread(set_key, NULL);
    size_t before = resident_bytes();
    for (int i = 0; i < THREADS; i++) run_in_thread(set_key, NULL);
    CHECK_THAT(resident_bytes(), <, before + 2 * MIB);
  }
  return 0;
}
