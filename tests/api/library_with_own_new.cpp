// builds: fast checking hardened
// preload-after: own_new
/* Objects go to and fro between the program and a library that has, and calls, an operator new of its own. */
#include "names.h"

#include <dlfcn.h>
#include <new>

int main() {
  auto take = (void *(*)())dlsym(RTLD_DEFAULT, "object_of_library");
  auto give = (void (*)(void *))dlsym(RTLD_DEFAULT, "object_to_library");
  CHECK(take != NULL && give != NULL);
  for (int i = 0; i < 1000; i++) {
    operator delete(opaque(take()));
    operator delete(opaque(take()), (size_t)100);
    give(opaque(operator new(100)));
  }
  return 0;
}
