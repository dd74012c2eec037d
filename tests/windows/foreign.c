/* Blocks that the C runtime allocated itself, or a library through it, are resized, measured and
 * freed as if they were ours; the runtime gets them back. */
#include "check.h"
#include <direct.h>
#include <loam/loam.h>
#include <malloc.h>
#include <wchar.h>
#include <windows.h>

static void runtimes_own(void) {
  wchar_t *wide = _wcsdup(L"some text");
  CHECK(wide != NULL && _msize(wide) >= 20);
  wide = realloc(wide, 40000);
  CHECK(wide != NULL && wcscmp(wide, L"some text") == 0);
  CHECK_THAT(loam_malloc_usable_size(wide), >=, 40000); /* ours by now */
  free(wide);
  for (int i = 0; i < 1000; i++) free(_getcwd(NULL, 0));
  char *path = _fullpath(NULL, ".", 0);
  CHECK(path != NULL && _expand(path, 1) == path);
  free(path);
}

static void a_librarys(void) {
  HMODULE plugin = LoadLibraryA("plugin.dll");
  CHECK(plugin != NULL);
  char *(*text)(const char *) = (void *)(uintptr_t)GetProcAddress(plugin, "plugin_text");
  void *(*aligned)(size_t, size_t) = (void *)(uintptr_t)GetProcAddress(plugin, "plugin_aligned");
  char *block = text("from elsewhere");
  CHECK_THAT(_msize(block), ==, 15);
  block = realloc(block, 100);
  CHECK_EQ(strcmp(block, "from elsewhere"), 0);
  free(block);
  free(text("and freed"));
  _aligned_free(aligned(1000, 256));
  char *big = text("resized");
  free(realloc(big, 5 * MIB));
  FreeLibrary(plugin);
}

static DWORD WINAPI free_many(void *unused) {
  (void)unused;
  for (int i = 0; i < 2000; i++) free(_wcsdup(L"in a thread"));
  return 0;
}

int main(void) {
  HANDLE threads[4];
  runtimes_own();
  a_librarys();
  for (int i = 0; i < 4; i++) threads[i] = CreateThread(NULL, 0, free_many, NULL, 0, NULL);
  CHECK(WaitForMultipleObjects(4, threads, TRUE, INFINITE) == WAIT_OBJECT_0);
  return 0;
}
