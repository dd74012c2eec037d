/* malloc in constructors, also before loam's own; in destructors of thread-local values; and in
 * exit handlers and destructors. */
#include "threads.h"

static char *before_loam, *in_constructor;
static __thread char *of_thread;
static __thread int numbers[100] = {1, 2, 3};
static pthread_key_t key;
static int ended;

__attribute__((constructor(90))) static void construct_first(void) {
  before_loam = opaque(strdup("before loam's constructor"));
}
__attribute__((constructor)) static void construct(void) {
  in_constructor = opaque(malloc(100000));
  fill(in_constructor, 0, 100000, 1);
}
__attribute__((destructor)) static void destruct(void) { free(opaque(malloc(300))); }
static void at_exit(void) { free(opaque(realloc(before_loam, 3000))); }

static void end_of_thread(void *block) {
  check_filled(block, 0, 5000, 3);
  free(opaque(realloc(block, 50000)));
  free(of_thread);
  __atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
}

static void *use(void *unused) {
  CHECK_EQ(numbers[1], 2);
  of_thread = opaque(malloc(77));
  void *block = opaque(malloc(5000));
  fill(block, 0, 5000, 3);
  CHECK_EQ(pthread_setspecific(key, block), 0);
  return unused;
}

int main(void) {
  CHECK(strcmp(before_loam, "before loam's constructor") == 0);
  check_filled(in_constructor, 0, 100000, 1);
  free(in_constructor);
  CHECK_EQ(atexit(at_exit), 0);
  CHECK_EQ(pthread_key_create(&key, end_of_thread), 0);
  size_t before = 0;
  for (int round = 0; round < 300; round++) {
    if (round == 100) before = resident_bytes();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) threads[i] = start_thread(use, NULL);
    for (int i = 0; i < 4; i++) join_thread(threads[i]);
  }
  CHECK_EQ(ended, 1200);
  /* Heaps of ended threads are used again. An emulator's own memory would count. */
  if (strcmp(test_build(), "emulated") != 0) CHECK_THAT(resident_bytes(), <, before + 8 * MIB);
  return 0;
}
