/* Tags: for every slice of address space one byte that says what free has to know of a block in it.
 *
 *     0            nothing of loam's, or no block
 *     1 to 126     a span of that size class, of any processor's central heap
 *     127          middle and large blocks begin in the slice
 *     128 to 254   a span of the class tag - 128 that a first-class heap has
 *
 * A tag does not say whose a block is: every thread's cache takes blocks of all centrals. What no
 * cache takes finds its central in the record of its span. (Rejected: the owner's number in the
 * tag. Then a free needs the owner, and memory waits for threads that sleep.)
 *
 * All tags stand in one flat table that covers the address space of a process: reserved, not
 * committed, zero where loam has nothing, so that a foreign pointer reads as zero. Where a system
 * does not let us read what is not committed, the map of regions is asked first. Where a process
 * may not reserve that much, there is no table (multiplier 0, one zero byte) and every free takes
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
_Static_assert(LM_CLASS_COUNT <= 127, "a tag has 7 bits for the class");

#define LM_TAG_LARGE 127u
#define LM_TAG_FIRST_CLASS 128u
#define LM_TAG_CLASS_MASK 127u
#define LM_TAG_LIMIT 256

/* Of a span that a central of a processor has, or a first-class heap; and of the latter. */
LM_INLINE bool lm_tag_is_small(size_t tag) {
  return tag != LM_TAG_LARGE && (tag & LM_TAG_CLASS_MASK) != 0;
}
LM_INLINE bool lm_tag_is_shared(size_t tag) { return tag >= LM_TAG_FIRST_CLASS; }

typedef _Atomic(uint8_t) lm_tag;

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

/* So many tags has the table. */
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

/* Makes the tags of a region's slices writable. Returns 0 or an errno. This and the next with
 * the lock held. */
int lm_tags_commit(uintptr_t region, size_t region_bytes);
/* Makes them zero again. */
void lm_tags_clear(uintptr_t region, size_t region_bytes);

/* Gives the table's address space back to a process that has come to its limit, but for the
 * tags of blocks that there are; other threads may be reading those. Returns whether anything was
 * given back since the caller looked last. */
bool lm_tags_give_up(void);

/* Whether the table, if there is one, has a word for the address. */
LM_INLINE bool lm_tags_cover(uintptr_t address) {
  return lm_tags.multiplier == 0 || (uint64_t)address >> LM_ADDRESS_BITS == 0;
}

/* The tag of the slice of any address at all; 0 if there is no table, or if no block can begin
 * there. */
LM_INLINE size_t lm_tags_read(const void *address) {
  if (!LM_OS_RESERVED_READS_ZERO &&
      ((uintptr_t)address % LM_GRANULE_BYTES != 0 || !lm_region_holds((uintptr_t)address)))
    return 0;
  return lm_load_relaxed(&lm_tags.table[lm_tags_index(address)]);
}

/* `address` is in a region. Called by whoever has the slice. */
LM_INLINE void lm_tags_write(const void *address, uint32_t tag) {
  size_t index = lm_tags_index(address);
  if (index != 0 && lm_load_relaxed(&lm_tags.table[index]) != tag)
    lm_store_relaxed(&lm_tags.table[index], (uint8_t)tag);
}

#endif
