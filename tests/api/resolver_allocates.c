// builds: fast checking linked
/* The resolver of a function in a module that is opened (STT_GNU_IFUNC) allocates while the module
 * is being relocated, or when the function is first called, and the program frees the block. */
#include "names.h"

#include <dlfcn.h>

static int open_and_call(int flags) {
  char path[1024];
  snprintf(path, sizeof path, "%s/resolver_inside.so", TEST_BIN);
  void *module = dlopen(path, flags | RTLD_LOCAL);
  if (module == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(module != NULL);
  void *(*call)(void) = (void *(*)(void))dlsym(module, "call_resolved");
  if (call == NULL) return 77; /* no such functions here */
  unsigned char *block = call();
  CHECK(block != NULL);
  for (int i = 0; i < 50; i++) CHECK_EQ(block[i], 7);
  if (loam_malloc != NULL) CHECK_THAT(loam_malloc_usable_size(block), >=, 50);
  free(block);
  CHECK_EQ(dlclose(module), 0);
  return 0;
}

int main(void) {
  int result = open_and_call(RTLD_LAZY);
  return result != 0 ? result : open_and_call(RTLD_NOW);
}
