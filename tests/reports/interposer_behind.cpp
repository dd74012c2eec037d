// preload-after: counting_interposer
/* The same in the other order: nothing calls them, and the program runs as without them. */
#include "check.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>

int main() {
  int *takes = (int *)dlsym(RTLD_DEFAULT, "counted_takes");
  CHECK(takes != nullptr);
  for (int i = 1; i <= 100; i++) {
    delete[] (char *)opaque(new char[(size_t)i]);
    free(reallocarray(malloc(10), (size_t)i, 10));
    free(strdup("text"));
  }
  CHECK(*takes == 0);
  return 0;
}
