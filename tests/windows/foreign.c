/* Blocks that the C runtime allocated itself, or a library through it, are resized, measured and
 * freed as if they were ours; the runtime gets them back. */
#include "check.h"
#include <direct.h>
#include <loam/loam.h>
#include <malloc.h>
#include <wchar.h>
#include <windows.h>

extern size_t _aligned_msize(void *block, size_t alignment, size_t offset);

/* Whether the C runtime of this program has the block. */
static BOOL is_runtimes(const void *block) {
  return HeapValidate((HANDLE)_get_heap_handle(), 0, block);
}

static void goes_back(void) {
  wchar_t *wide = _wcsdup(L"given back"), *moved = _wcsdup(L"moved");
  CHECK(is_runtimes(wide) && is_runtimes(moved));
  free(wide);
  CHECK(!is_runtimes(wide));
  void *ours = realloc(moved, 3000);
  CHECK(!is_runtimes(moved) && loam_malloc_usable_size(ours) >= 3000);
  free(ours);
}

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
  char *wide = aligned(1000, 256);
  fill(wide, 0, 1000, 3);
  CHECK_THAT(_aligned_msize(wide, 256, 0), >=, 1000);
  wide = _aligned_realloc(wide, 70000, 256);
  CHECK_EQ((uintptr_t)wide % 256, 0);
  check_filled(wide, 0, 1000, 3);
  CHECK_THAT(loam_malloc_usable_size(wide), >=, 70000);
  _aligned_free(wide);
  block = _recalloc(text("longer"), 1, 500);
  CHECK_EQ(strcmp(block, "longer"), 0);
  CHECK_EQ(block[499], 0);
  free(block);
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
  goes_back();
  runtimes_own();
  a_librarys();
  for (int i = 0; i < 4; i++) threads[i] = CreateThread(NULL, 0, free_many, NULL, 0, NULL);
  CHECK(WaitForMultipleObjects(4, threads, TRUE, INFINITE) == WAIT_OBJECT_0);
  return 0;
}
