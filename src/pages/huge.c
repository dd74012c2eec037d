#include "pages/huge.h"

#include <errno.h>

#include "base/bits.h"
#include "os/os.h"
#include "os/panic.h"
#include "pages/explicit.h"
#include "pages/mappings.h"
#include "pages/meta.h"
#include "pages/names.h"
#include "pages/pressure.h"
#include "pages/purge.h"
#include "pages/room.h"

struct lm_lock lm_huge_lock = LM_LOCK_INIT(LM_RANK_HUGE);
struct lm_huge_totals lm_huge_totals;
struct lm_huge *lm_huge_buckets[LM_HUGE_BUCKET_COUNT];
static struct lm_huge *unused_records LM_GUARDED_BY(lm_huge_lock);

static struct lm_huge **bucket_of(uintptr_t address) {
  return &lm_huge_buckets[lm_hash(address >> lm_os.page_shift, LM_HUGE_BUCKET_BITS)];
}

/* Where the record of the block is linked from; what that points to is NULL if there is none. */
LM_REQUIRES(lm_huge_lock) static struct lm_huge **find(const void *address) {
  struct lm_huge **link = bucket_of((uintptr_t)address);
  while (*link != NULL && (*link)->address != (uintptr_t)address) link = &(*link)->next;
  return link;
}

LM_REQUIRES(lm_huge_lock) static void insert(struct lm_huge *huge) {
  lm_assert(huge->address != 0 && *find((void *)huge->address) == NULL);
  lm_assert(huge->size != 0 && huge->asked_size <= huge->size);
  struct lm_huge **bucket = bucket_of(huge->address);
  huge->next = *bucket;
  *bucket = huge;
  lm_huge_totals.count++;
  lm_huge_totals.bytes += huge->size;
}

/* Takes the block's record out of the table; NULL if there is none. */
LM_REQUIRES(lm_huge_lock) static struct lm_huge *extract(const void *address) {
  struct lm_huge **link = find(address);
  struct lm_huge *huge = *link;
  if (huge == NULL) return NULL;
  lm_assert(lm_huge_totals.count != 0 && huge->size <= lm_huge_totals.bytes);
  *link = huge->next;
  lm_huge_totals.count--;
  lm_huge_totals.bytes -= huge->size;
  return huge;
}

static struct lm_huge *new_record(void) {
  lm_lock_take(&lm_huge_lock);
  struct lm_huge *huge = unused_records;
  if (huge != NULL) unused_records = huge->next;
  lm_lock_free(&lm_huge_lock);
  return huge != NULL ? huge : lm_meta_take(sizeof *huge);
}

static void end_record(struct lm_huge *huge) {
  lm_lock_take(&lm_huge_lock);
  huge->next = unused_records;
  unused_records = huge;
  lm_lock_free(&lm_huge_lock);
}

/* Makes room in the address space of a process that has come to a limit. False if there is none
 * to be made. */
static bool make_room(void) {
  bool room = lm_room_make();
  return lm_pool_trim(0) || room;
}

/* A callback of a heap's is made under a lock of the heap's, so that no fork comes in between. */
LM_LOCKS_UNCHECKED static void enter_callback(struct lm_pool *pool) {
  if (lm_pool_is_own(pool)) lm_lock_take(&pool->lock);
}
LM_LOCKS_UNCHECKED static void leave_callback(struct lm_pool *pool) {
  if (lm_pool_is_own(pool)) lm_lock_free(&pool->lock);
}

size_t lm_huge_bytes(void) {
  lm_lock_take(&lm_huge_lock);
  size_t bytes = lm_huge_totals.bytes;
  lm_lock_free(&lm_huge_lock);
  return bytes;
}

static int map_once(const struct lm_huge *huge, size_t alignment, void **address) {
  enter_callback(huge->pool);
  int error = lm_provider_map(huge->provider, huge->size, alignment, address);
  if (error == 0 && huge->provider == NULL) lm_names_give(LM_MEMORY_HUGE, *address, huge->size);
  lm_pressure_note_used(huge->size >> lm_os.page_shift);
  leave_callback(huge->pool);
  return error;
}

static int map_huge(struct lm_huge *huge, size_t alignment, bool clear, void **address) {
  if (huge->provider == &lm_explicit_pages) {
    if (map_once(huge, alignment, address) == 0) return 0;
    huge->provider = NULL;
  }
  bool may_be_used = huge->provider == NULL && !clear;
  *address = may_be_used ? lm_mappings_take(&huge->size, alignment) : NULL;
  if (*address != NULL) return 0;
  int error = map_once(huge, alignment, address);
  if (error == 0) return 0;
  bool room = huge->provider == NULL ? make_room() : lm_pool_trim_one(huge->pool, 0);
  return room ? map_once(huge, alignment, address) : error;
}

static void unmap_huge(const struct lm_huge *huge) {
  if (huge->provider == NULL && lm_mappings_keep((void *)huge->address, huge->size)) return;
  enter_callback(huge->pool);
  lm_provider_release(huge->provider, (void *)huge->address, huge->size);
  leave_callback(huge->pool);
}

/* The block is at the address from here on. */
static void *list_at(struct lm_huge *huge, void *address) {
  huge->address = (uintptr_t)address;
  lm_assert(!lm_region_holds(huge->address));
  lm_region_note_huge(huge->address);
  lm_lock_take(&lm_huge_lock);
  insert(huge);
  lm_lock_free(&lm_huge_lock);
  return address;
}

void *lm_huge_take(struct lm_pool *pool, size_t size, size_t alignment, bool clear) {
  void *address;
  struct lm_huge *huge = new_record();
  if (huge == NULL) return NULL;
  size = lm_align_up(lm_max(size, 1), lm_os.page_bytes);
  *huge = (struct lm_huge){.size = size, .asked_size = size, .pool = pool,
                           .provider = lm_load_acquire(&pool->provider)};
  if (map_huge(huge, alignment, clear, &address) != 0) {
    end_record(huge);
    return NULL;
  }
  lm_provider_begin_huge(huge->provider, address, huge->size, true);
  return list_at(huge, address);
}

void *lm_huge_take_kept(struct lm_pool *pool, size_t size, size_t alignment) {
  if (lm_load_acquire(&pool->provider) != NULL) return NULL;
  size = lm_align_up(size, lm_os.page_bytes);
  size_t asked_size = size;
  void *address = lm_mappings_take(&size, alignment);
  if (address == NULL) return NULL;
  struct lm_huge *huge = new_record();
  if (huge == NULL) {
    lm_os_release(address, size);
    return NULL;
  }
  *huge = (struct lm_huge){.size = size, .asked_size = asked_size, .pool = pool};
  return list_at(huge, address);
}

/* The system does not check growth of what has been moved out of a region. So much is asked for. */
#define GROWTH_MIN_BYTES (32 * LM_MIB)
static bool may_grow(size_t bytes) { return bytes < GROWTH_MIN_BYTES || lm_os_would_map(bytes); }

void *lm_huge_take_pages(struct lm_pool *pool, void *block, size_t old_bytes, size_t size) {
  void *address;
  struct lm_huge *huge = new_record();
  if (huge == NULL) return NULL;
  size = lm_align_up(size, lm_os.page_bytes);
  *huge = (struct lm_huge){.size = size, .asked_size = size, .pool = pool};
  if (!may_grow(huge->size - old_bytes) ||
      lm_os_move_out(block, old_bytes, huge->size, &address) != 0) {
    end_record(huge);
    return NULL;
  }
  lm_provider_accept_huge(NULL, address, huge->size); /* it has what the region's pages were told */
  lm_pressure_note_used((huge->size - old_bytes) >> lm_os.page_shift);
  return list_at(huge, address);
}

size_t lm_huge_usable_bytes(const void *address) {
  if (((uintptr_t)address & (lm_os.page_bytes - 1)) != 0) return 0;
  lm_lock_take(&lm_huge_lock);
  struct lm_huge *huge = *find(address);
  size_t size = huge != NULL ? huge->size : 0;
  lm_lock_free(&lm_huge_lock);
  return size;
}

char *lm_huge_start(const void *address) {
  uintptr_t start = 0;
  lm_lock_take(&lm_huge_lock);
  size_t count = lm_huge_totals.count;
  for (size_t i = 0; i < LM_HUGE_BUCKET_COUNT && start == 0 && count != 0; i++)
    for (struct lm_huge *huge = lm_huge_buckets[i]; huge != NULL && start == 0;
         huge = huge->next, count--)
      if ((uintptr_t)address - huge->address < huge->size) start = huge->address;
  lm_lock_free(&lm_huge_lock);
  return (char *)start;
}

bool lm_huge_holds(const void *address) { return lm_huge_start(address) != NULL; }

#if LM_OS_TELLS_USAGE
void lm_huge_add_usage(struct lm_os_usage *usage) {
  lm_lock_take(&lm_huge_lock);
  for (size_t i = 0; i < LM_HUGE_BUCKET_COUNT; i++)
    for (struct lm_huge *huge = lm_huge_buckets[i]; huge != NULL; huge = huge->next)
      lm_os_add_usage((void *)huge->address, huge->size, usage);
  lm_lock_free(&lm_huge_lock);
}
#endif

bool lm_huge_give(void *address) {
  if (((uintptr_t)address & (lm_os.page_bytes - 1)) != 0) return false;
  lm_lock_take(&lm_huge_lock);
  struct lm_huge *huge = extract(address);
  lm_lock_free(&lm_huge_lock);
  if (huge == NULL) return false;
  unmap_huge(huge);
  end_record(huge);
  return true;
}

static int remap(struct lm_huge *huge, size_t size) {
  void *moved;
  int error = lm_os_remap((void *)huge->address, huge->size, size, &moved);
  if (error != 0) return error;
  huge->address = (uintptr_t)moved;
  huge->size = size;
  return 0;
}

/* What grows by less than this part is likely to do so again: it gets as much room, of addresses,
 * so that not each step is a call of the system's. Not where these count, or are locked, or where
 * the checking build writes to all of them. */
#define ROOM_FRACTION 8
static bool remap_with_room(struct lm_huge *huge, size_t size) {
  size_t room = lm_align_up(size / ROOM_FRACTION, lm_os.page_bytes);
  if (size <= huge->size || size - huge->size > room) return false;
  if (LM_CHECKING || !lm_os.overcommit || lm_os_address_space_limit() != UINT64_MAX) return false;
  return may_grow(size - huge->size + room) && remap(huge, size + room) == 0;
}

/* Gives a block that is in no table its new size, and maybe a new address. False, with nothing
 * changed, if that fails. A block of a provider's stays as it is, or must be copied. */
static bool resize_mapping(struct lm_huge *huge, size_t size) {
  if (size >= huge->asked_size && size <= huge->size) return true;
  if (huge->provider != NULL) return size <= huge->size && size > huge->size / 2;
  if (remap_with_room(huge, size)) return true;
  if (size > huge->size && !may_grow(size - huge->size)) return false;
  int error = remap(huge, size);
  if (error == ENOMEM && make_room()) error = remap(huge, size);
  return error == 0;
}

void *lm_huge_resize(void *block, size_t size) {
  size = lm_align_up(size, lm_os.page_bytes);
  /* Out of the table while it moves: another thread may be given the old address meanwhile. */
  lm_lock_take(&lm_huge_lock);
  struct lm_huge *huge = extract(block);
  lm_lock_free(&lm_huge_lock);
  if (huge == NULL) return NULL;
  bool done = resize_mapping(huge, size);
  if (done) huge->asked_size = size;
  void *result = done ? (void *)huge->address : NULL;
  lm_region_note_huge(huge->address);
  lm_lock_take(&lm_huge_lock);
  insert(huge);
  lm_lock_free(&lm_huge_lock);
  return result;
}
