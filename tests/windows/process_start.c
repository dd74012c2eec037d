/* Programs are started while threads allocate: each has a loam of its own that works from the start
 * and has read its options. There is no fork; a start takes memory of neither side along. */
#include "check.h"
#include <loam/loam.h>
#include <process.h>
#include <windows.h>

static volatile LONG ended;

static DWORD WINAPI allocate_on(void *seed) {
  uint64_t random = (uintptr_t)seed + 1;
  while (!ended) free(opaque(malloc((size_t)random_next(&random) % 100000)));
  return 0;
}

/* With foreign=ignore a pointer that nobody knows is let be; else it would end the program. */
static int child(const char *text) {
  static long nobodys[4];
  char *copy = _strdup(text);
  CHECK(loam_malloc_usable_size(copy) >= 5 && strcmp(copy, "text") == 0);
  free(copy);
  free(opaque(&nobodys[2]));
  for (size_t size = 1; size < 3000000; size = size * 2 + 1) free(opaque(malloc(size)));
  return 9;
}

int main(int count, char **arguments) {
  HANDLE threads[4];
  intptr_t children[4];
  if (count > 1) return child(arguments[1]);
  CHECK_EQ(_putenv("LOAM_OPTIONS=foreign=ignore"), 0);
  for (intptr_t i = 0; i < 4; i++)
    threads[i] = CreateThread(NULL, 0, allocate_on, (void *)i, 0, NULL);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 4; i++)
      children[i] = _spawnl(_P_NOWAIT, arguments[0], arguments[0], "text", NULL);
    for (int i = 0; i < 4; i++) {
      int status;
      CHECK(_cwait(&status, children[i], 0) != -1);
      CHECK_EQ(status, 9);
    }
  }
  ended = 1;
  CHECK(WaitForMultipleObjects(4, threads, TRUE, INFINITE) == WAIT_OBJECT_0);
  return 0;
}
