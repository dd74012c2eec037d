/* 64 threads exchange blocks; after they have ended, their memory serves others. */
#include "check.h"
#include <loam/loam.h>
#include <windows.h>

enum { THREADS = 64, SLOTS = 1024, STEPS = 1000 };
static void *volatile slots[SLOTS];

static DWORD WINAPI exchange(void *seed) {
  uint64_t random = (uintptr_t)seed * 7919 + 1;
  for (int i = 0; i < STEPS; i++) {
    size_t size = 1 + (size_t)random_next(&random) % (i % 100 == 0 ? 300000 : 2000);
    char *block = malloc(size);
    CHECK(block != NULL);
    block[0] = block[size - 1] = 1;
    free(InterlockedExchangePointer(&slots[random_next(&random) % SLOTS], block));
  }
  return 0;
}

int main(void) {
  HANDLE threads[THREADS];
  size_t heaps_first = 0;
  for (int round = 0; round < 3; round++) {
    for (intptr_t i = 0; i < THREADS; i++)
      CHECK((threads[i] = CreateThread(NULL, 0, exchange, (void *)i, 0, NULL)) != NULL);
    CHECK(WaitForMultipleObjects(THREADS, threads, TRUE, INFINITE) == WAIT_OBJECT_0);
    for (int i = 0; i < THREADS; i++) CloseHandle(threads[i]);
    if (round == 0) heaps_first = loam_mallinfo2().arena;
  }
  for (int i = 0; i < SLOTS; i++) free(slots[i]);
  CHECK_THAT(loam_mallinfo2().arena, <, heaps_first * 2 + 16 * MIB);
  return 0;
}
