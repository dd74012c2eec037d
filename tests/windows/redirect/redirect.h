/* What programs know that are run with loam-redirect.dll. */
#ifndef LOAM_TESTS_REDIRECT_H
#define LOAM_TESTS_REDIRECT_H

#include "check.h"
#include <malloc.h>
#include <windows.h>

extern void *_malloc_base(size_t size);
extern void _free_base(void *block);
extern void *_calloc_base(size_t count, size_t size);
extern void *_realloc_base(void *block, size_t size);

static size_t (*loams_bytes)(void *block);
static void *(*loams_realloc)(void *block, size_t size);

TEST_UNUSED static void find_loam(void) {
  HMODULE library = GetModuleHandleA("loam-redirect.dll");
  CHECK(library != NULL);
  loams_bytes = (size_t (*)(void *))(uintptr_t)GetProcAddress(library, "loam_malloc_usable_size");
  loams_realloc = (void *(*)(void *, size_t))(uintptr_t)GetProcAddress(library, "loam_realloc");
  CHECK(loams_bytes != NULL && loams_realloc != NULL);
}

static int is_runtimes(const void *block) {
  return HeapValidate((HANDLE)_get_heap_handle(), 0, block);
}

/* A block of loam's: one of a runtime's would move into loam's memory. */
TEST_UNUSED static void *own(void *block) {
  CHECK(block != NULL);
  CHECK(!is_runtimes(block));
  CHECK_THAT(loams_bytes(block), >, 0);
  CHECK(loams_realloc(block, loams_bytes(block)) == block);
  return block;
}

#endif
