/* Opens a library that is bound to the C library's malloc. */
#ifndef LOAM_TESTS_MISUSE_LIBC_BLOCKS_H
#define LOAM_TESTS_MISUSE_LIBC_BLOCKS_H

#include "crime.h"
#include <dlfcn.h>

static inline void *libc_function(const char *name) {
  static void *library;
  if (library == NULL)
    library = dlopen(TEST_BIN "/bound_to_libc.so", RTLD_NOW | RTLD_DEEPBIND);
  CHECK(library != NULL);
  void *function = dlsym(library, name);
  CHECK(function != NULL);
  return function;
}

typedef void *malloc_function(size_t);
typedef char *strdup_function(const char *);
typedef void *aligned_function(size_t, size_t);

#endif
