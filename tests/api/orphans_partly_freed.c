// builds: fast linked
// windows: yes
/* Threads end with half of their blocks alive: the free halves serve later threads. */
#include "names.h"
#include "threads.h"

enum { THREADS = 100, PER_THREAD = 4000, BYTES = 200 };
static void *kept[THREADS][PER_THREAD / 2];

static void *keep_every_second(void *index) {
  static __thread void *dropped[PER_THREAD / 2];
  void **mine = kept[(uintptr_t)index];
  for (int i = 0; i < PER_THREAD / 2; i++) {
    memset(mine[i] = opaque(malloc(BYTES)), 1, BYTES);
    memset(dropped[i] = opaque(malloc(BYTES)), 2, BYTES);
  }
  for (int i = 0; i < PER_THREAD / 2; i++) free(dropped[i]);
  return NULL;
}

int main(void) {
  size_t before = resident_bytes();
  for (uintptr_t i = 0; i < THREADS; i++) run_in_thread(keep_every_second, (void *)i);
  size_t live = (size_t)THREADS * (PER_THREAD / 2) * BYTES; /* 38 MiB */
  CHECK_THAT(resident_bytes(), <, before + live + live / 4 + 4 * MIB);
  for (int i = 0; i < THREADS; i++)
    for (int j = 0; j < PER_THREAD / 2; j++) free(kept[i][j]);
  return 0;
}
