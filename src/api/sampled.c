#include "api/sampled.h"

#include <string.h>

#include "base/bits.h"
#include "config/options.h"
#include "os/misuse.h"
#include "os/os.h"
#include "pages/pool.h"
#include "sizeclass/sizeclass.h"
#include "thread/cache.h"

struct lm_lock lm_sampled_lock = LM_LOCK_INIT(LM_RANK_SAMPLED);

#if defined(__linux__)

#define SLOT_COUNT 256
#define STACK_DEPTH 32
/* What is left of a block's first and last page. */
#define AROUND_PATTERN 0xa5

/* Who has called, and in which thread. */
struct stack {
  uintptr_t callers[STACK_DEPTH];
  size_t depth;
  uint32_t thread_id;
};

/* A place for one block, whose pages are accessible while the program has it. */
struct slot {
  _Atomic(uint32_t) state; /* written by whoever takes or frees the block */
  uint32_t size;
  char *block;
  bool by_protection; /* some of its pages may be protected: there were no guards for them */
  struct stack taken, freed;
};
enum { SLOT_NEW, SLOT_HELD, SLOT_WAITS };

static struct slot slots[SLOT_COUNT];
/* Under the lock: the slots without a block, a ring, of which the one that waited longest is taken
 * next. */
static uint16_t waiting[SLOT_COUNT] LM_GUARDED_BY(lm_sampled_lock);
static size_t first_waiting LM_GUARDED_BY(lm_sampled_lock);
static size_t waiting_count LM_GUARDED_BY(lm_sampled_lock);
/* One page without access, and for each slot its pages and one more. Stored once, with a release
 * that pairs with the acquire of whoever has an address; NULL before. */
static _Atomic(char *) area;
static bool has_guards; /* written before the area is */
/* By these a block stands at the start or at the end of its pages. */
static uintptr_t side_seed LM_GUARDED_BY(lm_sampled_lock);
static uintptr_t taken_count LM_GUARDED_BY(lm_sampled_lock);

static size_t slot_bytes(void) { return lm_align_up(lm_classed_max_bytes, lm_os.page_bytes); }
static size_t slot_distance(void) { return slot_bytes() + lm_os.page_bytes; }
static size_t area_bytes(void) { return lm_os.page_bytes + SLOT_COUNT * slot_distance(); }

static char *slot_start(const struct slot *slot) {
  return lm_load_acquire(&area) + lm_os.page_bytes + (size_t)(slot - slots) * slot_distance();
}

bool lm_sampled_holds(const void *address) {
  char *start = lm_load_acquire(&area);
  return start != NULL && (uintptr_t)address - (uintptr_t)start < area_bytes();
}

/* ---- Stacks ---- */

static LM_NOINLINE void note_stack(struct stack *stack) {
  stack->depth = lm_os_unwind(stack->callers, STACK_DEPTH);
  stack->thread_id = LM_THREAD(lm_this_cache)->thread_id; /* 0 at the thread's end */
}

static void print_stack(const char *what, const struct stack *stack) {
  LM_TEXT(text, 128);
  lm_text_string(&text, "loam: ");
  lm_text_string(&text, what);
  lm_text_string(&text, " by thread ");
  lm_text_number(&text, stack->thread_id);
  lm_text_string(&text, " at\n");
  lm_os_write(2, text.bytes, text.length);
  for (size_t i = 0; i < stack->depth; i++) lm_misuse_print_place(stack->callers[i]);
}

/* All that is known of a block that the program has made a mistake with. */
static LM_COLD void print_history(const struct slot *slot, const char *what,
                                  const struct stack *now) {
  print_stack("the block was taken", &slot->taken);
  if (lm_load_relaxed(&slot->state) == SLOT_WAITS) print_stack("it was freed", &slot->freed);
  print_stack(what, now);
}

static LM_COLD void print_history_at_call(const struct slot *slot, const char *what) {
  struct stack now;
  note_stack(&now);
  print_history(slot, what, &now);
}

/* ---- The area ---- */

/* An emulator may say that it guards pages, and do nothing. */
static bool try_guards(char *start, size_t bytes) {
  if (lm_os_guard(start, bytes) != 0) return false;
  if (!lm_os_is_readable(start)) return true;
  lm_os_unguard(start, bytes);
  return false;
}

static bool make_area(void) LM_REQUIRES(lm_sampled_lock) {
  void *start;
  if (lm_os_map(area_bytes(), lm_os.page_bytes, &start) != 0) return false;
  has_guards = try_guards(start, area_bytes());
  if (!has_guards && lm_os_uncommit(start, area_bytes()) != 0) {
    lm_os_release(start, area_bytes());
    return false;
  }
  for (size_t i = 0; i < SLOT_COUNT; i++) {
    waiting[i] = (uint16_t)i;
    slots[i].by_protection = !has_guards;
  }
  waiting_count = SLOT_COUNT;
  side_seed = (uintptr_t)lm_os_random();
  lm_store_release(&area, (char *)start);
  return true;
}

/* The pages of a block of the slot's. */
static char *first_page(const struct slot *slot) {
  return (char *)lm_align_down((uintptr_t)slot->block, lm_os.page_bytes);
}
static size_t opened_bytes(const struct slot *slot) {
  return lm_align_up((size_t)(slot->block + slot->size - first_page(slot)), lm_os.page_bytes);
}

static bool open_pages(const struct slot *slot, char *start, size_t bytes) {
  if (has_guards) lm_os_unguard(start, bytes);
  return !slot->by_protection || lm_os_commit(start, bytes) == 0;
}

/* Locked memory (mlockall) has no guards. */
static void close_pages(struct slot *slot, char *start, size_t bytes) {
  if (has_guards && lm_os_guard(start, bytes) == 0) return;
  slot->by_protection = true;
  lm_os_purge(start, bytes);
  lm_os_uncommit(start, bytes);
}

/* ---- Taking ---- */

static struct slot *next_slot(bool *at_end) {
  struct slot *slot = NULL;
  lm_lock_take(&lm_sampled_lock);
  if ((lm_load_relaxed(&area) != NULL || make_area()) && waiting_count != 0) {
    slot = &slots[waiting[first_waiting]];
    first_waiting = (first_waiting + 1) % SLOT_COUNT;
    waiting_count--;
    *at_end = lm_hash(side_seed + taken_count++, 1) != 0;
  }
  lm_lock_free(&lm_sampled_lock);
  return slot;
}

static void let_wait(const struct slot *slot) {
  lm_lock_take(&lm_sampled_lock);
  waiting[(first_waiting + waiting_count++) % SLOT_COUNT] = (uint16_t)(slot - slots);
  lm_lock_free(&lm_sampled_lock);
}

static void fill_around(const struct slot *slot) {
  char *start = first_page(slot), *end = slot->block + slot->size;
  memset(start, AROUND_PATTERN, (size_t)(slot->block - start));
  memset(end, AROUND_PATTERN, opened_bytes(slot) - (size_t)(end - start));
}

void *lm_sampled_take(size_t size, bool clear) {
  bool at_end = false;
  size = lm_max(size, 1);
  if (size > lm_classed_max_bytes || lm_load_relaxed(&lm_pools[0].provider) != NULL) return NULL;
  struct slot *slot = next_slot(&at_end);
  if (slot == NULL) return NULL;
  char *start = slot_start(slot);
  size_t pages = lm_align_up(size, lm_os.page_bytes);
  if (at_end) start += slot_bytes() - pages;
  if (!open_pages(slot, start, pages)) {
    let_wait(slot);
    return NULL;
  }
  slot->block = at_end ? start + lm_align_down(pages - size, LM_GRANULE_BYTES) : start;
  slot->size = (uint32_t)size;
  fill_around(slot);
  note_stack(&slot->taken);
  lm_store_release(&slot->state, SLOT_HELD);
  return clear ? memset(slot->block, 0, size) : slot->block;
}

/* ---- Freeing ---- */

static struct slot *slot_of(const void *address) {
  size_t offset = (size_t)((const char *)address - lm_load_acquire(&area));
  size_t index = offset < lm_os.page_bytes ? 0 : (offset - lm_os.page_bytes) / slot_distance();
  return &slots[index];
}

static size_t first_other(const char *bytes, size_t count) {
  size_t i = 0;
  while (i < count && (unsigned char)bytes[i] == AROUND_PATTERN) i++;
  return i;
}

/* What has been written within the block's pages, which no guard has seen. */
static void check_around(const struct slot *slot) {
  const char *start = first_page(slot), *end = slot->block + slot->size;
  size_t before = (size_t)(slot->block - start);
  size_t behind = opened_bytes(slot) - (size_t)(end - start);
  bool whole_before = first_other(start, before) == before;
  if (LM_LIKELY(whole_before && first_other(end, behind) == behind)) return;
  print_history_at_call(slot, "what was written around it was found");
  if (!whole_before) lm_misuse_write_before_start(slot->block);
  lm_misuse_write_past_end(slot->block, slot->size);
}

static struct slot *find_held(const void *address, const char *call, void *caller) {
  struct slot *slot = slot_of(address);
  uint32_t state = lm_load_acquire(&slot->state);
  if (LM_LIKELY(state == SLOT_HELD && address == slot->block)) return slot;
  if (state != SLOT_NEW) print_history_at_call(slot, "it was given to a call again");
  if (state == SLOT_WAITS && address == slot->block && strcmp(call, "free") == 0)
    lm_misuse_double_free(address, caller);
  lm_misuse_not_a_start(address, call, caller);
}

size_t lm_sampled_size(const void *address, const char *call, void *caller) {
  const struct slot *slot = find_held(address, call, caller);
  check_around(slot);
  return slot->size;
}

void lm_sampled_end(void *address, void *caller) {
  struct slot *slot = find_held(address, "free", caller);
  check_around(slot);
  uint32_t held = SLOT_HELD;
  if (!lm_cas_release(&slot->state, &held, SLOT_WAITS)) lm_misuse_double_free(address, caller);
  note_stack(&slot->freed);
  close_pages(slot, first_page(slot), opened_bytes(slot));
  let_wait(slot);
}

void lm_sampled_shorten(void *block, size_t size) {
  struct slot *slot = slot_of(block);
  size_t bytes = opened_bytes(slot);
  slot->size = (uint32_t)lm_max(size, 1);
  /* Pages that the block has no more are guarded from here on. */
  if (opened_bytes(slot) < bytes)
    close_pages(slot, first_page(slot) + opened_bytes(slot), bytes - opened_bytes(slot));
  fill_around(slot);
}

/* ---- Access ---- */

/* Whose block an address without access is nearest to: that of its own slot, or, of the page
 * between two, that of the next one. */
static const struct slot *slot_near(const char *address) {
  const struct slot *slot = slot_of(address);
  size_t in_page = (uintptr_t)address & (lm_os.page_bytes - 1);
  if (address < slot_start(slot) + slot_bytes() || slot == &slots[SLOT_COUNT - 1]) return slot;
  const struct slot *next = slot + 1;
  bool has_next = lm_load_relaxed(&next->state) == SLOT_HELD &&
                  first_page(next) == slot_start(next);
  bool has_this = lm_load_relaxed(&slot->state) == SLOT_HELD &&
                  first_page(slot) + opened_bytes(slot) == slot_start(slot) + slot_bytes();
  return has_next && (!has_this || in_page >= lm_os.page_bytes / 2) ? next : slot;
}

static LM_COLD bool report_access(void *address, const void *context) {
  if (!lm_sampled_holds(address)) return false;
  const struct slot *slot = slot_near(address);
  uint32_t state = lm_load_acquire(&slot->state);
  if (state == SLOT_NEW) return false;
  struct stack now = {.thread_id = lm_os_thread_id()};
  now.depth = lm_os_unwind_interrupted(context, now.callers, STACK_DEPTH);
  print_history(slot, "it was accessed", &now);
  lm_misuse_access(address, slot->block, slot->size, state == SLOT_WAITS);
}

void lm_sampled_start_by_options(void) {
  if (LM_OPTION(guard_ms) == 0) return;
  if (LM_CHECKING || !lm_os_on_access(report_access)) lm_store_relaxed(&lm_options.guard_ms, 0);
}

#else

void lm_sampled_start_by_options(void) {}
void *lm_sampled_take(size_t size, bool clear) {
  (void)size, (void)clear;
  return NULL;
}
bool lm_sampled_holds(const void *address) {
  (void)address;
  return false;
}
size_t lm_sampled_size(const void *address, const char *call, void *caller) {
  (void)address, (void)call, (void)caller;
  return 0;
}
void lm_sampled_end(void *address, void *caller) { (void)address, (void)caller; }
void lm_sampled_shorten(void *block, size_t size) { (void)block, (void)size; }

#endif
