/* Telling a block of glibc's own heap from a wild address, without touching memory that may not
 * be there: every word is read only after the system has said that it is mapped.
 *
 * The form of a block in glibc's heap is stable since long: the word before the block holds its
 * size and three flags; see "Malloc Internals" in glibc's wiki. */
#include "api/foreign.h"

#include <string.h>

#include "base/bits.h"
#include "os/os.h"
#include "sizeclass/sizeclass.h"

#define CHUNK_PREVIOUS_IN_USE ((size_t)1)
#define CHUNK_MAPPED ((size_t)2)
#define CHUNK_OTHER_ARENA ((size_t)4)
#define CHUNK_FLAGS ((size_t)7)
/* Alignment of the heaps of arenas but the first. */
#define ARENA_HEAP_BYTES ((LM_BITS_64 ? 64 : 1) * LM_MIB)

static bool is_named(const struct lm_os_mapping *mapping, const char *path) {
  return strcmp(mapping->path, path) == 0;
}

/* A mapping of its own for one block. */
static bool is_mapped_chunk(const struct lm_os_mapping *mapping, uintptr_t chunk, size_t before,
                            size_t size) {
  size_t page_mask = lm_os.page_bytes - 1;
  return before <= chunk && ((chunk - before) & page_mask) == 0 &&
         ((before + size) & page_mask) == 0 && chunk - before >= mapping->start &&
         size <= mapping->end - chunk;
}

/* In the heap of an arena, which begins with a pointer to the arena. */
static bool is_arena_chunk(uintptr_t chunk) {
  struct lm_os_mapping heap, arena;
  uintptr_t heap_start = lm_align_down(chunk, ARENA_HEAP_BYTES);
  if (!lm_os_find_mapping(heap_start, &heap) || !heap.writable || heap.end <= chunk) return false;
  uintptr_t arena_address = *(uintptr_t *)heap_start;
  return lm_os_find_mapping(arena_address, &arena) && arena.writable;
}

static bool is_libc_block(uintptr_t address) {
  struct lm_os_mapping mapping;
  uintptr_t chunk = address - 2 * sizeof(size_t);
  if (address % LM_GRANULE_BYTES != 0 || address < 2 * sizeof(size_t)) return false;
  if (!lm_os_find_mapping(chunk, &mapping) || !mapping.readable || !mapping.writable) return false;
  const size_t *words = (const size_t *)chunk;
  size_t before = words[0], size = words[1] & ~CHUNK_FLAGS, flags = words[1] & CHUNK_FLAGS;
  if (size < 4 * sizeof(size_t)) return false;
  if (flags & CHUNK_MAPPED) return is_mapped_chunk(&mapping, chunk, before, size);
  if (size > mapping.end - chunk || mapping.end - chunk - size < 2 * sizeof(size_t)) return false;
  size_t next_size = *(const size_t *)(chunk + size + sizeof(size_t));
  if (!(next_size & CHUNK_PREVIOUS_IN_USE)) return false;
  return flags & CHUNK_OTHER_ARENA ? is_arena_chunk(chunk) : is_named(&mapping, "[heap]");
}

const char lm_foreign_free_name[] = "__libc_free";
const char lm_foreign_size_name[] = "malloc_usable_size";

void *lm_foreign_owner_function(const void *address, const char *name) {
  return is_libc_block((uintptr_t)address) ? lm_os_next_function(name) : NULL;
}
