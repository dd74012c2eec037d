/* The process exits while threads allocate, some of them inside loam with a lock held; what runs at
 * exit still frees and allocates. The program starts itself anew for each way to exit. */
#include "check.h"
#include <process.h>
#include <windows.h>

static void *kept[1000];

static DWORD WINAPI allocate_on(void *seed) {
  uint64_t random = (uintptr_t)seed + 1;
  for (;;) {
    void *blocks[20];
    for (int i = 0; i < 20; i++) blocks[i] = malloc((size_t)random_next(&random) % 600000);
    for (int i = 0; i < 20; i++) free(blocks[i]);
  }
  return 0;
}

static void use_all_sizes(void) {
  for (int i = 0; i < 1000; i++) free(InterlockedExchangePointer(&kept[i], NULL));
  for (size_t size = 1; size < 3000000; size = size * 2 + 1) free(malloc(size));
}

static int exit_in_a_way(const char *way) {
  for (int i = 0; i < 1000; i++) kept[i] = malloc((size_t)i * 10);
  atexit(use_all_sizes);
  for (intptr_t i = 0; i < 8; i++) CreateThread(NULL, 0, allocate_on, (void *)i, 0, NULL);
  Sleep(10);
  if (strcmp(way, "ExitProcess") == 0) ExitProcess(7);
  if (strcmp(way, "_exit") == 0) _exit(7);
  if (strcmp(way, "exit") == 0) exit(7);
  return 7;
}

/* A library's or the program's part that the loader ends when all other threads are gone. */
static void NTAPI detach(void *module, DWORD reason, void *reserved) {
  (void)module;
  (void)reserved;
  if (reason == DLL_PROCESS_DETACH) use_all_sizes();
}
__attribute__((section(".CRT$XLM"), used)) const PIMAGE_TLS_CALLBACK last_of_all = detach;

int main(int count, char **arguments) {
  static const char *const ways[] = {"ExitProcess", "_exit", "exit", "return"};
  if (count > 1) return exit_in_a_way(arguments[1]);
  for (int round = 0; round < 5; round++)
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
      CHECK_EQ(_spawnl(_P_WAIT, arguments[0], arguments[0], ways[i], NULL), 7);
  return 0;
}
