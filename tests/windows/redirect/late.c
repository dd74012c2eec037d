/* late.exe SEED: 16 threads allocate while the library is put in and modules come and go; they
 * still do when the process ends. Blocks of before are resized and freed by loam. */
#include "redirect.h"

enum { THREADS = 16, SLOTS = 64 };
static volatile LONG turns;
static unsigned seed;

static void *resized(void *block, size_t size) {
  char *result = realloc(block, size);
  CHECK(result != NULL && (size < 8 || _msize(result) >= size));
  return result;
}

/* The first byte says what all hold. */
static void check_block(const char *block, size_t size) {
  for (size_t i = 0; i < size; i += 37) CHECK_EQ(block[i], block[0]);
}

static DWORD WINAPI allocate(void *number) {
  char *blocks[SLOTS] = {NULL};
  size_t sizes[SLOTS] = {0};
  unsigned random = seed + (unsigned)(uintptr_t)number;
  for (;;) {
    random = random * 1664525u + 1013904223u;
    unsigned i = random >> 8 & (SLOTS - 1);
    size_t size = 1 + (random >> 14) % 2000;
    if (blocks[i] != NULL) check_block(blocks[i], sizes[i]);
    if (random >> 30 == 0 && blocks[i] != NULL) {
      blocks[i] = resized(blocks[i], size);
      if (size > sizes[i]) memset(blocks[i], blocks[i][0], size);
    } else {
      free(blocks[i]);
      blocks[i] = random >> 29 & 1 ? malloc(size) : calloc(1, size);
      CHECK(blocks[i] != NULL);
      memset(blocks[i], (int)random, size);
    }
    sizes[i] = size;
    InterlockedIncrement(&turns);
  }
  return 0;
}

/* A module of another runtime, whose blocks this one's free takes. */
static DWORD WINAPI load(void *number) {
  (void)number;
  for (;;) {
    HMODULE library = LoadLibraryA("plugin.dll");
    CHECK(library != NULL);
    char *(*text)(const char *) =
        (char *(*)(const char *))(uintptr_t)GetProcAddress(library, "plugin_text");
    void *(*align)(size_t, size_t) =
        (void *(*)(size_t, size_t))(uintptr_t)GetProcAddress(library, "plugin_aligned");
    for (int i = 0; i < 20; i++) {
      free(text("some text"));
      _aligned_free(align(100, 64));
    }
    FreeLibrary(library);
  }
  return 0;
}

static void let_them_run(LONG more) {
  LONG until = turns + more;
  while (turns < until) Sleep(1);
}

int main(int count, char **arguments) {
  seed = count > 1 ? (unsigned)atoi(arguments[1]) * 77777 : 1;
  for (intptr_t i = 0; i < THREADS; i++)
    CloseHandle(CreateThread(NULL, 0, i < 2 ? load : allocate, (void *)i, 0, NULL));
  let_them_run(1000 + (LONG)(seed % 5000));
  CHECK(LoadLibraryA("loam-redirect.dll") != NULL);
  find_loam();
  free(own(malloc(100)));
  let_them_run(20000);
  return 0; /* they go on */
}
