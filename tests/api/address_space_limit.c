/* Under `ulimit -v 1000000` eight threads work as usual: loam must not reserve more than it may. */
#include "threads.h"
#include <sys/resource.h>

static void *work(void *seed) {
  uint64_t random = (uintptr_t)seed + 1;
  unsigned char *blocks[64] = {NULL};
  size_t sizes[64] = {0};
  for (int i = 0; i < 20000; i++) {
    int at = (int)(random_next(&random) % 64);
    check_filled(blocks[at], 0, sizes[at] < 100 ? sizes[at] : 100, (unsigned)at);
    free(blocks[at]);
    sizes[at] = random_next(&random) % (i % 50 == 0 ? 200000 : 3000);
    blocks[at] = opaque(malloc(sizes[at]));
    CHECK(blocks[at] != NULL);
    fill(blocks[at], 0, sizes[at] < 100 ? sizes[at] : 100, (unsigned)at);
  }
  for (int i = 0; i < 64; i++) free(blocks[i]);
  return NULL;
}

int main(int count, char **arguments) {
  if (count == 1) { /* the limit must hold from the first moment of the process */
    struct rlimit limit = {1000000 * KIB, 1000000 * KIB};
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    execl("/proc/self/exe", arguments[0], "limited", (char *)NULL);
    CHECK(!"exec");
  }
  pthread_t threads[8];
  for (uintptr_t i = 0; i < 8; i++) threads[i] = start_thread(work, (void *)i);
  for (int i = 0; i < 8; i++) join_thread(threads[i]);
  unsigned char *large = opaque(malloc(200 * MIB));
  CHECK(large != NULL);
  touch(large, 200 * MIB);
  free(large);
  return 0;
}
