/* Telling a block of glibc's own heap from a wild address, without touching memory that may not
 * be there: every word is read only after the system has said that it is mapped.
 *
 * The form of a block in glibc's heap is stable since long: the word before the block holds its
 * size and three flags; see "Malloc Internals" in glibc's wiki. */
#include "api/foreign.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "os/os.h"
#include "sizeclass/sizeclass.h"

#define CHUNK_PREVIOUS_IN_USE ((size_t)1)
#define CHUNK_MAPPED ((size_t)2)
#define CHUNK_OTHER_ARENA ((size_t)4)
#define CHUNK_FLAGS ((size_t)7)
#define BLOCK_ALIGNMENT (2 * sizeof(size_t)) /* the least of all processors */
/* Alignment of the heaps of arenas but the first. */
#define ARENA_HEAP_BYTES ((LM_BITS_64 ? 64 : 1) * LM_MIB)

/* ---- Memory of glibc's heap ----
 *
 * The list of mappings is long in large processes, and reading it takes longer the longer it is. So
 * ranges in which blocks were found are kept. What is in them may be there no longer, and is asked
 * for with a system call before it is read. */

struct range {
  uintptr_t start, end;
  bool is_main; /* the heap of the main arena */
};
#define KNOWN_RANGES 16
/* Written by whoever has found a block; an entry that is half written leads to what is asked for,
 * too, and so at worst to a list that is read in vain. Bit 0 of an end says is_main. */
static struct known_range {
  _Atomic(uintptr_t) start, end;
} known_ranges[KNOWN_RANGES];

static void keep_range(const struct range *range) {
  static _Atomic(uint32_t) next; /* any thread */
  struct known_range *known = &known_ranges[lm_add_relaxed(&next, 1) % KNOWN_RANGES];
  lm_store_relaxed(&known->start, range->start);
  lm_store_relaxed(&known->end, range->end | range->is_main);
}

/* The memory around the address, which can be read and written; false if there is none. */
typedef bool find_range(uintptr_t address, struct range *range);

static bool find_known(uintptr_t address, struct range *range) {
  for (size_t i = 0; i < KNOWN_RANGES; i++) {
    uintptr_t end = lm_load_relaxed(&known_ranges[i].end);
    *range = (struct range){lm_load_relaxed(&known_ranges[i].start), end & ~(uintptr_t)1, end & 1};
    if (address >= range->start && address < range->end)
      return lm_os_is_readable((const void *)address);
  }
  return false;
}

static bool find_mapped(uintptr_t address, struct range *range) {
  struct lm_os_mapping mapping;
  if (!lm_os_find_mapping(address, &mapping) || !mapping.readable || !mapping.writable)
    return false;
  uintptr_t heap_start = lm_os_break_start(&mapping);
  *range = address < heap_start ? (struct range){mapping.start, heap_start, false}
                                : (struct range){heap_start, mapping.end, true};
  return true;
}

/* ---- Blocks ---- */

/* A mapping of its own for one block. */
static bool is_mapped_chunk(const struct range *range, uintptr_t chunk, size_t before,
                            size_t size) {
  size_t page_mask = lm_os.page_bytes - 1;
  return before <= chunk && ((chunk - before) & page_mask) == 0 &&
         ((before + size) & page_mask) == 0 && chunk - before >= range->start &&
         size <= range->end - chunk;
}

/* In the heap of an arena, which begins with a pointer to the arena. */
static bool is_arena_chunk(uintptr_t chunk, find_range *find_any) {
  struct range heap, arena;
  uintptr_t heap_start = lm_align_down(chunk, ARENA_HEAP_BYTES);
  if (!find_any(heap_start, &heap) || heap.end <= chunk) return false;
  uintptr_t arena_address = *(uintptr_t *)heap_start;
  if (!find_any(arena_address, &arena)) return false;
  if (find_any == find_mapped) keep_range(&arena);
  return true;
}

static bool is_chunk_of_heap(uintptr_t chunk, const struct range *range, find_range *find_any) {
  const size_t *words = (const size_t *)chunk;
  size_t size = words[1] & ~CHUNK_FLAGS;
  const size_t *next = (const size_t *)(chunk + size);
  if (size > range->end - chunk || range->end - chunk - size < 2 * sizeof(size_t)) return false;
  if (find_any == find_known && !lm_os_is_readable(next + 1)) return false;
  if (!(next[1] & CHUNK_PREVIOUS_IN_USE)) return false;
  return words[1] & CHUNK_OTHER_ARENA ? is_arena_chunk(chunk, find_any) : range->is_main;
}

static bool is_libc_chunk(uintptr_t chunk, find_range *find_any) {
  struct range range;
  if (!find_any(chunk, &range)) return false;
  const size_t *words = (const size_t *)chunk;
  size_t before = words[0], size = words[1] & ~CHUNK_FLAGS;
  if (size < 4 * sizeof(size_t)) return false;
  if (words[1] & CHUNK_MAPPED) return is_mapped_chunk(&range, chunk, before, size);
  if (!is_chunk_of_heap(chunk, &range, find_any)) return false;
  if (find_any == find_mapped) keep_range(&range);
  return true;
}

static bool is_libc_block(uintptr_t address) {
  uintptr_t chunk = address - 2 * sizeof(size_t);
  if (address % BLOCK_ALIGNMENT != 0 || address < 2 * sizeof(size_t)) return false;
  /* What is known may have grown since. */
  return is_libc_chunk(chunk, find_known) || is_libc_chunk(chunk, find_mapped);
}

const char lm_foreign_free_name[] = "__libc_free";
const char lm_foreign_size_name[] = "malloc_usable_size";

void *lm_foreign_owner_function(const void *address, const char *name) {
  static _Atomic(uintptr_t) functions[2]; /* written by any thread, always the same */
  if (!is_libc_block((uintptr_t)address)) return NULL;
  _Atomic(uintptr_t) *known = &functions[name == lm_foreign_free_name];
  uintptr_t function = lm_load_relaxed(known);
  if (function == 0) {
    function = (uintptr_t)lm_os_next_function(name);
    lm_store_relaxed(known, function);
  }
  return (void *)function;
}
