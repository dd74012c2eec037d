/* All of the runtime's malloc family leads to loam, and what its own parts allocate, too; blocks go
 * from one runtime to another. */
#include "redirect.h"
#include <direct.h>
#include <wchar.h>

/* A block that the runtime's own parts have made: by tables those do not go. */
static void *parts(void *block) {
#if BY_TABLES
  CHECK(block != NULL && _msize(block) > 0);
  return block;
#else
  return own(block);
#endif
}

static void plain(void) {
  char *block = own(malloc(100));
  fill(block, 0, 100, 1);
  CHECK_EQ(_msize(block), loams_bytes(block));
  CHECK(_expand(block, 60) == block && _expand(block, 1 << 20) == NULL);
  block = own(realloc(block, 5000));
  check_filled(block, 0, 100, 1);
  free(block);
  block = own(_recalloc(own(calloc(3, 70)), 9, 70));
  check_zero(block, 630);
  free(block);
  free(own(_realloc_base(own(_malloc_base(10)), 100)));
  _free_base(own(_calloc_base(3, 10)));
  free(own(realloc(NULL, 20)));
  CHECK(realloc(own(malloc(1)), 0) == NULL);
  free(NULL);
}

static void fails_as_the_runtime_says(void) {
  errno = 0;
  CHECK(malloc(BEYOND_ALL_MEMORY) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(calloc((size_t)-1 / 2, 4) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(_aligned_malloc(10, 48) == NULL && errno == EINVAL);
}

static void aligned(void) {
  for (size_t alignment = 16; alignment <= 65536; alignment *= 8) {
    char *block = own(_aligned_malloc(100, alignment));
    fill(block, 0, 100, 2);
    block = own(_aligned_realloc(block, 3000, alignment));
    CHECK_EQ((uintptr_t)block % alignment, 0);
    check_filled(block, 0, 100, 2);
    _aligned_free(block);
    block = _aligned_offset_malloc(500, alignment, 24);
    CHECK_EQ(((uintptr_t)block + 24) % alignment, 0);
    _aligned_free(_aligned_offset_realloc(block, 5000, alignment, 24));
    _aligned_free(own(_aligned_recalloc(NULL, 3, 100, alignment)));
  }
}

static void runtimes_own(void) {
  free(parts(_strdup("text")));
  wchar_t *wide = parts(_wcsdup(L"some text"));
  free(own(realloc(wide, 40000)));
  free(parts(_getcwd(NULL, 0)));
  free(parts(_fullpath(NULL, "file", 0)));
}

static void other_runtime(void) {
  HMODULE library = LoadLibraryA("plugin.dll");
  CHECK(library != NULL);
  char *(*text)(const char *) = (char *(*)(const char *))(uintptr_t)GetProcAddress(library,
                                                                                  "plugin_text");
  void *(*align)(size_t, size_t) = (void *(*)(size_t, size_t))(uintptr_t)GetProcAddress(
      library, "plugin_aligned");
  free(parts(text("of msvcrt")));
  _aligned_free(own(align(100, 256)));
  FreeLibrary(library);
}

int main(void) {
  find_loam();
  plain();
  fails_as_the_runtime_says();
  aligned();
  runtimes_own();
  other_runtime();
  return 0;
}
