// windows: yes
// builds: fast checking linked static
/* Blocks of a first-class heap: sizes, alignment, zero, overflow, errors. */
#include "names.h"

static void sizes(struct loam_heap *heap) {
  for (size_t size = 0; size < 80 * MIB; size = size * 9 / 4 + 1) {
    unsigned char *block = opaque(loam_heap_malloc(heap, size));
    CHECK(block != NULL);
    CHECK_EQ((uintptr_t)block % 16, 0);
    CHECK_THAT(loam_malloc_usable_size(block), >=, size);
    size_t head = size < 3000 ? size : 3000;
    fill(block, 0, head, 1);
    if (size > 0) block[size - 1] = 1;
    unsigned char *zero = opaque(loam_heap_calloc(heap, size, 1));
    CHECK(zero != NULL && zero != block);
    check_zero(zero, head);
    for (size_t i = 0; i < size; i += 1000) CHECK_EQ(zero[i], 0);
    if (size > 1) check_filled(block, 0, head - 1, 1);
    loam_heap_free(heap, block);
    if (size > 0) memset(zero, 0xff, head);
    loam_heap_free(heap, zero);
  }
  loam_heap_free(heap, NULL);
}

static void alignments(struct loam_heap *heap) {
  for (size_t alignment = 1; alignment <= 4 * MIB; alignment *= 2)
    for (size_t size = 0; size < 3 * MIB; size = size * 40 + 7) {
      void *block = opaque(loam_heap_memalign(heap, alignment, size));
      CHECK(block != NULL);
      CHECK_EQ((uintptr_t)block % alignment, 0);
      memset(block, 1, size < 100 ? size : 100);
      loam_heap_free(heap, block);
    }
}

static void failures(struct loam_heap *heap) {
  const size_t too_many[] = {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2 + 1, SIZE_MAX / 2};
  void *block = opaque(loam_heap_malloc(heap, 40));
  for (int i = 0; i < 4; i++) {
    errno = 0;
    CHECK(opaque(loam_heap_malloc(heap, opaque_size(too_many[i]))) == NULL);
    CHECK_EQ(errno, ENOMEM);
    errno = 0;
    CHECK(opaque(loam_heap_realloc(heap, block, opaque_size(too_many[i]))) == NULL);
    CHECK_EQ(errno, ENOMEM);
    errno = 0;
    CHECK(opaque(loam_heap_memalign(heap, 64, opaque_size(too_many[i]))) == NULL);
    CHECK_EQ(errno, ENOMEM);
  }
  errno = 0;
  CHECK(opaque(loam_heap_calloc(heap, opaque_size(SIZE_MAX / 4), 5)) == NULL);
  CHECK_EQ(errno, ENOMEM);
  for (size_t alignment = 0; alignment < 100; alignment += 24) {
    errno = 0;
    CHECK(opaque(loam_heap_memalign(heap, opaque_size(alignment), 10)) == NULL);
    CHECK_EQ(errno, EINVAL);
  }
  loam_heap_free(heap, block);
}

int main(void) {
  struct loam_heap *heap = loam_heap_new();
  CHECK(heap != NULL);
  errno = 1234;
  sizes(heap);
  alignments(heap);
  CHECK_EQ(errno, 1234);
  failures(heap);
  loam_heap_destroy(heap);
  loam_heap_destroy(NULL);
  return 0;
}
