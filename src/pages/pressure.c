#include "pages/pressure.h"

#include "config/options.h"
#include "os/os.h"
#include "pages/pool.h"

/* Most processes use less, and have no more files to read. */
#define FIRST_LOOK_BYTES (4 * LM_MIB)
/* The next look is due when a pool has taken so much of the room that is left; where there is no
 * limit, when it has taken as much again. */
#define ROOM_FRACTION 8
#define STEP_MIN_BYTES (256 * LM_KIB)
#define LOOK_MS 50

_Atomic(uint32_t) lm_pressure;
_Atomic(size_t) lm_pressure_asks_above = SIZE_MAX;
_Atomic(size_t) lm_pressure_asked;
/* What the group with the least room had; no limit: 0. Constant after lm_pressure_start. */
static struct lm_os_group_memory at_start;
/* As the last look has found it: time alone makes somebody look. */
static _Atomic(bool) is_followed;
static _Atomic(uint32_t) looked_ms; /* the clock's lower half */
static _Atomic(size_t) used_seen; /* pages of the pool that asked last */

static enum lm_pressure level_of(const struct lm_os_group_memory *memory) {
  uint64_t room = memory->limit_bytes - memory->used_bytes;
  if (memory->used_bytes >= memory->limit_bytes || room < memory->limit_bytes / 10)
    return LM_PRESSURE_MUCH;
  return room < memory->limit_bytes / 4 ? LM_PRESSURE_SOME : LM_PRESSURE_NONE;
}

/* How many pages more a pool may take before somebody looks again. */
static size_t step_of(const struct lm_os_group_memory *memory) {
  uint64_t step = STEP_MIN_BYTES;
  if (memory->used_bytes < memory->limit_bytes) {
    uint64_t room = memory->limit_bytes - memory->used_bytes;
    if (room / ROOM_FRACTION / lm_pool_count > step) step = room / ROOM_FRACTION / lm_pool_count;
  }
  return (size_t)(step >> lm_os.page_shift);
}

void lm_pressure_start(void) {
  if (!lm_os_find_group_room(&at_start)) at_start = (struct lm_os_group_memory){0, 0};
  if (lm_os_is_short_of_memory()) lm_store_relaxed(&lm_pressure, LM_PRESSURE_MUCH);
  if (at_start.limit_bytes != 0 || LM_OS_TELLS_SHORTAGE)
    lm_store_relaxed(&lm_pressure_asks_above, FIRST_LOOK_BYTES >> lm_os.page_shift);
}

/* Huge blocks that come to more than the limit cannot all be in memory: then they say nothing. */
static bool find_memory(lm_pressure_count *count, struct lm_os_group_memory *memory) {
  if (LM_OPTION(group_limit) == LM_GROUP_LIMIT_FOLLOW) return lm_os_find_group_memory(memory);
  if (at_start.limit_bytes == 0) return false;
  struct lm_pressure_held held = count();
  *memory = at_start;
  memory->used_bytes += held.region_bytes;
  if (memory->used_bytes + held.huge_bytes <= memory->limit_bytes)
    memory->used_bytes += held.huge_bytes;
  return true;
}

bool lm_pressure_tick(uint64_t now_ms, lm_pressure_count *count) {
  size_t asked = lm_load_relaxed(&lm_pressure_asked);
  bool is_time = lm_load_relaxed(&is_followed) &&
                 (uint32_t)now_ms - lm_load_relaxed(&looked_ms) >= LOOK_MS;
  if (LM_LIKELY(asked == 0 && !is_time)) return false;
  /* First, so that others do not look as well. */
  lm_store_relaxed(&lm_pressure_asked, 0);
  lm_store_relaxed(&looked_ms, (uint32_t)now_ms);
  if (asked != 0) lm_store_relaxed(&used_seen, asked);
  struct lm_os_group_memory memory;
  bool limited = find_memory(count, &memory);
  size_t used = lm_load_relaxed(&used_seen), step = limited ? step_of(&memory) : used;
  enum lm_pressure level = limited ? level_of(&memory) : LM_PRESSURE_NONE;
  if (lm_os_is_short_of_memory()) level = LM_PRESSURE_MUCH;
  bool rises = (uint32_t)level > lm_load_relaxed(&lm_pressure);
  lm_store_relaxed(&is_followed, limited || LM_OS_TELLS_SHORTAGE);
  lm_store_relaxed(&lm_pressure, level);
  lm_store_relaxed(&lm_pressure_asks_above, used + step);
  return rises;
}
