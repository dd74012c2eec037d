/* A library that defines one function of the family for itself, and needs the C library. */
#include <stdio.h>

void *calloc(size_t count, size_t size);
void *calloc(size_t count, size_t size) {
  printf("%zu %zu\n", count, size);
  return NULL;
}
