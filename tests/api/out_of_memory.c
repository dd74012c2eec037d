/* When the address space is used up malloc returns NULL with ENOMEM, the program goes on, and
 * after frees there is memory again. */
#include "threads.h"
#include <sys/resource.h>

/* Fills all of the memory with blocks of `size`, chained through their first word. */
static size_t fill_memory(void ***chain, size_t size) {
  size_t count = 0;
  *chain = NULL;
  for (;; count++) {
    errno = 0;
    void **block = (void **)opaque(malloc(size));
    if (block == NULL) break;
    *block = *chain;
    *chain = block;
  }
  CHECK_EQ(errno, ENOMEM);
  return count;
}

static void free_chain(void **block) {
  while (block != NULL) {
    void **next = (void **)*block;
    free(block);
    block = next;
  }
}

static void *allocate_in_thread(void *unused) {
  void *block = opaque(malloc(64));
  if (block == NULL) CHECK_EQ(errno, ENOMEM);
  free(block);
  return unused;
}

int main(int count, char **arguments) {
  if (count == 1) {
    struct rlimit limit = {400 * MIB, 400 * MIB};
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    execl("/proc/self/exe", arguments[0], "limited", (char *)NULL);
    CHECK(!"exec");
  }
  static const size_t sizes[] = {3 * 1024 * 1024, 100000, 5000, 100};
  for (int i = 0; i < 4; i++) {
    void **chain;
    size_t blocks = fill_memory(&chain, sizes[i]);
    CHECK_THAT(blocks * sizes[i], >, 200 * MIB); /* half of the limit at least is usable */
    CHECK(opaque(malloc(50 * MIB)) == NULL);
    CHECK(opaque(calloc(50, MIB)) == NULL);
    CHECK(opaque(aligned_alloc(MIB, 50 * MIB)) == NULL);
    CHECK(opaque(realloc(chain, 50 * MIB)) == NULL);
    free_chain(chain);
    void *again = opaque(malloc(100 * MIB));
    CHECK(again != NULL);
    free(again);
  }
  void **chain;
  fill_memory(&chain, 1024);
  pthread_t thread;
  if (pthread_create(&thread, NULL, allocate_in_thread, NULL) == 0) join_thread(thread);
  free_chain(chain);
  void *last = opaque(malloc(MIB));
  CHECK(last != NULL);
  free(last);
  return 0;
}
