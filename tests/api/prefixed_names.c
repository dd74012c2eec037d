// builds: fast checking linked static
/* loam_* are the same allocator as the standard names: blocks mix freely. */
#include "names.h"

static int is_zero(const unsigned char *block, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (block[i] != 0) return 0;
  return 1;
}

int main(void) {
  CHECK(strcmp(loam_version(), LOAM_VERSION) == 0);
  for (size_t size = 0; size < 8 * MIB; size = size * 5 + 1) {
    free(opaque(loam_malloc(size)));
    loam_free(opaque(malloc(size)));
    unsigned char *cleared = opaque(loam_calloc(size, 2));
    CHECK(is_zero(cleared, size * 2));
    CHECK_EQ(loam_malloc_usable_size(cleared), malloc_usable_size(cleared));
    free(opaque(loam_realloc(opaque(realloc(cleared, size + 3)), size + 100)));
    void *array = opaque(loam_reallocarray(NULL, size + 1, 3));
    loam_free_sized(array, (size + 1) * 3);
    loam_free_aligned_sized(opaque(loam_aligned_alloc(64, size)), 64, size);
    free(opaque(loam_memalign(4096, size)));
    free(opaque(loam_valloc(size)));
    free(opaque(loam_pvalloc(size)));
    void *aligned = NULL;
    CHECK_EQ(loam_posix_memalign(&aligned, 128, size), 0);
    CHECK_EQ((uintptr_t)opaque(aligned) % 128, 0);
    free(aligned);
  }
  errno = 0;
  CHECK(opaque(loam_malloc(opaque_size(SIZE_MAX))) == NULL);
  CHECK_EQ(errno, ENOMEM);
  CHECK_EQ(loam_mallopt(M_MMAP_THRESHOLD, 65536), 1);
  struct loam_mallinfo2 info = loam_mallinfo2();
  CHECK_THAT(info.arena, >, 0);
  loam_malloc_trim(0);
  return 0;
}
