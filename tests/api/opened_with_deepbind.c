// builds: fast checking
/* A module that is opened with RTLD_DEEPBIND exchanges blocks with the program. */
#include "names.h"

#include <dlfcn.h>

int main(void) {
  void *module = dlopen(TEST_BIN "/bound_deeply.so", RTLD_NOW | RTLD_DEEPBIND);
  CHECK(module != NULL);
  void *(*take)(size_t) = (void *(*)(size_t))dlsym(module, "deep_take");
  void (*give)(void *) = (void (*)(void *))dlsym(module, "deep_give");
  CHECK(take != NULL && give != NULL);
  for (size_t size = 1; size < 10 * MIB; size = size * 3 + 1) {
    give(opaque(malloc(size)));
    free(opaque(take(size)));
    free(opaque(realloc(take(size), size * 2)));
  }
  return 0;
}
