/* A library with loam inside is unloaded while threads live that have used it, again and again:
 * they end in peace, and the program's own loam is not disturbed. */
#include "check.h"
#include <windows.h>

enum { ROUNDS = 10, THREADS = 8 };
static HANDLE used[THREADS], unloaded;
static void *(*take)(size_t size);
static void (*give)(void *block);

static DWORD WINAPI use(void *index) {
  void *blocks[100];
  for (int i = 0; i < 100; i++) blocks[i] = take(1 + (size_t)i * 50);
  for (int i = 0; i < 100; i += 2) give(blocks[i]);
  void *own = malloc(1000);
  SetEvent(used[(intptr_t)index]);
  WaitForSingleObject(unloaded, INFINITE);
  free(own);
  return 0;
}

static void one_round(void) {
  HANDLE threads[THREADS];
  HMODULE library = LoadLibraryA("holder.dll");
  CHECK(library != NULL);
  take = (void *(*)(size_t))(uintptr_t)GetProcAddress(library, "holder_take");
  give = (void (*)(void *))(uintptr_t)GetProcAddress(library, "holder_give");
  CHECK(take != NULL && give != NULL);
  ResetEvent(unloaded);
  for (intptr_t i = 0; i < THREADS; i++)
    threads[i] = CreateThread(NULL, 0, use, (void *)i, 0, NULL);
  CHECK(WaitForMultipleObjects(THREADS, used, TRUE, INFINITE) == WAIT_OBJECT_0);
  give(take(100));
  CHECK(FreeLibrary(library));
  CHECK(GetModuleHandleA("holder.dll") == NULL);
  SetEvent(unloaded);
  CHECK(WaitForMultipleObjects(THREADS, threads, TRUE, INFINITE) == WAIT_OBJECT_0);
  for (int i = 0; i < THREADS; i++) {
    DWORD status;
    CHECK(GetExitCodeThread(threads[i], &status) && status == 0);
    CloseHandle(threads[i]);
  }
}

int main(void) {
  unloaded = CreateEventA(NULL, TRUE, FALSE, NULL);
  for (int i = 0; i < THREADS; i++) used[i] = CreateEventA(NULL, FALSE, FALSE, NULL);
  for (int i = 0; i < ROUNDS; i++) one_round();
  return 0;
}
