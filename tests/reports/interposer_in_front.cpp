// preload-before: counting_interposer
/* libmemusage, heaptrack and memray, preloaded in front of an allocator, put heads in front of blocks and count
 * them: they see operators new and delete, which call malloc and free by name, as they see these. */
#include "check.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>

int main() {
  int *takes = (int *)dlsym(RTLD_DEFAULT, "counted_takes");
  int *gives = (int *)dlsym(RTLD_DEFAULT, "counted_gives");
  CHECK(takes != nullptr && gives != nullptr);
  int takes_before = *takes, gives_before = *gives;
  for (int i = 1; i <= 100; i++) {
    char *block = (char *)opaque(new char[(size_t)i]);
    delete[] block;
    ::operator delete(::operator new((size_t)i), (size_t)i);
    free(reallocarray(malloc(10), (size_t)i, 10));
    free(strdup("text"));
  }
  int taken = *takes - takes_before, given = *gives - gives_before;
  printf("%d taken, %d given back\n", taken, given);
  CHECK(taken == 500 && given == 500);
  return 0;
}
