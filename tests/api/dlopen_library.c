// builds: fast checking
// preloaded: no
// arguments: @library@
/* A program on the C library's malloc opens loam and uses it by its own names, in threads too. */
#define TEST_WITHOUT_LOAM
#include "threads.h"
#include <dlfcn.h>
#include <malloc.h>

static void *(*open_malloc)(size_t);
static void *(*open_realloc)(void *, size_t);
static void (*open_free)(void *);

static void *use_library(void *seed) {
  for (int round = 0; round < 200; round++) {
    for (size_t size = 1; size < 300000; size *= 4) {
      void *block = opaque(open_malloc(size));
      fill(block, 0, size < 1000 ? size : 1000, (unsigned)(uintptr_t)seed);
      block = opaque(open_realloc(block, size * 2));
      check_filled(block, 0, size < 1000 ? size : 1000, (unsigned)(uintptr_t)seed);
      open_free(block);
    }
  }
  return opaque(open_malloc(1000)); /* freed by the thread that joins */
}

static void *do_nothing(void *unused) { return unused; }

int main(int count, char **arguments) {
  CHECK_EQ(count, 2);
  void *own = opaque(malloc(100));
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(library != NULL);
  open_malloc = (void *(*)(size_t))dlsym(library, "loam_malloc");
  open_realloc = (void *(*)(void *, size_t))dlsym(library, "loam_realloc");
  open_free = (void (*)(void *))dlsym(library, "loam_free");
  if (open_malloc == NULL && getenv("LOAM_TEST_ANY") != NULL) return 77;
  CHECK(open_malloc != NULL && open_realloc != NULL && open_free != NULL);
  open_free(use_library((void *)1));
  pthread_t threads[8];
  for (int round = 0; round < 20; round++) {
    for (uintptr_t i = 0; i < 8; i++) threads[i] = start_thread(use_library, (void *)i);
    for (int i = 0; i < 8; i++) open_free(join_thread(threads[i]));
  }
  free(opaque(realloc(own, 1000))); /* the program's own malloc is as it was */
  CHECK_EQ(dlclose(library), 0);
  /* A thread's end after dlclose must not call into unmapped code. */
  run_in_thread(do_nothing, NULL);
  return 0;
}
