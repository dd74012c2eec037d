/* Every name of the C runtime's malloc family is loam's, called directly and through dllimport. */
#include "check.h"
#include <loam/loam.h>
#include <malloc.h>

/* Headers do not declare these in all modes. */
extern void *_malloc_base(size_t size);
extern void _free_base(void *block);
extern size_t _aligned_msize(void *block, size_t alignment, size_t offset);

#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)
#define IMPORT(name) "__imp_" STRING(__USER_LABEL_PREFIX__) name
typedef void *allocate(size_t size);
typedef void release(void *block);
extern allocate *const imported_malloc __asm__(IMPORT("malloc"));
extern release *const imported_free __asm__(IMPORT("free"));
extern char *(*const imported_strdup)(const char *) __asm__(IMPORT("_strdup"));

/* A block of loam's, of which all but the C runtime's functions know. */
static void *own(void *block) {
  CHECK(block != NULL);
  CHECK_THAT(loam_malloc_usable_size(block), >, 0);
  CHECK_EQ((uintptr_t)loam_realloc(block, loam_malloc_usable_size(block)), (uintptr_t)block);
  return block;
}

static void plain_names(void) {
  char *block = own(malloc(100));
  fill(block, 0, 100, 1);
  CHECK_EQ(_msize(block), loam_malloc_usable_size(block));
  CHECK(_expand(block, 60) == block);
  CHECK(_expand(block, 1 << 20) == NULL);
  block = own(realloc(block, 5000));
  check_filled(block, 0, 100, 1);
  free(block);
  free(own(calloc(3, 70)));
  free(own(_malloc_base(10)));
  _free_base(malloc(10));
  free(own(_strdup("text")));
  free(own(strdup("text")));
  CHECK(calloc((size_t)-1 / 2, 4) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(_msize(NULL) == (size_t)-1);
}

static void through_pointers_of_dllimport(void) {
  CHECK((void *)imported_malloc == (void *)loam_malloc);
  imported_free(own(imported_malloc(50)));
  imported_free(own(imported_strdup("text")));
}

static void recalloc_clears_what_is_new(void) {
  for (size_t size = 1; size < 200000; size = size * 3 + 1) {
    char *block = own(calloc(1, size));
    memset(block, 1, size);
    block = own(_recalloc(block, 2, size * 2));
    for (size_t i = 0; i < size; i++) CHECK_EQ(block[i], 1);
    check_zero(block + size, size * 3);
    memset(block, 1, size * 4);
    block = own(_recalloc(block, 3, size)); /* smaller, and larger again */
    block = own(_recalloc(block, 4, size));
    check_zero(block + size * 3, size);
    free(block);
  }
  CHECK(_recalloc(own(malloc(10)), 0, 10) == NULL);
}

static void aligned_blocks(size_t alignment, size_t offset) {
  const size_t sizes[] = {offset + 1, 1000 + offset, 70000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t size = sizes[i] + offset;
    char *block = _aligned_offset_malloc(size, alignment, offset);
    CHECK(block != NULL);
    CHECK_EQ(((uintptr_t)block + offset) % alignment, 0);
    CHECK_THAT(_aligned_msize(block, alignment, offset), >=, size);
    fill(block, 0, size, 2);
    block = _aligned_offset_realloc(block, size * 2, alignment, offset);
    CHECK_EQ(((uintptr_t)block + offset) % alignment, 0);
    check_filled(block, 0, size, 2);
    fill(block, size, size * 2, 2);
    _aligned_free(block);
    block = _aligned_offset_recalloc(NULL, 2, size, alignment, offset);
    check_zero(block, size * 2);
    fill(block, 0, size * 2, 2);
    block = _aligned_offset_recalloc(block, 3, size, alignment, offset);
    check_filled(block, 0, size * 2, 2);
    check_zero(block + size * 2, size);
    _aligned_free(block);
  }
}

static void aligned_names(void) {
  for (size_t alignment = 1; alignment <= 65536; alignment *= 8)
    for (size_t offset = 0; offset < 40; offset += 13) aligned_blocks(alignment, offset);
  void *block = own(_aligned_malloc(100, 4096));
  block = own(_aligned_realloc(block, 10000, 4096));
  CHECK_EQ((uintptr_t)block % 4096, 0);
  _aligned_free(block);
  block = own(_aligned_recalloc(NULL, 1, 10000, 4096));
  block = own(_aligned_recalloc(block, 10, 10000, 4096));
  check_zero(block, 100000);
  _aligned_free(block);
  _aligned_free(NULL);
  block = _aligned_offset_malloc(40 * MIB, 4096, 24); /* a mapping of its own */
  CHECK_EQ(((uintptr_t)block + 24) % 4096, 0);
  _aligned_free(block);
  CHECK(_aligned_malloc(10, 48) == NULL && errno == EINVAL);
  CHECK(_aligned_offset_malloc(10, 16, 10) == NULL && errno == EINVAL);
}

int main(void) {
  plain_names();
  through_pointers_of_dllimport();
  recalloc_clears_what_is_new();
  aligned_names();
  return 0;
}
