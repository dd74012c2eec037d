/* Address space without access, and memory in it: what a page provider is made of. */
#ifndef LOAM_TESTS_RESERVED_MEMORY_H
#define LOAM_TESTS_RESERVED_MEMORY_H

#include "check.h"

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

static inline size_t page_bytes(void) { return 4096; }

/* A reservation can be given back only whole: one with room to spare says where an aligned place
 * is, which another thread may take first. */
static inline void *memory_reserve(size_t size, size_t alignment) {
  for (int attempt = 0; attempt < 16; attempt++) {
    char *room = VirtualAlloc(NULL, size + alignment, MEM_RESERVE, PAGE_NOACCESS);
    CHECK(room != NULL);
    char *place = room + (-(uintptr_t)room & (alignment - 1));
    VirtualFree(room, 0, MEM_RELEASE);
    void *start = VirtualAlloc(place, size, MEM_RESERVE, PAGE_READWRITE);
    if (start != NULL) return start;
  }
  CHECK(!"no aligned place");
  return NULL;
}

/* Memory that is committed already stays as it is. */
static inline void memory_commit(void *address, size_t size) {
  CHECK(VirtualAlloc(address, size, MEM_COMMIT, PAGE_READWRITE) != NULL);
}

static inline void memory_decommit(void *address, size_t size) {
  CHECK(VirtualFree(address, size, MEM_DECOMMIT));
}

static inline void memory_release(void *start, size_t size) {
  (void)size;
  CHECK(VirtualFree(start, 0, MEM_RELEASE));
}

#else
#include <sys/mman.h>

static inline size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static inline void *memory_reserve(size_t size, size_t alignment) {
  char *room = mmap(NULL, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
  CHECK(room != MAP_FAILED);
  char *start = (char *)(((uintptr_t)room + alignment - 1) & ~(alignment - 1));
  if (start > room) munmap(room, (size_t)(start - room));
  munmap(start + size, (size_t)(room + alignment - start));
  return start;
}

/* Memory that is committed already stays as it is. */
static inline void memory_commit(void *address, size_t size) {
  CHECK_EQ(mprotect(address, size, PROT_READ | PROT_WRITE), 0);
}

static inline void memory_decommit(void *address, size_t size) {
  CHECK_EQ(madvise(address, size, MADV_DONTNEED), 0);
  CHECK_EQ(mprotect(address, size, PROT_NONE), 0);
}

static inline void memory_release(void *start, size_t size) { munmap(start, size); }
#endif

#endif
