/* A plugin is loaded and unloaded 10,000 times beside the library: nothing grows. Before that a
 * module with a runtime of its own beside it, often enough for what is kept for modules. */
#include "redirect.h"
#include <psapi.h>

static size_t committed_bytes(void) {
  PROCESS_MEMORY_COUNTERS counters;
  CHECK(K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters));
  return counters.PagefileUsage;
}

static DWORD handles(void) {
  DWORD count = 0;
  CHECK(GetProcessHandleCount(GetCurrentProcess(), &count));
  return count;
}

static DWORD WINAPI use(void *text) {
  free(((char *(*)(const char *))(uintptr_t)text)("in a thread"));
  return 0;
}

static void one(int turn) {
  HMODULE library = LoadLibraryA("plugin.dll");
  CHECK(library != NULL);
  FARPROC text = GetProcAddress(library, "plugin_text");
  free(own(((char *(*)(const char *))(uintptr_t)text)("text")));
  if (turn % 16 == 0) {
    HANDLE thread = CreateThread(NULL, 0, use, (void *)(uintptr_t)text, 0, NULL);
    CHECK(WaitForSingleObject(thread, INFINITE) == WAIT_OBJECT_0);
    CloseHandle(thread);
  }
  CHECK(FreeLibrary(library));
}

int main(void) {
  find_loam();
  for (int i = 0; i < 500; i++) one(i);
  size_t bytes = committed_bytes();
  DWORD count = handles();
  for (int i = 0; i < 10000; i++) one(i);
  CHECK_THAT(committed_bytes(), <=, bytes + MIB);
  CHECK_THAT(handles(), <=, count + 2);
  return 0;
}
