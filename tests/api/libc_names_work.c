// builds: fast checking
/* Blocks of __libc_malloc and its like are blocks of loam: they mix with the standard names. */
#include "names.h"
#include <dlfcn.h>

int main(void) {
  void *(*libc_malloc)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "__libc_malloc");
  void *(*libc_calloc)(size_t, size_t) =
      (void *(*)(size_t, size_t))dlsym(RTLD_DEFAULT, "__libc_calloc");
  void *(*libc_realloc)(void *, size_t) =
      (void *(*)(void *, size_t))dlsym(RTLD_DEFAULT, "__libc_realloc");
  void *(*libc_memalign)(size_t, size_t) =
      (void *(*)(size_t, size_t))dlsym(RTLD_DEFAULT, "__libc_memalign");
  void (*libc_free)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "__libc_free");
  CHECK(libc_malloc && libc_calloc && libc_realloc && libc_memalign && libc_free);
  for (size_t size = 1; size < 10 * MIB; size *= 7) {
    void *block = opaque(libc_malloc(size));
    CHECK_THAT(malloc_usable_size(block), >=, size);
    free(opaque(libc_realloc(block, size * 2)));
    void *cleared = opaque(libc_calloc(1, size));
    check_zero(cleared, size);
    libc_free(opaque(realloc(cleared, size + 20)));
    void *aligned = opaque(libc_memalign(1024, size));
    CHECK_EQ((uintptr_t)aligned % 1024, 0);
    free(aligned);
    libc_free(opaque(malloc(size)));
  }
  return 0;
}
