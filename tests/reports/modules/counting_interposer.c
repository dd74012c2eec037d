/* What watches malloc (libmemusage, heaptrack, memray): it puts a head in front of each block, and has the next
 * one's functions by RTLD_NEXT. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 32
#define MARK 0x6c6f616d6c6f616dul

static void *(*next_malloc)(size_t);
static void (*next_free)(void *);
int counted_takes, counted_gives;

void *malloc(size_t size) {
  if (next_malloc == NULL) next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
  unsigned long *head = next_malloc(size + HEAD_BYTES);
  if (head == NULL) return NULL;
  head[0] = MARK;
  head[1] = size;
  counted_takes++;
  return (char *)head + HEAD_BYTES;
}

void free(void *block) {
  if (block == NULL) return;
  unsigned long *head = (unsigned long *)((char *)block - HEAD_BYTES);
  if (head[0] != MARK) abort();
  if (next_free == NULL) next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
  head[0] = 0;
  counted_gives++;
  next_free(head);
}

void *calloc(size_t count, size_t size) {
  void *block = malloc(count * size);
  return block == NULL ? NULL : memset(block, 0, count * size);
}

void *realloc(void *block, size_t size) {
  void *other = malloc(size);
  if (block == NULL || other == NULL) return other;
  size_t before = ((unsigned long *)((char *)block - HEAD_BYTES))[1];
  memcpy(other, block, before < size ? before : size);
  free(block);
  return other;
}
