/* Tags: for every slice of address space one word that says whose it is.
 *
 * A tag is {owner id, chunk bit, sentinel bit, size class}, laid out so that a heap's own tag XOR
 * the tag of a block's slice gives everything that free must know in one comparison:
 *
 *     bits 31..9  owner id: 0 nobody or a spare span, 1 large blocks, 2 orphans, from 3 on a
 *                 thread's heap, in the upper half a first-class heap
 *     bit  8      set for a chunk, whose blocks no bin takes
 *     bit  7      set for a sentinel, whose blocks go straight into it (heap/heap.c)
 *     bits 6..0   size class, which is the index of the bin
 *
 *     heap's tag ^ slice's tag  <  LM_TAG_BIN_LIMIT     ours: index of the bin
 *                               <  LM_TAG_SMALL_LIMIT   ours, in a sentinel
 *                               <  LM_TAG_OWN_LIMIT     ours, in a chunk
 *                               otherwise               somebody else's, large, or foreign
 *
 * All tags stand in one flat table that covers the address space of a process: reserved, not
 * committed, zero where loam has nothing, so that a foreign pointer reads as zero. Where a system
 * does not let us read what is not committed, the map of regions is asked first. Where a process
 * may not reserve that much, there is no table (multiplier 0, one zero word) and every free takes
 * the slow path, which finds the tag through the region.
 *
 * The address of no block has any of the lower four bits. Such an address is looked up far from its
 * slice, where loam has nothing, and reads as zero too: so no free need test for it. */
#ifndef LM_PAGES_TAGS_H
#define LM_PAGES_TAGS_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "os/lock.h"
#include "os/os.h"
#include "pages/region_map.h"
#include "sizeclass/sizeclass.h"

#define LM_SLICE_SHIFT 16
#define LM_SLICE_BYTES ((size_t)1 << LM_SLICE_SHIFT)

_Static_assert(LM_SLICE_BYTES == LM_CLASS_SLICE_BYTES, "classes count blocks per slice");
_Static_assert(LM_CLASS_MIDDLE < LM_CLASS_LIMIT, "a tag has 7 bits for the class");

#define LM_TAG_SENTINEL ((uint32_t)1 << 7)
#define LM_TAG_CHUNK ((uint32_t)1 << 8)
#define LM_TAG_BIN_LIMIT ((uint32_t)1 << 7)
#define LM_TAG_SMALL_LIMIT ((uint32_t)1 << 8)
#define LM_TAG_OWN_LIMIT ((uint32_t)1 << 9)
#define LM_TAG_CLASS_MASK ((uint32_t)0x7f)
#define LM_TAG_OWNER_SHIFT 9

#define LM_OWNER_LARGE 1u
#define LM_OWNER_ORPHAN 2u
#define LM_OWNER_FIRST_HEAP 3u
#define LM_OWNER_FIRST_SHARED 0x400000u
#define LM_OWNER_LIMIT ((uint32_t)0x7fffff) /* all ones belongs to the empty heap */

#define LM_TAG_LARGE (LM_OWNER_LARGE << LM_TAG_OWNER_SHIFT)
/* An empty span that a heap keeps (heap/spares.h). */
#define LM_TAG_SPARE ((uint32_t)1)
/* The empty heap's own tag: differs from every tag in the owner. */
#define LM_TAG_NO_HEAP (LM_OWNER_LIMIT << LM_TAG_OWNER_SHIFT)

/* A small or middle block of a first-class heap. */
LM_INLINE bool lm_tag_is_shared(uint32_t tag) {
  return tag >= LM_OWNER_FIRST_SHARED << LM_TAG_OWNER_SHIFT;
}

/* A small or middle block of a thread's heap. */
LM_INLINE bool lm_tag_is_threads(uint32_t tag) {
  const uint32_t first = LM_OWNER_FIRST_HEAP << LM_TAG_OWNER_SHIFT;
  return tag - first < (LM_OWNER_FIRST_SHARED << LM_TAG_OWNER_SHIFT) - first;
}

typedef _Atomic(uint32_t) lm_tag;

/* How many bits an address of a process has. Where the system has given less, reserving the table
 * fails or wastes some; where it could give more, it does so only on request. */
#if !LM_BITS_64
#define LM_ADDRESS_BITS 32
#elif defined(__aarch64__)
#define LM_ADDRESS_BITS 48
#else
#define LM_ADDRESS_BITS 47
#endif
#define LM_WORD_BITS (LM_BITS_64 ? 64 : 32)
/* An address times that begins with the number of its slice, to which the address's lower four bits
 * are added as the upper ones. */
#define LM_TAGS_MULTIPLIER \
  (((uintptr_t)1 << (LM_WORD_BITS - LM_ADDRESS_BITS)) + ((uintptr_t)1 << (LM_WORD_BITS - 4)))

/* So many words has the table. */
#define LM_TAGS_WORDS ((uintptr_t)1 << (LM_ADDRESS_BITS - LM_SLICE_SHIFT))

/* Written by process start and by lm_tags_give_up, read by every free. */
struct lm_tags {
  lm_tag *table;
  uintptr_t multiplier; /* LM_TAGS_MULTIPLIER; 0: no table */
};
extern struct lm_tags lm_tags;

LM_INLINE size_t lm_tags_index(const void *address) {
  uintptr_t product = (uintptr_t)address * lm_tags.multiplier;
  return product >> (LM_WORD_BITS - LM_ADDRESS_BITS + LM_SLICE_SHIFT);
}

/* Held while a region comes or goes, and while the table is given up. */
extern struct lm_lock lm_tags_lock;

void lm_tags_start(void);

/* Makes the words of a region's slices writable. Returns 0 or an errno. This and the next with
 * the lock held. */
int lm_tags_commit(uintptr_t region, size_t region_bytes);
/* Makes them zero again. */
void lm_tags_clear(uintptr_t region, size_t region_bytes);

/* Gives the table's address space back to a process that has come to its limit, but for the
 * words of regions that exist; other threads may be reading those. Returns whether anything was
 * given back since the caller looked last. `keep` says whether a region is at an address. */
bool lm_tags_give_up(bool (*keep)(uintptr_t address));

/* Whether the table, if there is one, has a word for the address. */
LM_INLINE bool lm_tags_cover(uintptr_t address) {
  return lm_tags.multiplier == 0 || (uint64_t)address >> LM_ADDRESS_BITS == 0;
}

/* The tag of the slice of any address at all; 0 if there is no table, or if no block can begin
 * there. */
LM_INLINE uint32_t lm_tags_read(const void *address) {
  if (!LM_OS_RESERVED_READS_ZERO &&
      ((uintptr_t)address % LM_GRANULE_BYTES != 0 || !lm_region_holds((uintptr_t)address)))
    return 0;
  return lm_load_relaxed(&lm_tags.table[lm_tags_index(address)]);
}

/* `address` is in a region. Called by whoever owns the slice. */
LM_INLINE void lm_tags_write(const void *address, uint32_t tag) {
  size_t index = lm_tags_index(address);
  if (index != 0 && lm_load_relaxed(&lm_tags.table[index]) != tag)
    lm_store_relaxed(&lm_tags.table[index], tag);
}

#endif
