#include "pages/directory.h"

#include <string.h>

#include "os/panic.h"
#include "pages/meta.h"

#define ROOM_MIN 16 /* regions */

/* Makes room for twice as many regions. What there was before is not given back: all together it is
 * less than what there is now. */
static bool grow_directory(struct lm_pool *pool) {
  uint32_t count = lm_load_relaxed(&pool->region_count);
  uint32_t room = lm_max(2 * pool->directory_room, ROOM_MIN);
  struct lm_region **directory = lm_meta_take(room * sizeof *directory);
  uint16_t *run_limits = lm_meta_take(room * sizeof *run_limits);
  size_t group_count = room / LM_DIRECTORY_GROUP + 1;
  size_t groups_before = count / LM_DIRECTORY_GROUP + 1;
  uint16_t *group_run_limits = lm_meta_take(group_count * sizeof *group_run_limits);
  bool *has_slice = lm_meta_take(room), *group_has_slice = lm_meta_take(group_count);
  if (directory == NULL || run_limits == NULL || group_run_limits == NULL || has_slice == NULL ||
      group_has_slice == NULL)
    return false;
  if (count != 0) {
    memcpy(directory, pool->directory, count * sizeof *directory);
    memcpy(run_limits, pool->run_limits, count * sizeof *run_limits);
    memcpy(group_run_limits, pool->group_run_limits, groups_before * sizeof *group_run_limits);
    memcpy(has_slice, pool->has_slice, count);
    memcpy(group_has_slice, pool->group_has_slice, groups_before);
  }
  pool->directory = directory;
  pool->run_limits = run_limits;
  pool->group_run_limits = group_run_limits;
  pool->has_slice = has_slice;
  pool->group_has_slice = group_has_slice;
  pool->directory_room = room;
  return true;
}

static void set_region_count(struct lm_pool *pool, uint32_t count) {
  lm_store_relaxed(&pool->region_count, count);
}

bool lm_directory_add(struct lm_pool *pool, struct lm_region *region) {
  uint32_t count = lm_load_relaxed(&pool->region_count);
  if (count == pool->directory_room && !grow_directory(pool)) return false;
  lm_assert(region->pool == pool && count < pool->directory_room);
  region->number = count;
  pool->directory[count] = region;
  lm_directory_limit_runs(region, region->run_limit);
  lm_directory_add_free(region);
  set_region_count(pool, count + 1);
  return true;
}

void lm_directory_remove(struct lm_pool *pool, struct lm_region *region) {
  lm_assert(lm_load_relaxed(&pool->region_count) != 0);
  uint32_t last = lm_load_relaxed(&pool->region_count) - 1;
  lm_assert(region->number <= last && pool->directory[region->number] == region);
  struct lm_region *moved = pool->directory[last];
  pool->directory[region->number] = moved;
  moved->number = region->number;
  lm_directory_limit_runs(moved, moved->run_limit);
  lm_directory_add_free(moved);
  pool->turning_count = (uint32_t)lm_min(pool->turning_count, last);
  pool->early_count = (uint32_t)lm_min(pool->early_count, last);
  set_region_count(pool, last);
}

void lm_directory_clear(struct lm_pool *pool) {
  pool->turning_count = pool->early_count = 0;
  set_region_count(pool, 0);
}

/* What a search has found out of the regions of a group. */
struct found {
  size_t run_limit;
  bool slice;
};

/* The first of the regions [from, to); `to` if there is none. */
static size_t find_among(const struct lm_pool *pool, size_t from, size_t to, size_t page_count,
                         bool slice, struct found *all) {
  *all = (struct found){0, false};
  for (; from < to; from++) {
    if (pool->run_limits[from] >= page_count && pool->has_slice[from] >= slice) return from;
    all->run_limit = lm_max(all->run_limit, pool->run_limits[from]);
    all->slice |= pool->has_slice[from];
  }
  return to;
}

size_t lm_directory_find(struct lm_pool *pool, size_t number, size_t page_count, bool slice) {
  size_t count = lm_load_relaxed(&pool->region_count);
  while (number < count) {
    size_t group = number / LM_DIRECTORY_GROUP, start = group * LM_DIRECTORY_GROUP;
    size_t end = lm_min(start + LM_DIRECTORY_GROUP, count);
    if (pool->group_run_limits[group] >= page_count && pool->group_has_slice[group] >= slice) {
      struct found all;
      size_t found = find_among(pool, number, end, page_count, slice, &all);
      if (found < end) return found;
      if (number == start) {
        pool->group_run_limits[group] = (uint16_t)all.run_limit;
        pool->group_has_slice[group] = all.slice;
      }
    }
    number = end;
  }
  return count;
}
