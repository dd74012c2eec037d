/* 64 threads exchange blocks; after they have ended, their memory serves others. */
#include "check.h"
#include <loam/loam.h>
#include <windows.h>

enum { THREADS = 64, SLOTS = 1024, STEPS = 1000 };
static void *volatile slots[SLOTS];
static volatile LONG started_count;
static HANDLE all_started;

/* Each round has a heap for each thread: all threads live at the same time. */
static void wait_for_all(void) {
  free(opaque(malloc(1)));
  if (InterlockedIncrement(&started_count) % THREADS == 0) SetEvent(all_started);
  WaitForSingleObject(all_started, INFINITE);
}

static DWORD WINAPI exchange(void *seed) {
  uint64_t random = (uintptr_t)seed * 7919 + 1;
  wait_for_all();
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
  size_t used_first = 0;
  CHECK((all_started = CreateEventA(NULL, TRUE, FALSE, NULL)) != NULL);
  for (int round = 0; round < 3; round++) {
    ResetEvent(all_started);
    for (intptr_t i = 0; i < THREADS; i++)
      CHECK((threads[i] = CreateThread(NULL, 0, exchange, (void *)i, 0, NULL)) != NULL);
    CHECK(WaitForMultipleObjects(THREADS, threads, TRUE, INFINITE) == WAIT_OBJECT_0);
    for (int i = 0; i < THREADS; i++) CloseHandle(threads[i]);
    if (round == 0) used_first = loam_mallinfo2().uordblks;
  }
  for (int i = 0; i < SLOTS; i++) free(slots[i]);
  /* Empty pages that wait for the purge clock are not counted. */
  CHECK_THAT(loam_mallinfo2().uordblks, <, used_first * 2 + 16 * MIB);
  return 0;
}
