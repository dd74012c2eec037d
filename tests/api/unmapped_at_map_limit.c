// alone: TRUE
/* A process at the kernel's limit of mappings frees blocks that have mappings of their own: the
 * system cannot unmap them, since that would make one mapping two. Their memory goes back all the
 * same, and their address space once there is room. */
#include "names.h"

#include <sys/mman.h>

enum { BLOCKS = 8, BLOCK_BYTES = 36 * 1024 * 1024, PAGE = 4096 };

static size_t address_space_bytes(void) {
  static char text[256];
  int file = open("/proc/self/statm", O_RDONLY);
  CHECK(file >= 0);
  CHECK_THAT(read(file, text, sizeof text - 1), >, 0);
  close(file);
  return strtoull(text, NULL, 10) * PAGE;
}

/* Mappings of a page each, until there are no more to be had; how many pages. */
static size_t take_all_mappings(char *pages, size_t most) {
  size_t page = 0;
  while (page < most && mprotect(pages + page * PAGE, PAGE, PROT_READ) == 0) page += 2;
  return page;
}

int main(void) {
  size_t filler_pages = 400000;
  char *blocks[BLOCKS];
  char *filler = mmap(NULL, filler_pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(filler != MAP_FAILED);
  for (int i = 0; i < BLOCKS; i++) {
    blocks[i] = opaque(malloc(BLOCK_BYTES));
    CHECK(blocks[i] != NULL);
    touch(blocks[i], BLOCK_BYTES);
  }
  size_t space_before = address_space_bytes(), resident_before = resident_bytes();
  if (take_all_mappings(filler, filler_pages) >= filler_pages) return 77; /* there is no limit */
  for (int i = 1; i < BLOCKS; i += 2) free(blocks[i]);
  CHECK_THAT(resident_bytes(), <, resident_before - (BLOCKS / 2 - 1) * (size_t)BLOCK_BYTES);
  CHECK_EQ(munmap(filler, filler_pages * PAGE), 0);
  for (int i = 0; i < 2; i++) free(opaque(malloc(BLOCK_BYTES)));
  malloc_trim(0); /* what is kept for the next block of the same length, too */
  size_t gone = filler_pages * PAGE + (BLOCKS / 2 - 1) * (size_t)BLOCK_BYTES;
  CHECK_THAT(address_space_bytes(), <, space_before - gone);
  for (int i = 0; i < BLOCKS; i += 2) {
    touch(blocks[i], BLOCK_BYTES);
    free(blocks[i]);
  }
  return 0;
}
