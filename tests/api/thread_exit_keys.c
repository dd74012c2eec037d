/* Destructors of pthread keys run in several rounds while a thread ends, in an unknown order with
 * loam's own; each of them still allocates and frees. */
#include "threads.h"

static pthread_key_t keys[8];
static int destructor_calls;

static void allocate_in_destructor(void *value) {
  uintptr_t round = *(uintptr_t *)value;
  __atomic_fetch_add(&destructor_calls, 1, __ATOMIC_RELAXED);
  void *blocks[20];
  for (size_t i = 0; i < 20; i++) memset(blocks[i] = opaque(malloc(i * 300 + 1)), 1, i * 300 + 1);
  for (int i = 0; i < 20; i++) free(blocks[i]);
  free(value);
  if (round < 3) { /* asks for one more round */
    uintptr_t *again = (uintptr_t *)opaque(malloc(sizeof *again));
    *again = round + 1;
    pthread_setspecific(keys[round], again);
  }
}

static void *set_keys(void *unused) {
  for (int i = 0; i < 8; i++) {
    uintptr_t *value = (uintptr_t *)opaque(malloc(sizeof *value));
    *value = 0;
    pthread_setspecific(keys[i], value);
  }
  return unused;
}

int main(void) {
  for (int i = 0; i < 8; i++) pthread_key_create(&keys[i], allocate_in_destructor);
  for (int round = 0; round < 200; round++) run_in_thread(set_keys, NULL);
  CHECK_THAT(destructor_calls, >=, 200 * 9);
  size_t before = resident_bytes();
  for (int round = 0; round < 1000; round++) run_in_thread(set_keys, NULL);
  /* A heap that a late allocation re-creates must be given up again. */
  CHECK_THAT(resident_bytes(), <, before + 4 * MIB);
  return 0;
}
