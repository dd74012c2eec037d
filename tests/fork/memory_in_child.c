// builds: fast linked
/* Children do not lose the memory of the threads that are gone: a chain of 30 forks, each of
 * which frees what the generation before allocated in a thread, stays small. */
#include "background.h"

enum { COUNT = 20000, SIZE = 500, GENERATIONS = 30 };
static void *blocks[COUNT];

static void *allocate_all(void *unused) {
  for (int i = 0; i < COUNT; i++) memset(blocks[i] = opaque(malloc(SIZE)), 1, SIZE);
  return unused;
}

int main(void) {
  size_t limit = 0;
  pid_t child = 0;
  for (int generation = 0; child == 0 && generation < GENERATIONS; generation++) {
    run_in_thread(allocate_all, NULL);
    if (generation == 0) limit = resident_bytes() + 10 * MIB;
    CHECK_THAT(resident_bytes(), <, limit);
    child = fork();
    CHECK(child >= 0);
    for (int i = 0; child == 0 && i < COUNT; i++) free(blocks[i]);
  }
  if (child != 0) CHECK_EQ(wait_for(child), 0);
  _exit(0);
}
