// builds: fast checking hardened linked
/* Python's ctypes, .NET's P/Invoke, JNA, Ruby's Fiddle and LuaJIT's ffi take free from a handle of the C
 * library, past another allocator, and give it blocks of that: "free(): invalid pointer". The family
 * found so is loam's. What else is found stays as it is. */
#include "names.h"

#include <dlfcn.h>

#if defined(__GLIBC__)
#define LIBC "libc.so.6"
#else
#define LIBC "libc.so"
#endif

static void *module_of(void *function) {
  Dl_info info;
  CHECK(function != NULL && dladdr(function, &info) != 0);
  return info.dli_fbase;
}

int main(void) {
  void *libc = dlopen(LIBC, RTLD_NOW), *other = dlopen(TEST_BIN "/handle_of_its_own.so", RTLD_NOW);
  CHECK(libc != NULL && other != NULL);
  void *(*take)(size_t) = (void *(*)(size_t))dlsym(libc, "malloc");
  void *(*resize)(void *, size_t) = (void *(*)(void *, size_t))dlsym(libc, "realloc");
  void (*give)(void *) = (void (*)(void *))dlsym(libc, "free");
  for (size_t size = 1; size < 200 * MIB; size = size * 3 + 1) {
    give(opaque(malloc(size)));
    free(opaque(take(size)));
    give(resize(opaque(calloc(1, size)), size * 2));
  }
  give(strdup("text"));
  void *loam = module_of(dlsym(RTLD_DEFAULT, "malloc"));
  static const char *const family[] = {"malloc", "free", "calloc", "realloc", "reallocarray",
    "aligned_alloc", "posix_memalign", "memalign", "malloc_usable_size", "malloc_trim", "mallinfo2"};
  for (size_t i = 0; i < sizeof family / sizeof *family; i++) {
    void *found = dlsym(libc, family[i]);
    CHECK(found == NULL || module_of(found) == loam); /* an old C library has not all */
  }
  CHECK(module_of(dlsym(libc, "strdup")) == module_of(dlsym(libc, "fopen")));
  CHECK(module_of(dlsym(libc, "strdup")) != loam);
  /* A library's own function is meant, and a library behind which there is the C library's. */
  CHECK(module_of(dlsym(other, "calloc")) != loam);
  CHECK(module_of(dlsym(other, "free")) == loam);
  CHECK(dlsym(libc, "no_such_function") == NULL && dlerror() != NULL);
#if defined(__GLIBC__) && defined(__x86_64__)
  CHECK(module_of(dlvsym(libc, "free", "GLIBC_2.2.5")) == loam);
  CHECK(module_of(dlvsym(libc, "fopen", "GLIBC_2.2.5")) != loam);
#endif
  return 0;
}
