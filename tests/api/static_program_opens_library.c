// builds: linked static
/* A program that opens a library and looks up what it has, as itself or as a static one: loam's
 * dlsym is the C library's. */
#include "names.h"

#include <dlfcn.h>

int main(void) {
  void *library = dlopen("libm.so.6", RTLD_NOW);
  if (library == NULL) return 77; /* a static one without such a C library at hand */
  double (*cosine)(double) = (double (*)(double))dlsym(library, "cos");
  CHECK(cosine != NULL && cosine(0) == 1);
  CHECK(dlsym(library, "no_such_function") == NULL && dlerror() != NULL);
#if defined(__GLIBC__) && defined(__x86_64__)
  CHECK(dlvsym(library, "cos", "GLIBC_2.2.5") == (void *)cosine);
#endif
  free(opaque(malloc(100)));
  return 0;
}
